"""Checking versions: what each was built on, and that it read the run of messages that ends in its anchor.

Every fold, of whatever kind, amended or by hand, keeps the span key of its own run, where that run stood, and the node
that it ended in: so the key is derived anew by walking up from the anchor. A version without an anchor (0: made before
anchors were kept) is only checked for what it refers to; so is one whose key was emptied when what it read was
forgotten. `firm` is derived when a version is made and may be taken away later (`loosen`), never given: so a version
may be less firm than `is_firm` says, and never more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from previously.core.cover import Link
from previously.core.digests import span_key
from previously.core.marks import is_of_a_span, is_own
from previously.core.versions import IN_FORCE, Kind, Status
from previously.storage.tables.findings import ROWS_AT_ONCE, Findings
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session

_KINDS = frozenset(kind.value for kind in Kind)
_STATUSES = frozenset(status.value for status in Status)
_IN_FORCE = frozenset(status.value for status in IN_FORCE)
_NEVER_FIRM = frozenset({Status.PROVISIONAL.value, Status.BY_HAND.value})
_MAY_HAVE_FORGOTTEN = frozenset({Status.FORGOTTEN.value, Status.BY_HAND.value})


@dataclass(frozen=True, slots=True)
class Made:
    """What is needed of a version to know where it must be covered."""

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
        """What decides where it is valid."""
        return Link(version, self.before or self.scope, self.length, self.key)


def check_versions(session: Session, key: StoryKey, nodes: int, findings: Findings) -> dict[int, Made]:
    """Check every version but for its key; those that can stand somewhere, by id."""
    found: dict[int, Made] = {}
    after = 0
    asked = {"story": key.story, "owner": key.owner, "most": ROWS_AT_ONCE}
    while rows := session.rows("check_versions", {**asked, "after": after}):
        for row in rows:
            made = _check_version(row, key.story, nodes, findings)
            if made is not None:
                found[row[0]] = made
        after = rows[-1][0]
        findings.looked_at("versions", len(rows))
    return found


def check_key(session: Session, key: StoryKey, version: int, made: Made, findings: Findings) -> None:
    """Derive a version's key from the run that ends in its anchor."""
    asked = {"node": made.anchor, "most": made.length, "story": key.story, "owner": key.owner}
    run = [digest for (digest,) in session.rows("check_run", asked)]
    if span_key(run) != made.key:
        findings.fault(f"version {version}", f"its key is not that of the messages that end in node {made.anchor}")
    elif made.first not in (b"", *run[:1]):
        findings.fault(f"version {version}", "the first message it read is not the one that it is found by")


def _check_version(row: Row, story: int, nodes: int, findings: Findings) -> Made | None:
    version, kind, scope, first, last, length, key, before, replaces, status, anchor, reach, firm, read_first = row[:14]
    rest = list(row[14:])
    lists, of_before, of_replaced, of_anchor = rest[:3], rest[3:9], rest[9:12], rest[12:]
    what = f"version {version}"
    for reason in _what_it_says(kind, status, firm, lists):
        findings.fault(what, reason)
    for reason in _before(row, story, of_before):
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
    return Made(kind, scope, length, key, before, bool(firm), status in _IN_FORCE, known, read_first)


def _what_it_says(kind: str, status: str, firm: int, lists: list[str]) -> Iterator[str]:
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


def _before(row: Row, story: int, of_before: list[object]) -> Iterator[str]:
    version, kind, scope, before, firm = row[0], row[1], row[2], row[7], row[12]
    if not before:
        return
    if of_before[:3] != [story, kind, scope]:
        yield f"it was built on version {before}, which is not there or of another text"
    elif before >= version:
        yield f"it was built on version {before}, which is younger"
    elif firm and not of_before[3]:
        yield f"it is said to be firm, and version {before}, on which it was built, is not"
