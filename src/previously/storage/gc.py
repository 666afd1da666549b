"""Take away rows that no story needs: remains of interrupted changes, and caches that no branch can see.

- **No answer changes.** A node goes only if nothing holds it: no other node comes after it, no other line shows it, and
  it is no head, in no move and no version's anchor. Of a chain of nodes the last goes first; where one is held, all
  before it are. An entry goes with the last node that held it.
- **A change that somebody is making is left alone**, as long as it was begun late enough. A change that was taken for
  dead finds its line gone and says so: before anything else the line is set aside, under its id made negative, in one
  transaction. The next cleaning finds such lines again, should this one be interrupted.
- Each `yield` ends a short transaction. Others write in between, so every decision is made in the transaction that
  deletes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

from previously.core.errors import StoreProblem
from previously.storage.findings import Garbage
from previously.storage.tables import Tables
from previously.storage.tables.index_state import delete_entries
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import LOWEST, Session
from previously.storage.tables.stories import read_story_rows
from previously.storage.verify_paths import LineMap, LineRow

ROWS_PER_STAGE = 1_000
"""Some tens of milliseconds: no other writer waits longer."""

ROWS_READ_PER_STAGE = 10_000
"""They are ids only and nothing is written, so a stage may read more rows than it may delete."""

HIGHEST = 2**62
"""Above every depth of a path."""


def count_old_leases(session: Session, owner: str, before: str) -> Garbage:
    """Leases that ran out before that time."""
    counted = session.one("count_old_leases", {"before": before, "owner": owner})
    return Garbage(leases=counted[0] if counted else 0)


def take_old_leases(session: Session, owner: str, before: str) -> Generator[None, None, Garbage]:
    """Delete the leases that ended before that time."""
    taken = count_old_leases(session, owner, before)
    session.run("delete_old_leases", {"before": before, "owner": owner})
    return taken
    yield


def count_garbage(session: Session, key: StoryKey, before: str) -> Garbage:
    """Count, reading only, the rows of a story that `take_garbage` would take at least."""
    total = Garbage()
    dead = find_dead_lines(session, key, before)
    holders = Holders(session, key)
    if any(not line.published for line in dead):
        for _ in holders.entries():
            pass
    for line in dead:
        total += replace(_count_caches(session, key, line.id, LOWEST), lines=1)
        chain = Chain(session, key, line, holders)
        while not line.published and (piece := chain.next()):
            total += piece.counted(holders)
    for leaned_on, end in find_leftovers(session, key, before).items():
        total += _count_caches(session, key, leaned_on, end)
    return total


def take_garbage(session: Session, key: StoryKey, before: str) -> Generator[None, None, Garbage]:
    """Take away all that no branch of the story needs."""
    total = Garbage()
    dead = find_dead_lines(session, key, before)
    if session.one("branch_without_line", key.values):
        raise StoreProblem("A story has lost part of its path: `previously verify` says more. Nothing was taken.")
    for line in dead:
        if line.id > 0:
            session.run("set_line_aside", {"line": line.id, **key.values})
    yield
    holders = Holders(session, key)
    if any(not line.published for line in dead):
        yield from holders.entries()
    rows = 0
    for line in dead:
        chain = Chain(session, key, line, holders)
        while piece := chain.next():
            total += piece.taken(session, key, holders)
            chain.freed = 0
            rows = yield from _rest_after(rows + piece.path_rows)
        total += replace(_delete_caches(session, key, line.id, LOWEST), lines=1)
        session.run("delete_line", {"line": -abs(line.id), **key.values})
        rows = yield from _rest_after(rows + 1)  # there may be many without any
    for leaned_on, end in find_leftovers(session, key, before).items():
        while (last := _count(session, "last_depth", line=leaned_on, owner=key.owner)) >= end:
            total += _delete_caches(session, key, leaned_on, max(end, last - ROWS_PER_STAGE + 1))
            yield
    return total


def _rest_after(rows: int) -> Generator[None, None, int]:
    """End the stage if it has so many rows; how many the stage has from here on."""
    if rows < ROWS_PER_STAGE:
        return rows
    yield
    return 0


def has_garbage(session: Session, key: StoryKey, before: str) -> bool:
    """Return whether there is anything to take of a story."""
    return bool(find_dead_lines(session, key, before) or find_leftovers(session, key, before))


def find_dead_lines(session: Session, key: StoryKey, before: str) -> list[LineRow]:
    """The lines of a story that go, the newest first."""
    shown = [row[4] for row in session.rows("branch_rows", key.values)]
    return LineMap.read(session, key).dead(shown, before)


def find_leftovers(session: Session, key: StoryKey, before: str) -> dict[int, int]:
    """The lines of a story with rows behind all that others lean on, and from where on those can go."""
    shown = [row[4] for row in session.rows("branch_rows", key.values)]
    ends = LineMap.read(session, key).leftovers(shown, before)
    return {line: end for line, end in ends.items() if _count(session, "last_depth", line=line, owner=key.owner) >= end}


def _count_caches(session: Session, key: StoryKey, line: int, depth: int) -> Garbage:
    """Count the rows of a line from a depth on."""
    values = {"line": abs(line), "depth": depth, "owner": key.owner}
    return Garbage(
        path_rows=_count(session, "count_path", **values), cover_rows=_count(session, "count_cover", **values)
    )


def _delete_caches(session: Session, key: StoryKey, line: int, depth: int) -> Garbage:
    """Delete the rows of path and cover that a line has from a depth on."""
    values = {"line": abs(line), "depth": depth, "owner": key.owner}
    taken = _count_caches(session, key, line, depth)
    session.run("delete_path_from", values)
    session.run("delete_cover_from", values)
    return taken


def _count(session: Session, query: str, **values: Any) -> int:
    row = session.one(query, values)
    return int(row[0]) if row else 0


class Holders:
    """The holders of a story's nodes and entries: heads, moves and anchors; and for each entry, the number of its
    nodes."""

    def __init__(self, session: Session, key: StoryKey) -> None:
        self._session = session
        self._asked = {**key.values, "most": ROWS_READ_PER_STAGE}
        self._nodes: set[int] = set()
        self._heads: set[int] = set()
        self._after = {"moves_after": 0, "anchors_after": 0}
        self._entries = array("q")
        self._gone: Counter[int] = Counter()

    def entries(self) -> Generator[None, None, None]:
        """Count who holds each entry, in stages. An entry that only a line without a branch has can get no new holder
        later: nobody has ever seen it."""
        last = (LOWEST, LOWEST)
        while rows := self._session.rows("entries_of_nodes", {**self._asked, "parent": last[0], "entry": last[1]}):
            self._entries.extend(entry for _, entry, _ in rows)
            last = rows[-1][0], rows[-1][1]
            yield
        self._entries = array("q", sorted(self._entries))

    def look_again(self) -> None:
        """Others may have written: read the heads, and the moves and anchors that are new."""
        for query in self._after:
            while rows := self._session.rows(query, {**self._asked, "after": self._after[query]}):
                self._nodes.update(node for _, *nodes in rows for node in nodes)
                self._after[query] = rows[-1][0]
        self._heads = {row[2] for row in self._session.rows("branch_rows", self._asked)}

    def hold(self, node: int) -> bool:
        """Return whether the node was a head, in a move or an anchor when they were last read."""
        return node in self._nodes or node in self._heads

    def let_go(self, entries: list[int]) -> list[int]:
        """One node of each of these is gone; the entries that no node holds any more."""
        free = []
        for entry in entries:
            self._gone[entry] += 1
            if self._gone[entry] == bisect_right(self._entries, entry) - bisect_left(self._entries, entry):
                free.append(entry)
        return free


@dataclass(slots=True)
class LinePiece:
    """The rows of a line from some depth on, and those of their nodes that nothing holds."""

    line: int
    depth: int
    path_rows: int
    nodes: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    """Of each node, in the same order."""

    def take(self, found: list[tuple[int, int]]) -> None:
        """Add nodes, each with its entry."""
        self.nodes += [node for node, _ in found]
        self.entries += [entry for _, entry in found]

    def counted(self, holders: Holders) -> Garbage:
        """Count the nodes and entries that go with it."""
        return Garbage(nodes=len(self.nodes), entries=len(holders.let_go(self.entries)))

    def taken(self, session: Session, key: StoryKey, holders: Holders) -> Garbage:
        """Delete these nodes, with the entries that no other node holds and the caches of their line."""
        entries = holders.let_go(self.entries)
        session.many("delete_node", ((node, key.story, key.owner) for node in self.nodes))
        session.many("delete_entry", ((entry, key.story, key.owner) for entry in entries))
        delete_entries(session, key, entries)
        caches = _delete_caches(session, key, self.line, self.depth)
        return replace(caches, nodes=len(self.nodes), entries=len(entries))


class Chain:
    """The path rows of one dead line, read from their end. Of a line that was published once, the nodes are held."""

    def __init__(self, session: Session, key: StoryKey, line: LineRow, holders: Holders) -> None:
        self._session = session
        self._asked = key.values
        self._line = abs(line.id)
        self._fork = line.fork
        self._holders = holders
        self._free = not line.published
        self._below = HIGHEST
        self.freed: int = 0
        """The node after the one that is looked at next, if it goes and is still there."""

    def next(self) -> LinePiece | None:
        """The next piece towards the fork; None when there are no more rows."""
        asked = {"line": self._line, "below": self._below, "most": ROWS_PER_STAGE, **self._asked}
        rows = self._session.rows("end_of_line", asked)
        if not rows:
            return None
        self._below = rows[-1][0]
        piece = LinePiece(self._line, self._below, len(rows))
        if self._free:
            self._holders.look_again()
        for depth, node, entry, parent, children, elsewhere in rows:
            twigs = self._free and self._find_twigs(node, children)
            if not isinstance(twigs, list) or parent is None or elsewhere or self._holders.hold(node):
                self._free = False  # all before it are held by it
                break
            piece.take([*twigs, (node, entry)])
            self.freed = node
            if depth == self._fork:
                piece.take(self._find_twigs(parent, None) or [])
        return piece

    def _find_twigs(self, node: int, children: int | None) -> list[tuple[int, int]] | None:
        """Return the other nodes after a node, alternatives of those that go; None if something holds one of them."""
        if children == (1 if self.freed else 0):
            return []
        rows = self._session.rows("nodes_after", {**self._asked, "parent": node})
        others = [row for row in rows if row[0] != self.freed]
        if any(after or shown or self._holders.hold(child) for child, _, after, shown in others):
            return None
        return [(child, entry) for child, entry, _, _ in others]


def find_stories_to_clean(tables: Tables, owner: str, before: str) -> list[StoryKey]:
    """The stories with something to take: the others are not written to."""
    tables.session.one("plan_for_copying", {})  # rows are read piece by piece here too
    keys = [StoryKey(owner, row.id) for row in read_story_rows(tables.session, owner)]
    return [key for key in keys if has_garbage(tables.session, key, before)]
