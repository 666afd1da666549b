"""Disturbances: one of two servers is killed and started again, or another program locks the store for seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.soak.servers import Server, pause

LOCKING = (
    "import os, sqlite3, sys, time; holder = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30); "
    "holder.execute('BEGIN IMMEDIATE'); print('held', flush=True); time.sleep(float(sys.argv[2])); "
    "os._exit(0)"
)
"""A program that holds the store and ends without a word, as one that hangs and is ended does."""

LONGEST_LOCK_S = 5.0
"""More than twice the time that memory has for a turn."""


class Disturber:
    """Disturbs until it is over, by random numbers."""

    def __init__(self, servers: Sequence[Server], db: Path, every_s: float, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._servers = servers
        self._db = db
        self._every_s = every_s
        self._chance = Random(f"{seed} disturb")

    async def disturb(self, over: asyncio.Event, spare_after: float) -> None:
        """Go on until it is over. After the clock says `spare_after` the last server is killed no more, so that its
        memory can be watched over a long life."""
        while await pause(over, self._chance.uniform(0.5, 1.5) * self._every_s):
            spares = time.monotonic() > spare_after
            match self._chance.randrange(4):
                case 0:
                    await self._lock(over, None)
                case 1:
                    await self._lock(over, self._choose(spares))
                case _:
                    await self._kill(self._choose(spares))

    def _choose(self, spares: bool) -> Server:
        return self._servers[0] if spares else self._chance.choice(self._servers)

    async def _kill(self, server: Server) -> None:
        await server.kill()
        self.counts["kills"] += 1
        await asyncio.sleep(self._chance.uniform(0.0, 3.0))
        await server.start()

    async def _lock(self, over: asyncio.Event, killed: Server | None) -> None:
        """Hold the store; a server may be killed while its turns wait for it."""
        seconds = self._chance.uniform(1.0, LONGEST_LOCK_S)
        holder = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LOCKING, str(self._db), str(seconds), stdout=asyncio.subprocess.PIPE
        )
        assert holder.stdout is not None
        await holder.stdout.readline()
        self.counts["locks"] += 1
        if killed is not None:
            await pause(over, seconds / 2)
            await self._kill(killed)
            self.counts["kills while locked"] += 1
        await holder.wait()
