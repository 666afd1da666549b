"""Which facts of a long story are still in memory at its end?

    python -m benchmarks.survival [--json] [--plot docs/images/survival.svg] [--seeds 1,2,3] [--forgetting 0.03]

A hundred facts (`benchmarks.planted`) lie among 2,000 messages. Every method that asks a model asks the same one
(`benchmarks.forgetful`), which compresses by a stated factor and forgets at a stated rate. A fact counts when its
probe words stand together in the memory's text.

* **ours**: the default settings; `fold` after every 10 messages. Memory is backbone, chapters, recap and what they
  do not cover.
* **ours, no model**: the same with the built-in writer.
* **one summary**: rewritten every 10 messages, 400 words, and the newest 12 messages.
* **one long summary**: the same, as long as all of our texts together.
* **per-message**: one sentence for each message, the newest that fit, and the newest 12 messages.
* **truncation**: the newest messages that fit.

Truncation, per-message and the long summary get as many tokens as our memory has at the end, from the first message
on. *In view* is what a prompt of 8,192 tokens holds: for the others, their memory, and the newest messages in what room
is left.
Figures are means over the seeds; `min` is the worst seed's total.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.forgetful import ForgetfulModel
from benchmarks.line_chart import Line, line_chart
from benchmarks.planted import Fact, World, planted_story
from benchmarks.survival_methods import STEPS, Run, run_ours, run_sentences, run_summary, run_truncation
from previously.core.tokens import message_tokens

MESSAGES = 2_000
COMPRESSION = 0.25
"""How many words of filler the model keeps of the words it reads."""

FORGETTING = 0.03
"""How likely the model drops a fact it reads, each time it reads it."""

SEEDS = (1, 2, 3)
SUMMARY_WORDS = 400

GROUPS = ("promises open", "promises resolved", "numbers", "names", "places", "secrets")
OURS, BUILTIN, SUMMARY, LONG_SUMMARY, SENTENCES, TRUNCATION = METHODS = (
    "ours", "ours, no model", "one summary", "one long summary", "per-message", "truncation",
)  # fmt: skip


async def run_seed(messages: int, seed: int, compression: float, forgetting: float) -> tuple[World, dict[str, Run]]:
    """Every method on one story. Ours comes first: its size is the budget of the others."""
    world = planted_story(messages, seed)

    def model() -> ForgetfulModel:
        return ForgetfulModel(world, compression=compression, forgetting=forgetting, seed=seed)

    ours = await run_ours(world, model())
    later: dict[str, Callable[[], Awaitable[Run]]] = {
        BUILTIN: lambda: run_ours(world, None),
        SUMMARY: lambda: run_summary(world, model(), SUMMARY_WORDS),
        LONG_SUMMARY: lambda: run_summary(world, model(), ours.words),
        SENTENCES: lambda: run_sentences(world, model(), ours.tokens),
        TRUNCATION: lambda: run_truncation(world, ours.tokens),
    }
    return world, {OURS: ours, **{name: await method() for name, method in later.items()}}


def scored(world: World, run: Run) -> dict[str, Any]:
    """The figures of one run, shares in per cent."""
    held, seen = world.held_by(run.memory), world.held_by(run.view)
    story = sum(message_tokens(one) for one in world.messages)
    return {
        "total": _share(held, world.facts),
        "by_kind": {
            group: _share([fact for fact in held if fact.group == group], _of(world.facts, group)) for group in GROUPS
        },
        "open_promises": _share(_of(held, "promises open"), _of(world.facts, "promises open")),
        "memory_tokens": run.tokens,
        "calls": run.calls,
        "input_ratio": run.input_tokens / story,
        "in_view": _share(seen, world.facts),
    }


def _of(facts: Sequence[Fact], group: str) -> list[Fact]:
    return [fact for fact in facts if fact.group == group]


def _share(held: Sequence[Fact], wanted: Sequence[Fact]) -> float:
    return 100 * len(held) / max(1, len(wanted))


def run(
    messages: int = MESSAGES,
    seeds: Sequence[int] = SEEDS,
    *,
    compression: float = COMPRESSION,
    forgetting: float = FORGETTING,
) -> dict[str, Any]:
    """The whole benchmark as one JSON-ready value."""
    methods: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
    lines: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    facts = 0
    for seed in seeds:
        world, runs = asyncio.run(run_seed(messages, seed, compression, forgetting))
        facts = len(world.facts)
        for name, one in runs.items():
            methods[name].append(scored(world, one))
            lines[name].append(one.shares)
    return {
        "messages": messages,
        "facts": facts,
        "compression": compression,
        "forgetting": forgetting,
        "seeds": list(seeds),
        "methods": {name: _mean(found) for name, found in methods.items()},
        "course": {
            name: [round(100 * fmean(step), 1) for step in zip(*found, strict=True)] for name, found in lines.items()
        },
    }


def _mean(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean over seeds of every figure, and the worst total and the worst share of open promises."""
    result: dict[str, Any] = {
        key: round(fmean(one[key] for one in found), 2)
        for key in ("total", "open_promises", "memory_tokens", "calls", "input_ratio", "in_view")
    }
    result["by_kind"] = {group: round(fmean(one["by_kind"][group] for one in found), 1) for group in GROUPS}
    result["min"] = min(one["total"] for one in found)
    result["min_open_promises"] = min(one["open_promises"] for one in found)
    return result


def show(result: dict[str, Any]) -> None:
    """The result as a table."""
    print(
        f"{result['facts']} facts in {result['messages']:,} messages; the model keeps {result['compression']:.0%} of "
        f"what it reads and forgets {result['forgetting']:.0%} of the facts; mean of {len(result['seeds'])} seeds"
    )
    heads = ("total", "min", *GROUPS, "in view", "tokens", "calls", "input")
    print(f"{'':18}" + "".join(f"{head.replace('promises ', 'p. '):>13}" for head in heads))
    for name, figures in result["methods"].items():
        shares = [
            figures["total"],
            figures["min"],
            *(figures["by_kind"][group] for group in GROUPS),
            figures["in_view"],
        ]
        print(
            f"{name:18}" + "".join(f"{share:>12.1f}%" for share in shares) + f"{figures['memory_tokens']:>13,.0f}"
            f"{figures['calls']:>13,.0f}{figures['input_ratio']:>13.2f}"
        )


def chart(result: dict[str, Any]) -> str:
    """The course of memory over the story, as SVG."""
    step = result["messages"] // STEPS
    lines = [
        Line(name, [(step * number, share) for number, share in enumerate(shares, 1)], heavy=name == OURS)
        for name, shares in result["course"].items()
    ]
    return line_chart(
        lines, title="Planted facts still in memory", across="messages told", up="% of the facts planted so far"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.survival", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="comma-separated")
    parser.add_argument("--compression", type=float, default=COMPRESSION, help="of what it reads, the model keeps this")
    parser.add_argument("--forgetting", type=float, default=FORGETTING, help="how likely it forgets a fact it reads")
    parser.add_argument("--plot", type=Path, help="where to write the plot as SVG")
    given = parser.parse_args(arguments)
    if given.messages < 20 * STEPS:
        print(f"{given.messages} messages are too few for the facts; give at least {20 * STEPS}.", file=sys.stderr)
        return 2
    seeds = [int(seed) for seed in given.seeds.split(",")]
    result = run(given.messages, seeds, compression=given.compression, forgetting=given.forgetting)
    if given.plot:
        given.plot.parent.mkdir(parents=True, exist_ok=True)
        given.plot.write_text(chart(result), "utf-8")
    if given.json:
        print(json.dumps(result))
    else:
        show(result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
