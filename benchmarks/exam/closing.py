"""What is lost when a chapter closes: the same story at the same message, with the chapter open and with it closed.

Told up to the tail behind the place where its first chapter closes, the story is folded twice with the same recorded
answers: once with chapters that never close by themselves, once with those of the preset. Only questions that are
answered by then can be, in either. Where a chapter closes at a heading, it closes either way, and nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.exam.exams import Exam
from benchmarks.exam.scores import mark, tally
from benchmarks.exam.sittings import fold_story, open_memory, sit_engine
from previously.models.client import Model


async def measure_closing(exam: Exam, model: Callable[[], Model], budgets: Sequence[int]) -> dict[str, Any] | None:
    """Return what views answer before and after the first chapter closed, together within the stretch, by budget; None
    where none closes by itself."""
    still_open = replace(exam, settings=replace(exam.settings, chapter_messages=0))
    end = await _first_end(exam, model())
    if end is None or await _first_end(still_open, model()) == end:
        return None
    told = exam.drafts[: end + 1 + exam.settings.tail_messages]
    found: dict[str, Any] = {"position": end}
    for budget in budgets:
        scores = []
        for one in (still_open, exam):
            sitting = await sit_engine(replace(one, drafts=told), budget, model())
            marks = [mark(*pair) for pair in zip(exam.questions, sitting.asked, strict=True)]
            scores.append(tally(marks)["together"])
        found[str(budget)] = {"open": scores[0], "closed": scores[1]}
    return found


async def _first_end(exam: Exam, model: Model) -> int | None:
    async with await open_memory(exam, model) as memory:
        _, report = await fold_story(memory, exam, 4_000)
    return report.closed[0].position if report.closed else None
