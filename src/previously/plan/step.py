"""A step: one fold to be made, whoever makes it; and what a look for steps may assume."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from previously.core.digests import span_key
from previously.core.fold_rules import FoldRules
from previously.core.path import OnPath, Span
from previously.core.versions import Kind, Version
from previously.folds.fold import Fold


@dataclass(frozen=True, slots=True)
class Written:
    """A text that code has put together from memory that is there: nothing is asked."""

    text: str
    made_by: str
    firm: bool = True
    """False where some of that memory only stands in for better: then this does too."""
    carry: str = ""
    """A text against which it is held when it is read; never shown."""
    model: str = ""
    """The model that wrote its words, where they are taken over from a text that is there; and what was asked."""
    prompt_hash: str = ""
    unverified: tuple[str, ...] = ()
    """Sentences of it for which no support was found in what was read."""


def take_over(version: Version, text: str, carry: str = "") -> Written:
    """Return the words of a version as they stand, for another place: whoever made them there made them here."""
    made = version.made
    return Written(
        text, made.made_by, carry=carry, model=made.model, prompt_hash=made.prompt_hash, unverified=made.unverified
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
    """True if somebody asked for it though nothing changed."""
    beside: Mapping[Kind, int] = field(default_factory=dict)
    """The notes of the same run in whose place those are made that come with it."""
    rests_on: str = ""
    """The carry that is kept with it: what stands for the presence it rests on, or the cuts in what it is made from."""
    others: Mapping[Kind, Step] = field(default_factory=dict)
    """The steps whose texts the same answer gives and that are no note of the same run, each as it would be made by
    itself. One that is written already comes with it in any case."""

    @property
    def span(self) -> Span:
        """Return the positions of its run."""
        return Span(self.run[0].position, self.run[-1].position)

    @property
    def key(self) -> bytes:
        """Return the span key of its run."""
        return span_key(item.entry.digest for item in self.run)

    @property
    def first(self) -> bytes:
        """Return the digest of the first message of its run."""
        return self.run[0].entry.digest


@dataclass(frozen=True, slots=True)
class Together:
    """Steps that do not depend on one another: they are made at the same time, and what becomes of one changes none of
    the others."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """The assumptions of one look at a story."""

    rules: FoldRules
    amends: bool
    """True if the writer can set a text right."""
    anew: bool
    """True if what is not firm is to be made anew."""
    pressed: bool
    """True if a view had no room for a message outside the tail."""
    failed: Collection[tuple[Kind, str]]
    """Texts that could not be had in this call: one whose amending failed is folded again instead, a short form waits
    for the next call."""
    quotes: bool = False
    """True if the writer only quotes: it reads a note's own messages and nothing before them."""
