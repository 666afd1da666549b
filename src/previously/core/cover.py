"""The rule by which memory is valid on a path, and follows it.

A memory records the run of messages it read. A *link* of rolling memory read a delta (its own run) after an earlier
link. It is valid on a path when the earlier link is valid there and its run follows at once; a first link when its run
stands where the chains of its scope begin (see `core.marks`). Nothing is ever repaired: after an edit, a swipe or a
switch the same rule is asked again, and picks.

`place` is that rule. Stores keep its answer in their cover table and must always agree with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from previously.core.digests import span_key
from previously.core.path import Span


@dataclass(frozen=True, slots=True)
class Link:
    """The facts that decide where a version is valid."""

    version: int
    before: int | str
    """The version whose text this one went on from, or the scope whose chain it begins."""
    length: int
    """The number of messages of its own run."""
    key: bytes
    """The span key of that run."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A version and the span of the path that it covers: its own run."""

    version: int
    span: Span


DigestsOf = Callable[[int, int], Sequence[bytes]]
"""Digests of the path at positions first to last, both included; all of them exist."""

LinksAfter = Callable[[int | str], Iterable[Link]]
"""The links that go on from a version, or those that begin a chain in the scope of that name."""


def place(
    links_after: LinksAfter,
    path_length: int,
    digests_of: DigestsOf,
    *,
    after: Iterable[tuple[int | str, int]],
    reaching: int = 0,
) -> list[Covered]:
    """Return every link valid on the path that reaches position `reaching` or further, earlier links first.

    `after` says where to look: pairs of a version that is known to be valid and the position that follows it, or of a
    scope and the position where its chains begin. Those found are gone on from in turn.
    """
    covered: dict[int, Covered] = {}
    frontier = deque(after)
    while frontier:
        before, first = frontier.popleft()
        for link in links_after(before):
            last = first + link.length - 1
            if not reaching <= last < path_length or link.version in covered:
                continue
            if span_key(digests_of(first, last)) != link.key:
                continue
            covered[link.version] = Covered(link.version, Span(first, last))
            frontier.append((link.version, last + 1))
    return list(covered.values())
