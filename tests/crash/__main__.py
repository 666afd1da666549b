"""The long form of the crash tests: `python -m tests.crash --kills 2000 --states 5000 --seed 0 --json`.

One table, or one JSON object, says how often a process was killed and the power cut, and what was found afterwards. It
exits with 1 if anything acknowledged was lost, anything was half done, a file did not open or go on, or if stores that
are not safe were not found out. A number of 0 leaves a part out.
"""

from __future__ import annotations

import argparse
import json
import pickle
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contract.storage.postgres_server import running_server
from tests.crash import killing, killing_postgres
from tests.crash.breaking_disks import KINDS, Trouble, break_many, break_once
from tests.crash.cutting_power import Recording, cut_many, cuts, recorded
from tests.crash.damaging_files import Damage, damage_many, damage_once
from tests.crash.disk import When
from tests.crash.flipping_bits import Flip, flip_many, flip_once
from tests.crash.harness import Aftermath
from tests.crash.killing import Play, Tally

FEW_STORIES = 2
"""Enough to be grouped, where much is done: on PostgreSQL, and on disks that fail."""

ON_POSTGRES = 0.3
"""The part of all kills; a kill there takes three times as long."""

MUTATED = 0.02
"""The part of all states that is spent on stores that are not safe: those are found out soon."""

DAMAGED = 0.25
"""The part of all flips after which the store is asked what no reader asks, and added to; the others are looked at as
readers look."""

GO_ON_EVERY = 10
"""To play on from a state takes seven times as long as to look at it."""

MOST_FAULTS = 20
"""Told of each part; the JSON has all."""

REPLAYS = 30
"""Which verbs meet in a group differs from run to run: a fault may need some tries to show again."""


def main() -> int:
    """Run what is asked for; the exit code."""
    asked = _arguments()
    if asked.replay:
        return _replayed(asked)
    began = time.monotonic()
    report: dict[str, Any] = {"seed": asked.seed}
    tallies = _crashes(asked, report)
    total = _total(tallies)
    green = [name for name, found in report.get("unsafe_stores", {}).items() if not found["found"]]
    wrong = sum(tally.problems.total() for tally in tallies.values())
    wrong += sum(report[name]["wrong"] for name in ("damaged_files", "flipped_bits") if name in report)
    report |= {"total": total, "ok": not wrong and not green, "seconds": round(time.monotonic() - began)}
    print(json.dumps(report, indent=2) if asked.json else _table(report))  # noqa: T201
    for name in green:
        print(f"not found out: {name}", file=sys.stderr)  # noqa: T201
    return 0 if report["ok"] else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.crash", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=2_000, help="kill -9 of a process, on both stores")
    parser.add_argument("--states", type=int, default=5_000, help="states after a power cut")
    parser.add_argument("--crashes", type=int, default=20, help="crashes of a PostgreSQL server")
    parser.add_argument("--errors", type=int, default=2_000, help="runs on a disk that fails")
    parser.add_argument("--flips", type=int, default=2_000, help="bits flipped in a file")
    parser.add_argument("--stories", type=int, default=4, help="played at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=("sqlite", "postgres"), help="kills on one store")
    parser.add_argument("--replay", help="one crash again, as a failure named it")
    return parser.parse_args()


def _crashes(asked: argparse.Namespace, report: dict[str, Any]) -> dict[str, Tally]:
    """All that was asked for, by name. What is no tally of crashes is put into the report."""
    again = f"python -m tests.crash --seed {asked.seed} --stories {asked.stories} --replay "
    seed: int = asked.seed
    tallies: dict[str, Tally] = {}
    on_postgres = {"sqlite": 0.0, "postgres": 1.0, None: ON_POSTGRES}[asked.only]
    kills = round(asked.kills * (1 - on_postgres))
    play = _play(asked, asked.stories)
    if kills:
        line = again + "sqlite:{at}:{when}"
        progress = _progress("kills, SQLite", kills)
        tallies["kills, SQLite"] = _noted(killing.kill_many(play, kills, seed, line, progress))
    if asked.kills > kills or asked.crashes:
        tallies |= _on_postgres(asked, asked.kills - kills, again)
    if asked.states:
        tallies["power cuts"] = _noted(_power_cuts(play, asked, again, report))
    if asked.errors:
        tallies["failing disks"] = _noted(_broken_disks(asked, again))
    if asked.flips:
        line, progress = again + "{damage}", _progress("flipped bits", asked.flips)
        report["flipped_bits"] = flip_many(asked.flips, seed, line, progress).as_json()
        damages = max(1, round(asked.flips * DAMAGED))
        progress = _progress("damaged files", damages)
        report["damaged_files"] = damage_many(_play(asked, 1), damages, seed, line, progress).as_json()
    report["crashes"] = {name: tally.as_json() for name, tally in tallies.items()}
    return tallies


def _noted(tally: Tally) -> Tally:
    """What was found so far: the rest may take long."""
    said = [f"{tally.crashes} crashes, problems: {dict(tally.problems) or 'none'}", *tally.faults[:MOST_FAULTS]]
    print("\n".join(said), file=sys.stderr, flush=True)  # noqa: T201
    return tally


def _on_postgres(asked: argparse.Namespace, kills: int, again: str) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {}
    play = _play(asked, FEW_STORIES)
    with killing_postgres.safe_server() as safe:
        if kills:
            line, progress = again + "postgres:{at}:{when}", _progress("kills, PostgreSQL", kills)
            tally = killing_postgres.kill_many(play, safe.server, kills, asked.seed, line, progress)
            tallies["kills, PostgreSQL"] = _noted(tally)
        if asked.crashes:
            line, progress = again + "server:{at}:{how}", _progress("server crashes", asked.crashes)
            tally = killing_postgres.crash_server_often(play, safe, asked.crashes, asked.seed, line, progress)
            tallies["crashes of PostgreSQL"] = _noted(tally)
    return tallies


def _play(asked: argparse.Namespace, stories: int) -> Play:
    return Play.of(stories, asked.seed)


def _power_cuts(play: Play, asked: argparse.Namespace, again: str, report: dict[str, Any]) -> Tally:
    recording = recorded(play)
    kept = Path(tempfile.gettempdir()) / f"previously-crash-{asked.seed}.log"
    line = again + f"state:{shlex.quote(str(kept))}:{{point}}:{{seed}}"
    chosen, progress = cuts(recording, asked.states, asked.seed), _progress("power cuts", asked.states)
    tally = cut_many(recording, chosen, line, progress, go_on_every=GO_ON_EVERY)
    if tally.faults:
        kept.write_bytes(pickle.dumps(recording.log))  # the next recording would be another one
    unsafe = {
        "synchronous=NORMAL": recorded(play, synchronous="normal"),
        "the database is not synced": recording.lying(".db"),
        "the WAL is not synced": recording.lying("-wal"),
    }
    few = max(12, round(asked.states * MUTATED))
    report["unsafe_stores"] = {}
    for name, one in unsafe.items():
        found = cut_many(one, cuts(one, few, asked.seed), "", _progress(name, few), go_on_every=None)
        found_out = {"states": found.crashes, "found": found.problems.total()}
        report["unsafe_stores"][name] = found_out | {"lost": 0, **found.problems}
    return tally


def _broken_disks(asked: argparse.Namespace, again: str) -> Tally:
    """Half with several stories at once, half with one, which is also killed after its first error."""
    both = Tally()
    for stories in (FEW_STORIES, 1):
        line = again + f"disk:{stories}:{{at}}:{{kind}}"
        progress = _progress(f"failing disks, {stories} stories", asked.errors // 2)
        both = both + break_many(_play(asked, stories), asked.errors // 2, asked.seed, line, progress)
    return both


def _total(tallies: dict[str, Tally]) -> dict[str, int]:
    problems: Counter[str] = sum((tally.problems for tally in tallies.values()), Counter())
    kills = sum(tally.crashes for name, tally in tallies.items() if name.startswith("kills"))
    return {
        "kills": kills,
        "server_crashes": tallies.get("crashes of PostgreSQL", Tally()).crashes,
        "states": tallies.get("power cuts", Tally()).crashes,
        "disk_errors": tallies.get("failing disks", Tally()).crashes,
        "acknowledged_verbs_checked": sum(tally.acknowledged for tally in tallies.values()),
        **{kind.replace(" ", "_"): problems[kind] for kind in ("lost", "half published", "not opening")},
        "other_problems": problems.total() - problems["lost"] - problems["half published"] - problems["not opening"],
    }


def _progress(name: str, most: int) -> Callable[[int], None]:
    began = time.monotonic()

    def progress(done: int) -> None:
        if done % 25 == 0:
            print(f"{name}: {done} of {most}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)  # noqa: T201

    return progress


def _table(report: dict[str, Any]) -> str:
    lines = [f"{name:<32}{count:>9}" for name, count in report["total"].items()]
    for name, tally in report["crashes"].items():
        lines += ["", f"{name}: {tally['crashes']}, problems: {tally['problems'] or 'none'}"]
        lines += [f"    {kind:<44}{count:>7}" for kind, count in tally["by_kind"].items()]
    for name, found in report.get("unsafe_stores", {}).items():
        lines += ["", f"{name}: {found}"]
    if flipped := report.get("flipped_bits"):
        lines += ["", f"flipped bits: {flipped['flips']}, wrong: {flipped['wrong']}"]
        lines += [f"    {kind:<60}{count:>7}" for kind, count in flipped["by_outcome"].items()]
    if damaged := report.get("damaged_files"):
        lines += ["", f"damaged files: {damaged['damages']}, errors: {damaged['raw_errors'] or 'none'}"]
        lines += [f"    {kind:<60}{count:>7}" for kind, count in damaged["by_outcome"].items()]
    return "\n".join([*lines, "", f"{'all well' if report['ok'] else 'NOT WELL'} after {report['seconds']} s"])


def _replayed(asked: argparse.Namespace) -> int:
    """The same crash again, until it shows a problem."""
    kind, *rest = asked.replay.split(":")
    for _ in range(REPLAYS):
        after = _once(kind, rest, asked)
        if after.problems:
            print("\n".join(f"{problem}: {words}" for problem, words in after.problems))  # noqa: T201
            return 1
    print(f"nothing wrong in {REPLAYS} tries")  # noqa: T201
    return 0


def _once(kind: str, rest: list[str], asked: argparse.Namespace) -> Aftermath:
    match kind, rest:
        case "sqlite", [at, when]:
            return killing.kill_once(_play(asked, asked.stories), int(at), When(when))[2]
        case "postgres", [at, when]:
            with running_server() as server:
                play = _play(asked, FEW_STORIES)
                return killing_postgres.kill_once(play, server, int(at), When(when))[2]
        case "server", [at, how]:
            with killing_postgres.safe_server() as safe:
                play = _play(asked, FEW_STORIES)
                return killing_postgres.crash_server_once(play, safe, int(at), how)[3]
        case "state", [path, point, chance]:
            recording = Recording(_play(asked, asked.stories), pickle.loads(Path(path).read_bytes()))
            found = cut_many(recording, [(int(point), int(chance))], "", lambda _: None)
            return Aftermath([("power cut", fault) for fault in found.faults])
        case "disk", [count, at, number]:
            return break_once(_play(asked, int(count)), Trouble(int(at), *KINDS[int(number)]))[2]
        case "bit", [name, offset, bit]:
            return flip_once(Flip(name, int(offset), int(bit)))
        case "flip" | "cut" | "gone", [name, offset, bit]:
            return damage_once(_play(asked, 1), Damage(name, kind, int(offset), int(bit)))
        case _:
            sys.exit(f"{kind} is nothing that can be played again")


if __name__ == "__main__":
    sys.exit(main())
