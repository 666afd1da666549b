"""What does it cost to put the memory proxy before a model? A direct call and LiteLLM's proxy stand beside it.

`python -m benchmarks.proxy [--json] [--litellm PATH] [--stories FILE] [--only first,chunks,open,steady]`

All are processes of their own, on one machine, before the same scripted upstream; so is the load. Every client tells a
story of its own that is in the store, folded and indexed; what it is answered it sends back with the next thing it
says. One story is long, the others have a few hundred messages (`benchmarks.proxy_stories`). In each round the same
requests go directly, through Previously and through LiteLLM, one after the other and in turning order; what is added is
told client by client, the figures are medians over rounds. CPU is counted until a proxy has nothing more to do, and
also without what it does once nobody waits (folds). `strangers` is the share of the machine that other processes took
in each round: with more than a tenth, only ratios mean anything. All of it takes less than ten minutes.
`--before TREE` compares the CPU time of a turn with that of another tree of this project, and measures nothing else.
`--litellm` is the program of an installation of its own (`pip install 'litellm[proxy]'` into another environment);
without it there is no such row. `steady` is load that goes on for `--minutes`, and is made only where it is named.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.proxy_endurance import measure_open, measure_steady
from benchmarks.proxy_load import Streamed, ask_all, delays_of
from benchmarks.proxy_parties import LITELLM, OURS, Party, Strangers, litellm, previously, upstream
from benchmarks.proxy_report import show
from benchmarks.proxy_stories import LONG, SHORT, Client, copy_of, length_of, make_stories
from benchmarks.proxy_turns import measure_turns
from benchmarks.proxy_upstream import model_name

ALONE, ALONE_TURNS = 1, 20
"""Turns of the one stream in a round: a hundredth of few turns is the slowest of them, so there are many."""

SEVERAL, MANY = 50, 200
QUICK = model_name(2, 20)
"""For one stream: nobody waits for the rest of the answer."""
PACE = model_name(20, 50)
"""What a chat model gives: 50 chunks a second."""
STAMPED = model_name(20, 50, kind="stamped")
OPEN = model_name(500, 30)
"""Slow enough that all streams are open at the same time."""


@dataclass
class Bench:
    """All that takes part."""

    parties: list[Party]
    workers: ProcessPoolExecutor
    rounds: int
    errors: list[str] = field(default_factory=list)

    @property
    def ours(self) -> Party:
        """The one that remembers."""
        return next(party for party in self.parties if party.name == OURS)

    def ask(self, port: int, requests: Sequence[bytes]) -> list[Streamed]:
        """From the process that makes the load."""
        return self.workers.submit(ask_all, port, requests).result()

    def strangers(self) -> Strangers:
        """Who else is at work from now on."""
        return Strangers(self.parties, self.workers._processes)  # made when the first work was given


@dataclass(frozen=True)
class Case:
    """Who asks for what, and how often in a round."""

    clients: Sequence[Client]
    model: str = PACE
    turns: int = 1


def measure_round(bench: Bench, case: Case, number: int) -> dict[str, Any]:
    """The same requests through each of them; what they took, and who else was at work."""
    strangers = bench.strangers()
    came: dict[str, list[Streamed]] = {party.name: [] for party in bench.parties}
    before = {party.name: party.cpu_s for party in bench.parties}
    for turn in range(case.turns):
        for client in case.clients:
            client.says()
        first = (number + turn) % len(bench.parties)
        for party in [*bench.parties[first:], *bench.parties[:first]]:
            requests = [client.request(party.port, case.model) for client in case.clients]
            came[party.name] += bench.ask(party.port, requests)
        take_answers(case.clients, came[OURS][-len(case.clients) :])
    asked = len(case.clients) * case.turns
    answered = {party.name: (party.cpu_s - before[party.name]) * 1_000 / asked for party in bench.parties}
    for party in bench.parties[1:]:
        party.settle()
    settled = {party.name: (party.cpu_s - before[party.name]) * 1_000 / asked for party in bench.parties}
    bench.errors += [f"{name}: {streamed.error}" for name in came for streamed in came[name] if streamed.error]
    return {"came": came, "answered_cpu_ms": answered, "cpu_ms": settled, "strangers": strangers.share}


def take_answers(clients: Sequence[Client], came: Sequence[Streamed]) -> None:
    """Every client takes its own answer; one without takes back what it said."""
    for client, streamed in zip(clients, came, strict=True):
        if streamed.error:
            client.unsaid()
        else:
            client.is_answered(streamed.raw)


def measure_rounds(bench: Bench, case: Case) -> list[dict[str, Any]]:
    """Measure as many rounds as are wanted, behind one that counts for nothing."""
    return [measure_round(bench, case, number) for number in range(bench.rounds + 1)][1:]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered) - 1, round(share * len(ordered)) - 1))]


def first_tokens(bench: Bench, rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Time to first token of a direct call, and what the others add to it."""
    row: dict[str, Any] = {"rounds": len(rounds), "strangers": [round(one["strangers"], 2) for one in rounds]}
    for party in bench.parties:
        p50, p99 = [], []
        for one in rounds:
            pairs = zip(one["came"][party.name], one["came"][bench.parties[0].name], strict=True)
            taken = [
                (mine.first_s - (0 if party is bench.parties[0] else direct.first_s)) * 1_000
                for mine, direct in pairs
                if not mine.error and not direct.error
            ]
            p50.append(quantile(taken, 0.5))
            p99.append(quantile(taken, 0.99))
        figures = {"p50_ms": median(p50), "p99_ms": median(p99), "p50_range_ms": [min(p50), max(p50)]}
        for count in ("answered_cpu_ms", "cpu_ms"):
            figures[count] = median(one[count][party.name] for one in rounds)
        row[party.name] = figures
    if (other := row.get(LITELLM)) is not None:
        ours = row[OURS]
        row["ours to LiteLLM's"] = {name: ours[name] / other[name] for name in ("p50_ms", "p99_ms", "cpu_ms")}
    states = [streamed.memory for one in rounds for streamed in one["came"][OURS]]
    row["memory"] = {state: states.count(state) for state in sorted(set(states))}
    return row


def chunk_times(bench: Bench, rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How long chunks are under way, and the gaps between them."""
    row: dict[str, Any] = {"rounds": len(rounds), "strangers": [round(one["strangers"], 2) for one in rounds]}
    for party in bench.parties:
        p50, p99, gaps = [], [], []
        for one in rounds:
            whole = [streamed for streamed in one["came"][party.name] if not streamed.error]
            delays = [delay * 1_000 for streamed in whole for delay in delays_of(streamed)]
            between = [
                (later - earlier) * 1_000
                for streamed in whole
                for earlier, later in zip(streamed.arrivals, streamed.arrivals[1:], strict=False)
            ]
            p50.append(quantile(delays, 0.5))
            p99.append(quantile(delays, 0.99))
            gaps.append(quantile(between, 0.99))
        row[party.name] = {"p50_ms": median(p50), "p99_ms": median(p99), "gap_p99_ms": median(gaps)}
    return row


def measure(bench: Bench, clients: list[Client], minutes: float, only: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """All figures, one after the other. The first turns come first: there is no other chance for them."""
    if "first" in only:
        alone, several, many = Case(clients[:ALONE], QUICK, ALONE_TURNS), Case(clients[:SEVERAL]), Case(clients[:MANY])
        cold = Case(clients[ALONE : ALONE + ALONE_TURNS])
        yield (
            f"first token, first turn of {len(cold.clients)} stories",
            first_tokens(bench, [measure_round(bench, cold, 0)]),
        )
        for case in (alone, several, many):
            streams = f"{len(case.clients)} streams at once" if case.clients[1:] else "1 stream"
            yield f"first token, {streams}", first_tokens(bench, measure_rounds(bench, case))
    if "chunks" in only:
        yield "chunks, 10 streams", chunk_times(bench, measure_rounds(bench, Case(clients[1:11], STAMPED)))
    if "open" in only:
        yield "open streams", measure_open(bench.parties[1:], bench.workers, OPEN, bench.errors)
    if "steady" in only:
        yield "steady", measure_steady(bench.parties[1:], bench.workers, PACE, minutes, bench.errors)


@contextmanager
def arena(given: argparse.Namespace, folder: Path) -> Iterator[Bench]:
    """Everything started, the stories in place."""
    stories: Path = given.stories or folder / "made.db"
    began = time.monotonic()
    make_stories(stories, MANY)
    print(f"stories: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    with ExitStack() as stack:
        behind = stack.enter_context(upstream(folder))
        parties = [behind, stack.enter_context(previously(folder, behind, copy_of(stories, folder)))]
        if given.litellm:
            parties.append(stack.enter_context(litellm(folder, behind, given.litellm, [PACE, QUICK, STAMPED, OPEN])))
        workers = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
        stack.enter_context(workers)
        yield Bench(parties, workers, given.rounds)


def compare_turns(before: Path, turns: int, folder: Path, errors: list[str]) -> dict[str, Any]:
    """Return the CPU time of a turn through this tree's proxy and through that of another one."""
    with ExitStack() as stack:
        behind = stack.enter_context(upstream(folder))
        ours = stack.enter_context(previously(folder, behind, folder / "now.db"))
        other = stack.enter_context(previously(folder, behind, folder / "before.db", name="before", tree=before))
        return measure_turns([ours, other], turns, errors)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What does the memory proxy cost?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--data", help="not needed here; taken so that every benchmark can be called alike")
    parser.add_argument("--litellm", help="LiteLLM's program, in an environment of its own")
    parser.add_argument("--stories", type=Path, help="a file that keeps the stories, or that holds them already")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=1.0, help="of steady load")
    parser.add_argument("--only", default="first,chunks,open", help="which parts; also: steady")
    parser.add_argument("--before", type=Path, help="another tree of this project: compare the CPU of a turn, no more")
    parser.add_argument("--turns", type=int, default=200, help="that are compared with --before")
    given = parser.parse_args()
    if given.before:
        errors: list[str] = []
        with tempfile.TemporaryDirectory() as name:
            compared = compare_turns(given.before, given.turns, Path(name), errors) | {"errors": errors}
        print(json.dumps(compared)) if given.json else show("CPU of a turn", compared)
        return
    figures: dict[str, Any] = {
        "cores": os.cpu_count(),
        "messages": {"first story": LONG, "others": SHORT},
        "load_average_before": os.getloadavg(),
    }
    with tempfile.TemporaryDirectory() as name, arena(given, Path(name)) as bench:
        clients = [Client(number, length_of(number)) for number in range(MANY)]
        for what, found in measure(bench, clients, given.minutes, given.only.split(",")):
            figures[what] = found
            if not given.json:
                show(what, found)
        figures["errors"] = {error: bench.errors.count(error) for error in sorted(set(bench.errors))}
        figures["warnings"] = {party.name: party.warnings() for party in bench.parties[1:]}
    figures["load_average_after"] = os.getloadavg()
    if given.json:
        print(json.dumps(figures))
    else:
        for what in ("cores", "load_average_before", "load_average_after", "errors", "warnings"):
            show(what, figures[what])


if __name__ == "__main__":
    main()
