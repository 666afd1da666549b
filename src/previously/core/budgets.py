"""Sharing a budget: how many tokens each section of a view gets.

What must stay true: never more is given than there is room, nor more to anyone than they want or may have; and the same
wishes always get the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Share:
    """What one section may have of a budget."""

    percent: int
    """Its due, in percent of the budget."""
    priority: int
    """Who is served first: the lowest."""
    floor: int = 0
    """Tokens it gets before anyone gets their due."""
    ceiling: int = 100
    """The most it ever gets, in percent of the budget."""

    def due(self, budget_tokens: int) -> int:
        """Its due in tokens."""
        return budget_tokens * self.percent // 100

    def most(self, budget_tokens: int) -> int:
        """The most it ever gets in tokens."""
        return budget_tokens * self.ceiling // 100


def allot(room: int, budget_tokens: int, wants: Mapping[S, int], shares: Mapping[S, Share]) -> dict[S, int]:
    """How much of the room each section gets that wants so many tokens: first the floors, then what is due to each,
    then what is left goes to those who still want more; in each round by priority."""
    order = sorted(wants, key=lambda section: shares[section].priority)
    given = dict.fromkeys(order, 0)
    rounds = (
        {section: shares[section].floor for section in order},
        {section: shares[section].due(budget_tokens) for section in order},
        wants,
    )
    for limits in rounds:
        for section in order:
            limit = min(limits[section], wants[section], shares[section].most(budget_tokens))
            more = max(0, min(limit - given[section], room))
            given[section] += more
            room -= more
    return given
