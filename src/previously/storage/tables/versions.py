"""The version table: what folds made, and which of it is valid where. Called inside a transaction or snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from previously.core.errors import BadInput, HeadMoved
from previously.core.marks import begins_at_front, find_starts
from previously.core.path import Span
from previously.core.versions import (
    IN_FORCE,
    NEVER_IN_FORCE,
    Cost,
    Kind,
    LiveVersion,
    NewVersion,
    Status,
    Version,
    check_version,
    has_read,
    is_firm,
    restate,
    supersedes,
)
from previously.storage.tables.cover import CoverTable
from previously.storage.tables.damage import expect_row
from previously.storage.tables.marks import MarkTable
from previously.storage.tables.paths import Lines
from previously.storage.tables.records import StoryKey
from previously.storage.tables.rows import read_version, write_version
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow, expect_story


class VersionTable:
    """Keeps versions and reads them through the cover."""

    def __init__(self, session: Session, lines: Lines, cover: CoverTable, marks: MarkTable) -> None:
        self._session = session
        self._lines = lines
        self._cover = cover
        self._marks = marks

    def commit(self, key: StoryKey, version: NewVersion) -> Version:
        """Keep a version, or give back the one that is the same fold."""
        return self.commit_all(key, [version])[0]

    def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]:
        """Keep several. All are checked before the first is kept, so that none can go on from another, and one that is
        refused costs no ids."""
        expect_story(self._session, key)
        befores = [self._find_before(key, version) for version in versions]
        return [self._keep(key, version, before) for version, before in zip(versions, befores, strict=True)]

    def _find_before(self, key: StoryKey, version: NewVersion) -> Version | None:
        """Return what a new version goes on from; refuse it if it cannot be kept."""
        before = self.find(key, version.before) if version.before else None
        if check_version(version, before).anchor and not has_read(version, self._read_run(key, version)):
            raise HeadMoved("What was read has been forgotten meanwhile, or was never there.")
        return before

    def _keep(self, key: StoryKey, version: NewVersion, before: Version | None) -> Version:
        firm = is_firm(version, before)
        while version.status not in NEVER_IN_FORCE:
            existing = self._find_same_fold(key, version)
            if existing is None:
                break
            if not supersedes(existing, firm=firm):
                return existing
            version = replace(version, replaces=existing.id)
        row = write_version(key.owner, key.story, version, firm)
        new = Version(self._session.run("insert_version", row), version, firm)
        self._cover.in_force(key, [new])
        return new

    def set_status(self, key: StoryKey, ident: int, status: Status, reason: str) -> Version:
        """Give a version another status. What is built on it is covered with it or not at all."""
        old = self.find(key, ident)
        if old is None:
            raise BadInput(f"This story has no version {ident}.")
        if Status.FORGOTTEN in (status, old.made.status):
            raise BadInput(f"Version {ident} was forgotten, or is to be: that is no status to give.")
        other = self.find_rival(key, old, status)
        if other is not None:
            raise BadInput(f"Version {ident} was not in force, and version {other.id} made in its place.")
        new = restate(old, status, reason)
        values = {"version": ident, **key.values}
        self._session.run("set_status", {**values, "status": status.value, "reason": new.made.reason})
        if old.made.status in IN_FORCE and status not in IN_FORCE:
            self._cover.out_of_force(key, self._find_built_on(key, ident))
        if old.made.status not in IN_FORCE and status in IN_FORCE:
            self._cover.in_force(key, [self.get(key, one) for one in self._find_built_on(key, ident)])
        return new

    def find_rival(self, key: StoryKey, version: Version, status: Status) -> Version | None:
        """The version that was made in place of one, if that keeps it from being given a status."""
        is_back = version.made.status in NEVER_IN_FORCE and status not in NEVER_IN_FORCE
        return self._find_same_fold(key, version.made) if is_back else None

    def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        """Make versions, and all that were built on them, firm no more."""
        loose = sorted({built for version in versions for built in self._find_built_on(key, version)})
        self._session.many("loosen_version", ((version, key.owner) for version in loose))
        self._cover.loosen(key, loose)

    def find(self, key: StoryKey, version: int) -> Version | None:
        """The story's version of that id."""
        row = self._session.one("version", {"version": version, **key.values})
        return read_version(row) if row else None

    def get(self, key: StoryKey, version: int) -> Version:
        """The version of that id, which exists."""
        return expect_row(self.find(key, version), f"version {version}")

    def all(self, key: StoryKey) -> list[Version]:
        """Every version of a story, the oldest first."""
        return [read_version(row) for row in self._session.rows("versions", key.values)]

    def newest_id(self, key: StoryKey) -> int:
        """The id of the newest version of a story; 0 where there is none."""
        row = self._session.one("newest_version_id", key.values)
        return row[0] if row else 0

    def newest(self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, beyond: int) -> list[Version]:
        """The newest versions of a kind, scope and status that stand for more than `beyond` messages, newest first."""
        asked = {"kind": kind.value, "scope": scope, "status": status.value, "most": most, "beyond": beyond}
        rows = self._session.rows("newest_versions", {**asked, **key.values})
        return [read_version(row) for row in rows]

    def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        """Those in force of a kind and scope whose first message has one of these digests, oldest first."""
        asked = {"kind": kind.value, "scope": scope, "firsts": json.dumps([first.hex() for first in firsts if first])}
        rows = self._session.rows("notes", {**asked, **key.values})
        return [read_version(row) for row in rows]

    def live(
        self, key: StoryKey, branch: BranchRow, kind: Kind, asked: Sequence[tuple[str, int | None]], *, firm: bool
    ) -> list[LiveVersion | None]:
        """For each scope and the place through which it is asked (None = to the end): the version that reaches
        furthest, of equals the newest; None where there is none, or where no such scope stands on the branch."""
        end = branch.messages - 1
        reaching = [
            (scope, end if through is None else through, number, 0 if begins_at_front(scope) else int(scope))
            for number, (scope, through) in enumerate(asked)
            if begins_at_front(scope) or scope.isdecimal()  # others are named after no mark
        ]
        best: dict[int, Row] = {}
        values = {"asked": json.dumps(reaching), "kind": kind.value, "firm": int(firm), "branch": branch.id}
        for segment in self._lines.reaching(key, branch.line, end):
            if len(best) == len(asked) and min(row[2] for row in best.values()) > segment.last:
                break  # lines further up end before
            asked_here = {**values, "line": segment.line, "last": segment.last, "owner": key.owner}
            for row in self._session.rows("furthest_live", asked_here):
                other = best.get(row[0], row)
                best[row[0]] = max(other, row, key=lambda one: (one[2], one[3]))
        return [_read_live(best.get(number)) for number in range(len(asked))]

    def cover(self, key: StoryKey, branch: BranchRow, kind: Kind | None, *, firm: bool) -> list[tuple[int, int, int]]:
        """`(first, last, version)` of all that is valid on the branch (of that kind; of the firm ones)."""
        valid = [(first, last, version) for first, last, version, _ in self._find_valid(key, branch, kind, firm)]
        return sorted(valid, key=lambda row: (row[1], row[2]))

    def spans(self, key: StoryKey, branch: BranchRow, kind: Kind, *, firm: bool) -> set[tuple[str, int, int]]:
        """`(scope, first, last)` of all of a kind that is valid on the branch."""
        return {(scope, first, last) for first, last, _, scope in self._find_valid(key, branch, kind, firm)}

    def _find_valid(self, key: StoryKey, branch: BranchRow, kind: Kind | None, firm: bool) -> Iterator[Row]:
        scopes = find_starts(self._marks.of(key, branch.id))
        query = "cover_span" if kind is None else "cover_of_kind"
        asked = {"kind": kind.value if kind else None, "firm": int(firm)}
        rows = self._cover.rows(key, query, branch.line, branch.messages - 1, **asked)
        return (row for row in rows if row[3] in scopes or begins_at_front(row[3]))

    def spent(self, owner: str, since: str) -> Cost:
        """Sum up the cost of the owner's folds and questions since that time."""
        row = self._session.one("spent", {"owner": owner, "since": since})
        assert row is not None, "a sum is always there"
        return Cost(*row)

    def spent_by_story(self, owner: str) -> dict[int, tuple[int, Cost]]:
        """Return how many memories each of the owner's stories has, and what they and questions cost together."""
        rows = self._session.rows("spent_by_story", {"owner": owner})
        return {story: (count, Cost(*cost)) for story, count, *cost in rows}

    def _find_built_on(self, key: StoryKey, version: int) -> list[int]:
        """A version of the story and all that is built on it, earlier ones first."""
        rows = self._session.rows("built_on", {"version": version, **key.values})
        return [ident for (ident,) in rows]

    def _read_run(self, key: StoryKey, version: NewVersion) -> list[bytes]:
        """The digests of the run that ends in the version's anchor, as they are now."""
        values = {"node": version.anchor, "most": len(version.span), **key.values}
        return [digest for (digest,) in self._session.rows("check_run", values)]

    def _find_same_fold(self, key: StoryKey, version: NewVersion) -> Version | None:
        values = {
            "story": key.story,
            "owner": key.owner,
            "before": version.before or 0,
            "kind": version.kind.value,
            "scope": version.scope,
            "key": version.key,
            "replaces": version.replaces or 0,
        }
        row = self._session.one("version_by_read", values)
        return read_version(row) if row else None


def _read_live(row: Row | None) -> LiveVersion | None:
    return LiveVersion(read_version(row[3:]), Span(row[1], row[2])) if row else None
