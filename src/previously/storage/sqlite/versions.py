"""The version table: what folds made, and which of it is valid where. Called inside a transaction or snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import starts
from previously.core.spans import Span
from previously.core.versions import (
    IN_FORCE,
    NEVER_IN_FORCE,
    Cost,
    Kind,
    LiveVersion,
    NewVersion,
    Status,
    Version,
    is_firm,
    supersedes,
)
from previously.storage.rows import version_of, version_row
from previously.storage.sqlite.cover import CoverTable
from previously.storage.sqlite.file import Row, SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.sqlite.stories import BranchRow
from previously.storage.store import StoryKey, restated


class VersionTable:
    """Keeps versions and reads them through the cover."""

    def __init__(self, file: SqliteFile, lines: Lines, cover: CoverTable, marks: MarkTable) -> None:
        self._file = file
        self._lines = lines
        self._cover = cover
        self._marks = marks

    def commit(self, key: StoryKey, version: NewVersion) -> Version:
        """Keep a version, or give back the one that is the same fold."""
        firm = is_firm(version, self.get(key, version.before) if version.before else None)
        while version.status not in NEVER_IN_FORCE:
            existing = self._same_fold(key, version)
            if existing is None:
                break
            if not supersedes(existing, firm=firm):
                return existing
            version = replace(version, replaces=existing.id)
        row = version_row(key.owner, key.story, version, firm)
        new = Version(self._file.run("insert_version", row), version, firm)
        self._cover.in_force(key, [new])
        return new

    def set_status(self, key: StoryKey, ident: int, status: Status, reason: str) -> Version:
        """Give a version another status. What is built on it is covered with it or not at all."""
        old = self.find(key, ident)
        if old is None:
            raise BadInput(f"This story has no version {ident}.")
        if old.made.status is Status.REFUSED and status is not Status.REFUSED:
            other = self._same_fold(key, old.made)
            if other is not None:
                raise BadInput(f"Version {ident} was refused, and version {other.id} made in its place.")
        new = restated(old, status, reason)
        values = {"version": ident, "story": key.story, "owner": key.owner}
        self._file.run("set_status", {**values, "status": status.value, "reason": new.made.reason})
        if old.made.status in IN_FORCE and status not in IN_FORCE:
            self._cover.out_of_force(key, self._built_on(key, ident))
        if old.made.status not in IN_FORCE and status in IN_FORCE:
            self._cover.in_force(key, [self.get(key, one) for one in self._built_on(key, ident)])
        return new

    def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        """Make versions, and all that were built on them, firm no more."""
        loose = sorted({built for version in versions for built in self._built_on(key, version)})
        self._file.many("loosen_version", ((version, key.owner) for version in loose))
        self._cover.loosen(key, loose)

    def find(self, key: StoryKey, version: int) -> Version | None:
        """The story's version of that id."""
        row = self._file.one("version", {"version": version, "story": key.story, "owner": key.owner})
        return version_of(row) if row else None

    def get(self, key: StoryKey, version: int) -> Version:
        """The version of that id, which exists."""
        found = self.find(key, version)
        assert found is not None, "versions are never deleted"
        return found

    def all(self, key: StoryKey) -> list[Version]:
        """Every version of a story, the oldest first."""
        return [version_of(row) for row in self._file.rows("versions", {"story": key.story, "owner": key.owner})]

    def newest(self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, beyond: int) -> list[Version]:
        """The newest versions of a kind, scope and status that stand for more than `beyond` messages, newest first."""
        asked = {"kind": kind.value, "scope": scope, "status": status.value, "most": most, "beyond": beyond}
        rows = self._file.rows("newest_versions", {**asked, "story": key.story, "owner": key.owner})
        return [version_of(row) for row in rows]

    def live(
        self, key: StoryKey, branch: BranchRow, kind: Kind, scope: str, *, firm: bool, through: int | None
    ) -> LiveVersion | None:
        """The version that reaches furthest on the branch; of equals the newest."""
        if self._marks.start_of(key, branch.id, scope) is None:
            return None
        end = branch.messages - 1 if through is None else min(through, branch.messages - 1)
        best: Row | None = None
        asked = {"kind": kind.value, "scope": scope, "firm": int(firm)}
        for segment in self._lines.reaching(key, branch.line, end):
            if best is not None and best[1] > segment.last:
                break  # lines further up end before it
            values = {**asked, "line": segment.line, "first": 0, "last": segment.last, "owner": key.owner}
            row = self._file.one("furthest_cover", values)
            best = max(best or row, row, key=lambda one: (one[1], one[2])) if row else best
        if best is None:
            return None
        first, last, version = best
        return LiveVersion(self.get(key, version), Span(first, last))

    def cover(self, key: StoryKey, branch: BranchRow, kind: Kind | None, *, firm: bool) -> list[tuple[int, int, int]]:
        """`(first, last, version)` of all that is valid on the branch (of that kind; of the firm ones)."""
        valid = [(first, last, version) for first, last, version, _ in self._valid(key, branch, kind, firm)]
        return sorted(valid, key=lambda row: (row[1], row[2]))

    def spans(self, key: StoryKey, branch: BranchRow, kind: Kind, *, firm: bool) -> set[tuple[str, int, int]]:
        """`(scope, first, last)` of all of a kind that is valid on the branch."""
        return {(scope, first, last) for first, last, _, scope in self._valid(key, branch, kind, firm)}

    def _valid(self, key: StoryKey, branch: BranchRow, kind: Kind | None, firm: bool) -> Iterator[Row]:
        scopes = starts(self._marks.of(key, branch.id))
        query = "cover_span" if kind is None else "cover_of_kind"
        asked = {"kind": kind.value if kind else None, "firm": int(firm)}
        rows = self._cover.rows(key, query, branch.line, branch.messages - 1, **asked)
        return (row for row in rows if row[3] in scopes)

    def spent(self, owner: str, since: str) -> Cost:
        """What the owner's folds have cost since that time."""
        row = self._file.one("spent", {"owner": owner, "since": since})
        assert row is not None, "a sum is always there"
        return Cost(*row)

    def _built_on(self, key: StoryKey, version: int) -> list[int]:
        """A version of the story and all that is built on it, earlier ones first."""
        rows = self._file.rows("built_on", {"version": version, "story": key.story, "owner": key.owner})
        return [ident for (ident,) in rows]

    def _same_fold(self, key: StoryKey, version: NewVersion) -> Version | None:
        values = {
            "story": key.story,
            "owner": key.owner,
            "before": version.before or 0,
            "kind": version.kind.value,
            "scope": version.scope,
            "key": version.key,
            "replaces": version.replaces or 0,
        }
        row = self._file.one("version_by_read", values)
        return version_of(row) if row else None
