"""What memory costs in calls and tokens, by preset: a long story told a few messages at a time, and folded as it grows.

Calls for notes of scenes, fragments and characters are counted apart: each preset keeps to a ceiling, its cast aside.

Input tokens are those of every prompt sent, refused answers included, as a ratio of the story's own tokens. The model
is the one of `benchmarks.survival`: it obeys the length it is asked for and forgets nothing. The peer is one summary of
400 words, rewritten every 10 messages.

    python -m benchmarks.cost [--messages N] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.forgetful import ForgetfulModel
from benchmarks.planted import World, planted_story
from benchmarks.survival_methods import BATCH, run_summary
from previously import Draft, Memory, Settings
from previously.core.tokens import message_tokens
from previously.core.versions import Status
from previously.presets import PRESETS

MESSAGES = 10_000
CHAPTER_OF_A_NOVEL = 100
"""How many fragments a chapter has where markers close it; a game closes its own as often."""


def main() -> None:
    """Measure every preset and the peer, and print what each took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=MESSAGES, help="how long the story is")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    world = planted_story(asked.messages, 1)
    tokens = sum(message_tokens(message) for message in world.messages)
    figures = {preset: asyncio.run(_ours(world, preset, tokens)) for preset in PRESETS}
    peer = _model(world)
    asyncio.run(run_summary(world, peer, 400))
    figures["one summary every 10"] = _figures(peer, len(world.messages), tokens, 0)
    result = {"messages": len(world.messages), "tokens": tokens, "methods": figures}
    if asked.json:
        print(json.dumps(result))
        return
    print(f"{len(world.messages):,} messages, {tokens:,} tokens")
    print(
        f"{'':>22} {'calls':>7} {'texts':>7} {'scenes':>7} {'analyses':>9} {'cast':>7} {'per message':>12} "
        f"{'but cast':>9} {'input tokens':>13} {'ratio':>6} {'output':>9} {'refused':>8}"
    )
    for name, row in figures.items():
        kinds = row["by_kind"]
        print(
            f"{name:>22} {row['calls']:>7,} {kinds['text']:>7,} {kinds['scene']:>7,} {kinds['analysis']:>9,} "
            f"{kinds['cast']:>7,} {row['calls_per_message']:>12.3f} {row['calls_per_message_but_cast']:>9.3f} "
            f"{row['input_tokens']:>13,} {row['input_ratio']:>6.2f} {row['output_tokens']:>9,} {row['refused']:>8}"
        )


def _model(world: World) -> ForgetfulModel:
    return ForgetfulModel(world, compression=0.25, forgetting=0.0, seed=1)


async def _ours(world: World, preset: str, tokens: int) -> dict[str, Any]:
    model = _model(world)
    marked = preset in ("novel", "game")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "stories.db"
        async with await Memory.open(place, settings=Settings.of(preset), model=model.model) as memory:
            story = await memory.story("long")
            for start in range(0, len(world.messages), BATCH):
                await story.add_drafts([Draft(one) for one in world.messages[start : start + BATCH]])
                if marked and start % CHAPTER_OF_A_NOVEL == 0 and start:
                    await story.close_chapter(at=start - 1)
                await story.fold()
            refused = sum(version.made.status is Status.REFUSED for version in await story.log())
    return _figures(model, len(world.messages), tokens, refused)


def _figures(model: ForgetfulModel, messages: int, tokens: int, refused: int) -> dict[str, Any]:
    return {
        "calls": model.calls,
        "by_kind": {kind: model.asked[kind] for kind in ("text", "scene", "analysis", "cast")},
        "messages_per_call": round(messages / max(1, model.calls), 1),
        "calls_per_message": round(model.calls / messages, 4),
        "calls_per_message_but_cast": round((model.calls - model.asked["cast"]) / messages, 4),
        "output_tokens": model.output_tokens,
        "input_tokens": model.input_tokens,
        "input_ratio": round(model.input_tokens / tokens, 2),
        "refused": refused,
    }


if __name__ == "__main__":
    main()
