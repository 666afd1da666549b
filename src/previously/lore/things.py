"""An entry of lore: one thing, with what is said of it now and what was said before.

What a person wrote is kept byte for byte; what a model wrote stays within `MOST_TOKENS`.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.lore.keywords import normalize_name

MOST_CONTENT_TOKENS = 200
"""A model's description takes no more: seed 002 asks for 50 to 200."""

EntryKey = str
"""What an entry is found by: its name, folded. One thing has one entry, whatever its type."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a note would change in a field that a person wrote."""

    field: str
    text: str
    source: int


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One thing."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    """Other names under which it was described."""
    keywords: tuple[str, ...] = ()
    content: str = ""
    """What it is, by its newest description."""
    earlier: tuple[str, ...] = ()
    """What earlier descriptions said, the newest last."""
    sources: tuple[int, ...] = ()
    """The positions of the messages that the newest description comes from."""
    touched: int = 0
    """Where it was last described."""
    retired: bool = False
    """Not described for long while many others were: shown only when a key names it."""
    locked: frozenset[str] = frozenset()
    """The fields that a person wrote."""
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def key(self) -> EntryKey:
        """What it is found by."""
        return normalize_name(self.name)
