"""Analyses: what the librarian notes of one fragment. Plain values; they are made in `folds.analysis`, and put together
in `folds.summary`.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.signals import NO_SIGNALS, Settled, Signals

LONGEST_UPDATE = 1_200
"""How many characters of a summary update are kept."""

MOST_MENTIONS = 16
"""How many people of a fragment are kept."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a fragment adds to the summary, and what it changed."""

    summary_update: str
    """One to three sentences, past tense."""
    signals: Signals = NO_SIGNALS
    mentions: tuple[str, ...] = ()
    """Who is in the fragment, by name."""
    contradictions: tuple[str, ...] = ()
    """Where it says otherwise than the story so far."""
    settled: tuple[Settled, ...] = ()
    """The threads that it settled, by what opened them."""

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a summary nor a signal."""
        return not self.summary_update.strip() and self.signals.is_empty


@dataclass(frozen=True, slots=True)
class Recorded:
    """One analysis among those that were made of a fragment."""

    id: int
    created_at: str
    """ISO 8601."""
    analysis: Analysis


@dataclass(frozen=True, slots=True)
class Fragment:
    """One position of a path as the librarian sees it."""

    position: int
    is_fragment: bool
    """False for what tells nothing: system messages, messages without text, chapter headings."""
    analysis: Analysis | None = None
    """The newest one, if there is one."""
