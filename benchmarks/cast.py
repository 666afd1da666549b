"""What a cast costs in waiting: twenty characters learn of a turn at once, with a model that takes 200 ms to answer.

    python -m benchmarks.cast [--characters N] [--turns N] [--json]

The ratio is the time that the updates of all of them take to that of one character, in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from previously import Memory, Settings
from previously.core.model_io import ModelReply, ModelRequest, Usage

ANSWER_S = 0.2
NAMES = "Ada Bram Cleo Dirk Edda Finn Greta Hob Ines Jory Kaia Lorn Maya Ned Orla Piet Quinn Rosa Sten Tess".split()


class SlowModel:
    """Answers every update after the same time, as many at once as are asked."""

    name = "slow"

    def __init__(self) -> None:
        self.calls = 0

    async def ask(self, request: ModelRequest) -> ModelReply:
        """A fact and a summary."""
        self.calls += 1
        await asyncio.sleep(ANSWER_S)
        text = json.dumps({"summary": "They stood by the door and waited. It was late.", "add": ["The door is shut."]})
        used = Usage(len(request.user) // 4, len(text) // 4, reported=True)
        return ModelReply(text, self.name, "stop", used)

    async def close(self) -> None:
        """There is nothing to close."""


def main() -> None:
    """Measure one character and many, and print the ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cast", description=__doc__.splitlines()[0])
    parser.add_argument("--characters", type=int, default=len(NAMES), help="how many are there (at most 20)")
    parser.add_argument("--turns", type=int, default=5, help="how many turns are timed; the middle counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    one = asyncio.run(_seconds(NAMES[:1], asked.turns))
    many = asyncio.run(_seconds(NAMES[: asked.characters], asked.turns))
    result: dict[str, Any] = {
        "characters": asked.characters,
        "answer_s": ANSWER_S,
        "one_s": round(one, 3),
        "all_s": round(many, 3),
        "ratio": round(many / one, 2),
    }
    if asked.json:
        print(json.dumps(result))
        return
    print(f"one character: {one:.3f} s a turn; {asked.characters} at once: {many:.3f} s, {many / one:.2f} times that")


async def _seconds(names: list[str], turns: int) -> float:
    """How long the memory of a turn takes when these are there."""
    model = SlowModel()
    times = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.of("game", recall_percent=0)
        async with await Memory.open(Path(folder) / "stories.db", settings=settings, model=model) as memory:
            story = await memory.story("game")
            for turn in range(turns):
                await story.add("user", f"I open door {turn}.", name="Player", witnesses=[*names, "Player"])
                told = f"Behind door {turn} stood a lamp."
                await story.add("assistant", told, name="Narrator", witnesses=[*names, "Player"])
                before, begun = model.calls, time.perf_counter()
                await story.fold()
                times.append(time.perf_counter() - begun)
                assert model.calls - before == len(names), "one call for each who was there"
    return median(times)


if __name__ == "__main__":
    main()
