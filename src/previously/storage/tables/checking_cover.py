"""Checking marks and covers: that what is said to be valid on a branch is what `core.cover.place` says of its path, its
marks and the story's versions.

The digests of one path are held, sixteen bytes each, and what one branch shares with the next is read once.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from previously.core.cover import Link, place
from previously.core.digests import SIZE, span_key
from previously.core.marks import STORY_SCOPE, MarkKind, begins_at_front, is_of_a_span
from previously.storage.tables.checking_paths import LineMap
from previously.storage.tables.checking_versions import Made, check_key
from previously.storage.tables.findings import ROWS_AT_ONCE, Findings
from previously.storage.tables.lines import Segment
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow

_MARK_KINDS = frozenset(kind.value for kind in MarkKind)


def check_marks(session: Session, key: StoryKey, branch: BranchRow, findings: Findings) -> dict[str, int]:
    """Check the marks of a branch; where the chains of each scope begin, those of retired marks included."""
    starts = {STORY_SCOPE: 0}
    rows = session.rows("check_marks", {"branch": branch.id, "owner": key.owner})
    for row in rows:
        _check_mark(row, key.story, branch, findings)
        starts[str(row[2])] = row[4] + 1
    findings.looked_at("marks", len(rows))
    return starts


def _check_mark(row: Row, story: int, branch: BranchRow, findings: Findings) -> None:
    mark, own_story, origin, kind, position, behind, after, retired_by, retirer_branch, origin_story, after_story = row
    what = f"mark {mark}"
    if own_story != story:
        findings.fault(what, f"it is of story {own_story}, and its branch {branch.name!r} is not")
    if kind not in _MARK_KINDS:
        findings.fault(what, f"its kind is {kind!r}")
    if not -1 <= position < branch.messages:
        findings.fault(what, f"it stands at {position}, and branch {branch.name!r} has {branch.messages} messages")
    if behind < 0:
        findings.fault(what, f"it stands {behind} places behind its message")
    if not 0 < origin <= mark or origin_story not in (None, story):  # the first of its copies may have been taken back
        findings.fault(what, f"its origin is mark {origin}, which it cannot be a copy of")
    if after and after_story != story:
        findings.fault(what, f"it was made after version {after}, which this story does not have")
    if retired_by and (retirer_branch != branch.id or retired_by <= mark):
        findings.fault(what, f"it is retired by mark {retired_by}, which branch {branch.name!r} does not have")


class CoverCheck:
    """Checks the cover rows of a story, one branch after another."""

    def __init__(self, session: Session, key: StoryKey, lines: LineMap, made: Mapping[int, Made], findings: Findings):
        self._session = session
        self._key = key
        self._lines = lines
        self._made = made
        self._findings = findings
        self._path = PathDigests(session, key)
        self._links: dict[int | str, list[Link]] = {}
        self._proven: set[int] = set()
        self._at_front: dict[str, int] = {}
        for version, one in made.items():
            if one.in_force:
                self._links.setdefault(one.before or one.scope, []).append(one.link(version))
                if begins_at_front(one.scope):
                    self._at_front[one.scope] = 0

    def check_rows(self, branches: Sequence[BranchRow]) -> None:
        """Compare every row of the lines that branches need with its version."""
        for line in sorted(self._lines.leaned_on(branch.line for branch in branches)):
            rows = self._cover(line)
            for kind, scope, first, last, version, firm in rows:
                made = self._made.get(version)
                what = f"line {line}, cover of version {version}"
                if made is None:
                    self._findings.fault(what, "the story has no such version")
                elif not made.in_force:
                    self._findings.fault(what, "the version is not in force")
                elif (kind, scope, bool(firm)) != (made.kind, made.scope, made.firm):
                    self._findings.fault(what, "its kind, scope and firmness are not those of the version")
                elif is_of_a_span(scope):
                    self._findings.fault(what, "it is of a span, which is valid wherever it stands and covers nothing")
                elif last - first + 1 != made.length:
                    self._findings.fault(what, f"it stands from {first} to {last}, the version for {made.length}")
            self._findings.looked_at("cover rows", len(rows))

    def check_branch(self, branch: BranchRow, starts: Mapping[str, int]) -> None:
        """Compare what is said of a branch with the definition."""
        segments = self._lines.segments(branch.line, branch.messages - 1)
        if segments is None or not self._path.follow(segments, branch.messages):
            return  # the path is broken, which is told of elsewhere: there is no definition to compare with
        begun = self._at_front | dict(starts)
        covers = place(lambda before: self._links.get(before, ()), branch.messages, self._path.run, after=begun.items())
        defined = {(one.span.first, one.span.last, one.version) for one in covers}
        said: list[tuple[int, int, int]] = []
        for line, last in self._reaching(branch):
            for row in self._cover(line):
                if row[3] > last:
                    if line == branch.line:
                        self._differs(branch, row[4], f"is said to end at {row[3]}, behind the path")
                elif row[1] in begun:
                    said.append((row[2], row[3], row[4]))
                else:
                    self._check_run(branch, row)
        for first, last, version in sorted(defined.difference(said)):
            self._differs(branch, version, f"is valid from {first} to {last}, and not said to be")
        for first, last, version in sorted(set(said).difference(defined)):
            self._differs(branch, version, f"is said to be valid from {first} to {last}, and is not")
        if len(set(said)) < len(said):
            self._findings.fault(f"branch {branch.name!r}", "a version is said to be valid twice at one place")
        self._proven.update(version for _, last, version in defined if self._path.nodes[last] == self._anchor(version))

    def check_keys(self) -> None:
        """Derive the keys that no valid place has proven, and of what is found by its first message, that too."""
        for version, made in self._made.items():
            if made.anchor and (made.first or version not in self._proven):
                check_key(self._session, self._key, version, made, self._findings)

    def _reaching(self, branch: BranchRow) -> list[tuple[int, int]]:
        """Each line of the branch with the last depth up to which its covers count."""
        found = [(branch.line, branch.messages - 1)]
        while True:
            line, last = self._lines.lines[found[-1][0]], found[-1][1]
            if line.parent is None or min(last, line.fork - 1) < 0:
                return found
            found.append((line.parent, min(last, line.fork - 1)))

    def _check_run(self, branch: BranchRow, row: Row) -> None:
        """A row of a scope that this branch does not have: kept for others, and right all the same."""
        _, _, first, last, version, _ = row
        made = self._made.get(version)
        if made and (first < 0 or last < first or span_key(self._path.run(first, last)) != made.key):
            self._differs(branch, version, f"is said to be valid from {first} to {last}, and is not")

    def _differs(self, branch: BranchRow, version: int, reason: str) -> None:
        self._findings.fault(f"branch {branch.name!r}, cover", f"version {version} {reason}")

    def _anchor(self, version: int) -> int:
        return self._made[version].anchor

    def _cover(self, line: int) -> list[Row]:
        return self._session.rows("check_cover", {"line": line, "owner": self._key.owner})


class PathDigests:
    """The digests and nodes of one path after another; what the next shares with the last is not read again."""

    def __init__(self, session: Session, key: StoryKey) -> None:
        self._session = session
        self._key = key
        self._segments: list[Segment] = []
        self._digests = bytearray()
        self.nodes = array("q")

    def follow(self, segments: list[Segment], length: int) -> bool:
        """Hold this path; False if rows of it are missing."""
        kept = 0
        for old, new in zip(self._segments, segments, strict=False):
            if old.line != new.line:
                break
            kept = min(old.last, new.last) + 1
            if old.last != new.last:
                break
        kept = min(kept, len(self.nodes))
        del self._digests[kept * SIZE :]
        del self.nodes[kept:]
        whole = all(self._read(segment, max(segment.first, kept)) for segment in segments)
        whole = whole and len(self.nodes) == length and len(self._digests) == length * SIZE
        self._segments = segments if whole else []
        return whole

    def _read(self, segment: Segment, first: int) -> bool:
        """Read on from a depth to the end of a segment; False as soon as a row is missing."""
        for low in range(first, segment.last + 1, ROWS_AT_ONCE):
            high = min(segment.last, low + ROWS_AT_ONCE - 1)
            asked = {"line": segment.line, "first": low, "last": high, "owner": self._key.owner}
            rows = self._session.rows("check_digests", asked)
            for node, digest in rows:
                self.nodes.append(node)
                self._digests += digest
            if len(rows) <= high - low:
                return False
        return True

    def run(self, first: int, last: int) -> list[bytes]:
        """The digests of positions first to last, in one piece: a span key is of their bytes in a row."""
        return [bytes(self._digests[first * SIZE : (last + 1) * SIZE])]
