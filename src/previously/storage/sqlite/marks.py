"""The mark table: where the marks of each branch stand. Always called inside a transaction or snapshot.

The id of a mark is never given twice, not even of one that was taken off: scopes are named after them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import STORY_SCOPE, Mark, MarkKind, moved_marks
from previously.core.scripts import Script
from previously.storage.sqlite.file import Row, SqliteFile
from previously.storage.sqlite.stories import BranchRow
from previously.storage.store import ALL_MARKS, StoryKey


class MarkTable:
    """Reads, changes and moves marks. Branches are named by their row."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    def of(self, key: StoryKey, branch: int, since: int = -1, kinds: Collection[MarkKind] = ALL_MARKS) -> list[Mark]:
        """The marks of a branch from a position on, in path order."""
        values = {"branch": branch, "since": since, "owner": key.owner}
        if set(kinds) == ALL_MARKS:
            return [_mark(row) for row in self._file.rows("marks", values)]
        asked = json.dumps([kind.value for kind in kinds])
        return [_mark(row) for row in self._file.rows("marks_of_kinds", {**values, "kinds": asked})]

    def newest(self, key: StoryKey, branch: int, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        """The last but `number` of a kind, and how many there are up to it."""
        values = {"branch": branch, "kind": kind.value, "number": number, "owner": key.owner}
        row = self._file.one("newest_mark", values)
        if row is None:
            return None, 0
        counted = self._file.one("count_marks", values)
        assert counted is not None, "a count is always there"
        return _mark(row), counted[0] - number

    def start_of(self, key: StoryKey, branch: int, scope: str) -> int | None:
        """Where the chains of a scope begin on the branch; None where it has no such scope."""
        if scope == STORY_SCOPE:
            return 0
        if not scope.isdecimal():
            return None
        row = self._file.one("mark_of_origin", {"branch": branch, "origin": int(scope), "owner": key.owner})
        return None if row is None else row[0] + 1

    def add(self, key: StoryKey, branch: int, mark: Mark) -> Mark:
        """A new mark, or with an origin a copy of one."""
        row = (
            key.owner,
            key.story,
            branch,
            mark.origin,
            mark.kind.value,
            mark.position,
            mark.text,
            mark.made_by,
            mark.at,
            mark.seen,
        )
        ident = self._file.run("insert_mark", row)
        if not mark.origin:
            self._file.run("set_mark_origin", {"mark": ident, "owner": key.owner})
        return replace(mark, id=ident, origin=mark.origin or ident)

    def set_text(self, key: StoryKey, branch: BranchRow, mark: int, text: str, seen: bytes) -> None:
        """Give a mark of the branch other words."""
        values = self._on_branch(key, branch, mark)
        self._file.run("set_mark_text", {**values, "text": text, "seen": seen})

    def remove(self, key: StoryKey, branch: BranchRow, mark: int) -> None:
        """Take a mark off the branch. Cover rows of its scope stay: a line may serve branches that still have it, and
        what is read for this one is only of scopes that it has."""
        self._file.run("delete_mark", self._on_branch(key, branch, mark))

    def copy(self, key: StoryKey, source: int, target: int, length: int) -> None:
        """Give a new branch the marks that stand in its first `length` messages, or before all of them."""
        for mark in self.of(key, source):
            if mark.position < length:
                self.add(key, target, mark)

    def move(self, key: StoryKey, branch: int, script: Script) -> None:
        """Move the marks of a branch along with a script."""
        marks = self.of(key, branch, script[0].at) if script else []
        old = {mark.id: mark.position for mark in marks}
        moved = ((mark.position, mark.id, key.owner) for mark in moved_marks(marks, script))
        self._file.many("move_mark", (row for row in moved if old[row[1]] != row[0]))

    def _on_branch(self, key: StoryKey, branch: BranchRow, mark: int) -> dict[str, object]:
        values = {"mark": mark, "branch": branch.id, "owner": key.owner}
        if self._file.one("mark_on_branch", values) is None:
            raise BadInput(f"Branch {branch.name!r} has no mark {mark}.")
        return values


def _mark(row: Row) -> Mark:
    return Mark(row[0], row[1], MarkKind(row[2]), *row[3:])
