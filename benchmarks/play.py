"""The size of what each agent of a game reads, turn after turn, and what the game costs.

    python -m benchmarks.play [--json] [--turns 500] [--seed 3] [--plot docs/images/play.svg]

The shipped game, played by itself with the scripted model. Each point is the largest question of that kind within ten
turns, in per cent of what the agent may read and write; *the whole story* is what a prompt without memory would have
to hold, in per cent of a window of 8,192 tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.line_chart import Line, line_chart
from previously.app import Memory
from previously.core.model_io import ModelRequest
from previously.core.tokens import estimate_tokens
from previously.play.agents import CHARACTER_AGENT, NARRATOR_AGENT, STATE_AGENT
from previously.play.game_files import read_shipped_game
from previously.play.model_meter import MeteredModel, identify_agent
from previously.play.playtest import PromptLog, play_automatically
from previously.play.script_model import ScriptedGameModel
from previously.play.session import GameSession

WINDOWS = {
    "narrator": NARRATOR_AGENT.window_tokens,
    "character": CHARACTER_AGENT.window_tokens,
    "state": STATE_AGENT.window_tokens,
    "memory": 1_000,
}
WHOLE, WINDOW = "the whole story", 8_192
STEP = 10


async def measure(turns: int, seed: int) -> dict[str, Any]:
    """Play; return figures and the sizes by agent, one for each turn."""
    log, sizes = PromptLog(), defaultdict[str, list[int]](list)
    turn: dict[str, int] = {}

    def look(request: ModelRequest) -> None:
        log.look(request)
        who = identify_agent(request)
        kind = who if who in WINDOWS else "memory" if who.startswith("memory of ") else "character" if who else ""
        if kind:
            size = estimate_tokens(request.system) + estimate_tokens(request.user)
            turn[kind] = max(turn.get(kind, 0), size)

    def next_turn(_: int, __: int) -> None:
        for kind in WINDOWS:
            sizes[kind].append(turn.pop(kind, 0))

    model = MeteredModel(ScriptedGameModel(seed), look)
    async with await Memory.open(":memory:", model=model) as memory:
        session = await GameSession.open(memory, read_shipped_game(), model)
        report = await play_automatically(session, log, turns, seed, next_turn)
        words = [item.entry.message.text for item in await session.story.messages(0, -1)]
    figures = report.as_json()
    del figures["shown_leaks"], figures["shown_faults"], figures["view_tokens"]
    whole = sum(map(estimate_tokens, words))
    return {
        **figures,
        "story_tokens": whole,
        "largest": {kind: max(all_) for kind, all_ in sizes.items()},
        "sizes": sizes,
    }


def chart(result: dict[str, Any]) -> str:
    """The sizes over the turns, as SVG."""
    lines = []
    for kind, window in WINDOWS.items():
        sizes = result["sizes"][kind]
        points = [(at + STEP, 100 * max(sizes[at : at + STEP]) / window) for at in range(0, len(sizes), STEP)]
        lines.append(Line(f"{kind} (of {window:,})", points, heavy=kind == "narrator"))
    turns = result["turns"]
    share = 100 * result["story_tokens"] / WINDOW
    reached = [(turns * part / 20, share * part / 20) for part in range(1, 21) if share * part / 20 <= 100]
    lines.append(Line(f"{WHOLE} (of {WINDOW:,})", reached or [(turns, 100)]))
    return line_chart(lines, title="What each agent reads", across="turns", up="% of its window")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.play", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="where to write the plot as SVG")
    given = parser.parse_args(arguments)
    result = asyncio.run(measure(max(1, given.turns), given.seed))
    if given.plot:
        given.plot.parent.mkdir(parents=True, exist_ok=True)
        given.plot.write_text(chart(result), "utf-8")
    sizes = result.pop("sizes")
    if given.json:
        print(json.dumps({**result, "sizes": sizes}))
    else:
        for name, value in result.items():
            print(f"{name:<22}{value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
