"""Read paths: the messages at the positions of a branch, and the tree around them. Called inside a snapshot.

A path is kept in lines, so that reading its end, or any part, never walks the tree. A line holds path rows from its
fork on; below the fork its parent's rows hold, and so on up. Each branch writes one line. Appending goes on in place. A
change that takes rows away is done in place when they serve no other line and are few; otherwise the branch gets a new
line, written in small transactions while readers still see the old one, and published with its head at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from previously.core.align import KnownEntry
from previously.core.messages import Entry
from previously.core.path import OnPath
from previously.core.recent_values import RecentValues
from previously.core.tree import TreeNode
from previously.storage.tables.damage import Damaged, expect_row
from previously.storage.tables.records import StoryKey
from previously.storage.tables.rows import read_entry, read_known
from previously.storage.tables.session import LOWEST, Row, Session
from previously.storage.tables.stories import BranchRow


@dataclass(frozen=True, slots=True)
class Segment:
    """Depths first to last of a path, and the line whose rows hold them."""

    line: int
    first: int
    last: int


class Lines:
    """Reads through lines; knows nothing of branches."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def segments(self, key: StoryKey, line: int, first: int, last: int) -> list[Segment]:
        """The lines that hold depths first to last of the path that ends in `line`, the deepest first."""
        segments: list[Segment] = []
        at: int | None = line
        while at is not None and last >= first:
            parent, fork = self._read_line(key, at)
            if last >= fork:
                segments.append(Segment(at, max(first, fork), last))
                last = fork - 1
            at = parent
        return segments

    def reaching(self, key: StoryKey, line: int, last: int) -> Iterator[Segment]:
        """Each line of the chain with the depths up to `last` that count on it, the deepest first; the first of a
        segment says nothing here."""
        at: int | None = line
        while at is not None and last >= 0:
            parent, fork = self._read_line(key, at)
            yield Segment(at, 0, last)
            at, last = parent, min(last, fork - 1)

    def rows(self, key: StoryKey, query: str, line: int, first: int, last: int) -> Iterator[Row]:
        """The rows of a path query over depths first to last, in order."""
        for segment in reversed(self.segments(key, line, first, last)):
            yield from self._session.rows(query, _list_values(key, segment))

    def digests(self, key: StoryKey, line: int, first: int, last: int) -> list[bytes]:
        """Digests at depths first to last."""
        return [digest for _, digest in self.rows(key, "path_digests", line, first, last)]

    def owner_of(self, key: StoryKey, line: int, depth: int) -> int | None:
        """The line that holds this depth; None for the depth before the first."""
        if depth < 0:
            return None
        segments = self.segments(key, line, depth, depth)
        return expect_row(segments[0] if segments else None, f"the line with message {depth} of line {line}").line

    def node_at(self, key: StoryKey, line: int, depth: int) -> tuple[int, bytes, int]:
        """Node, its hash and its parent at a depth that exists."""
        holder = self.owner_of(key, line, depth)
        found = self._session.one("path_node", {"line": holder, "depth": depth, "owner": key.owner})
        row = expect_row(found, f"message {depth} of line {line}")
        return row[0], row[1], row[2]

    def last_place(self, key: StoryKey, line: int, last: int, entry: int) -> int | None:
        """The last depth, `last` or before, where an entry stands; None if it stands nowhere."""
        for segment in self.segments(key, line, 0, last):
            row = self._session.one("last_place", {**_list_values(key, segment), "entry": entry})
            if row is not None and row[0] is not None:
                return int(row[0])
        return None

    def may_change(self, key: StoryKey, line: int, depth: int) -> bool:
        """Return whether rows of this line from `depth` on may be replaced in place."""
        _, fork = self._read_line(key, line)
        values = {"line": line, "depth": depth, "owner": key.owner}
        return depth >= fork and self._session.one("line_serves_another", values) is None

    def _read_line(self, key: StoryKey, line: int) -> tuple[int | None, int]:
        """Its parent, and where it forks from it."""
        parent, fork = expect_row(self._session.one("line", {"line": line, "owner": key.owner}), f"line {line}")
        if parent is not None and parent >= line:
            raise Damaged(f"line {line}", f"goes on from line {parent}, which is younger")  # and might lead back here
        return parent, fork


def _list_values(key: StoryKey, segment: Segment) -> dict[str, Any]:
    return {"line": segment.line, "first": segment.first, "last": segment.last, "owner": key.owner}


class PathReader:
    """Reads entries and nodes, by their place on a branch or by node."""

    def __init__(self, session: Session, lines: Lines) -> None:
        self._session = session
        self._lines = lines

    def span(self, key: StoryKey, branch: BranchRow, first: int, last: int) -> list[OnPath]:
        """Return the messages at positions first to last, as far as the path has them."""
        first, last = max(first, 0), min(last, branch.messages - 1)
        messages = [_read_on_path(row) for row in self._lines.rows(key, "path_span", branch.line, first, last)]
        if [message.position for message in messages] != list(range(first, last + 1)):
            raise Damaged(f"the path of branch {branch.name!r}", f"does not have each of messages {first} to {last}")
        return messages

    def known(self, key: StoryKey, branch: BranchRow, first: int = 0, last: int | None = None) -> list[KnownEntry]:
        """The path from first to last, or all of it, as alignment needs it."""
        end = branch.messages - 1 if last is None else min(last, branch.messages - 1)
        return [read_known(row) for row in self._lines.rows(key, "path_known", branch.line, first, end)]

    def siblings(self, key: StoryKey, branch: BranchRow, position: int) -> list[OnPath]:
        """All that ever stood at a position after the same messages, the oldest first."""
        _, _, parent = self._lines.node_at(key, branch.line, position)
        values = {**key.values, "parent": parent}
        return [_read_on_path(row) for row in self._session.rows("node_siblings", values)]

    def tree(self, key: StoryKey, most: int) -> list[TreeNode]:
        """Every node of a story, the oldest first, with at most so many characters of its words."""
        return [TreeNode(*row) for row in self._session.rows("story_tree", {**key.values, "most": most})]

    def beside(self, key: StoryKey, entries: Iterable[Entry], deleted: Collection[int] = ()) -> dict[int, list[Entry]]:
        """Return the swipes of these entries, by entry: what was put at the same place after the same messages, at
        first, is said by the same role, and is no earlier form of it. The oldest first. What was `deleted` is nobody's
        swipe."""
        origins = self._find_origins(key)
        crowds: dict[int, int] = Counter(parent for _, parent in origins.values())
        found: dict[int, list[Entry]] = {}
        for entry in entries:
            earlier = {entry.id}
            oldest = entry
            while oldest.replaces in origins:
                earlier.add(oldest.replaces)
                oldest = self._read_put_at(key, origins[oldest.replaces][1])[oldest.replaces]
            parent = origins[oldest.id][1]
            if crowds[parent] > 1:
                here = self._read_put_at(key, parent)
                replaced = {sibling.replaces for sibling in here.values()} | earlier
                others = [
                    here[ident]
                    for ident in sorted(here)
                    if ident not in replaced
                    and ident not in deleted
                    and origins[ident][1] == parent
                    and here[ident].message.role is entry.message.role
                ]
                if others:
                    found[entry.id] = others
        return found

    def _find_origins(self, key: StoryKey) -> dict[int, tuple[int, int]]:
        """Return, for every entry, the node that it was put at first, and the one before that."""
        origins: dict[int, tuple[int, int]] = {}
        for parent, entry, node in self._list_nodes(key):
            origins[entry] = min(origins.get(entry, (node, parent)), (node, parent))
        return origins

    def find_deleted(self, key: StoryKey, deletions: Sequence[tuple[int, int]]) -> frozenset[int]:
        """Return the entries that were taken out by moves of a head: they lead to the old one, and not to the new. A
        move that also brought others has put them in their place."""
        above = {node: (parent, entry) for parent, entry, node in self._list_nodes(key)}
        deleted: set[int] = set()
        for old, new in deletions:
            gone, came = _part(above, old, new)
            deleted |= set() if came - gone else gone - came
        return frozenset(deleted)

    def _list_nodes(self, key: StoryKey) -> Iterator[tuple[int, int, int]]:
        """Yield every node of a story, behind the one before it and its entry."""
        place = (LOWEST, LOWEST)
        asked = {**key.values, "most": PLACES_AT_ONCE}
        while rows := self._session.rows("entries_of_nodes", {**asked, "parent": place[0], "entry": place[1]}):
            yield from rows
            place = rows[-1][0], rows[-1][1]

    def _read_put_at(self, key: StoryKey, parent: int) -> dict[int, Entry]:
        rows = self._session.rows("node_siblings", {**key.values, "parent": parent})
        return {item.entry.id: item.entry for item in map(_read_on_path, rows)}

    def position_of(self, key: StoryKey, branch: BranchRow, node: int) -> int | None:
        """The last place on the branch where the entry of a node stands."""
        row = self._session.one("node_entry", {"node": node, **key.values})
        return None if row is None else self._lines.last_place(key, branch.line, branch.messages - 1, row[0])

    def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        """The last messages of the path that ends in a node, in order."""
        values = {"node": node, "most": most, **key.values}
        return [_read_on_path(row) for row in self._session.rows("leading_to", values)]


def _part(above: Mapping[int, tuple[int, int]], one: int, other: int) -> tuple[set[int], set[int]]:
    """Return the entries of two paths behind the last node that they share, by their heads. A node is always younger
    than the one before it, so the younger one of two is never shared."""
    parts: tuple[set[int], set[int]] = (set(), set())
    heads = [one, other]
    while heads[0] != heads[1] and (younger := max(heads)) in above:
        side = heads.index(younger)
        heads[side], entry = above[younger]
        parts[side].add(entry)
    return parts


PLACES_AT_ONCE = 10_000
"""Pairs of numbers that are asked for at a time: some hundred kilobytes."""

ROW_BYTES = 1_600
"""Bytes of a message on a path besides its words: its row, six small objects, and a place in a dictionary."""

_recent_messages = RecentValues[Row, OnPath](64 * 1024 * 1024)
"""Messages that were read lately, by all that stands in their rows: those of the views of some hundred stories."""


def _read_on_path(row: Row) -> OnPath:
    """Return the message of a row. A turn reads nearly all of what the turn before has read; a row in which a single
    byte has changed since is another row, and is checked anew."""
    words = row[6] or row[7]
    size = ROW_BYTES + (2 * len(words) if isinstance(words, str) else 0)
    item = _recent_messages.get(row, size)
    if item is None:
        item = OnPath(row[0], row[1], row[2], read_entry(row[3:]))
        _recent_messages.keep(row, item, size)
    return item
