"""Scenes and what they leave behind: a summary of what happened, and entries for what things are.

These are plain values; reading them from a model is `folds.scene`, merging and finding them is `lore`.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.signals import NO_SIGNALS, Signals

TYPES = ("character", "location", "item", "faction", "concept", "lore", "event", "rule", "document")
"""What an entry can be about."""


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
    """What is kept of a span: `{summary, lorebooks}`, and its signals."""

    summary: str
    entries: tuple[Described, ...] = ()
    signals: Signals = NO_SIGNALS
