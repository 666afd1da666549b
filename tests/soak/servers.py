"""Two servers on one file: real processes that are killed and started again, and their memory while they live."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression
from typing import Any

import httpx

from tests.ports import find_port

STARTING_S = 120.0
"""A server is ready within a second or two; a machine under load may take far longer."""

LONG_LIFE_S = 60.0
"""Seconds of a life whose slope is told: caches fill in the first half of it."""


SMALL_CACHES = """
import gc
from previously.core.recent_values import RecentValues
from previously.storage.sqlite import file
from previously.server import app
begin = RecentValues.__init__
def begin_small(self, most_bytes):
    begin(self, most_bytes // 16)
RecentValues.__init__ = begin_small
for cache in [thing for thing in gc.get_objects() if isinstance(thing, RecentValues)]:
    cache.__init__(2 * cache._half)
file.WRITER_CACHE_KIB //= 16
file.READER_CACHE_KIB //= 16
"""
"""Caches of a sixteenth: they are full after a few minutes, not after an hour, and what grows then is a leak."""


async def pause(over: asyncio.Event, seconds: float) -> bool:
    """Wait for some seconds, or until it is over; whether it goes on."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await over.wait()
    return not over.is_set()


@dataclass
class Life:
    """One process of a server, from its start to its end: its memory every few seconds."""

    server: str
    began: float
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since its start, and megabytes."""

    def describe(self) -> dict[str, Any]:
        """Return how long it lived, its memory at most, and by how much that grew in a minute."""
        seconds = self.samples[-1][0] if self.samples else 0.0
        later = self.samples[len(self.samples) // 2 :]
        slope = None
        if seconds >= LONG_LIFE_S and len(later) > 2:
            slope = round(linear_regression(*zip(*later, strict=True)).slope * 60, 2)
        most = max((megabytes for _, megabytes in self.samples), default=0.0)
        return {"server": self.server, "seconds": round(seconds), "most_mb": round(most, 1), "mb_per_minute": slope}


class Server:
    """One of the servers, always on the same port."""

    def __init__(self, name: str, db: Path, upstream_url: str) -> None:
        self.name = name
        self.port = find_port()
        self.lives: list[Life] = []
        self.deaths: list[int] = []
        """The exit codes of processes that ended by themselves."""
        self.log = db.with_name(f"server-{name}.log")
        self._command = [
            sys.executable, "-m", "previously", "--db", str(db), "serve",
            "--upstream", upstream_url, "--port", str(self.port), "--window", "8192",
        ]  # fmt: skip
        self._process: asyncio.subprocess.Process | None = None
        self._hooks = db.with_name("hooks")
        self._hooks.mkdir(exist_ok=True)
        (self._hooks / "sitecustomize.py").write_text(SMALL_CACHES)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PREVIOUSLY_")}
        paths = os.pathsep.join([str(self._hooks), *filter(None, [environment.get("PYTHONPATH")])])
        environment |= {"PREVIOUSLY_CONFIG": "", "PYTHONPATH": paths}
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdout=log, stderr=log, env=environment
            )
        self.lives.append(Life(self.name, time.monotonic()))
        last = time.monotonic() + STARTING_S
        async with httpx.AsyncClient(trust_env=False, timeout=10.0) as client:
            while time.monotonic() < last and self._process.returncode is None:
                try:
                    if (await client.get(f"{self.base_url}/healthz")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.05)
        raise RuntimeError(f"The server did not start:\n{self.log.read_text('utf-8', 'replace')[-2_000:]}")

    async def kill(self) -> None:
        """End it as `kill -9` does."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Tell it to stop, and wait until it has."""
        await self._end(signal.SIGTERM)

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is not None:
            self.deaths.append(process.returncode)
            return
        process.send_signal(how)
        await process.wait()

    def sample(self) -> None:
        """Note the memory that it takes."""
        if self._process is None or self._process.returncode is not None:
            return
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text("ascii").split()[1])
        except (OSError, IndexError):
            return  # it ended just now
        life = self.lives[-1]
        life.samples.append((time.monotonic() - life.began, pages * os.sysconf("SC_PAGE_SIZE") / 1_048_576))

    def count_tracebacks(self) -> int:
        """Return how many errors that nobody expected its log tells of."""
        return self.log.read_text("utf-8", "replace").count("Traceback (most recent call last)")
