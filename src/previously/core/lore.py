"""Scenes and what they leave behind: a summary of what happened, and entries for what things are.

These are plain values; reading them from a model is `folds.scene`, merging and finding them is `lore`.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.alphabets import casefold
from previously.core.signals import NO_SIGNALS, Settled, Signals

TYPES = ("character", "location", "item", "faction", "concept", "lore", "event", "rule", "document")
"""The things an entry can be about."""

_SYNONYMS = {
    "character": "person people npc npcs characters pc creature animal monster being",
    "location": "place places locations area region city town village building room site setting",
    "item": "items object objects artifact artefact weapon equipment thing tool vehicle",
    "faction": "factions group groups organization organisation guild gang clan company",
    "concept": "concepts idea relationship status secret secrets ability skill magic power system",
    "lore": "history world worldbuilding world-building background myth legend culture",
    "event": "events",
    "rule": "rules law laws",
    "document": "documents letter book note text",
}
_TYPE_OF = {word: known for known, words in _SYNONYMS.items() for word in (known, *words.split())}


def known_type(word: str) -> str:
    """Return the type that a word stands for: itself in lower case, or the one it is another word for."""
    return _TYPE_OF.get(casefold(word), casefold(word))


@dataclass(frozen=True, slots=True)
class Described:
    """One thing as one scene, file or person describes it."""

    name: str
    type: str
    """One of `TYPES`."""
    keywords: tuple[str, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The memory of a span: `{summary, lorebooks}`, and its signals."""

    summary: str
    entries: tuple[Described, ...] = ()
    signals: Signals = NO_SIGNALS
    settled: tuple[Settled, ...] = ()
    """The threads that it settled, by what opened them."""
