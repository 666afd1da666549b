"""Applying a script to the path of a branch.

A short change is one transaction. A long one (a bulk import, an edit deep in the past) writes its entries, nodes and
path rows in small transactions on a line that no branch shows yet, then publishes line and head in one: a crash or a
race on the way leaves rows that nothing refers to, never half a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from previously.core.digests import ROOT_HASH, node_hash
from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Attributes, Draft
from previously.core.scripts import Put, Reuse, Script, checked, length_after
from previously.storage.rows import attribute_columns, entry_row
from previously.storage.sqlite.cover import CoverTable
from previously.storage.sqlite.file import SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.sqlite.stories import BranchRow
from previously.storage.store import NO_NODE, BranchInfo, StoryKey

ROWS_PER_TRANSACTION = 2_000
"""Some tens of milliseconds of writing: no other writer waits longer."""

_DIGEST_COLUMN = 8


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry that stays, with its digest, to be given a new node."""

    entry: int
    digest: bytes


@dataclass(slots=True)
class _Tip:
    """Where the path being written ends so far."""

    node: int
    hash: bytes
    depth: int
    fresh: bool = False
    """The node was made by this very change, so that nothing can hang below it yet."""


class PathWriter:
    """Changes paths. Owns entries, nodes, path rows and the publishing of heads."""

    def __init__(self, file: SqliteFile, lines: Lines, cover: CoverTable, marks: MarkTable) -> None:
        self._file = file
        self._lines = lines
        self._cover = cover
        self._marks = marks

    def apply(self, key: StoryKey, branch: BranchRow, script: Script, at: str, receipt: str | None) -> None:
        """Bring the branch to what the script says, publish, and log the move."""
        checked(script, branch.messages)
        start = script[0].at if script else branch.messages
        length = length_after(script, branch.messages)
        if length - start <= ROWS_PER_TRANSACTION:
            with self._file.transaction():
                self._expect(key, branch)
                steps = list(self._steps(key, branch, script, start))
                line = branch.line
                if self._lines.may_change(key, line, start):
                    self._file.run("delete_path_from", {"line": line, "depth": start, "owner": key.owner})
                else:
                    line = self.new_line(key, branch.line, start)
                tip = _Tip(*self.before(key, branch.line, start), start)
                self._write(key, line, tip, steps)
                self._publish(key, branch, line, tip, script, start, at, receipt)
            return
        with self._file.transaction():
            self._expect(key, branch)
            line = self.new_line(key, branch.line, start, published=False)
            tip = _Tip(*self.before(key, branch.line, start), start)
        steps_to_go = self._steps(key, branch, script, start)
        while batch := list(islice(steps_to_go, ROWS_PER_TRANSACTION)):
            with self._file.transaction():
                self._write(key, line, tip, batch)
        with self._file.transaction():
            self._expect(key, branch)
            # Memory may have been made meanwhile, by another process, and not have found a line that no branch shows.
            self._cover.inherit(key, branch.line, line, self._lines.owner_of(key, branch.line, start - 1), start)
            self._publish(key, branch, line, tip, script, start, at, receipt)

    def fork(self, key: StoryKey, source: BranchRow, name: str, length: int, at: str) -> BranchInfo:
        """A new branch on a line of its own, with the marks up to its fork."""
        values = {"owner": key.owner, "story": key.story, "name": name, "at": at}
        if self._file.one("branch_named", values) is not None:
            raise BadInput(f"There is a branch named {name!r} already.")
        head, _ = self.before(key, source.line, length)
        line = self.new_line(key, source.line, length)
        branch = self._file.run("insert_branch", {**values, "head": head, "messages": length, "line": line})
        self._marks.copy(key, source.id, branch, length)
        return BranchInfo(name, head, length)

    def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        """Give entries of the story new attributes."""
        rows = ((*attribute_columns(new), entry, key.story, key.owner) for entry, new in changes)
        self._file.many("set_attributes", rows)

    def before(self, key: StoryKey, line: int, depth: int) -> tuple[int, bytes]:
        """The node after which this depth comes, and its hash; the root for depth 0."""
        if depth == 0:
            return NO_NODE, ROOT_HASH
        node, hashed, _ = self._lines.node_at(key, line, depth - 1)
        return node, hashed

    def new_line(self, key: StoryKey, line: int, fork: int, *, published: bool = True) -> int:
        """A line that goes its own way from `fork` on."""
        parent = self._lines.owner_of(key, line, fork - 1)
        values = {"owner": key.owner, "story": key.story, "parent": parent, "fork": fork, "published": int(published)}
        new = self._file.run("insert_line", values)
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
        present = {chosen} | {digest for (digest,) in self._file.rows("sibling_digests", _at(key, parent))}
        entry, node = self._last_ids()
        added = 0
        for draft in drafts:
            row = entry_row(entry + 1, key.owner, key.story, draft, None)
            digest = row[_DIGEST_COLUMN]
            if digest in present:
                continue
            present.add(digest)
            entry, node, added = entry + 1, node + 1, added + 1
            self._file.run("insert_entry", row)
            self._file.run(
                "insert_node", (node, key.owner, key.story, parent, depth, entry, node_hash(parent_hash, digest))
            )
        return added

    def _steps(self, key: StoryKey, branch: BranchRow, script: Script, start: int) -> Iterator[Kept | Put | Reuse]:
        taken = start
        for splice in script:
            yield from self._kept(key, branch.line, taken, splice.at - 1)
            yield from splice.pieces
            taken = splice.at + splice.remove
        yield from self._kept(key, branch.line, taken, branch.messages - 1)

    def _kept(self, key: StoryKey, line: int, first: int, last: int) -> Iterator[Kept]:
        for low in range(first, last + 1, ROWS_PER_TRANSACTION):
            high = min(last, low + ROWS_PER_TRANSACTION - 1)
            yield from (Kept(*row) for row in self._lines.rows(key, "path_digests", line, low, high))

    def _write(self, key: StoryKey, line: int, tip: _Tip, steps: list[Kept | Put | Reuse]) -> None:
        """Entries, nodes and path rows of these steps; `tip` moves along."""
        entry_id, node_id = self._last_ids()
        entries, nodes, path = [], [], []
        alternatives: list[tuple[int, int, bytes, Sequence[Draft], bytes]] = []
        for step in steps:
            if isinstance(step, Put):
                entry_id += 1
                row = entry_row(entry_id, key.owner, key.story, step.draft, step.replaces)
                entries.append(row)
                entry, digest = entry_id, row[_DIGEST_COLUMN]
                if step.draft.alternatives:
                    alternatives.append((tip.node, tip.depth, tip.hash, step.draft.alternatives, digest))
                existing = None
            else:
                entry, digest = step.entry, self._digest(key, step)
                values = {**_at(key, tip.node), "entry": entry}
                existing = None if tip.fresh else self._file.one("node_at", values)
            if existing is None:
                node_id += 1
                new_hash = node_hash(tip.hash, digest)
                nodes.append((node_id, key.owner, key.story, tip.node, tip.depth, entry, new_hash))
                tip.node, tip.hash, tip.fresh = node_id, new_hash, True
            else:
                tip.node, tip.hash = existing
            path.append((key.owner, line, tip.depth, tip.node, entry))
            tip.depth += 1
        self._file.many("insert_entry", entries)
        self._file.many("insert_node", nodes)
        self._file.many("insert_path", path)
        for parent, depth, parent_hash, drafts, chosen in alternatives:
            self.add_alternatives(key, parent, depth, parent_hash, drafts, chosen)

    def _publish(
        self,
        key: StoryKey,
        branch: BranchRow,
        line: int,
        tip: _Tip,
        script: Script,
        start: int,
        at: str,
        receipt: str | None,
    ) -> None:
        values = {"owner": key.owner, "story": key.story, "branch": branch.id}
        self._file.run("publish_branch", {**values, "head": tip.node, "messages": tip.depth, "line": line})
        self._file.run("publish_line", {**values, "line": line})
        self._marks.move(key, branch.id, script)
        self._cover.path_changed(key, branch.id, line, start, tip.depth)
        if tip.node != branch.head:
            self._file.run("insert_move", {**values, "old_head": branch.head, "new_head": tip.node, "at": at})
        if receipt is not None:
            self._file.run("insert_receipt", {**values, "key": receipt})

    def _expect(self, key: StoryKey, branch: BranchRow) -> None:
        row = self._file.one("branch_named", {"story": key.story, "owner": key.owner, "name": branch.name})
        if row != (branch.id, branch.name, branch.head, branch.messages, branch.line):
            raise HeadMoved(f"Branch {branch.name!r} has moved on since it was read.")

    def _last_ids(self) -> tuple[int, int]:
        entry, node = self._file.one("last_entry_id", {}), self._file.one("last_node_id", {})
        assert entry is not None and node is not None
        return entry[0], node[0]

    def _digest(self, key: StoryKey, step: Kept | Reuse) -> bytes:
        if isinstance(step, Kept):
            return step.digest
        row = self._file.one("entry_digest", {"entry": step.entry, "story": key.story, "owner": key.owner})
        if row is None:
            raise ValueError(f"entry {step.entry} is not of this story")
        digest: bytes = row[0]
        return digest


def _at(key: StoryKey, parent: int) -> dict[str, object]:
    return {"story": key.story, "parent": parent, "owner": key.owner}
