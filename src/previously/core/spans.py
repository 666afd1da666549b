"""Spans: contiguous runs of messages on a path, both ends included, and the turns a path is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from previously.core.errors import BadInput
from previously.core.messages import Role


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


def spans_of(positions: Iterable[int]) -> Iterator[Span]:
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


def position_on(path_length: int, position: int) -> int:
    """Return a position as people give it (negative ones count from the end) as a depth on a path of that length."""
    depth = position + path_length if position < 0 else position
    if not 0 <= depth < path_length:
        if path_length == 0:
            raise BadInput("This story has no messages yet.")
        raise BadInput(f"There is no message at position {position}; this story has positions 0 to {path_length - 1}.")
    return depth


def turn_starts(roles: Sequence[Role]) -> list[int]:
    """Return where each turn begins: at every user message, and at the front if something comes before the first
    one."""
    starts = [index for index, role in enumerate(roles) if role is Role.USER]
    if roles and (not starts or starts[0] > 0):
        starts.insert(0, 0)
    return starts
