"""Check versions, marks and covers.

A version is checked for what it was built on, and that it read the run of messages that ends in its anchor. Every fold,
of any kind, amended or by hand, keeps the span key of its own run, the place of that run, and the node that it ended
in: so the key is derived anew by walking up from the anchor. A version without an anchor (0: made before anchors were
kept) is only checked for what it refers to; so is one whose key was emptied when the messages it read were forgotten.
`firm` is derived when a version is made and may be taken away later (`loosen`), never given: so a version may be less
firm than `is_firm` says, and never more.

A cover is checked against `core.cover.place`, given the branch's path, its marks and the story's versions. The digests
of one path are held, sixteen bytes each, and the part that one branch shares with the next is read once.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from previously.core.cover import Link, place
from previously.core.digests import SIZE, span_key
from previously.core.marks import STORY_SCOPE, MarkKind, begins_at_front, is_of_a_span, is_own
from previously.core.versions import IN_FORCE, Kind, Status
from previously.storage.findings import ROWS_AT_ONCE, Findings
from previously.storage.tables.paths import Segment
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow
from previously.storage.verify_paths import LineMap

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

    def __init__(
        self, session: Session, key: StoryKey, lines: LineMap, made: Mapping[int, CheckedVersion], findings: Findings
    ):
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
            rows = self._read_cover(line)
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
        for line, last in self._find_reaching(branch):
            for row in self._read_cover(line):
                if row[3] > last:
                    if line == branch.line:
                        self._report(branch, row[4], f"is said to end at {row[3]}, behind the path")
                elif row[1] in begun:
                    said.append((row[2], row[3], row[4]))
                else:
                    self._check_run(branch, row)
        for first, last, version in sorted(defined.difference(said)):
            self._report(branch, version, f"is valid from {first} to {last}, and not said to be")
        for first, last, version in sorted(set(said).difference(defined)):
            self._report(branch, version, f"is said to be valid from {first} to {last}, and is not")
        if len(set(said)) < len(said):
            self._findings.fault(f"branch {branch.name!r}", "a version is said to be valid twice at one place")
        self._proven.update(
            version for _, last, version in defined if self._path.nodes[last] == self._find_anchor(version)
        )

    def check_keys(self) -> None:
        """Derive the keys that no valid place has proven, and of what is found by its first message, that too."""
        for version, made in self._made.items():
            if made.anchor and (made.first or version not in self._proven):
                check_key(self._session, self._key, version, made, self._findings)

    def _find_reaching(self, branch: BranchRow) -> list[tuple[int, int]]:
        """Each line of the branch with the last depth up to which its covers count."""
        reaching = [(branch.line, branch.messages - 1)]
        while True:
            line, last = self._lines.lines[reaching[-1][0]], reaching[-1][1]
            if line.parent is None or min(last, line.fork - 1) < 0:
                return reaching
            reaching.append((line.parent, min(last, line.fork - 1)))

    def _check_run(self, branch: BranchRow, row: Row) -> None:
        """A row of a scope that this branch does not have: kept for others, and right all the same."""
        _, _, first, last, version, _ = row
        made = self._made.get(version)
        if made and (first < 0 or last < first or span_key(self._path.run(first, last)) != made.key):
            self._report(branch, version, f"is said to be valid from {first} to {last}, and is not")

    def _report(self, branch: BranchRow, version: int, reason: str) -> None:
        self._findings.fault(f"branch {branch.name!r}, cover", f"version {version} {reason}")

    def _find_anchor(self, version: int) -> int:
        return self._made[version].anchor

    def _read_cover(self, line: int) -> list[Row]:
        return self._session.rows("check_cover", {"line": line, "owner": self._key.owner})


class PathDigests:
    """The digests and nodes of one path after another; what the next shares with the last is not read again."""

    def __init__(self, session: Session, key: StoryKey) -> None:
        self._session = session
        self._key = key
        self._segments: list[Segment] = []
        self._digests = bytearray()
        self.nodes: array[int] = array("q")

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


_KINDS = frozenset(kind.value for kind in Kind)
_STATUSES = frozenset(status.value for status in Status)
_IN_FORCE = frozenset(status.value for status in IN_FORCE)
_NEVER_FIRM = frozenset({Status.PROVISIONAL.value, Status.BY_HAND.value})
_MAY_HAVE_FORGOTTEN = frozenset({Status.FORGOTTEN.value, Status.BY_HAND.value})


@dataclass(frozen=True, slots=True)
class CheckedVersion:
    """The part of a version that decides which rows it must have in covers."""

    kind: str
    scope: str
    length: int
    key: bytes
    before: int
    firm: bool
    in_force: bool
    anchor: int
    """0 where it is not known, or not there."""
    first: bytes
    """The digest of the first message it read; empty if it does not say."""

    def link(self, version: int) -> Link:
        """Return the link by which covers are placed."""
        return Link(version, self.before or self.scope, self.length, self.key)


def check_versions(session: Session, key: StoryKey, nodes: int, findings: Findings) -> dict[int, CheckedVersion]:
    """Check every version but for its key; those that can stand somewhere, by id."""
    versions: dict[int, CheckedVersion] = {}
    after = 0
    asked = {**key.values, "most": ROWS_AT_ONCE}
    while rows := session.rows("check_versions", {**asked, "after": after}):
        for row in rows:
            made = _check_version(row, key.story, nodes, findings)
            if made is not None:
                versions[row[0]] = made
        after = rows[-1][0]
        findings.looked_at("versions", len(rows))
    return versions


def check_key(session: Session, key: StoryKey, version: int, made: CheckedVersion, findings: Findings) -> None:
    """Derive a version's key from the run that ends in its anchor."""
    asked = {"node": made.anchor, "most": made.length, **key.values}
    run = [digest for (digest,) in session.rows("check_run", asked)]
    if span_key(run) != made.key:
        findings.fault(f"version {version}", f"its key is not that of the messages that end in node {made.anchor}")
    elif made.first not in (b"", *run[:1]):
        findings.fault(f"version {version}", "the first message it read is not the one that it is found by")


def _check_version(row: Row, story: int, nodes: int, findings: Findings) -> CheckedVersion | None:
    version, kind, scope, first, last, length, key, before, replaces, status, anchor, reach, firm, read_first = row[:14]
    rest = list(row[14:])
    lists, of_before, of_replaced, of_anchor = rest[:3], rest[3:9], rest[9:12], rest[12:]
    what = f"version {version}"
    for reason in _find_word_faults(kind, status, firm, lists):
        findings.fault(what, reason)
    for reason in _find_before_faults(row, story, of_before):
        findings.fault(what, reason)
    if replaces and of_replaced != [story, kind, scope]:
        findings.fault(what, f"it replaces version {replaces}, which is not there or of another text")
    if replaces and replaces >= version:
        findings.fault(what, f"it replaces version {replaces}, which is younger")
    anchor_story, depth = of_anchor
    if anchor and anchor_story != story:
        findings.fault(what, f"its anchor, node {anchor}, is not there or of another story")
    elif anchor and depth != last:
        findings.fault(what, f"its anchor, node {anchor}, has depth {depth}, its span ends at {last}")
    if not (0 <= first <= last and length == last - first + 1):
        findings.fault(what, f"its length is {length}, its span {first} to {last}")
        return None
    if reach and reach != length + (of_before[4] or 0):
        findings.fault(what, f"it stands for {reach} messages, its span and what it was built on for others")
    if not key and status not in _MAY_HAVE_FORGOTTEN:
        findings.fault(what, "it has no key, as if what it read were forgotten")
    if key and is_of_a_span(scope) and (before or not read_first):
        findings.fault(what, "it is of a span, and goes on from another or is found by no message")
    if is_own(scope) and first != (of_before[5] + 1 if of_before[5] is not None else 0):
        findings.fault(what, f"it begins at {first}, and its chain does not end there")
    known = anchor if key and anchor_story == story and length <= nodes else 0
    return CheckedVersion(kind, scope, length, key, before, bool(firm), status in _IN_FORCE, known, read_first)


def _find_word_faults(kind: str, status: str, firm: int, lists: list[str]) -> Iterator[str]:
    if kind not in _KINDS:
        yield f"its kind is {kind!r}"
    if status not in _STATUSES:
        yield f"its status is {status!r}"
    if firm and status in _NEVER_FIRM:
        yield f"it is {status} and said to be firm"
    for listed in lists:
        try:
            if not isinstance(json.loads(listed), list):
                yield "what it keeps as a list is none"
        except ValueError:
            yield "what it keeps as a list cannot be read"


def _find_before_faults(row: Row, story: int, of_before: list[object]) -> Iterator[str]:
    version, kind, scope, before, firm = row[0], row[1], row[2], row[7], row[12]
    if not before:
        return
    if of_before[:3] != [story, kind, scope]:
        yield f"it was built on version {before}, which is not there or of another text"
    elif before >= version:
        yield f"it was built on version {before}, which is younger"
    elif firm and not of_before[3]:
        yield f"it is said to be firm, and version {before}, on which it was built, is not"
