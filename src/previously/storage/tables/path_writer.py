"""Applying a script to the path of a branch.

A short change is made at once. A long one (a bulk import, an edit deep in the past) comes in stages that a database may
keep in a transaction each: entries, nodes and path rows go on a line that no branch shows yet, and the last stage
publishes line and head. A crash or a race on the way leaves rows that nothing refers to (`gc` takes them), never half a
path.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from previously.core.digests import ROOT_HASH, node_hash
from previously.core.errors import BadInput, HeadMoved, StoreProblem
from previously.core.marks import MarkPlace
from previously.core.messages import Attributes, Draft
from previously.core.path import Put, Reuse, Splice, Splices, check_splices, measure_length
from previously.storage.tables.cover import CoverTable
from previously.storage.tables.damage import expect_row
from previously.storage.tables.index_state import change_attributes
from previously.storage.tables.marks import MarkTable
from previously.storage.tables.paths import Lines
from previously.storage.tables.records import NO_NODE, BranchInfo, StoryKey
from previously.storage.tables.rows import write_attributes, write_entry
from previously.storage.tables.session import Session
from previously.storage.tables.stories import BranchRow

ROWS_PER_STAGE = 1_000
"""Some tens of milliseconds of writing: no other writer waits longer."""

_DIGEST_COLUMN = 8
"""The place of the digest in `write_entry`."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry that stays, with its digest, to be given a new node."""

    entry: int
    digest: bytes


Beside = tuple[int, int, bytes, Sequence[Draft], bytes]
"""The arguments of `add_alternatives`, but for the story."""


@dataclass(slots=True)
class _Tip:
    """The end of the path that is being written."""

    node: int
    hash: bytes
    depth: int
    fresh: bool = False
    """The node was made by this very change, so that nothing can hang below it yet."""
    beside: list[Beside] = field(default_factory=list)
    """Alternatives of a message whose place others can see: they are added when the change itself can be seen."""


class PathWriter:
    """Changes paths. Owns entries, nodes, path rows and the publishing of heads."""

    def __init__(self, session: Session, lines: Lines, cover: CoverTable, marks: MarkTable) -> None:
        self._session = session
        self._lines = lines
        self._cover = cover
        self._marks = marks

    def apply(
        self, key: StoryKey, branch: BranchRow, script: Splices, at: str, receipt: str | None
    ) -> Generator[None, None, BranchInfo]:
        """Bring the branch to what the script says, publish, and log the move. Each `yield` ends a stage."""
        check_splices(script, branch.messages)
        start = script[0].at if script else branch.messages
        line = branch.line
        if measure_length(script, branch.messages) - start <= ROWS_PER_STAGE:
            steps = list(self._plan_steps(key, branch, script, start))
            tip = self._find_tip(key, branch, start)
            if start < branch.messages:
                if self._lines.may_change(key, line, start):
                    self._session.run("delete_path_from", {"line": line, "depth": start, "owner": key.owner})
                else:
                    line = self.new_line(key, line, start)
            self._write(key, line, tip, steps)
        else:
            steps_to_go = self._plan_steps(key, branch, script, start)
            line, tip = yield from self._write_in_stages(key, branch, start, steps_to_go, at)
        self._publish(key, branch, line, tip, script, start, at, receipt)
        return BranchInfo(branch.name, tip.node, tip.depth)

    def extend(
        self, key: StoryKey, branch: BranchRow, drafts: Iterator[Draft], at: str
    ) -> Generator[None, None, BranchInfo]:
        """Put messages at the end of the branch as they are read, and publish when all are there. If reading them
        fails, what was kept of them is garbage."""
        start = branch.messages
        line, tip = yield from self._write_in_stages(key, branch, start, map(Put, drafts), at)
        self._publish(key, branch, line, tip, [Splice(start, 0, ())], start, at, None)
        return BranchInfo(branch.name, tip.node, tip.depth)

    def _write_in_stages(
        self, key: StoryKey, branch: BranchRow, start: int, steps: Iterator[Kept | Put | Reuse], at: str
    ) -> Generator[None, None, tuple[int, _Tip]]:
        """Write steps on a new line that no branch shows yet, and publish it; return it and where it ends."""
        tip, end = self._find_tip(key, branch, start), self._find_tip(key, branch, branch.messages).hash
        line = self.new_line(key, branch.line, start, begun_at=at)
        while batch := list(islice(steps, ROWS_PER_STAGE)):
            self._expect_line(key, line)
            self._write(key, line, tip, batch)
            yield
            self._expect(key, branch)
        self._expect_line(key, line)
        if self._find_tip(key, branch, branch.messages).hash != end:
            raise HeadMoved("Something on this path has been forgotten meanwhile.")
        # Memory may have been made meanwhile, by another process, and not have found a line that no branch shows.
        self._cover.inherit(key, branch.line, line, self._lines.owner_of(key, branch.line, start - 1), start)
        self._session.run("publish_line", {"line": line, "owner": key.owner})
        return line, tip

    def fork(self, key: StoryKey, source: BranchRow, name: str, length: int, at: str) -> BranchInfo:
        """A new branch on a line of its own, with the marks up to its fork."""
        values = {"owner": key.owner, "story": key.story, "name": name, "at": at}
        if self._session.one("branch_named", values) is not None:
            raise BadInput(f"There is a branch named {name!r} already.")
        head, _ = self.before(key, source.line, length)
        line = self.new_line(key, source.line, length)
        branch = self._session.run("insert_branch", {**values, "head": head, "messages": length, "line": line})
        self._marks.copy(key, source.id, branch, length)
        return BranchInfo(name, head, length)

    def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        """Give entries of the story new attributes."""
        rows = ((*write_attributes(new), entry, key.story, key.owner) for entry, new in changes)
        self._session.many("set_attributes", rows)
        change_attributes(self._session, key, changes)

    def place_marks(self, key: StoryKey, branch: BranchRow, places: Sequence[MarkPlace]) -> None:
        """Put marks of a branch back to where they stood, and memory that begins behind them with it."""
        if places:
            self._marks.place(key, places)
            first = max(0, min(position for _, position, _ in places))
            self._cover.path_changed(key, branch.id, branch.line, first, branch.messages)

    def before(self, key: StoryKey, line: int, depth: int) -> tuple[int, bytes]:
        """The node after which this depth comes, and its hash; the root for depth 0."""
        if depth == 0:
            return NO_NODE, ROOT_HASH
        node, hashed, _ = self._lines.node_at(key, line, depth - 1)
        return node, hashed

    def new_line(self, key: StoryKey, line: int, fork: int, *, begun_at: str | None = None) -> int:
        """A line that goes its own way from `fork` on; with `begun_at`, one that is published later."""
        parent = self._lines.owner_of(key, line, fork - 1)
        values = {"owner": key.owner, "story": key.story, "parent": parent, "fork": fork}
        new = self._session.run("insert_line", {**values, "published": int(begun_at is None), "begun_at": begun_at})
        self._cover.inherit(key, line, new, parent, fork)
        return new

    def add_siblings(self, key: StoryKey, line: int, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        """Alternatives at positions of a line's path; how many were added."""
        added = 0
        for position, drafts in siblings:
            parent, parent_hash = self.before(key, line, position)
            added += self.add_alternatives(key, parent, position, parent_hash, drafts)
        return added

    def add_alternatives(
        self, key: StoryKey, parent: int, depth: int, parent_hash: bytes, drafts: Sequence[Draft], chosen: bytes = b""
    ) -> int:
        """Siblings at a place, those that are not there yet by digest; how many were added. `chosen` is the digest of
        the one on the path, which a line that is not published yet does not show."""
        siblings = self._session.rows("sibling_digests", {"parent": parent, **key.values})
        present = {chosen, *(digest for (digest,) in siblings)}
        fresh: dict[bytes, tuple[Any, ...]] = {}
        for draft in drafts:
            row = write_entry(0, key.owner, key.story, draft, None)
            if row[_DIGEST_COLUMN] not in present:
                fresh.setdefault(row[_DIGEST_COLUMN], row)
        entries, nodes = self._session.reserve("entry", len(fresh)), self._session.reserve("node", len(fresh))
        self._session.many(
            "insert_entry", ((entry, *row[1:]) for entry, row in zip(entries, fresh.values(), strict=True))
        )
        self._session.many(
            "insert_node",
            (
                (node, key.owner, key.story, parent, depth, entry, node_hash(parent_hash, digest))
                for node, entry, digest in zip(nodes, entries, fresh, strict=True)
            ),
        )
        return len(fresh)

    def _plan_steps(
        self, key: StoryKey, branch: BranchRow, script: Splices, start: int
    ) -> Iterator[Kept | Put | Reuse]:
        taken = start
        for splice in script:
            yield from self._read_kept(key, branch.line, taken, splice.at - 1)
            yield from splice.pieces
            taken = splice.at + splice.remove
        yield from self._read_kept(key, branch.line, taken, branch.messages - 1)

    def _read_kept(self, key: StoryKey, line: int, first: int, last: int) -> Iterator[Kept]:
        for low in range(first, last + 1, ROWS_PER_STAGE):
            high = min(last, low + ROWS_PER_STAGE - 1)
            yield from (Kept(*row) for row in self._lines.rows(key, "path_digests", line, low, high))

    def _find_tip(self, key: StoryKey, branch: BranchRow, start: int) -> _Tip:
        if start == branch.messages and branch.head != NO_NODE:
            row = self._session.one("node_hash", {"node": branch.head, "owner": key.owner})
            (hashed,) = expect_row(row, f"node {branch.head}, in which branch {branch.name!r} ends,")
            return _Tip(branch.head, hashed, start)
        return _Tip(*self.before(key, branch.line, start), start)

    def _write(self, key: StoryKey, line: int, tip: _Tip, steps: list[Kept | Put | Reuse]) -> None:
        """Entries, nodes and path rows of these steps; `tip` moves along. Exactly as many ids are taken as rows are
        written."""
        new_entries = iter(self._session.reserve("entry", sum(isinstance(step, Put) for step in steps)))
        new_nodes: Iterator[int] = iter(())
        entries, nodes, path = [], [], []
        hidden: list[Beside] = []
        for number, step in enumerate(steps):
            existing = None
            if isinstance(step, Put):
                row = write_entry(next(new_entries), key.owner, key.story, step.draft, step.replaces)
                entries.append(row)
                entry, digest = row[0], row[_DIGEST_COLUMN]
                if step.draft.alternatives:
                    waiting = hidden if tip.fresh else tip.beside
                    waiting.append((tip.node, tip.depth, tip.hash, step.draft.alternatives, digest))
            else:
                entry, digest = step.entry, self._find_digest(key, step)
                if not tip.fresh:
                    existing = self._session.one("node_at", {"parent": tip.node, "entry": entry, **key.values})
            if existing is None:
                node = next(new_nodes, 0)
                if not node:  # behind a new node all are new
                    new_nodes = iter(self._session.reserve("node", len(steps) - number))
                    node = next(new_nodes)
                new_hash = node_hash(tip.hash, digest)
                nodes.append((node, key.owner, key.story, tip.node, tip.depth, entry, new_hash))
                tip.node, tip.hash, tip.fresh = node, new_hash, True
            else:
                tip.node, tip.hash = existing
            path.append((key.owner, line, tip.depth, tip.node, entry))
            tip.depth += 1
        self._session.many("insert_entry", entries)
        self._session.many("insert_node", nodes)
        self._session.many("insert_path", path)
        for beside in hidden:
            self.add_alternatives(key, *beside)

    def _publish(
        self,
        key: StoryKey,
        branch: BranchRow,
        line: int,
        tip: _Tip,
        script: Splices,
        start: int,
        at: str,
        receipt: str | None,
    ) -> None:
        values = {"owner": key.owner, "story": key.story, "branch": branch.id}
        for beside in tip.beside:
            self.add_alternatives(key, *beside)
        self._session.run("publish_branch", {**values, "head": tip.node, "messages": tip.depth, "line": line})
        self._marks.move(key, branch.id, script)
        self._cover.path_changed(key, branch.id, line, start, tip.depth)
        if tip.node != branch.head:
            self._session.run("insert_move", {**values, "old_head": branch.head, "new_head": tip.node, "at": at})
        if receipt is not None:
            self._session.run("insert_receipt", {**values, "key": receipt})

    def _expect(self, key: StoryKey, branch: BranchRow) -> None:
        row = self._session.one("branch_named", {**key.values, "name": branch.name})
        if row != (branch.id, branch.name, branch.head, branch.messages, branch.line):
            raise HeadMoved(f"Branch {branch.name!r} has moved on since it was read.")

    def _expect_line(self, key: StoryKey, line: int) -> None:
        if self._session.one("line", {"line": line, "owner": key.owner}) is None:
            raise StoreProblem("This change was taken for one that was given up, and cleaned away; make it again.")

    def _find_digest(self, key: StoryKey, step: Kept | Reuse) -> bytes:
        if isinstance(step, Kept):
            return step.digest
        row = self._session.one("entry_digest", {"entry": step.entry, **key.values})
        if row is None:
            raise ValueError(f"entry {step.entry} is not of this story")
        digest: bytes = row[0]
        return digest
