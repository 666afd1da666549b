"""Take the figures of docs/architecture.md: `python -m tests.architecture.figures` prints them.

`--write` puts them there. `--fast` leaves out the traces and the commands, which run the code. How long the tests took
is told with `--minutes TEST TEST_ALL`. What is not measured leaves its cell empty.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.offenders import QUESTIONS, RULES, find_docstrings
from tests.architecture.sources import ROOT, all_modules
from tests.trace.measure import take_traces, trace_turn

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- figures: python -m tests.architecture.figures --write -->", "<!-- /figures -->"

RUNS = 5
"""The least of five is what a command needs; the rest is what else the machine was doing."""

TURNS = 5
"""Writes that wait at the same time share a transaction, so turns differ: their median counts."""

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Row:
    """One figure: as it was, and as it should be. `before` is commit cd5cdb7, taken with this same tool."""

    name: str
    before: str
    aim: str
    anchors: str = ""


ROWS = (
    Row("modules", "443", "about 200", "11; 25; 34"),
    Row("lines", "61,282", "45,000", "2,568; 6,594; 6,712"),
    Row("lines of code", "42,691", ""),
    Row("lines of a module, median", "125", "", "153; –; 145"),
    Row("lines of the largest", "483", "500", "659; 1,042; below 900"),
    Row("modules named with a gerund, participle or pronoun", "97 (22 %)", "0", "0; 1; –"),
    Row("file names that stand twice in a package", "18", "0"),
    Row("public classes with the name of another", "92", "0"),
    Row("imports that lie on a cycle of modules", "4", "0"),
    Row("imports that lie on a cycle of folders", "13", "0"),
    Row("docstrings that begin with What, Whether, How or Where", "1,345 (25 %)", "0", "0 to 1 %"),
    Row("asynchronous modules below `story` and `runtime`, drivers aside", "24", "0"),
    Row("second stemmers, splitters, tables of number words", "12", "0"),
    Row("modules touched by an edit", "25", "28"),
    Row("by a fold", "95", "55"),
    Row("by a view", "96", "70"),
    Row("by a chat turn", "148", "55"),
    Row("transactions of a chat turn", "11", "6"),
    Row("CPU of `previously --help`, seconds", "0.21", "0.3"),
    Row("CPU of `previously stories`, seconds", "1.48", "0.3"),
    Row("`make test` on two cores, minutes", "16", "4"),
    Row("`make test-all`, minutes", "16", "20"),
)


def take_figures(minutes: Sequence[str], *, fast: bool = False) -> list[str]:
    """Return the figures of now, in the order of the rows."""
    taken = [*_measure_size(), *_count_offenders()]
    if not fast:
        with tempfile.TemporaryDirectory() as directory:
            taken += [*_trace(Path(directory)), *_time_commands(Path(directory))]
    return [*taken, *[""] * (len(ROWS) - len(taken) - len(minutes)), *minutes]


def _measure_size() -> Iterator[str]:
    modules = all_modules().values()
    sizes = [len(module.text.splitlines()) for module in modules]
    yield f"{len(sizes):,}"
    yield f"{sum(sizes):,}"
    yield f"{sum(count_code_lines(module.text) for module in modules):,}"
    yield f"{statistics.median(sizes):,.0f}"
    yield f"{max(sizes):,}"


def count_code_lines(source: str) -> int:
    """Return how many lines hold code: neither blank, nor a comment, nor a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines -= set(range(first, last + 1))
            case _:
                pass
    return len(lines)


def _count_offenders() -> Iterator[str]:
    counts = {rule: sum(find().values()) for rule, find in RULES.items()}
    docstrings = [text for module in all_modules().values() for text in find_docstrings(module)]
    questions = sum(1 for text in docstrings if QUESTIONS.match(text))
    yield _with_share(counts["gerunds"], len(all_modules()))
    yield f"{counts['repeated_stems']}"
    yield f"{counts['repeated_classes']}"
    yield f"{counts['module_cycles']}"
    yield f"{counts['folder_cycles']}"
    yield _with_share(questions, len(docstrings))
    yield f"{counts['async_below_runtime']}"
    yield f"{counts['second_tools']}"


def _with_share(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.0f} %)"


def _trace(directory: Path) -> Iterator[str]:
    traces = take_traces(directory)
    for name in ("edit", "fold", "view", "chat turn"):
        yield str(traces[name]["modules"])
    again = [asyncio.run(trace_turn(directory / f"turn{number}.db")) for number in range(TURNS - 1)]
    yield f"{statistics.median(trace['hops'] for trace in (traces['chat turn'], *again)):.0f}"


def _time_commands(directory: Path) -> Iterator[str]:
    place = ["--db", str(directory / "stories.db")]
    yield f"{measure_cpu_s(['--help']):.2f}"
    measure_cpu_s([*place, "stories"])  # makes the file
    yield f"{measure_cpu_s([*place, 'stories']):.2f}"


def measure_cpu_s(arguments: Sequence[str]) -> float:
    """Return the least CPU time that the command `previously` took, of a few runs."""
    return min(_run_once(arguments) for _ in range(RUNS))


def _run_once(arguments: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PREVIOUSLY_CONFIG": ""}
    command = [sys.executable, "-m", "previously", *arguments]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def render_figures(now: Sequence[str]) -> str:
    """Return the table as the page has it."""
    lines = ["| | before | now | aim | h11; procrastinate; starlette |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.before} | {value} | {row.aim} | {row.anchors} |"
        for row, value in zip(ROWS, now, strict=True)
    ]
    return "\n".join(lines)


def write_figures(table: str) -> None:
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.architecture.figures", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put them into docs/architecture.md")
    parser.add_argument("--fast", action="store_true", help="only what is read from the sources")
    parser.add_argument("--minutes", nargs=2, default=["", ""], metavar=("TEST", "TEST_ALL"), help="of the suites")
    options = parser.parse_args()
    table = render_figures(take_figures(options.minutes, fast=options.fast))
    if options.write:
        write_figures(table)
    sys.stdout.write(table + "\n")


if __name__ == "__main__":
    main()
