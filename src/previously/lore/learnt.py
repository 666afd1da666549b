"""What characters were told without having been there, or keep from others: a reduce over the items of notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from previously.core.cast import Fact, cut_line, drop_repeats
from previously.core.note import LearntItem
from previously.core.scripts import casefold

TOLD = "told"
"""The source of what a note says that somebody was told; by whom stands in its words."""

MOST_LEARNT = 40
"""Facts that are kept of one character: four times what is told of them, so that old ones can be asked for."""

MOST_NAMES = 200
"""Characters of whom something is kept, those who learnt something last: as many as people are kept in mind."""


@dataclass(frozen=True, slots=True)
class Learner:
    """One character and what they learnt, the oldest first."""

    name: str
    """As it was first written."""
    facts: tuple[Fact, ...]


Learnt = Mapping[str, Learner]
"""By the name as it is compared."""


def reduce_learnt(learnt: Learnt, items: Iterable[tuple[int, int, LearntItem]]) -> Learnt:
    """Return what everybody knows after the items of one note, each with its index and position. Of too many facts the
    oldest go."""
    found = dict(learnt)
    for _, position, item in items:
        fact = Fact(cut_line(item.text), position, TOLD)
        for name in item.names:
            key = casefold(name)
            before = found.pop(key, Learner(name.strip(), ()))
            found[key] = Learner(before.name, drop_repeats([*before.facts, fact])[-MOST_LEARNT:])
    return dict(list(found.items())[-MOST_NAMES:])
