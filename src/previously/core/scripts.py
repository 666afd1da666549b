"""Scripts: what turns one path into another.

A script is a list of splices, in ascending order and not overlapping, each counted on the path *before* the script.
Adding, editing, inserting, deleting, regenerating, choosing a swipe and following an edited file are all scripts, so a
store has one way to change a path. Nothing is destroyed by one: what a splice removes leaves the path, not the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from previously.core.messages import Draft

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Put:
    """A new entry made from a draft; `replaces` is the entry it is an edit of."""

    draft: Draft
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Reuse:
    """An entry the story already has: a swipe chosen again."""

    entry: int


Piece = Put | Reuse


@dataclass(frozen=True, slots=True)
class Splice:
    """At `at`, `remove` messages leave the path and `pieces` take their place."""

    at: int
    remove: int
    pieces: tuple[Piece, ...]


Script = Sequence[Splice]


def checked(script: Script, length: int) -> None:
    """Raise `ValueError` unless the script fits a path of that length: a fault of the program, not of its input."""
    end = 0
    for splice in script:
        if splice.at < end or splice.remove < 0 or splice.at + splice.remove > length:
            raise ValueError(f"a splice at {splice.at} does not fit a path of {length} messages")
        end = splice.at + splice.remove


def length_after(script: Script, length: int) -> int:
    """Return how long a path of that length is once the script has been applied."""
    return length + sum(len(splice.pieces) - splice.remove for splice in script)
