"""The version table: what folds made, and which of it is valid where. Called inside a transaction or snapshot."""

from __future__ import annotations

from dataclasses import replace

from previously.core.marks import starts
from previously.core.spans import Span
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version, is_firm, supersedes
from previously.storage.rows import version_of, version_row
from previously.storage.sqlite.cover import CoverTable
from previously.storage.sqlite.file import Row, SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.sqlite.writing import BranchRow
from previously.storage.store import StoryKey


class VersionTable:
    """Keeps versions and reads them through the cover."""

    def __init__(self, file: SqliteFile, lines: Lines, cover: CoverTable, marks: MarkTable) -> None:
        self._file = file
        self._lines = lines
        self._cover = cover
        self._marks = marks

    def commit(self, key: StoryKey, version: NewVersion) -> Version:
        """Keep a version, or give back the one that is the same fold."""
        while version.status is not Status.REFUSED:
            existing = self._same_fold(key, version)
            if existing is None:
                break
            if not supersedes(version, existing):
                return existing
            version = replace(version, replaces=existing.id)
        firm = is_firm(version, self.get(key, version.before) if version.before else None)
        row = version_row(key.owner, key.story, version, firm)
        new = Version(self._file.run("insert_version", row), version, firm)
        self._cover.version_added(key, new)
        return new

    def get(self, key: StoryKey, version: int) -> Version:
        """The version of that id, which exists."""
        row = self._file.one("version", {"version": version, "owner": key.owner})
        assert row is not None, "versions are never deleted"
        return version_of(row)

    def all(self, key: StoryKey) -> list[Version]:
        """Every version of a story, the oldest first."""
        return [version_of(row) for row in self._file.rows("versions", {"story": key.story, "owner": key.owner})]

    def live(self, key: StoryKey, branch: BranchRow, kind: Kind, scope: str, *, firm: bool) -> LiveVersion | None:
        """The version that reaches furthest on the branch; of equals the newest."""
        if self._marks.start_of(key, branch.id, scope) is None:
            return None
        best: Row | None = None
        asked = {"kind": kind.value, "scope": scope, "firm": int(firm)}
        for segment in self._lines.reaching(key, branch.line, branch.messages - 1):
            if best is not None and best[1] > segment.last:
                break  # lines further up end before it
            values = {**asked, "line": segment.line, "first": 0, "last": segment.last, "owner": key.owner}
            row = self._file.one("furthest_cover", values)
            best = max(best or row, row, key=lambda one: (one[1], one[2])) if row else best
        if best is None:
            return None
        first, last, version = best
        return LiveVersion(self.get(key, version), Span(first, last))

    def cover(self, key: StoryKey, branch: BranchRow) -> list[tuple[int, int, int]]:
        """`(first, last, version)` of all that is valid on the branch."""
        scopes = starts(self._marks.of(key, branch.id))
        rows = self._cover.rows(key, "cover_span", branch.line, branch.messages - 1)
        valid = [(first, last, version) for first, last, version, scope in rows if scope in scopes]
        return sorted(valid, key=lambda row: (row[1], row[2]))

    def spent(self, owner: str, since: str) -> Cost:
        """What the owner's folds have cost since that time."""
        row = self._file.one("spent", {"owner": owner, "since": since})
        assert row is not None, "a sum is always there"
        return Cost(*row)

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
