"""Names that an agent uses later, on logs that nothing was chosen on.

    python -m benchmarks.compaction.unseen_logs --data FOLDER [--share 0.25] [--json]

Every log is cut at a half and at three quarters, and folded to what must stay plus a share of what can be folded. The
one number that could be chosen by such logs is the share of the budget that the newest messages may take: for each log
it is chosen on all the others (`left out`), and beside it stands what a user gets who chooses nothing (`as it comes`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.compaction.contenders import Ours, whole
from benchmarks.compaction.facts import Fact, held, needed_later, told
from benchmarks.compaction.weak_model import MOST_TOKENS
from previously.core.messages import Message, Role
from previously.core.pairing import find_units
from previously.folds.conversation.pins import find_newest_request
from previously.formats.conversations import read_conversation

CUTS = (0.5, 0.75)
TAIL_PERCENTS = (10, 25, 40)
LEAST_FOLDABLE = 1_000
"""Tokens that can be folded: a quarter of less is no room for the shortest brief."""


@dataclass(frozen=True, slots=True)
class CutLog:
    """A log up to a place, and the names from before it that its agent writes behind it."""

    name: str
    cut: float
    messages: tuple[Message, ...]
    pins: tuple[int, ...]
    fixed: int
    """The tokens of what must stay."""
    facts: tuple[Fact, ...]

    def count_budget(self, share: float) -> int:
        return self.fixed + int(share * (whole(self.messages) - self.fixed))


def list_cut_logs(folder: Path) -> tuple[list[CutLog], list[str]]:
    """The logs that can be measured, and for each of the others why not."""
    logs: list[CutLog] = []
    passed_over: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".traj", ".jsonl", ".json")):
        for cut in CUTS:
            log = _cut_log(path, cut)
            foldable = whole(log.messages) - log.fixed
            if foldable < LEAST_FOLDABLE:
                passed_over.append(f"{path.name}, {cut:.0%}: only {foldable:,} tokens can be folded.")
            elif not log.facts:
                passed_over.append(f"{path.name}, {cut:.0%}: no name from before is written later.")
            else:
                logs.append(log)
    return logs, passed_over


def _cut_log(path: Path, share: float) -> CutLog:
    conversation = read_conversation(path)
    messages = conversation.messages
    begins = [unit[0] for unit in find_units(messages)]
    cut = next((at for at in begins if at >= share * len(messages)), len(messages))
    past, later = messages[:cut], messages[cut:]
    pins = tuple(at for at in conversation.pins if at < cut)
    request = find_newest_request(past)
    stays = {*pins, *(at for at, message in enumerate(past) if message.role is Role.SYSTEM)}
    stays |= set() if request is None else {request}
    return CutLog(path.name, share, past, pins, whole([past[at] for at in stays]), tuple(needed_later(past, later)))


async def measure(contender: Ours, log: CutLog, share: float) -> float:
    """Return the percentage of the names that are still there."""
    done = await contender.fold(log.messages, log.count_budget(share), None, log.pins)
    return 100 * len(held(log.facts, told(done.messages))) / len(log.facts)


async def run(folder: Path, share: float) -> dict[str, object]:
    """The figures of every log, as one JSON-ready value."""
    logs, passed_over = list_cut_logs(folder)
    rows: list[dict[str, object]] = []
    for label, writes in (("with a model", MOST_TOKENS), ("no model", 0)):
        figures = {
            (percent, log.name, log.cut): await measure(Ours("ours", writes, percent), log, share)
            for percent in (0, *TAIL_PERCENTS)
            for log in logs
        }
        for log in logs:
            others = {
                percent: fmean(
                    [figures[percent, other.name, other.cut] for other in logs if other.name != log.name] or [0]
                )
                for percent in TAIL_PERCENTS
            }
            chosen = max(others, key=lambda percent: (others[percent], -abs(percent - 25)))
            rows.append(
                {
                    "log": log.name,
                    "cut": log.cut,
                    "writer": label,
                    "names": len(log.facts),
                    "as it comes": figures[0, log.name, log.cut],
                    "left out": figures[chosen, log.name, log.cut],
                    "tail percent": chosen,
                }
            )
    return {"share": share, "rows": rows, "passed over": passed_over}


def show(result: dict[str, object]) -> None:
    """The result as a table in Markdown."""
    rows: list[dict[str, object]] = result["rows"]  # type: ignore[assignment]
    print("| log | cut at | names | writer | as it comes | left out |\n|---|---:|---:|---|---:|---:|")
    for row in rows:
        print(
            f"| {row['log']} | {row['cut']:.0%} | {row['names']} | {row['writer']} | {row['as it comes']:.1f} | "
            f"{row['left out']:.1f} |"
        )
    for writer in dict.fromkeys(row["writer"] for row in rows):
        means = [
            fmean(float(str(row[column])) for row in rows if row["writer"] == writer)
            for column in ("as it comes", "left out")
        ]
        print(f"| mean | | | {writer} | {means[0]:.1f} | {means[1]:.1f} |")
    for line in result["passed over"]:  # type: ignore[attr-defined]
        print(f"\n{line}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.compaction.unseen_logs", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with runs of agents")
    parser.add_argument("--share", type=float, default=0.25, help="the share of what can be folded that is left")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args(arguments)
    folder = given.data / "agents" if (given.data / "agents").is_dir() else given.data
    result = asyncio.run(run(folder, given.share))
    if given.json:
        print(json.dumps(result))
    else:
        show(result)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
