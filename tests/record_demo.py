"""Record a model's answers to all that the demo's folds ask.

    python -m tests.record_demo --endpoint URL --model NAME

What is recorded is taken from `src/previously/demo/answers`, the rest is asked and kept there; answers to requests that
are not asked any more are removed. Read what it says: an answer that was refused is to be asked for again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from previously import BadInput
from previously.app import model_at
from previously.blocking import BlockingMemory
from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.demo import replay_model, sample_story
from previously.demo.replay_model import RecordedModel, hash_request
from previously.models.client import Model

ANSWERS = Path(replay_model.__file__).parent / replay_model.ANSWERS

TIMEOUT_S = 3_600
"""An answer may be written by hand."""


class RecordingModel(RecordedModel):
    """Replays what is recorded, asks a model for the rest and keeps each answer as it arrives."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the recorded answer, or the model's."""
        name = f"{hash_request(request)}.txt"
        if not (ANSWERS / name).is_file():
            _say(f"{name}: asked")
            reply = await self._model.ask(request)
            if isinstance(reply, ModelFailure) or reply.finish_reason not in (None, "stop"):
                return reply
            ANSWERS.mkdir(exist_ok=True)
            (ANSWERS / name).write_text(f"{reply.text.strip()}\n", "utf-8")
        return await super().ask(request)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


def replay(model: RecordedModel) -> list[str]:
    """Tell the story, fold it, edit it and fold again; return what became of each fold that asked."""
    with BlockingMemory(":memory:", settings=sample_story.make_settings(), model=model) as memory:
        story = memory.story("harbour")
        story.follow(sample_story.read_sample())
        story.view(sample_story.BUDGET_TOKENS)  # folding makes room for the view that was last asked for
        folds = list(story.fold().folds)
        sample_story.edit_sample(story)
        folds += story.fold().folds
    return [f"{fold.kind} {fold.span}: {fold.status} by {fold.made_by} {fold.reason}".rstrip() for fold in folds]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and record."""
    parser = argparse.ArgumentParser(prog="tests.record_demo", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--endpoint", required=True, help="an OpenAI-compatible address")
    parser.add_argument("--model", required=True, help="the model's name there")
    given = parser.parse_args(arguments)
    try:
        asked = model_at(given.endpoint, given.model, os.environ.get("PREVIOUSLY_API_KEY", ""), TIMEOUT_S)
    except BadInput as error:
        sys.stderr.write(f"{error}\n")
        return 2
    model = RecordingModel(asked)
    for line in replay(model):
        _say(line)
    for path in ANSWERS.glob("*.txt"):
        if path.name not in model.used:
            _say(f"{path.name}: not asked any more, removed")
            path.unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
