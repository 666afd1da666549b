"""A step: one fold to be made, whoever makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from previously.core.digests import span_key
from previously.core.path import OnPath, Span
from previously.core.versions import Kind, Version
from previously.folds.fold import Fold


@dataclass(frozen=True, slots=True)
class Written:
    """What code has put together from memory that is there: nothing is asked."""

    text: str
    made_by: str
    firm: bool = True
    """False where some of that memory only stands in for better: then this does too."""
    carry: str = ""
    """What it has to be held against when it is read; never shown."""
    model: str = ""
    """Who wrote its words, where they are taken over from a text that is there; and what was asked."""
    prompt_hash: str = ""
    unverified: tuple[str, ...] = ()
    """Sentences of it for which no support was found in what was read."""


def take_over(version: Version, text: str, carry: str = "") -> Written:
    """Return the words of a version as they stand, for another place: whoever made them there made them here."""
    made = version.made
    return Written(
        text,
        made.made_by,
        carry=carry,
        model=made.model,
        prompt_hash=made.prompt_hash,
        unverified=made.unverified,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One fold to be made: what it reads, what it goes on from and what is asked."""

    kind: Kind
    scope: str
    run: Sequence[OnPath]
    before: Version | None
    asked: Fold | Written
    reason: str
    replaces: int | None = None
    """The version of the same run in whose place it is made."""
    by_request: bool = False
    """Whether somebody asked for it though nothing changed."""
    beside: Mapping[Kind, int] = field(default_factory=dict)
    """The notes of the same run in whose place those are made that come with it."""
    rests_on: str = ""
    """What is kept with what is made: what stands for the presence it rests on, or the cuts in what it is made from."""
    others: Mapping[Kind, Step] = field(default_factory=dict)
    """What else the same answer gives that is no note of the same run, each as it would be made by itself. One that is
    written already comes with it in any case."""

    @property
    def span(self) -> Span:
        """Where its run stands."""
        return Span(self.run[0].position, self.run[-1].position)

    @property
    def key(self) -> bytes:
        """The span key of its run."""
        return span_key(item.entry.digest for item in self.run)

    @property
    def first(self) -> bytes:
        """The digest of the first message of its run."""
        return self.run[0].entry.digest


@dataclass(frozen=True, slots=True)
class Together:
    """Steps that do not depend on one another: they are made at the same time, and what becomes of one changes none of
    the others."""

    steps: tuple[Step, ...]
