"""The rules by which a story is folded, as its settings give them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from previously.core.lore_rules import USUAL_LORE_RULES, LoreRules


class Timeline(StrEnum):
    """The kind of memory that tells of the open chapter."""

    RECAP = "recap"
    LIBRARIAN = "librarian"
    SCENES = "scenes"
    BRIEF = "brief"

    @property
    def is_derived(self) -> bool:
        """Return whether it is put together from notes, not written from the messages."""
        return self in (Timeline.LIBRARIAN, Timeline.SCENES)


@dataclass(frozen=True, slots=True)
class RecapRules:
    """The numbers that say when a recap is due and how long it should be."""

    tail_messages: int
    due_messages: int
    due_words: int
    due_tokens: int
    target_words: int
    """0 = no target."""
    chosen: bool = False
    """True if a person set one of the numbers by which a fold is due: then they hold as they are."""


@dataclass(frozen=True, slots=True)
class FoldRules:
    """All that decides about folding a story."""

    recap: RecapRules
    tail_turns: int
    """If it is not 0, the tail is so many turns instead of messages,"""
    tail_tokens: int
    """but no more than so many tokens."""
    chapter_messages: int
    """From this length on a chapter closes at a scene end; 0 = never by itself."""
    chapter_words: int
    backbone_words: int
    review: bool
    """True if a person approves every fold."""
    timeline: Timeline = Timeline.RECAP
    apply_after: int = 4
    """The number of the newest fragments that a librarian has not applied yet."""
    summary_characters: int = 12_000
    summary_target_characters: int = 9_000
    scene_messages: int = 0
    """From half of this on a scene is noted where it ends, here in any case; 0 = only where a person ended it."""
    lore: str = "off"
    cast: str = "off"
    dormant_messages: int = 200
    lore_rules: LoreRules = USUAL_LORE_RULES
