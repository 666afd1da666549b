"""How many questions about a story's end can a view still answer?

    python -m benchmarks.exam [--json] [--data FOLDER] [--budgets 2000,4000,8000] [--rows newest,builtin]
        [--endpoint URL --model NAME]

Three stories with 30 questions each. A question counts as answered from a view when all its answer patterns match and
its trap does not: *anywhere* in the view, and *together* within 900 characters. Views are taken at the story's end and
with the question as the newest message, which is removed again before scoring. All tokens are characters ÷ 4.

* **newest**: the newest messages that fit, nothing else.
* **rolling**: one summary of about 450 words, rewritten as the story goes on, before the newest messages that fit; by
  the endpoint's model (`rolling endpoint`) or recorded (`rolling a`).
* **builtin**: the engine without a model.
* **endpoint**: the engine with the model at an endpoint.
* **recorded a**, **recorded b**: the engine with the recorded answers of a set. Answers to requests that have changed
  since are *stale*: used, counted and listed. A request without a recording is *missing* and fails.

For recorded rows, what is shown as open though it is settled, and as standing though it has ended, is listed for a
person to read (`settled.py` says how it is found). Costs are calls, and input and output tokens per token of the story.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.exam import rolling
from benchmarks.exam.exams import CHARACTERS, STORIES, Exam, load_exams
from benchmarks.exam.recordings import ANSWERS, OnceAskedModel, RecordedModel, read_answers, recorded_sets
from benchmarks.exam.scores import STRETCH, Mark, mark, tally
from benchmarks.exam.settled import measure, show_settled
from benchmarks.exam.sittings import Sitting, prompts, sit_engine, sit_newest
from previously import BadInput
from previously.app import model_at
from previously.core.versions import Cost
from previously.models.client import Model

BUDGETS = (2_000, 4_000, 8_000)
NEWEST, BUILTIN, ENDPOINT, ROLLING, RECORDED = "newest", "builtin", "endpoint", "rolling", "recorded"
TIMEOUT_S = 1_800.0
"""For one answer of an endpoint: a person may be writing it."""


class Row:
    """One row of the report: a memory that sits every exam in every budget."""

    def __init__(self, name: str, model: Model | None = None, answers: Path | None = None) -> None:
        """`answers` is the folder of a recorded set; `model` is asked where there is one."""
        self.name = name
        self._kind = name.split()[0]
        self._model = model
        self._answers = answers
        self._summaries: dict[str, tuple[str, Cost]] = {}
        self.stale: dict[str, list[str]] = {}
        self.missing: dict[str, list[str]] = {}

    def takes(self, exam: Exam) -> bool:
        """Return whether the row can sit an exam: a set may not have every story yet."""
        if self._answers is None:
            return True
        suffix = f".{rolling.KIND}"
        names = read_answers(self._answers / exam.name)
        return any((suffix in name) == (self._kind == ROLLING) for name in names)

    async def sit(self, exam: Exam, budget: int) -> Sitting:
        """Sit one exam in one budget."""
        if self._kind == NEWEST:
            return sit_newest(exam, budget)
        if self._kind != ROLLING:
            model = self._model_for(exam)
            sitting = await sit_engine(exam, budget, model)
            self._note(exam, model)
            return sitting
        if exam.name not in self._summaries:
            model = self._model_for(exam)
            assert model is not None, "a rolling summary is a model's"
            self._summaries[exam.name] = await rolling.summarise(exam, model)
            self._note(exam, model)
        summary, cost = self._summaries[exam.name]
        return sit_newest(exam, budget, summary, cost)

    async def settled(self, exam: Exam) -> dict[str, Any] | None:
        """Return what a recorded memory holds to be open and standing at a story's end; None for other rows."""
        model = self._model_for(exam) if self._kind == RECORDED else None
        return await measure(exam, model) if model else None

    def _model_for(self, exam: Exam) -> Model | None:
        if self._answers is None:
            return self._model
        texts = [message.text for message in exam.messages]
        return RecordedModel(self._answers / exam.name, texts, prompts(), name=self.name)

    def _note(self, exam: Exam, model: Model | None) -> None:
        """Take down what was stale or missing, once for all budgets."""
        if isinstance(model, RecordedModel):
            for found, names in ((self.stale, model.stale), (self.missing, model.missing)):
                known = found.setdefault(exam.name, [])
                known += [name for name in names if name not in known]


async def run_row(row: Row, exams: Sequence[Exam], budgets: Sequence[int]) -> dict[str, Any]:
    """Return the figures of one row."""
    started = time.process_time()
    taken = [exam for exam in exams if row.takes(exam)]
    marks: dict[tuple[str, int], list[Mark]] = {}
    stories: dict[str, Any] = {}
    for exam in taken:
        figures: dict[str, Any] = {}
        for budget in budgets:
            sitting = await row.sit(exam, budget)
            end = [mark(question, sitting.end) for question in exam.questions]
            asked = [mark(*pair) for pair in zip(exam.questions, sitting.asked, strict=True)]
            marks.setdefault(("end", budget), []).extend(end)
            marks.setdefault(("asked", budget), []).extend(asked)
            figures[str(budget)] = {
                "end": _scored(end),
                "asked": _scored(asked),
                "tokens": sitting.tokens,
                "presence": sitting.presence,
                "cost": _cost(sitting.cost, exam),
            }
        stories[exam.name] = {
            "budgets": figures,
            "stale": row.stale.get(exam.name, []),
            "missing": row.missing.get(exam.name, []),
            "settled": await row.settled(exam),
        }
    return {
        "stories": stories,
        "sum": {
            str(budget): {when: tally(marks.get((when, budget), [])) for when in ("end", "asked")} for budget in budgets
        },
        "cpu_s": round(time.process_time() - started, 2),
    }


def _scored(marks: Sequence[Mark]) -> dict[str, Any]:
    return {**tally(marks), "missed": [one.id for one in marks if not one.together]}


def _cost(cost: Cost, exam: Exam) -> dict[str, Any]:
    return {
        "calls": cost.calls,
        "input_per_story_token": round(cost.input_tokens / exam.tokens, 2),
        "output_per_story_token": round(cost.output_tokens / exam.tokens, 2),
    }


async def run(
    rows: Sequence[Row], exams: Sequence[Exam], budgets: Sequence[int], endpoint: Model | None = None
) -> dict[str, Any]:
    """Return the whole benchmark as one JSON-ready value. The endpoint is closed behind it."""
    figures = {}
    try:
        for row in rows:
            figures[row.name] = await run_row(row, exams, budgets)
    finally:
        if endpoint is not None:
            await endpoint.close()
    return {
        "benchmark": "exam",
        "counter": CHARACTERS.name,
        "together_within": STRETCH,
        "budgets": list(budgets),
        "stories": {
            exam.name: {"messages": len(exam.drafts), "tokens": round(exam.tokens), "questions": len(exam.questions)}
            for exam in exams
        },
        "rows": figures,
    }


def all_rows(endpoint: Model | None, answers: Path = ANSWERS) -> list[Row]:
    """Return every row that can be had: those of an endpoint and of recorded sets only where there are any."""
    rows = [Row(NEWEST), Row(BUILTIN)]
    if endpoint is not None:
        once = OnceAskedModel(endpoint)
        rows += [Row(f"{ROLLING} {ENDPOINT}", once), Row(ENDPOINT, once)]
    for name in recorded_sets(answers):
        rows += [Row(f"{ROLLING} {name}", answers=answers / name), Row(f"{RECORDED} {name}", answers=answers / name)]
    return rows


def show(result: dict[str, Any]) -> None:
    """Print the result as tables."""
    print("Questions answered, anywhere / together; +q: with the question asked. Tokens are characters / 4.")
    heads = [f"{budget}{question}" for budget in result["budgets"] for question in ("", " +q")]
    for story in ("sum", *result["stories"]):
        print(f"\n{story:20}" + "".join(f"{head:>12}" for head in heads) + "   of")
        for name, row in result["rows"].items():
            budgets = row["sum"] if story == "sum" else row["stories"].get(story, {}).get("budgets")
            if budgets:
                cells = [budgets[str(budget)][when] for budget in result["budgets"] for when in ("end", "asked")]
                print(
                    f"{name:20}"
                    + "".join(f"{cell['anywhere']:>9}/{cell['together']:<2}" for cell in cells)
                    + f"{cells[0]['of']:>5}"
                )
    print()
    for name, row in result["rows"].items():
        for story, found in row["stories"].items():
            for budget, figures in found["budgets"].items():
                cost = figures["cost"]
                if cost["calls"]:
                    print(
                        f"{name}, {story}, {budget}: {cost['calls']} calls, input {cost['input_per_story_token']} and "
                        f"output {cost['output_per_story_token']} per story token"
                    )
                for part, rates in (figures["presence"] or {}).items():
                    if rates["messages"]:
                        print(
                            f"{name}, {story}, {budget}: presence, {part}: {rates['exact']} of {rates['messages']} "
                            f"exact, precision {rates['precision']}, recall {rates['recall']}"
                        )
            for what in ("stale", "missing"):
                if found[what]:
                    print(f"{name}, {story}: {what} {', '.join(found[what])}")

    for name, row in result["rows"].items():
        show_settled({f"{name}, {story}": found["settled"] for story, found in row["stories"].items()})


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.exam", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--data", type=Path, default=STORIES, help="the folder of stories and exams")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="comma-separated")
    parser.add_argument("--rows", default="", help="comma-separated; all that can be had if not given")
    parser.add_argument("--endpoint", default="", help="an OpenAI-compatible address, for the rows with a model")
    parser.add_argument("--model", default="", help="the model's name there")
    given = parser.parse_args(arguments)
    try:
        budgets = [int(budget) for budget in given.budgets.split(",")]
        if bool(given.endpoint) != bool(given.model):
            raise BadInput("A model needs both --endpoint and --model.")
        key = os.environ.get("PREVIOUSLY_API_KEY", "")
        endpoint = model_at(given.endpoint, given.model, key, TIMEOUT_S) if given.endpoint else None
        rows = {row.name: row for row in all_rows(endpoint)}
        wanted = [name for name in given.rows.split(",") if name] or list(rows)
        unknown = [name for name in wanted if name not in rows]
        if unknown:
            raise BadInput(f"There is no row {unknown[0]!r} here; there are {', '.join(rows)}.")
        result = asyncio.run(run([rows[name] for name in wanted], load_exams(given.data), budgets, endpoint))
    except (BadInput, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps(result))
    else:
        show(result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
