"""What stands on a path, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from previously.core.messages import Entry, Role

OPENING_MESSAGES = 8
"""System messages at the front that can be the opening: a bound, so that finding it costs the same everywhere."""


@dataclass(frozen=True, slots=True)
class OnPath:
    """An entry and where it stands."""

    position: int
    node: int
    hash: bytes
    entry: Entry


def opening_of(front: Iterable[OnPath]) -> Sequence[OnPath]:
    """Return the system messages a path begins with: instructions rather than story, so a view always shows them."""
    return tuple(takewhile(lambda item: item.entry.message.role is Role.SYSTEM, front))[:OPENING_MESSAGES]
