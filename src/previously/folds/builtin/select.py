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

ECHO = 0.02
"""What a line is still worth once one that says the same but for a number is chosen; it opens nothing more."""

THREAD_SHARE = 0.6
"""The part of the room that open threads may claim before anything else is chosen."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line as the choice sees it; `cost` in words, `terms` what it covers. Lines of one `likeness` say the same
    but for a number: when one of them is chosen, the others are echoes."""

    cost: int
    terms: tuple[str, ...]
    weight: float
    thread: float
    likeness: tuple[str, ...] = ()


NOTHING = Candidate(0, (), 0.0, 0.0)
"""A line that is never chosen."""


def choose(candidates: Sequence[Candidate], worth: Mapping[str, float], room: int) -> list[int]:
    """Positions of the chosen candidates, ascending."""
    choice = _Choice(candidates, worth)
    threads = [index for index, candidate in enumerate(candidates) if candidate.thread >= THREAD_FLOOR]
    spent = choice.take(threads, int(room * THREAD_SHARE), by_thread=True)
    rest = [index for index, candidate in enumerate(candidates) if candidate.weight > 0]
    choice.take(rest, room - spent, by_thread=False)
    return sorted(choice.chosen)


class _Choice:
    """What is chosen so far, and what that covers."""

    def __init__(self, candidates: Sequence[Candidate], worth: Mapping[str, float]) -> None:
        self.chosen: set[int] = set()
        self._candidates = candidates
        self._worth = worth
        self._covered: set[str] = set()
        self._told: set[tuple[str, ...]] = set()

    def take(self, among: Sequence[int], room: int, *, by_thread: bool) -> int:
        """Take the best line that still fits until none does; gains only fall, so a stale entry is looked at again."""
        candidates, gain = self._candidates, self._thread_gain if by_thread else self._gain
        heap = [(-gain(index), index) for index in among if index not in self.chosen and candidates[index].cost <= room]
        heapq.heapify(heap)
        spent = 0
        while heap:
            _, index = heapq.heappop(heap)
            candidate = candidates[index]
            if spent + candidate.cost > room or (by_thread and candidate.likeness in self._told):
                continue
            fresh = gain(index)
            if heap and -heap[0][0] > fresh + 1e-12:
                heapq.heappush(heap, (-fresh, index))
                continue
            self.chosen.add(index)
            self._covered.update(candidate.terms)
            if candidate.likeness:
                self._told.add(candidate.likeness)
            spent += candidate.cost
        return spent

    def _gain(self, index: int) -> float:
        candidate = self._candidates[index]
        value = self._uncovered(candidate) * candidate.weight / max(candidate.cost, 4)
        return value * ECHO if candidate.likeness in self._told else value

    def _thread_gain(self, index: int) -> float:
        # A vow is spoken in the first person, which salience holds against it; its strength has to outweigh that.
        candidate = self._candidates[index]
        strength = candidate.thread**3 * math.sqrt(candidate.weight)
        return self._uncovered(candidate) * strength / max(candidate.cost, 4)

    def _uncovered(self, candidate: Candidate) -> float:
        value = 0.0  # Added in order: what `sum` makes of floats depends on the version of Python.
        for term in candidate.terms:
            worth = self._worth[term]
            value += worth * SATURATED if term in self._covered else worth
        return value
