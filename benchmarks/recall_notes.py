"""What do notes add to recall: is a message found that shares no word with the question?

    python -m benchmarks.recall_notes [--json] [--budget 1000]

The three stories of `benchmarks.exam`, folded with the recorded answers of each set, and every question asked in four
ways (`recall_data.WAYS`), those in German aside. Through the public search: the share of a question's evidence inside
the budget, with what the folds noted and without.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Sequence
from unittest.mock import patch

from benchmarks.exam.exams import STORIES, Exam, load_exams
from benchmarks.exam.recordings import ANSWERS, RecordedModel, recorded_sets
from benchmarks.exam.sittings import fold_story, open_memory, prompts
from benchmarks.recall_data import WAYS, Conversation, exam
from previously import Story
from previously.memory.known import KnownReader

BUDGET = 1_000


async def measure(exams: Sequence[Exam], budget: int) -> dict[str, dict[str, float]]:
    """Return the mean share in per cent by row and way."""
    asked = {talk.name: talk for talk in exam().conversations}
    rows: dict[str, dict[str, list[float]]] = {}
    for answers in recorded_sets(ANSWERS):
        for one in exams:
            texts = [message.text for message in one.messages]
            model = RecordedModel(ANSWERS / answers / one.name, texts, prompts(), name=answers)
            async with await open_memory(one, model) as memory:
                story, _ = await fold_story(memory, one, 4 * budget)
                await _ask(story, asked[one.name], budget, rows.setdefault(f"notes {answers}", {}))
                with patch.object(KnownReader, "read_note_lines", lambda *_: ()):
                    await _ask(story, asked[one.name], budget, rows.setdefault("without", {}))
    return {row: {way: _percent(shares[way]) for way in WAYS} for row, shares in sorted(rows.items())}


async def _ask(story: Story, talk: Conversation, budget: int, shares: dict[str, list[float]]) -> None:
    for question in talk.questions:
        if question.category in WAYS:
            hits = await story.search(question.text, budget_tokens=budget)
            found = {hit.position for hit in hits}
            share = sum(place in found for place in question.gold) / len(question.gold)
            shares.setdefault(question.category, []).append(share)


def _percent(shares: Sequence[float]) -> float:
    return round(100 * statistics.fmean(shares), 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.recall_notes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens that the evidence must fit")
    given = parser.parse_args(arguments)
    figures = asyncio.run(measure(load_exams(STORIES), given.budget))
    if given.json:
        print(json.dumps(figures))
        return 0
    print(f"{'':12}" + "".join(f"{way:>16}" for way in WAYS))
    for row, ways in figures.items():
        print(f"{row:12}" + "".join(f"{ways[way]:>16}" for way in WAYS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
