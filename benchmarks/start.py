"""How long does the command line take to start? The CPU time of a process from its beginning to its end.

`python -m benchmarks.start [--json] [--runs 5] [--before TREE]`

Every command runs several times as a process of its own, with its bytecode compiled; the quickest run counts, since
nothing but other work on the machine makes a run slower. Commands that name no story run on a place without stories,
the others on a story of 1,000 messages with a book of 10,000 entries. `--before` measures another tree of this project
beside this one, run by run in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from previously import BlockingMemory, Draft, message

STORY, MESSAGES, ENTRIES = "tale", 1_000, 10_000
COMMANDS = (
    ("--help",), ("--version",), ("stories",), ("--db", "FILE", "stories"), ("keys", "--help"),
    ("lore", "list", STORY), ("log", STORY), ("branches", "list", STORY), ("view", STORY), ("show", STORY),
    ("search", STORY, "lamp"),
)  # fmt: skip


def fill(database: Path) -> None:
    """Write and fold a story, and attach a book to it."""
    book = {str(at): {"key": [f"lamp {at}"], "content": f"Lamp {at} hangs above the quay."} for at in range(ENTRIES)}
    drafts = [Draft(message("user", f"Lamp {at} was lit when the ferry came in.")) for at in range(MESSAGES)]
    with BlockingMemory(database) as memory:
        memory.keep_book("lamps", {"entries": book})
        story = memory.story(STORY)
        story.add_drafts(drafts)
        story.attach_book("lamps")
        story.fold()
        story.search("lamp")


def measure_cpu_s(arguments: tuple[str, ...], database: Path, tree: Path | None) -> float:
    """Return the CPU time, user and system, of one run."""
    environment = {**os.environ, "PREVIOUSLY_DB": str(database)}
    if tree is not None:
        environment["PYTHONPATH"] = str(tree / "src")
    given = [str(database) if argument == "FILE" else argument for argument in arguments]
    command = [sys.executable, "-m", "previously", *given]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long does the command line take to start?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", type=Path, help="another tree of this project")
    given = parser.parse_args()
    trees: dict[str, Path | None] = {"now": None} | ({"before": given.before} if given.before else {})
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder, "filled.db"))
        for arguments in COMMANDS:
            best = dict.fromkeys(trees, float("inf"))
            for _ in range(given.runs + 1):  # one more, which compiles what is not compiled
                for name, tree in trees.items():
                    database = Path(folder, "filled.db" if STORY in arguments else f"{name}.db")
                    best[name] = min(best[name], measure_cpu_s(arguments, database, tree))
            figures[" ".join(arguments)] = best
            if not given.json:
                print(f"{' '.join(arguments):18}" + "".join(f"  {name} {cpu:.2f} s" for name, cpu in best.items()))
    if given.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
