"""What a fold does, as values: the plan, what it makes, and why there may be none.

What must stay true: places are those of the messages a plan was made for, and nothing here holds a copy of a text, so
that what was folded or left out can always be put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from previously.core.messages import Message

Pruned = Mapping[int, tuple[str, ...]]
"""For each message the ids of the calls whose output is left out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fold does, by the places of the messages in the conversation."""

    kept: tuple[int, ...]
    """What stays, in order, pins among it."""
    pins: tuple[int, ...]
    """What stays byte for byte."""
    pruned: Pruned
    """Which outputs of what stays are left out."""
    head: tuple[int, ...]
    """What the brief tells of; empty = leaving out outputs is enough, and no brief is needed."""
    brief_at: int | None
    """Where the earlier brief stands."""
    brief_tokens: int
    """The most that the new brief may take for the proofs to hold."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A folded conversation."""

    messages: tuple[Message, ...]
    origin: tuple[int | None, ...]
    """Where each message stood before; None = the new brief."""
    brief_at: int | None
    """Where the brief stands now: what the next fold is told."""


@dataclass(frozen=True, slots=True)
class NothingToFold:
    """Why the conversation stays as it is, in one sentence."""

    reason: str
