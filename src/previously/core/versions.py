"""Versions: what a fold made, with all that is needed to know where it is valid and how it came to be.

Versions are append-only. "How far has this fold got" is the end of the newest valid one, never a second number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from previously.core.cover import Link
from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.marks import LONGEST_SCOPE, is_of_a_span, is_own
from previously.core.path import Span


class Kind(StrEnum):
    """The memories a fold can make."""

    RECAP = "recap"
    CHAPTER = "chapter"
    SHORT = "short"
    """The short form of a closed chapter, and its title where nobody gave it one."""
    BACKBONE = "backbone"
    ANALYSIS = "analysis"
    SCENE = "scene"
    EPISODE = "episode"
    """An account of one span, written once."""
    NOTE = "note"
    """The notes of a model on one span, item by item."""
    CAST = "cast"
    STATE = "state"
    """Lore, threads and current state up to a message: a snapshot, made by code from the notes before it."""
    QUESTION = "question"
    """A call that was paid for and made no memory: a question about the story, other words for a search, or a choice
    among its hits."""


REJECTED, TAKEN_BACK = "rejected by a person", "undone by a person"
"""Begins the reason for which a person did not approve a version, or took it back."""


class Status(StrEnum):
    """The state of a version: in force, waiting for approval, refused, or taken back."""

    COMMITTED = "committed"
    PROVISIONAL = "provisional"
    PENDING = "pending"
    """Made, and held until a person approves it."""
    REFUSED = "refused"
    UNDONE = "undone"
    """Was in force, and taken back by a person."""
    BY_HAND = "by hand"
    """Words of a person; a mark holds them, so that they follow the branch."""
    FORGOTTEN = "forgotten"
    """Read a message that a person had forgotten, and was forgotten with it: nothing of its text is left."""
    ASKED = "asked"
    """A question that was answered or not: only its cost is kept."""


IN_FORCE = frozenset({Status.COMMITTED, Status.PROVISIONAL})
"""Only versions of these can be valid on a path; the others are kept as history."""

NEVER_IN_FORCE = frozenset({Status.REFUSED, Status.BY_HAND, Status.FORGOTTEN})
"""Kinds that may read again what was read: they are no folds of it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a fold. The built-in writer makes no calls; its tokens are what it read and wrote."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls, self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version on its way into a store."""

    kind: Kind
    scope: str
    """The owner of the memory: empty for the story's own, the origin of a mark for what begins behind it; see
    `core.marks`."""
    span: Span
    """The place of its own run when it was made."""
    key: bytes
    """The span key of the messages it read."""
    before: int | None
    """The version it went on from."""
    text: str
    carry: str
    """Kept for the maker until next time; never shown."""
    status: Status
    made_by: str
    """`builtin`, `model` or `person`."""
    reason: str
    """Why it was made, or why it was refused."""
    at: str
    model: str = ""
    prompt_hash: str = ""
    cost: Cost = Cost()
    replaces: int | None = None
    """The version of the same run that this one is made instead of."""
    shed: tuple[str, ...] = ()
    """Names and numbers of the earlier text that are gone: the loss audit."""
    unverified: tuple[str, ...] = ()
    """Sentences for which no support was found in what was read."""
    anchor: int = 0
    """The node its run ended in when it was made; 0 = not known."""
    reach: int = 0
    """The number of messages it stands for: its own run and those of all it was built on."""
    commitments: tuple[str, ...] = ()
    """Promises, debts and threats that are still open where its run ends."""
    first: bytes = b""
    """The digest of the first message it read, by which notes of a span are found; other kinds may leave it out."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version in a store."""

    id: int
    made: NewVersion
    firm: bool
    """Neither provisional nor built on anything that is: nothing of it waits to be made anew."""

    @property
    def link(self) -> Link:
        """Return what decides where it is valid."""
        before = self.made.scope if self.made.before is None else self.made.before
        return Link(self.id, before, len(self.made.span), self.made.key)


@dataclass(frozen=True, slots=True)
class LiveVersion:
    """A version together with the span of the path that it covers now."""

    version: Version
    span: Span


def check_version(version: NewVersion, before: Version | None) -> NewVersion:
    """Return the same, unless no store could keep it: what it goes on from, if anything, is there; a note of a span
    goes on from nothing and says where it begins; and a chain of its own begins with the story and has no gaps, so that
    its links stand at the same places everywhere."""
    if version.before and before is None:
        raise BadInput(f"This story has no version {version.before} to go on from.")
    if is_of_a_span(version.scope) and (before is not None or not version.first):
        raise BadInput("A note of a span goes on from no other, and names the first message it read.")
    if is_own(version.scope) and version.span.first != (before.made.span.last + 1 if before else 0):
        raise BadInput("A chain that knows no marks begins with the story, and each link where the one before ends.")
    if len(version.scope.encode()) > LONGEST_SCOPE:
        raise BadInput("The name of whose memory it is, is too long.")
    return version


def has_read(version: NewVersion, run: Sequence[bytes]) -> bool:
    """Return whether these are the digests of what it read."""
    return version.key == span_key(run) and version.first in (b"", *run[:1])


def is_firm(version: NewVersion, before: Version | None) -> bool:
    """Return whether a new version, made after `before`, is firm."""
    return version.status in (Status.COMMITTED, Status.PENDING) and (before is None or before.firm)


def supersedes(existing: Version, *, firm: bool) -> bool:
    """Return whether a new version, firm or not, takes the place of one that read the same: better memory replaces what
    only stood in for it or waits to be made anew, and anything what a person took back."""
    return existing.made.status is Status.UNDONE or (firm and not existing.firm)


def restate(version: Version, status: Status, reason: str) -> Version:
    """Return the version with another status, and why it has it; what was said of it before stays."""
    reasons = "; ".join(filter(None, (version.made.reason, reason)))
    return replace(version, made=replace(version.made, status=status, reason=reasons))
