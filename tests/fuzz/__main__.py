"""Fuzzing of every reader: `python -m tests.fuzz --cases 100000 --seed 0`.

One table, or one JSON object, says for each target how many inputs were tried, accepted and refused. It exits with 1 if
an input met another error than ours, took too long or too much memory, reached a file that is none of its own, or broke
a promise. `--only` takes some targets (a part of their names is enough), `--case` plays one input again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from tests.fuzz.watch import Tally, clear, make_input, run_cases
from tests.fuzz.workers import fuzz

MOST_SENTENCES = 12
"""Sentences of a target that the JSON has, the commonest first."""


def main() -> int:
    """Run what is asked for; the exit code."""
    asked = _arguments()
    chosen = [target for name, target in TARGETS.items() if not asked.only or any(part in name for part in asked.only)]
    if not chosen:
        sys.exit("No target is called so; these are:\n" + "\n".join(TARGETS))
    if asked.case is not None:
        return _replay(chosen, asked.seed, asked.case)
    began = time.monotonic()
    last = began + asked.minutes * 60 if asked.minutes else float("inf")
    report: dict[str, Any] = {"seed": asked.seed, "targets": {}}
    if not asked.json:
        print(_row("target", "inputs", "accepted", "refused", "sentences", "slowest", "MB", "CPU s", "faults"))  # noqa: T201
    for target in chosen:
        cases = asked.cases if target.is_format or asked.other_cases is None else asked.other_cases
        tally = fuzz(target, asked.seed, range(cases), asked.workers, last)
        report["targets"][target.name] = _describe(tally)
        if not asked.json:
            print(_render(target.name, tally), flush=True)  # noqa: T201
        for fault in tally.faults:
            again = f"python -m tests.fuzz --seed {asked.seed} --only '{target.name}' --case {fault.case}"
            print(f"    {fault.words}\n        {again}", file=sys.stderr, flush=True)  # noqa: T201
    tallies = report["targets"].values()
    report |= {
        "inputs": sum(tally["inputs"] for tally in tallies),
        "faults": sum(tally["broken"] for tally in tallies),
        "seconds": round(time.monotonic() - began, 1),
    }
    total = f"{report['inputs']:,} inputs in {report['seconds']:g} s, {report['faults']} faults"
    print(json.dumps(report, indent=2) if asked.json else total)  # noqa: T201
    return 1 if report["faults"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="a target, or a part of names; repeatable")
    parser.add_argument("--cases", type=int, default=100_000, help="inputs of each target")
    parser.add_argument("--other-cases", type=int, help="inputs of those that read no format of files, if others")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="for all targets together; what is not tried by then is not")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--case", type=int, help="play the input of this number again")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _describe(tally: Tally) -> dict[str, Any]:
    common = dict(tally.sentences.most_common(MOST_SENTENCES))
    return asdict(tally) | {"sentences": len(tally.sentences), "common": common}


def _row(*cells: object) -> str:
    name, *rest = map(str, cells)
    return name.ljust(30) + "".join(cell.rjust(11) for cell in rest)


def _render(name: str, tally: Tally) -> str:
    slowest = f"{tally.slowest_s * 1_000:.0f} ms"
    counts = (tally.inputs, tally.accepted, tally.refused, len(tally.sentences))
    return _row(name, *(f"{count:,}" for count in counts), slowest, f"{tally.peak_mb:.0f}", f"{tally.cpu_s:.0f}",
                tally.broken)  # fmt: skip


def _replay(chosen: list[Target], seed: int, case: int) -> int:
    """Play one input again in this process: shows it, and what became of it."""
    faults = 0
    for target in chosen:
        folder = Path(tempfile.mkdtemp(prefix="previously-fuzz-"))
        tally = Tally()
        print(f"{target.name}: {make_input(target, seed, case, folder).content[:2_000]!r}")  # noqa: T201
        for _ in run_cases(target, seed, [case], folder, tally):
            pass
        clear(folder)
        print(f"    {tally.faults[0].words if tally.faults else dict(tally.sentences) or 'accepted'}")  # noqa: T201
        faults += len(tally.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
