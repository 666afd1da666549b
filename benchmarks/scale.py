"""Does cost stay flat as stories grow?

`python -m benchmarks.scale [--json] [--sizes 100,10000,100000] [--stores sqlite,postgres]`

One run builds a story of each size (generated, see `previously.demo.long_story`) in its own SQLite file and PostgreSQL
database (a real server, from a wheel), folds it with the built-in writer, and then takes turns adding a message and
building a view on each, so that noise of the machine meets all sizes alike: one without recall, and one that recalls,
for a question of many as the newest message (`recall ms`). Times are CPU time of the whole process,
the store's threads included; on PostgreSQL, that of the server's processes as well. The ratio to the smallest story is
what counts. Process memory is the peak of a fresh process that opens the file, adds and views.
Import, `--help` and the words read by the writer are measured beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.recall_speed import QUESTIONS
from previously import BlockingMemory, Draft, message, read_story
from previously.blocking import BlockingStory
from previously.core.scripts import count_words
from previously.demo.long_story import generate_story

ROUNDS = 14
"""Two messages each: fewer than make a fold due, so that no size folds while it is measured."""

BUDGET_TOKENS, ASKED_TOKENS = 4_000, 8_000
"""The budget of a view without recall, and of one that recalls."""

LINE = "Tess counts the lamps along the quay twice and writes the number down before the tide turns it into a guess."


def drafts(count: int) -> list[Draft]:
    """A generated story as drafts."""
    return [
        Draft(message(str(line["role"]), str(line["content"]), speaker=str(line["name"])))
        for line in generate_story(count)
    ]


def start_of_cycle(story: BlockingStory) -> None:
    """Add until a fold has just happened, so that every story waits equally long for its next one."""
    while not story.fold().folds:
        story.add("user", LINE, name="Tess")


def measure_turns(stories: dict[int, BlockingStory], clock: Callable[[], int]) -> dict[int, dict[str, float]]:
    """Median milliseconds of an add, of a view, and of one that recalls, per size. The first two rounds are not
    counted: they read what a process keeps."""
    taken: dict[int, dict[str, list[float]]] = {size: {"add": [], "view": [], "recall": []} for size in stories}
    for number in range(ROUNDS):
        for size, story in stories.items():
            began = clock()
            story.add("user", LINE, name="Tess")
            added = clock()
            story.view(BUDGET_TOKENS, exclude=["recall"])
            viewed = clock()
            story.add("user", QUESTIONS[number % len(QUESTIONS)], name="Ines")
            asked = clock()
            story.view(ASKED_TOKENS)
            recalled = clock()
            taken[size]["add"].append((added - began) / 1e6)
            taken[size]["view"].append((viewed - added) / 1e6)
            taken[size]["recall"].append((recalled - asked) / 1e6)
    return {size: {what: median(values[2:]) for what, values in times.items()} for size, times in taken.items()}


def cpu_with_server(pid_file: Path) -> Callable[[], int]:
    """A clock of the CPU time, in ns, of this process and of those that serve it on a PostgreSQL server."""
    first = pid_file.read_text().split()[0]

    def clock() -> int:
        there = 0
        for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split():
            with suppress(OSError):  # it ended meanwhile
                if b"[local]" in Path(f"/proc/{pid}/cmdline").read_bytes():  # not one that tidies up
                    there += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return there + time.process_time_ns()

    return clock


def measure_import(count: int, folder: Path) -> dict[str, float]:
    """Messages per CPU-second from a JSONL file into a new story, and again into the same one."""
    path = folder / "import.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for line in generate_story(count):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    with BlockingMemory(folder / "import.db") as memory:
        began = time.process_time()
        memory.story("import").follow(read_story(path).drafts)
        first = time.process_time()
        memory.story("import").follow(read_story(path).drafts)
        second = time.process_time()
    return {"messages_per_cpu_s": count / (first - began), "again_messages_per_cpu_s": count / (second - first)}


def measure_words(count: int, folder: Path) -> dict[str, float]:
    """Words the writer reads over a story that is folded as it is told, against the story's own words."""
    own = 0
    with BlockingMemory(folder / "words.db") as memory:
        story = memory.story("words")
        lines = drafts(count)
        for start in range(0, count, 10):
            story.add_drafts(lines[start : start + 10])
            story.fold()
        own = sum(count_words(draft.message.text) for draft in lines)
        versions = story.log()
        began = [version.made.span.first for version in versions]
        read = sum(
            count_words(earlier.made.text) + count_words(lines[later.made.span.first - 1].message.text)
            for earlier, later in pairwise(versions)
        )
        last = versions[-1].made.span.last
        read += sum(count_words(draft.message.text) for draft in lines[: last + 1])
    return {"messages": count, "folds": len(began), "words_read_per_word": read / own}


def measure_help() -> float:
    """CPU seconds of `previously --help`: the best of five, since a first run compiles."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "previously", "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def peak_memory_mb(path: Path) -> float:
    """Peak memory of a fresh process that opens the file, adds and views."""
    command = [sys.executable, "-m", "benchmarks.scale", "--probe", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def probe(path: str) -> None:
    """What `peak_memory_mb` runs."""
    with BlockingMemory(path) as memory:
        story = memory.story("story")
        for _ in range(10):
            story.add("user", LINE, name="Tess")
            story.view(BUDGET_TOKENS, exclude=["recall"])
    status = Path("/proc/self/status").read_text()  # getrusage would report the parent's peak if that was higher
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def measure_store(places: dict[int, str | Path], clock: Callable[[], int]) -> list[dict[str, Any]]:
    """Each size in its own place of one store."""
    memories = {size: BlockingMemory(place) for size, place in places.items()}
    stories = {}
    for size, memory in memories.items():
        stories[size] = memory.story("story")
        stories[size].follow(drafts(size))
        stories[size].search(QUESTIONS[0])
        start_of_cycle(stories[size])
    turns = measure_turns(stories, clock)
    views = {size: story.view(BUDGET_TOKENS, exclude=["recall"]).tokens for size, story in stories.items()}
    for memory in memories.values():
        memory.close()
    smallest = turns[min(places)]
    return [
        {
            "messages": size,
            "add_ms": taken["add"],
            "view_ms": taken["view"],
            "add_ratio": taken["add"] / smallest["add"],
            "view_ratio": taken["view"] / smallest["view"],
            "recall_ms": taken["recall"],
            "recall_ratio": taken["recall"] / smallest["recall"],
            "view_tokens": views[size],
        }
        for size, taken in turns.items()
    ]


def run(sizes: list[int], stores: list[str]) -> dict[str, Any]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: dict[str, Any] = {}
        if "sqlite" in stores:
            files: dict[int, str | Path] = {size: folder / f"{size}.db" for size in sizes}
            found["sizes"] = measure_store(files, time.process_time_ns)
            for row in found["sizes"]:
                row["peak_memory_mb"] = peak_memory_mb(folder / f"{row['messages']}.db")
        if "postgres" in stores:
            from tests.contract.storage.postgres_server import running_server

            with running_server() as server:
                server.stop()
                server.start(safe=True)  # with its waits for the disk
                places: dict[int, str | Path] = {size: server.fresh() for size in sizes}
                found["postgres"] = measure_store(places, cpu_with_server(server.folder / "data" / "postmaster.pid"))
        return {
            **found,
            "import": measure_import(max(sizes), folder),
            "words": measure_words(min(max(sizes), 10_000), folder),
            "help_cpu_s": measure_help(),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Does cost stay flat as stories grow?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--sizes", default="100,10000,100000", help="story lengths, smallest first")
    parser.add_argument("--stores", default="sqlite,postgres", help="which stores")
    parser.add_argument("--data", help="not needed here; taken so that every benchmark can be called alike")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        probe(arguments.probe)
        return
    figures = run([int(size) for size in arguments.sizes.split(",")], arguments.stores.split(","))
    if arguments.json:
        print(json.dumps(figures))
        return
    for store, rows in (("SQLite, CPU", figures.get("sizes", [])), ("PostgreSQL, CPU", figures.get("postgres", []))):
        print(
            f"{store:18} {'add ms':>8} {'ratio':>6} {'view ms':>8} {'ratio':>6} "
            f"{'recall ms':>9} {'ratio':>6} {'view tokens':>12} {'peak MB':>8}"
        )
        for row in rows:
            peak = f"{row['peak_memory_mb']:8.1f}" if "peak_memory_mb" in row else ""
            print(
                f"{row['messages']:>18,} {row['add_ms']:>8.3f} {row['add_ratio']:>6.2f} {row['view_ms']:>8.3f} "
                f"{row['view_ratio']:>6.2f} {row['recall_ms']:>9.3f} {row['recall_ratio']:>6.2f} "
                f"{row['view_tokens']:>12,} {peak}"
            )
    print(f"import: {figures['import']['messages_per_cpu_s']:,.0f} messages per CPU-second, ", end="")
    print(f"again {figures['import']['again_messages_per_cpu_s']:,.0f}")
    words = figures["words"]
    print(f"words read by the writer per word of a {words['messages']:,}-message story: ", end="")
    print(f"{words['words_read_per_word']:.2f} in {words['folds']} folds")
    print(f"previously --help: {figures['help_cpu_s']:.3f} s of CPU")


if __name__ == "__main__":
    main()
