"""Presence as the memory has it, against who an exam says was there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.exam.exams import Present
from previously import Story

Noted = Mapping[int, Sequence[str]]
"""By position, who was there; a position of which nothing is known is not in it."""


async def read_presence(story: Story) -> Noted | None:
    """Return who was there by message; None where nobody ever was. Everybody means all who ever were."""
    stretches = await story.presence()
    everybody = sorted({name for one in stretches for name in one.names or ()})
    found = {
        position: everybody if one.names is None else one.names
        for one in stretches
        for position in range(one.span.first, one.span.last + 1)
    }
    return found if any(found.values()) else None


def score_presence(labels: Sequence[Present], noted: Noted | None, folded_through: int) -> dict[str, Any] | None:
    """Return precision and recall of the folded part and of the tail apart; None where nothing can be compared."""
    if noted is None or not labels:
        return None
    folded = [label for label in labels if label.position <= folded_through]
    tail = [label for label in labels if label.position > folded_through]
    return {"folded": _rates(folded, noted), "tail": _rates(tail, noted)}


def _rates(labels: Sequence[Present], noted: Noted) -> dict[str, Any]:
    """Return the figures of some messages. A share of nothing is null."""
    right = claimed = wanted = exact = 0
    for label in labels:
        names = noted.get(label.position, ())
        true = sum(any(is_same_name(name, other) for other in label.names) for name in names)
        found = sum(any(is_same_name(name, other) for other in names) for name in label.names)
        right, claimed, wanted = right + min(true, found), claimed + len(names), wanted + len(label.names)
        exact += true == len(names) and found == len(label.names) and label.position in noted
    return {
        "messages": len(labels),
        "exact": exact,
        "precision": round(right / claimed, 3) if claimed else None,
        "recall": round(right / wanted, 3) if wanted else None,
    }


def is_same_name(one: str, other: str) -> bool:
    """Return whether two names can be one person's: all words of the shorter are in the longer ("Jory Teague")."""
    words, others = set(one.casefold().split()), set(other.casefold().split())
    return bool(words and others) and (words <= others or others <= words)
