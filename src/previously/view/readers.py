"""Readers: who a view is for, which memory they are shown, and how they share their budget.

What must stay true: nothing that a character did not witness is shown to them or to the agent that keeps their memory.
What tells of the whole story is for them only while every message of it was witnessed by all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from previously.core.budgets import Share
from previously.core.errors import BadInput
from previously.core.path import OnPath, Span
from previously.core.presence import Presence, may_know
from previously.view.shares import GAME_SHARES, SHARES
from previously.view.view import Section

TIMELINE = frozenset({Section.BACKBONE, Section.CHAPTERS, Section.EPISODES, Section.RECAP, Section.BRIEF})
"""The sections that tell what happened, message after message."""

LISTED = frozenset({Section.WISHES, Section.THREADS, Section.STATE, Section.CAST, Section.LORE})
"""The sections that say how things stand and what they are."""


class ReaderKind(StrEnum):
    """The kinds of readers."""

    CHAT = "chat"
    NARRATOR = "narrator"
    CHARACTER = "character"
    MEMORY = "memory"
    STATE = "state"
    AGENT = "agent"


NAMED = frozenset({ReaderKind.CHARACTER, ReaderKind.MEMORY})
"""Those that are somebody."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who a view is for."""

    kind: ReaderKind = ReaderKind.CHAT
    name: str = ""
    sections: frozenset[Section] = TIMELINE | LISTED | {Section.PINS, Section.RECALL}
    """The memory they are shown."""
    turns: int = 0
    """If more than 0: they see this many of the newest turns verbatim and nothing before."""
    shares: Mapping[Section, Share] = field(default_factory=lambda: SHARES)
    window_tokens: int = 0
    """How much they can read if nobody says; 0 = the window of the story."""
    answer_tokens: int | None = None
    """How much of that is left for their answer; None = as the story has it."""
    presence: Presence | None = field(default=None, repr=False, compare=False)
    """Who was present on the path that is read; where it is not known, messages count by the witnesses they were given
    with."""

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}" if self.name else self.kind.value

    def witnessed(self, item: OnPath) -> bool:
        """Return whether they may know of a message of the path."""
        if self.presence is None:
            return may_know(self.name, item.entry.message)
        return self.presence.knows(self.name, item.position)

    def witnessed_all(self, span: Span) -> bool:
        """Return whether they may know of every message of a span."""
        return not self.name or (self.presence is not None and self.presence.knows_span(self.name, span))


CHAT = Reader()


def reader_named(words: str, preset: str = "roleplay") -> Reader:
    """The reader of that name in stories of that preset; `BadInput` for one that is none."""
    word, colon, name = words.partition(":")
    known = {kind.value: kind for kind in ReaderKind}
    kind = known.get(word.strip())
    name = name.strip()
    if kind is None or (colon and not name) or bool(name) is not (kind in NAMED):
        readers = ", ".join(f"{one.value}:NAME" if one in NAMED else one.value for one in ReaderKind)
        raise BadInput(f"There is no reader {words!r}; there are {readers}.")
    game = preset == "game"
    match kind:
        case ReaderKind.NARRATOR if game:
            return Reader(kind, shares=GAME_SHARES, window_tokens=2_000, answer_tokens=600)
        case ReaderKind.CHARACTER if game:
            # Their own memory tells of what was before.
            return Reader(kind, name, turns=3, window_tokens=1_000, answer_tokens=200)
        case ReaderKind.CHARACTER:
            return Reader(kind, name)
        case ReaderKind.MEMORY:
            return Reader(kind, name, frozenset({Section.CAST}), turns=1, window_tokens=600, answer_tokens=0)
        case ReaderKind.STATE:
            return Reader(kind, "", frozenset(), turns=1, window_tokens=500, answer_tokens=0)
        case _:
            return Reader(kind)
