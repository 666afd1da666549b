"""The rules by which a story looks for lore, as its settings give them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoreRules:
    """All that a story says about the scan for lore, but for depth and share of the budget."""

    quirks: bool = False
    """If true, entries are looked for as SillyTavern really does it."""
    most_steps: int = 3
    """Number of times that what fired may bring up more: with more, one word brings up half a book."""
    least_fired: int = 0
    """Older messages are read, one at a time, until so many entries have fired; 0 = they are not."""
    deepest: int = 0
    """But no more messages than this; 0 = as many as are shown."""
    most_tokens: int = 0
    """The most that lore may take, whatever its share is; 0 = its share alone."""
    group_scoring: bool = False
    """If true, of an inclusion group only those count that match most keys."""
    tags: tuple[str, ...] = ()
    """The tags of the story's character; empty = not known."""


USUAL_LORE_RULES = LoreRules()
