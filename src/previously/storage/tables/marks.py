"""The mark table: where the marks of each branch stand. Always called inside a transaction or snapshot.

The id of a mark is never given twice, not even of one that was taken off: scopes are named after them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind, MarkPlace, begins_at_front, move_marks
from previously.core.path import Splices
from previously.core.snapshot import ALL_MARKS
from previously.storage.tables.damage import mark_decoder
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow


class MarkTable:
    """Reads, changes and moves marks. Branches are named by their row."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, key: StoryKey, branch: int, since: int = -1, kinds: Collection[MarkKind] = ALL_MARKS) -> list[Mark]:
        """The marks of a branch from a position on, in path order."""
        values = {"branch": branch, "since": since, "owner": key.owner}
        if set(kinds) == ALL_MARKS:
            return [_read_mark(row) for row in self._session.rows("marks", values)]
        asked = json.dumps([kind.value for kind in kinds])
        return [_read_mark(row) for row in self._session.rows("marks_of_kinds", {**values, "kinds": asked})]

    def newest(self, key: StoryKey, branch: int, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        """The last but `number` of a kind, and at how many messages there are any up to it."""
        values = {"branch": branch, "kind": kind.value, "number": number, "owner": key.owner}
        row = self._session.one("newest_mark", values)
        if row is None:
            return None, 0
        mark = _read_mark(row)
        counted = self._session.one("count_marks", {**values, "through": mark.position})
        assert counted is not None, "a count is always there"
        return mark, counted[0]

    def start_of(self, key: StoryKey, branch: int, scope: str) -> int | None:
        """Return the position at which the chains of a scope begin on the branch; None where it has no such scope. A
        scope whose mark is retired counts: its cover is kept up for when it is back."""
        if begins_at_front(scope):
            return 0
        if not scope.isdecimal():
            return None
        row = self._session.one("mark_of_origin", {"branch": branch, "origin": int(scope), "owner": key.owner})
        return None if row is None else row[0] + 1

    def every(self, key: StoryKey, branch: int, since: int = -1) -> list[tuple[Mark, int]]:
        """All marks of a branch from a position on in the order they were made, each with the one that retired it."""
        rows = self._session.rows("every_mark", {"branch": branch, "since": since, "owner": key.owner})
        return [(_read_mark(row[:-1]), row[-1]) for row in rows]

    def add(self, key: StoryKey, branch: BranchRow, mark: Mark, retires: Collection[int]) -> Mark:
        """A new mark, in place of those it retires. They go out of the way first: two marks of one origin never stand
        at once."""
        row = self._session.one("mark_behind", {"branch": branch.id, "origin": mark.origin, "owner": key.owner})
        self._session.many("retire_mark", ((one, branch.id, key.owner) for one in retires))
        newest = self._session.one("newest_version_id", key.values)
        new = self._insert(
            key, branch.id, replace(mark, after=newest[0] if newest else 0, behind=row[0] if row else 0), retired_by=0
        )
        self._session.many("set_retired_by", ((new.id, one, key.owner) for one in retires))
        return new

    def take_back(self, key: StoryKey, branch: BranchRow, mark: int) -> None:
        """Take a mark off the branch; what it retired is back. Cover rows of its scope stay: a line may serve branches
        that still have it, and what is read for this one is only of scopes that it has."""
        values = self._check_on_branch(key, branch, mark)
        self._session.run("delete_mark", values)
        self._session.run("revive_marks", values)

    def copy(self, key: StoryKey, source: int, target: int, length: int) -> None:
        """Give a new branch the marks that stand in its first `length` messages, or before all of them."""
        every = [(mark, by) for mark, by in self.every(key, source) if mark.position < length]
        kept = {mark.id for mark, _ in every}
        copies = {mark.id: self._insert(key, target, mark, retired_by=-1 if by in kept else 0).id for mark, by in every}
        retired = ((copies[by], copies[mark.id], key.owner) for mark, by in every if by in kept)
        self._session.many("set_retired_by", retired)

    def move(self, key: StoryKey, branch: int, script: Splices) -> None:
        """Move the marks of a branch along with a script."""
        marks = [mark for mark, _ in self.every(key, branch, script[0].at - 1)] if script else []
        old = {mark.id: mark for mark in marks}
        changed = (mark for mark in move_marks(marks, script) if mark != old[mark.id])
        self._session.many("move_mark", ((mark.position, mark.behind, mark.id, key.owner) for mark in changed))

    def place(self, key: StoryKey, places: Collection[MarkPlace]) -> None:
        """Let marks stand at other positions."""
        self._session.many("move_mark", ((position, behind, mark, key.owner) for mark, position, behind in places))

    def _insert(self, key: StoryKey, branch: int, mark: Mark, *, retired_by: int) -> Mark:
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
            mark.of,
            mark.after,
            mark.behind,
            retired_by,
        )
        ident = self._session.run("insert_mark", row)
        if not mark.origin:
            self._session.run("set_mark_origin", {"mark": ident, "owner": key.owner})
        return replace(mark, id=ident, origin=mark.origin or ident)

    def _check_on_branch(self, key: StoryKey, branch: BranchRow, mark: int) -> dict[str, object]:
        values = {"mark": mark, "branch": branch.id, "owner": key.owner}
        if self._session.one("mark_on_branch", values) is None:
            raise BadInput(f"Branch {branch.name!r} has no mark {mark}.")
        return values


@mark_decoder("a mark")
def _read_mark(row: Row) -> Mark:
    return Mark(row[0], row[1], MarkKind(row[2]), *row[3:])
