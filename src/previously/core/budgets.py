"""Sharing a budget: how many tokens each section of a view gets.

What a section may have is said for three budgets; between them and beyond it follows by proportion. Never more is given
than there is room, nor more to anyone than they want or may have; and the same wants always get the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

S = TypeVar("S", bound=Hashable)

BUDGETS = (2_000, 4_000, 8_000)
"""The budgets for which a row says its tokens."""

Row = tuple[int, int, int]
"""Tokens in each of `BUDGETS`."""

NONE: Row = (0, 0, 0)


def make_row(share: int) -> Row:
    """Return the row of a share that is the same in every budget."""
    small, middle, large = (budget * share // 100 for budget in BUDGETS)
    return small, middle, large


ALL = make_row(100)


def scale_row(budget_tokens: int, row: Row) -> int:
    """Return the tokens of a row in any budget: on the straight line between two of `BUDGETS`; below the first and
    beyond the last in proportion."""
    at = next((index for index, budget in enumerate(BUDGETS) if budget_tokens <= budget), len(BUDGETS))
    if at == 0:
        return row[0] * budget_tokens // BUDGETS[0]
    if at == len(BUDGETS):
        return row[-1] * budget_tokens // BUDGETS[-1]
    low, high = BUDGETS[at - 1], BUDGETS[at]
    return row[at - 1] + (row[at] - row[at - 1]) * (budget_tokens - low) // (high - low)


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a budget that one section may have."""

    priority: int
    """The lowest is served first. Whoever is served last yields first."""
    due: Row
    """It gets this before anyone gets more than their due."""
    floor: Row = NONE
    """It gets this before anyone gets their due."""
    ceiling: Row = ALL
    """The most it ever gets."""

    def most(self, budget_tokens: int) -> int:
        """Return the most it ever gets in tokens."""
        return scale_row(budget_tokens, self.ceiling)


def allot(
    room: int, budget_tokens: int, wants: Mapping[S, int], shares: Mapping[S, Share], reserve: int = 0
) -> dict[S, int]:
    """Return how much of the room each section gets that wants so many tokens: first the floors, then what is due to
    each, then what is left but for a reserve goes to those who still want more; in each round by priority."""
    order = sorted(wants, key=lambda section: shares[section].priority)
    given = dict.fromkeys(order, 0)
    rounds = (
        ({section: scale_row(budget_tokens, shares[section].floor) for section in order}, 0),
        ({section: scale_row(budget_tokens, shares[section].due) for section in order}, 0),
        (wants, reserve),
    )
    for limits, kept_back in rounds:
        for section in order:
            limit = min(limits[section], wants[section], shares[section].most(budget_tokens))
            more = max(0, min(limit - given[section], room - kept_back))
            given[section] += more
            room -= more
    return given
