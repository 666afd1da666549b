"""What does it cost that nothing acknowledged is lost?

`python -m benchmarks.durability [--json] [--seconds 3] [--writers 100] [--messages 1000000]`

Writers, each with a story of its own, add one message after another to one SQLite file, each waiting until it is on
disk (`synchronous=FULL`). One run compares group commit with one commit per message, both on this disk and on one
where every sync takes 5 ms more (`tests.crash.disk.SlowDisk`), and then lets a second process write to
the same file. Every message that was acknowledged is counted again at the end. Then a file with a million messages is
opened by a fresh process: as it was left, and as a killed process left it, its WAL full.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from previously.app import Memory
from previously.core.messages import Draft, message
from previously.core.path import OnPath, Put, Splice
from previously.runtime.writer import BuiltinWriter
from previously.settings import Settings, make_layer
from previously.storage.sqlite import SqliteStore
from previously.storage.sqlite.connections import SqliteDatabase
from previously.storage.sqlite.writer import MOST_IN_GROUP
from previously.storage.store import Store
from previously.storage.tables import Tables
from tests.crash.disk import SlowDisk
from tests.crash.disk_vfs import in_place

SYNC_S = 0.005
LINE = "Tess counts the lamps along the quay twice and writes the number down before the tide turns it into a guess."


@dataclass(frozen=True)
class Written:
    """What the writers of one process got done."""

    messages: int
    seconds: float
    p50_ms: float
    p99_ms: float
    errors: int

    @property
    def per_second(self) -> float:
        """Acknowledged messages per second."""
        return self.messages / self.seconds


async def write(path: str, writers: int, seconds: float, most_in_group: int, who: str) -> Written:
    """Writers side by side for so long."""
    store = Store(SqliteDatabase(path, most_in_group=most_in_group))
    memory = Memory(store, owner="local", layers=[make_layer(Settings())], writer=BuiltinWriter())
    stories = [await memory.story(f"{who} {number}") for number in range(writers)]
    taken: list[float] = []
    errors = 0
    began = time.monotonic()

    async def one(number: int) -> None:
        nonlocal errors
        while time.monotonic() - began < seconds:
            asked = time.monotonic()
            try:
                await stories[number].add("user", LINE, name="Tess")
            except Exception as error:
                errors += 1
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
                return
            taken.append(time.monotonic() - asked)

    await asyncio.gather(*(one(number) for number in range(writers)))
    elapsed = time.monotonic() - began
    await memory.close()
    taken.sort()
    p50, p99 = (taken[min(len(taken) - 1, int(len(taken) * share))] * 1_000 for share in (0.5, 0.99))
    return Written(len(taken), elapsed, p50, p99, errors)


async def stored(path: str) -> int:
    """How many messages the file holds."""
    store = SqliteStore(path)
    stories = await store.read("local", lambda tables: tables.stories.all("local"))
    await store.close()
    return sum(info.active.messages for info in stories)


def measure(writers: int, seconds: float, *, slow: bool, most_in_group: int = MOST_IN_GROUP) -> dict[str, Any]:
    """One process."""
    with tempfile.TemporaryDirectory() as folder, in_place(SlowDisk(SYNC_S)) if slow else nullcontext():
        path = str(Path(folder) / "stories.db")
        done = asyncio.run(write(path, writers, seconds, most_in_group, "a"))
        lost = done.messages - asyncio.run(stored(path))
    return {**asdict(done), "per_second": done.per_second, "lost": lost}


def measure_two_processes(writers: int, seconds: float) -> dict[str, Any]:
    """Two processes with half of the writers each, on one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "stories.db")
        asyncio.run(SqliteStore(path).close())
        half = writers // 2
        command = [sys.executable, "-m", "benchmarks.durability", "--writers", str(half), "--seconds", str(seconds)]
        started = [
            subprocess.Popen([*command, "--probe", path, "--who", who], stdout=subprocess.PIPE, text=True)
            for who in "ab"
        ]
        told = [json.loads(process.communicate()[0]) for process in started]
        both = [Written(**one) for one in told]
        acknowledged = sum(one.messages for one in both)
        return {
            "messages": acknowledged,
            "per_second": sum(one.per_second for one in both),
            "p50_ms": max(one.p50_ms for one in both),
            "p99_ms": max(one.p99_ms for one in both),
            "errors": sum(one.errors for one in both),
            "lost": acknowledged - asyncio.run(stored(path)),
        }


async def _fill(path: str, messages: int) -> None:
    store = SqliteStore(path)
    key = (await store.create_story("local", "story", at="")).key
    for start in range(0, messages, 50_000):
        count = min(50_000, messages - start)
        pieces = tuple(Put(Draft(message("user", f"{start + number}: {LINE}"))) for number in range(count))
        await store.apply(key, "main", [Splice(start, 0, pieces)], at="")
        print(f"\rwriting {start + count:,} messages", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    await store.close()


def measure_opening(messages: int) -> dict[str, Any]:
    """Seconds until a fresh process has opened the file and read its newest messages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, killed = folder / "stories.db", folder / "killed.db"
        asyncio.run(_fill(str(path), messages))
        opened = min(_opening(path) for _ in range(3))
        wal = _killed_copy(path, killed)
        return {
            "messages": messages,
            "file_mb": path.stat().st_size / 1e6,
            "open_s": opened,
            "wal_mb": wal / 1e6,
            "open_after_kill_s": _opening(killed),
        }


def _killed_copy(path: Path, killed: Path) -> int:
    """What is left of the file when a process dies with a WAL that was never folded in; the size of that."""
    from previously.storage.sqlite.page_checksums import connect

    connection = connect(str(path))
    connection.pragma("wal_autocheckpoint", 0)
    connection.pragma("journal_mode", "wal")  # it was one file again when the last connection was closed
    connection.execute("UPDATE entry SET hidden = 1 WHERE id % 40 = 0")
    for ending in ("", "-wal"):
        shutil.copyfile(f"{path}{ending}", f"{killed}{ending}")
    connection.close()
    return Path(f"{killed}-wal").stat().st_size


def _opening(path: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.durability", "--open", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


async def _open(path: str) -> float:
    began = time.monotonic()
    store = SqliteStore(path)

    def read(tables: Tables) -> list[OnPath]:
        info = tables.stories.named("local", "story")
        assert info is not None
        return tables.snapshot(info.key).path(info.active.messages - 20, info.active.messages - 1)

    assert len(await store.read("local", read)) == 20
    taken = time.monotonic() - began
    await store.close()
    return taken


def run(writers: int, seconds: float, messages: int) -> dict[str, Any]:
    """All figures."""
    rows = {
        "5 ms per sync, one commit per message": measure(writers, seconds, slow=True, most_in_group=1),
        "5 ms per sync, group commit": measure(writers, seconds, slow=True),
        "this disk, one commit per message": measure(writers, seconds, slow=False, most_in_group=1),
        "this disk, group commit": measure(writers, seconds, slow=False),
        "this disk, group commit, one writer": measure(1, seconds, slow=False),
        "this disk, group commit, two processes": measure_two_processes(writers, seconds),
    }
    slow = (
        rows["5 ms per sync, group commit"]["per_second"] / rows["5 ms per sync, one commit per message"]["per_second"]
    )
    native = rows["this disk, group commit"]["per_second"] / rows["this disk, one commit per message"]["per_second"]
    return {
        "writers": writers,
        "rows": rows,
        "times_one_commit_per_message": {"5 ms per sync": slow, "this disk": native},
        "opening": measure_opening(messages),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What does durability cost?")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--writers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each row is measured")
    parser.add_argument("--messages", type=int, default=1_000_000, help="in the file that is opened")
    parser.add_argument("--data", help="not needed here; taken so that every benchmark can be called alike")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    parser.add_argument("--who", default="a", help=argparse.SUPPRESS)
    parser.add_argument("--open", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.probe:
        print(
            json.dumps(asdict(asyncio.run(write(given.probe, given.writers, given.seconds, MOST_IN_GROUP, given.who))))
        )
        return
    if given.open:
        print(asyncio.run(_open(given.open)))
        return
    figures = run(given.writers, given.seconds, given.messages)
    if given.json:
        print(json.dumps(figures))
        return
    print(f"{given.writers} writers, each message on disk before it is acknowledged")
    print(f"{'':42} {'per second':>10} {'p50 ms':>8} {'p99 ms':>8} {'errors':>6} {'lost':>5}")
    for name, row in figures["rows"].items():
        print(
            f"{name:42} {row['per_second']:>10,.0f} {row['p50_ms']:>8.1f} {row['p99_ms']:>8.1f} {row['errors']:>6} "
            f"{row['lost']:>5}"
        )
    for name, times in figures["times_one_commit_per_message"].items():
        print(f"group commit against one commit per message, {name}: {times:.1f} times")
    opening = figures["opening"]
    print(
        f"a file of {opening['messages']:,} messages ({opening['file_mb']:,.0f} MB) is open, its newest messages read, "
        f"after {opening['open_s']:.3f} s; after a kill, with {opening['wal_mb']:,.0f} MB of WAL, after "
        f"{opening['open_after_kill_s']:.3f} s"
    )


if __name__ == "__main__":
    main()
