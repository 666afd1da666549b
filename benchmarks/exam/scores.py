"""Scores of a text: which questions it answers, anywhere in it and within one stretch of 900 characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.exam.exams import Question

STRETCH = 900
"""Characters within which all words of an answer must stand. A paragraph or two: wide enough for an answer that a
summary spreads over a few sentences, too narrow for words that lie about in a long view by chance."""

IMPORTANCES = (3, 2, 1)


def is_answered(question: Question, text: str) -> bool:
    """Return whether all words of the answer are in the text and the trap is not."""
    return not _is_trapped(question, text) and _holds(question, text)


def is_answered_together(question: Question, text: str, stretch: int = STRETCH) -> bool:
    """Return whether one stretch of the text holds all words of the answer. A trap counts wherever it stands."""
    if _is_trapped(question, text):
        return False
    # A quarter of a stretch apart: an answer of up to three quarters is never cut in two.
    starts = range(0, max(1, len(text) - stretch // 2), stretch // 4)
    return any(_holds(question, text[start : start + stretch]) for start in starts)


def _holds(question: Question, text: str) -> bool:
    return all(answer.search(text) for answer in question.answers)


def _is_trapped(question: Question, text: str) -> bool:
    return question.trap is not None and question.trap.search(text) is not None


@dataclass(frozen=True, slots=True)
class Mark:
    """How one question fared."""

    id: str
    importance: int
    anywhere: bool
    together: bool


def mark(question: Question, text: str) -> Mark:
    """Return how a question fares with a text."""
    return Mark(question.id, question.importance, is_answered(question, text), is_answered_together(question, text))


def tally(marks: Sequence[Mark]) -> dict[str, Any]:
    """Return the sums of marks, in all and by importance, as JSON can hold them."""
    by_importance = {
        str(importance): _sums([one for one in marks if one.importance == importance]) for importance in IMPORTANCES
    }
    return {**_sums(marks), "importance": by_importance}


def _sums(marks: Sequence[Mark]) -> dict[str, int]:
    return {
        "anywhere": sum(one.anywhere for one in marks),
        "together": sum(one.together for one in marks),
        "of": len(marks),
    }
