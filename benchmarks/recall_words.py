"""Does a model pay that says how the answer may be worded? (`Story.search_with_model`, and the second look of `ask`)

    python -m benchmarks.recall_words [--json] [--budget 1000]

Every third question of `benchmarks.exam`, the stories folded with the recorded answers of each set. The lines that are
searched beside a question were written once, by a strong model that had read the question and 1,500 tokens of memory
(set a: texts, then threads in their order), and nothing of the story (`search_words.json`). They stand for every
way of asking. Rows: the share of a question's evidence inside the budget; and the questions whose answer stands in the
sources of `ask`, where the model that answers says "not said" exactly if it does not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.exam.exams import STORIES, Exam, Question, load_exams
from benchmarks.exam.recordings import ANSWERS, RecordedModel, recorded_sets
from benchmarks.exam.sittings import fold_story, open_memory, prompts
from benchmarks.recall_data import WAYS, exam
from benchmarks.recall_data import Question as Asked
from previously import ModelFailure, ModelReply, ModelRequest, SearchHit
from previously.core.model_io import Usage
from previously.folds.ask import NOT_SAID

BUDGET = 1_000
LINES: Mapping[str, Sequence[str]] = json.loads(Path(__file__).with_name("search_words.json").read_text("utf-8"))


class LinesModel(RecordedModel):
    """Folds with recorded answers, gives recorded lines, and says of sources whether they answer."""

    asked: Question | None = None
    """The question that is asked now."""

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the answer to one request."""
        if self.asked is None:
            return await super().ask(request)
        lines = "\n".join(LINES[self.asked.id])
        text = lines if "<known>\n" in request.user else _answer(self.asked, request.user.partition("<question>")[0])
        return ModelReply(text, self.name, "stop", Usage(1, 1, True))


def _answer(question: Question, sources: str) -> str:
    return "It stands there [1]." if _holds(question, sources) else NOT_SAID


def _holds(question: Question, text: str) -> bool:
    return all(answer.search(text) for answer in question.answers)


async def measure(exams: Sequence[Exam], budget: int) -> dict[str, dict[str, float]]:
    """Return the mean in per cent by row and by set, with lines and without."""
    shares: dict[str, dict[str, list[float]]] = {}
    ways = {talk.name: talk.questions for talk in exam().conversations}
    for answers in recorded_sets(ANSWERS):
        for one in exams:
            texts = [message.text for message in one.messages]
            model = LinesModel(ANSWERS / answers / one.name, texts, prompts(), name=answers)
            async with await open_memory(one, model) as memory:
                story, _ = await fold_story(memory, one, 4 * budget)
                for question, asked in _pair(one.questions, ways[one.name]):
                    model.asked = question
                    for way in asked:
                        row = shares.setdefault(way.category, {})
                        plain = await story.search(way.text, budget_tokens=budget)
                        found = await story.search_with_model(way.text, budget_tokens=budget)
                        row.setdefault(f"{answers} without", []).append(_share(plain, way.gold))
                        row.setdefault(f"{answers} with", []).append(_share(found.hits, way.gold))
                    row = shares.setdefault("ask: sources hold the answer", {})
                    for name, by_model in ((f"{answers} without", False), (f"{answers} with", True)):
                        told = await story.ask(question.text, by_model=by_model)
                        held = _holds(question, "\n".join(f"{one.label}: {one.text}" for one in told.sources))
                        row.setdefault(name, []).append(float(held))
    return {
        f"{row} ({len(next(iter(columns.values())))})": {
            name: round(100 * statistics.fmean(values), 1) for name, values in sorted(columns.items())
        }
        for row, columns in shares.items()
    }


def _pair(questions: Sequence[Question], asked: Sequence[Asked]) -> Iterator[tuple[Question, Sequence[Asked]]]:
    """Yield the questions that have lines, each with the ways in which it is asked. One that is asked in German is
    asked plainly in English besides."""
    first = 0
    for question in questions:
        last = first + len(WAYS) + asked[first].category.endswith("German")
        if question.id in LINES:
            yield question, asked[first:last]
        first = last


def _share(hits: Sequence[SearchHit], gold: Collection[int]) -> float:
    found = {hit.position for hit in hits}
    return sum(place in found for place in gold) / len(gold)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.recall_words", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens that the evidence must fit")
    given = parser.parse_args(arguments)
    figures = asyncio.run(measure(load_exams(STORIES), given.budget))
    if given.json:
        print(json.dumps(figures))
        return 0
    columns = list(next(iter(figures.values())))
    print(f"{'':36}" + "".join(f"{column:>12}" for column in columns))
    for row, values in figures.items():
        print(f"{row:36}" + "".join(f"{values[column]:>12}" for column in columns))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
