"""A path: what stands on it, its spans and turns, and the splices that turn one path into another.

Splices come in ascending order and do not overlap; each is counted on the path *before* all of them. Adding, editing,
inserting, deleting, regenerating, choosing a swipe and following an edited file are all lists of splices, so a store
has one way to change a path. Nothing is destroyed: what a splice removes leaves the path, not the story.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeVar

from previously.core.errors import BadInput
from previously.core.messages import Draft, Entry, Role

OPENING_MESSAGES = 8
"""System messages at the front that can be the opening: a bound, so that finding it costs the same everywhere."""


@dataclass(frozen=True, slots=True)
class OnPath:
    """An entry and where it stands."""

    position: int
    node: int
    hash: bytes
    entry: Entry


def find_opening(front: Iterable[OnPath]) -> Sequence[OnPath]:
    """Return the system messages a path begins with: instructions rather than story, so a view always shows them."""
    return tuple(takewhile(lambda item: item.entry.message.role is Role.SYSTEM, front))[:OPENING_MESSAGES]


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


Insertion = Put | Reuse


@dataclass(frozen=True, slots=True)
class Splice:
    """At `at`, `remove` messages leave the path and `pieces` take their place."""

    at: int
    remove: int
    pieces: tuple[Insertion, ...]


Splices = Sequence[Splice]


def check_splices(splices: Splices, length: int) -> None:
    """Raise `ValueError` unless the splices fit a path of that length: a fault of the program, not of its input."""
    end = 0
    for splice in splices:
        if splice.at < end or splice.remove < 0 or splice.at + splice.remove > length:
            raise ValueError(f"a splice at {splice.at} does not fit a path of {length} messages")
        end = splice.at + splice.remove


def measure_length(splices: Splices, length: int) -> int:
    """Return how long a path of that length is once the splices have been applied."""
    return length + sum(len(splice.pieces) - splice.remove for splice in splices)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Positions `first` to `last` of a path, both included. Never empty: where there is nothing, there is no span."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError(f"not a span: {self.first} to {self.last}")

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, position: int) -> bool:
        return self.first <= position <= self.last

    def __str__(self) -> str:
        return f"message {self.first}" if self.first == self.last else f"messages {self.first}-{self.last}"


def find_spans(positions: Iterable[int]) -> Iterator[Span]:
    """Return the fewest spans that hold exactly these positions, which come in ascending order."""
    first = last = -1
    for position in positions:
        if first >= 0 and position == last + 1:
            last = position
            continue
        if first >= 0:
            yield Span(first, last)
        first = last = position
    if first >= 0:
        yield Span(first, last)


def parse_position(text: str) -> int:
    """Return a position: from 0, or negative and counted from the end."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise BadInput(f"{text!r} is not a position: give a whole number, from 0 or, counted from the end, from -1.")
    return int(text)


def find_position(path_length: int, position: int) -> int:
    """Return a position as people give it (negative ones count from the end) as a depth on a path of that length."""
    depth = position + path_length if position < 0 else position
    if not 0 <= depth < path_length:
        if path_length == 0:
            raise BadInput("This story has no messages yet.")
        raise BadInput(f"There is no message at position {position}; this story has positions 0 to {path_length - 1}.")
    return depth


def find_turns(roles: Sequence[Role]) -> list[int]:
    """Return where each turn begins: at every user message, and at the front if something comes before the first
    one."""
    starts = [index for index, role in enumerate(roles) if role is Role.USER]
    if roles and (not starts or starts[0] > 0):
        starts.insert(0, 0)
    return starts
