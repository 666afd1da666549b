"""Record a model's answers to all that a story's folds ask.

    python -m benchmarks.exam.record SET STORY --endpoint URL [--model NAME] [--rolling] [--anew]
        [--budgets 2000,4000,8000]

The story is folded once for each budget, since a small view makes a little more due. What is recorded is replayed and
only what is missing is asked, so an interrupted recording goes on where it was; `--anew` also asks again where the
request has changed since. `--rolling` records the rolling summary instead of the engine's folds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.exam import rolling
from benchmarks.exam.__main__ import BUDGETS, TIMEOUT_S
from benchmarks.exam.exams import SETTINGS, Exam, load_exam
from benchmarks.exam.recordings import ANSWERS, RecordedModel, RecordingModel
from benchmarks.exam.sittings import fold_story, open_memory, prompts
from previously import BadInput
from previously.app import model_at
from previously.models.client import Model


async def record(
    exam: Exam, model: Model, folder: Path, budgets: Sequence[int], *, anew: bool = False, summary: bool = False
) -> None:
    """Fold the story with the model's answers, each kept in the folder as it arrives."""
    texts = [message.text for message in exam.messages]
    try:
        for budget in budgets[:1] if summary else budgets:
            recording = RecordingModel(model, RecordedModel(folder, texts, prompts()), anew=anew)
            if summary:
                await rolling.summarise(exam, recording)
                continue
            async with await open_memory(exam, recording) as memory:
                _, report = await fold_story(memory, exam, budget)
            for fold in report.folds:
                print(f"{budget}: {fold.kind} {fold.span} {fold.status} {fold.reason}".rstrip())
    finally:
        await model.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and record."""
    parser = argparse.ArgumentParser(prog="benchmarks.exam.record", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("set", help="the set of answers, as in a or b")
    parser.add_argument("story", choices=list(SETTINGS))
    parser.add_argument("--endpoint", required=True, help="an OpenAI-compatible address")
    parser.add_argument("--model", default="by-hand", help="the model's name there")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="comma-separated")
    parser.add_argument("--rolling", action="store_true", help="record the rolling summary")
    parser.add_argument("--anew", action="store_true", help="ask again where the recorded answer is stale")
    given = parser.parse_args(arguments)
    try:
        model = model_at(given.endpoint, given.model, os.environ.get("PREVIOUSLY_API_KEY", ""), TIMEOUT_S)
        budgets = [int(budget) for budget in given.budgets.split(",")]
        folder = ANSWERS / given.set / given.story
        work = record(load_exam(given.story), model, folder, budgets, anew=given.anew, summary=given.rolling)
        asyncio.run(work)
    except (BadInput, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
