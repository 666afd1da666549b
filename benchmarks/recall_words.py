"""Does a model pay that says how the answer may be worded, and that picks? (`Story.search_with_model`, `ask`)

    python -m benchmarks.recall_words [--json] [--budget 1000]

The questions of `benchmarks.exam`, the stories folded with the recorded answers of each set, in two parts: every third
question, on which it was decided how lines and question are merged, and the 60 others, which decided nothing. What a
strong model answered is recorded. `search_words.json` has the lines that are searched beside a question, written from
the question and 1,500 tokens of memory (set a), and nothing of the story. `search_picks.json` has the positions of the
messages that were picked for the 60, from the excerpts that `folds.pick` shows; of these, those are picked again that
are offered. Lines and picks stand for every way of asking.

Columns: without a model, with lines, with lines and picks. Rows: the share of a question's evidence inside the budget,
by story and by way of asking; the questions that can be answered from what is inside (`scores.is_answered`); those
whose answer stands in the sources of `ask`, where the model that answers says "not said" exactly if it does not; and
the tokens (characters / 4) that both calls read and write.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.exam.exams import CHARACTERS, STORIES, Exam, Question, load_exams
from benchmarks.exam.recordings import ANSWERS, RecordedModel, recorded_sets
from benchmarks.exam.scores import is_answered
from benchmarks.exam.sittings import fold_story, open_memory, prompts
from benchmarks.recall_data import WAYS, exam
from benchmarks.recall_data import Question as Asked
from previously import ModelFailure, ModelReply, ModelRequest, SearchHit, Story
from previously.core.model_io import Usage
from previously.folds.ask import NOT_SAID

BUDGET = 1_000
LINES: Mapping[str, Sequence[str]] = json.loads(Path(__file__).with_name("search_words.json").read_text("utf-8"))
PICKS: Mapping[str, Sequence[int]] = json.loads(Path(__file__).with_name("search_picks.json").read_text("utf-8"))

_OFFERED = re.compile(r"^\[(\d+)\] message (\d+)\b", re.M)

Rows = dict[str, dict[str, list[float]]]


class HelpingModel(RecordedModel):
    """Folds with recorded answers, gives recorded lines and picks, and says of sources whether they answer."""

    asked: Question | None = None
    """The question that is asked now."""
    picks = False

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the answer to one request."""
        if self.asked is None:
            return await super().ask(request)
        text = self._answer(self.asked, request.user)
        read, written = CHARACTERS.tokens(request.system + request.user), CHARACTERS.tokens(text)
        return ModelReply(text, self.name, "stop", Usage(read, written, True))

    def _answer(self, question: Question, user: str) -> str:
        if user.startswith("<known>"):
            return "\n".join(LINES[question.id])
        if user.startswith("<excerpts>"):
            numbers = {int(position): number for number, position in _OFFERED.findall(user)}
            # What is no list of numbers is refused, and refusals are not kept: lines alone, and later picks too.
            return ", ".join(numbers[at] for at in PICKS[question.id] if at in numbers) if self.picks else "?"
        return "It stands there [1]." if _holds(question, user.partition("<question>")[0]) else NOT_SAID


def _holds(question: Question, text: str) -> bool:
    return all(answer.search(text) for answer in question.answers)


async def measure(exams: Sequence[Exam], budget: int) -> dict[str, dict[str, float]]:
    """Return the mean by row and by set and column."""
    rows: Rows = {}
    ways = {talk.name: talk.questions for talk in exam().conversations}
    for answers in recorded_sets(ANSWERS):
        for one in exams:
            texts = [message.text for message in one.messages]
            model = HelpingModel(ANSWERS / answers / one.name, texts, prompts(), name=answers)
            async with await open_memory(one, model) as memory:
                story, _ = await fold_story(memory, one, 4 * budget)
                for question, asked in _pair(one.questions, ways[one.name]):
                    model.asked = question
                    await _measure_question(story, model, question, asked, budget, rows)
    return {
        f"{row} ({len(next(iter(columns.values())))})": {
            name: round(statistics.fmean(values), 1) for name, values in columns.items()
        }
        for row, columns in sorted(rows.items())
    }


async def _measure_question(
    story: Story, model: HelpingModel, question: Question, asked: Sequence[Asked], budget: int, rows: Rows
) -> None:
    part = "60" if question.id in PICKS else "30"
    columns = ("no model", "lines", "picks") if part == "60" else ("no model", "lines")

    def note(row: str, column: str, value: float) -> None:
        rows.setdefault(f"{part} {row}", {}).setdefault(f"{model.name} {column}", []).append(value)

    for column in columns:
        model.picks = column == "picks"
        for way in asked:
            hits: Sequence[SearchHit] = await story.search(way.text, budget_tokens=budget)
            if column != "no model":
                helped = await story.search_with_model(way.text, budget_tokens=budget)
                hits, cost = helped.hits, helped.pick.cost if model.picks else helped.words.cost
            note(way.category, column, 100 * _share(hits, way.gold))
            if way.category == "plain":
                note(f"plain, {story.name}", column, 100 * _share(hits, way.gold))
                told = "\n".join(f"{hit.speaker}: {hit.text}" for hit in hits)
                note("plain, answerable", column, 100.0 * is_answered(question, told))
                note("plain, tokens read", column, cost.input_tokens if column != "no model" else 0)
                note("plain, tokens written", column, cost.output_tokens if column != "no model" else 0)
        answer = await story.ask(question.text, by_model=column != "no model")
        held = _holds(question, "\n".join(f"{source.label}: {source.text}" for source in answer.sources))
        note("sources of ask hold the answer", column, 100.0 * held)


def _pair(questions: Sequence[Question], asked: Sequence[Asked]) -> Iterator[tuple[Question, Sequence[Asked]]]:
    """Yield the questions, each with the ways in which it is asked. One that is asked in German is asked plainly in
    English besides."""
    first = 0
    for question in questions:
        last = first + len(WAYS) + asked[first].category.endswith("German")
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
    columns = list(dict.fromkeys(name for values in figures.values() for name in values))
    print(f"{'':44}" + "".join(f"{column:>12}" for column in columns))
    for row, values in figures.items():
        print(f"{row:44}" + "".join(f"{values.get(column, ''):>12}" for column in columns))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
