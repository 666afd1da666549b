"""Which lines make the recap.

Owns the choice: greedy, per word of cost, on how much of what matters the chosen lines do not cover yet. Lines
that hold something open are chosen first, up to a share of the room. What must stay true: the lines chosen
never cost more than the room given, ties are broken by position, and the work grows with the number of lines
times the logarithm of it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from previously.folds.builtin.salience import THREAD_FLOOR

SATURATED = 0.2
"""What a term is still worth once a chosen line covers it."""

THREAD_SHARE = 0.6
"""The part of the room that open threads may claim before anything else is chosen."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line as the choice sees it; `cost` in words, `terms` what it covers."""

    cost: int
    terms: tuple[str, ...]
    weight: float
    thread: float


def choose(candidates: Sequence[Candidate], worth: Mapping[str, float], room: int) -> list[int]:
    """Positions of the chosen candidates, ascending."""
    chosen: set[int] = set()
    covered: set[str] = set()
    threads = [index for index, candidate in enumerate(candidates) if candidate.thread >= THREAD_FLOOR]
    spent = _greedy(candidates, worth, threads, int(room * THREAD_SHARE), chosen, covered, by_thread=True)
    rest = [index for index, candidate in enumerate(candidates) if candidate.weight > 0]
    _greedy(candidates, worth, rest, room - spent, chosen, covered, by_thread=False)
    return sorted(chosen)


def _greedy(
    candidates: Sequence[Candidate],
    worth: Mapping[str, float],
    among: Sequence[int],
    room: int,
    chosen: set[int],
    covered: set[str],
    *,
    by_thread: bool,
) -> int:
    """Take the best line that still fits until none does; gains only fall, so a stale entry is looked at again."""

    def gain(index: int) -> float:
        candidate = candidates[index]
        value = sum(worth.get(term, 0.0) * (SATURATED if term in covered else 1.0) for term in candidate.terms)
        if by_thread:
            # A vow is spoken in the first person, which salience holds against it; its strength has to outweigh that.
            value *= candidate.thread**3 * math.sqrt(candidate.weight)
        else:
            value *= candidate.weight
        return value / max(candidate.cost, 4)

    heap = [(-gain(index), index) for index in among if index not in chosen and candidates[index].cost <= room]
    heapq.heapify(heap)
    spent = 0
    while heap:
        _, index = heapq.heappop(heap)
        if spent + candidates[index].cost > room:
            continue
        fresh = gain(index)
        if heap and -heap[0][0] > fresh + 1e-12:
            heapq.heappush(heap, (-fresh, index))
            continue
        chosen.add(index)
        covered.update(candidates[index].terms)
        spent += candidates[index].cost
    return spent
