"""What is still there after an agent's conversation was folded?

    python -m benchmarks.compaction [--json] [--data FOLDER] [--sessions 6] [--writes 700] [--wording first]
        [--cases]

Everyone folds the same conversations to the same budgets with the same weak model; what survived is found by exact
match. `FOLDER` holds runs of agents (`agents/` of the data sets, or that folder itself).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.compaction import langchain_peer
from benchmarks.compaction.cases import generated_cases, real_cases
from benchmarks.compaction.contenders import Contender, all_contenders
from benchmarks.compaction.facts import KINDS, Case
from benchmarks.compaction.phrases import WORDINGS
from benchmarks.compaction.running import fold_on, fold_once, mean
from benchmarks.compaction.weak_model import MOST_TOKENS

SESSIONS = 6
ONCE = ("valid", "valid if mended", "fits", "rules", "request", *KINDS, "all", "size", "again", "calls", "asked")
ON = ("valid", "fits", "rules", "request", *KINDS[:8], "first", "all", "summary first", "summary last", "calls")
REAL = ("valid", "fits", "rules", "request", "files edited", "needed later", "size", "again", "calls", "asked")


async def measured(cases: Sequence[Case], contenders: Sequence[Contender]) -> list[dict[str, Any]]:
    """One row for every case, budget and contender."""
    return [
        {"case": case.name, "source": case.source, "budget": name, "contender": contender.name}
        | await fold_once(contender, case, budget)
        for case in cases
        for name, budget in case.budgets
        for contender in contenders
    ]


async def run(
    data: Path | None, sessions: int = SESSIONS, growing: int = 3, *, writes: int = MOST_TOKENS, wording: str = "first"
) -> dict[str, Any]:
    """The whole benchmark as one JSON-ready value."""
    notes: list[str] = []
    peer = langchain_peer.contenders if langchain_peer.is_installed() else None
    if peer is None:
        notes.append("LangChain is not installed here, so it takes no part (see docs/benchmarks.md, Compaction).")
    contenders = all_contenders(writes, peer)
    cases = generated_cases(sessions, wording)
    real: list[Case] = []
    if data is None:
        notes.append("No data set was given, so only generated sessions are folded.")
    else:
        real, passed_over = real_cases(data / "agents" if (data / "agents").is_dir() else data)
        notes += [f"{name} is too small to be folded." for name in passed_over]
    rows = await measured([*cases, *real], contenders)
    names = [one.name for one in contenders]

    def of(name: str, *, real_ones: bool) -> dict[str, Any] | None:
        found = [row for row in rows if row["contender"] == name and (row["source"] != "generated") is real_ones]
        found = [{key: value for key, value in row.items() if key not in _LABELS} for row in found]
        return mean(found) if found else None

    return {
        "cases": len(cases),
        "real": [case.name for case in real],
        "notes": notes,
        "generated": {name: of(name, real_ones=False) for name in names},
        "runs of agents": {name: figures for name in names if (figures := of(name, real_ones=True))},
        "five folds": {
            one.name: mean([await fold_on(one, seed, wording=wording) for seed in range(201, 201 + growing)])
            for one in contenders
        },
        "rows": rows,
    }


_LABELS = ("case", "source", "budget", "contender", "faults", "refused")


def show(result: dict[str, Any]) -> None:
    """The result as tables in Markdown."""
    for title, columns in (("generated", ONCE), ("runs of agents", REAL), ("five folds", ON)):
        if not result[title]:
            continue
        print(f"\n{title}\n\n| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
        for name, figures in result[title].items():
            print(f"| {name} | {' | '.join(_shown(figures[column]) for column in columns)} |")
    for note in result["notes"]:
        print(f"\n{note}")


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.compaction", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--data", type=Path, help="the folder with runs of agents")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="how many sessions are generated")
    parser.add_argument("--writes", type=int, default=MOST_TOKENS, help="how many tokens the model writes at most")
    parser.add_argument("--wording", choices=tuple(WORDINGS), default="first", help="which set of sentences is used")
    parser.add_argument("--cases", action="store_true", help="also a line for each case, budget and contender")
    given = parser.parse_args(arguments)
    result = asyncio.run(run(given.data, given.sessions, writes=given.writes, wording=given.wording))
    if given.json:
        print(json.dumps(result))
        return 0
    show(result)
    if given.cases:
        for row in result["rows"]:
            print(json.dumps(row))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
