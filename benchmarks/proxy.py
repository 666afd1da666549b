"""What does it cost to put the memory proxy before a model? A direct call and LiteLLM's proxy stand beside it.

`python -m benchmarks.proxy [--json] [--litellm PATH] [--stories FILE] [--rounds 9] [--minutes 1] [--only first,chunks]`

All are processes of their own, on one machine, before the same scripted upstream; so is the load. Every client tells a
story of 10,000 messages which is in the store; what it is answered it sends back with the next thing it says. In each
round the same requests go directly, through Previously and through LiteLLM, one after the other and in turning order;
what is added is told client by client, the figures are medians over rounds. A round in which other processes took more
than a tenth of the machine is made again, as often as there are rounds; then the least disturbed count.
`--before TREE` compares the CPU time of a turn with that of another tree of this project, and measures nothing else.
`--stories FILE` keeps the stories for another time: they take long to make. `--litellm` is the program of an
installation of its own (`pip install 'litellm[proxy]'` into another environment); without it there is no such row.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.proxy_endurance import measure_open, measure_steady
from benchmarks.proxy_load import Streamed, ask_all, delays_of
from benchmarks.proxy_parties import OURS, Party, Strangers, litellm, previously, upstream
from benchmarks.proxy_report import show
from benchmarks.proxy_stories import SENT, Client, copy_of, make_stories
from benchmarks.proxy_turns import measure_turns
from benchmarks.proxy_upstream import model_name

DISTURBED = 0.10
PACE = model_name(20, 50)
"""What a chat model gives: 50 chunks a second."""
SLOW = model_name(100, 50)
"""For a hundred streams that are to be open at once without their chunks being all the load."""
STAMPED = model_name(20, 50, kind="stamped")
OPEN = model_name(1_000, 60)


@dataclass
class Bench:
    """All that takes part."""

    parties: list[Party]
    workers: ProcessPoolExecutor
    rounds: int
    length: int
    errors: list[str] = field(default_factory=list)

    @property
    def ours(self) -> Party:
        """The one that remembers."""
        return next(party for party in self.parties if party.name == OURS)

    def ask(self, port: int, requests: Sequence[bytes], over_s: float = 0.0) -> list[Streamed]:
        """From the process that makes the load."""
        return self.workers.submit(ask_all, port, requests, over_s).result()

    def strangers(self) -> Strangers:
        """Who else is at work from now on."""
        return Strangers(self.parties, self.workers._processes)  # made when the first work was given


@dataclass(frozen=True)
class Case:
    """Who asks for what."""

    clients: Sequence[Client]
    model: str = PACE
    sent: int | None = SENT
    over_s: float = 0.0


def one_round(bench: Bench, case: Case, turn: int, remember: Callable[[list[Streamed]], None]) -> dict[str, Any]:
    """The same requests through each of them; what they took, and who else was at work."""
    for client in dict.fromkeys(case.clients):
        client.says()
    strangers = bench.strangers()
    came: dict[str, list[Streamed]] = {}
    cpu_ms: dict[str, float] = {}
    first = turn % len(bench.parties)
    for party in [*bench.parties[first:], *bench.parties[:first]]:
        requests = [client.request(party.port, case.model, case.sent) for client in case.clients]
        before = party.cpu_s
        came[party.name] = bench.ask(party.port, requests, case.over_s)
        cpu_ms[party.name] = (party.cpu_s - before) * 1_000 / len(requests)
        bench.errors += [f"{party.name}: {one.error}" for one in came[party.name] if one.error]
        if party.name == OURS:
            party.settle()
    disturbed = strangers.share
    remember(came[OURS])
    return {"came": came, "cpu_ms": cpu_ms, "strangers": disturbed}


def answered_each(case: Case) -> Callable[[list[Streamed]], None]:
    """Every client takes its own answer; of several on one story, all take the first."""

    def remember(came: list[Streamed]) -> None:
        taken: set[Client] = set()
        for client, streamed in zip(case.clients, came, strict=True):
            if client in taken:
                continue
            taken.add(client)
            if streamed.error:
                client.unsaid()
            else:
                client.is_answered(streamed.raw)

    return remember


def rounds_of(bench: Bench, case: Case, count: int) -> list[dict[str, Any]]:
    """So many rounds, the least disturbed of up to twice as many."""
    done: list[dict[str, Any]] = []
    for turn in range(2 * count):
        done.append(one_round(bench, case, turn, answered_each(case)))
        print(f"  round {turn + 1}, others {done[-1]['strangers']:.0%}", end="\r", file=sys.stderr, flush=True)
        if sum(one["strangers"] < DISTURBED for one in done) >= count:
            break
    return sorted(done, key=lambda one: float(one["strangers"]))[:count]


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
        row[party.name] = figures | {"cpu_ms": median(one["cpu_ms"][party.name] for one in rounds)}
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
        row[party.name]["cpu_ms"] = median(one["cpu_ms"][party.name] for one in rounds)
    return row


def measure(bench: Bench, clients: list[Client], minutes: float, only: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """All figures, one after the other. The first turns come first: there is no other chance for them."""
    few = clients[: max(2, len(clients) // 5)]
    rounds = bench.rounds
    if "first" in only:
        cold = [one_round(bench, case, 0, answered_each(case)) for case in [Case(few, over_s=1.0 * len(few))]]
        yield "first token, first turn of a story, one after another", first_tokens(bench, cold)
        rest = Case(clients[len(few) :])
        yield (
            f"first token, first turn of {len(rest.clients)} stories at once",
            first_tokens(bench, [one_round(bench, rest, 0, answered_each(rest))]),
        )
        cases = {
            "each on its own story": Case(clients),
            "each on its own story, begun over 5 s": Case(clients, SLOW, over_s=5.0),
            "all on one story": Case(clients[:1] * len(clients)),
            "4 streams with all messages": Case(clients[:4], sent=None),
        }
        for name, case in cases.items():
            one_round(bench, case, 0, answered_each(case))
            yield f"first token, {name}", first_tokens(bench, rounds_of(bench, case, rounds))
    if "chunks" in only:
        for count in (10, min(50, len(clients))):
            case = Case(clients[:count], STAMPED, over_s=1.0)
            one_round(bench, case, 0, answered_each(case))
            yield f"chunks, {count} streams", chunk_times(bench, rounds_of(bench, case, rounds))
    if "open" in only:
        yield "open streams", measure_open(bench.parties, bench.workers, OPEN, bench.errors)
    if "steady" in only:
        yield "steady", measure_steady(bench.parties[1:], bench.workers, PACE, bench.length, minutes, bench.errors)


@contextmanager
def arena(given: argparse.Namespace, folder: Path) -> Iterator[Bench]:
    """Everything started, the stories in place."""
    stories: Path = given.stories or folder / "made.db"
    make_stories(stories, given.streams, given.messages)
    with ExitStack() as stack:
        behind = stack.enter_context(upstream(folder))
        parties = [behind, stack.enter_context(previously(folder, behind, copy_of(stories, folder)))]
        if given.litellm:
            parties.append(stack.enter_context(litellm(folder, behind, given.litellm, [PACE, SLOW, STAMPED, OPEN])))
        workers = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
        stack.enter_context(workers)
        yield Bench(parties, workers, given.rounds, given.messages)


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
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--messages", type=int, default=10_000, help="in each story")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--minutes", type=float, default=1.0, help="of steady load")
    parser.add_argument("--only", default="first,chunks,open,steady", help="which parts")
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
        "streams": given.streams,
        "messages": given.messages,
        "load_average_before": os.getloadavg(),
    }
    with tempfile.TemporaryDirectory() as name, arena(given, Path(name)) as bench:
        clients = [Client(number, given.messages) for number in range(given.streams)]
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
