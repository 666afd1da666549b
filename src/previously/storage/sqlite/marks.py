"""The mark table: where the marks of each branch stand. Always called inside a transaction."""

from __future__ import annotations

from previously.core.marks import STORY_SCOPE, Mark, MarkKind, moved_marks
from previously.core.scripts import Script
from previously.storage.sqlite.file import SqliteFile
from previously.storage.store import StoryKey


class MarkTable:
    """Reads and moves marks. Branches are named by their row."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    def of(self, key: StoryKey, branch: int, since: int = 0) -> list[Mark]:
        """The marks of a branch from a position on, in path order."""
        rows = self._file.rows("marks", {"branch": branch, "since": since, "owner": key.owner})
        return [Mark(row[0], row[1], MarkKind(row[2]), *row[3:]) for row in rows]

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
        )
        ident = self._file.run("insert_mark", row)
        if not mark.origin:
            self._file.run("set_mark_origin", {"mark": ident, "owner": key.owner})
        return Mark(ident, mark.origin or ident, mark.kind, mark.position, mark.text, mark.made_by, mark.at)

    def copy(self, key: StoryKey, source: int, target: int, length: int) -> None:
        """Give a new branch the marks that stand in its first `length` messages."""
        for mark in self.of(key, source):
            if mark.position < length:
                self.add(key, target, mark)

    def move(self, key: StoryKey, branch: int, script: Script) -> None:
        """Move the marks of a branch along with a script."""
        marks = self.of(key, branch, script[0].at) if script else []
        old = {mark.id: mark.position for mark in marks}
        new = {mark.id: mark.position for mark in moved_marks(marks, script)}
        self._file.many("move_mark", ((at, ident, key.owner) for ident, at in new.items() if old[ident] != at))
        self._file.many("delete_mark", ((ident, key.owner) for ident in old.keys() - new.keys()))
