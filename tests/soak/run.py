"""One soak: tellers, servers, disturbances, and in the end the audit."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from previously import ScriptedServer
from tests.soak.audit import Audit, audit
from tests.soak.disturb import Disturber
from tests.soak.servers import Server, pause
from tests.soak.tellers import Outcomes, Tale, Teller, Upstream

SAMPLE_S = 10.0
SETTLING_S = 120.0
"""Seconds in which what waited must have come in, on any machine."""

FLAT_LIFE_S = 300.0
"""Seconds of a life by which its growth is judged: in a shorter one caches still fill."""

MOST_MB_PER_MINUTE = 3.0
"""Growth that counts as flat. A leak of 10 kB in each turn is 5 MB a minute at 8 turns in a second."""


MOST_UNSAVED = 0.01
"""The part of turns that may be said to be unsaved: the disk always has room, and is too slow only on a machine that
does much else. A server that says it of all of them loses nothing and is no good."""


@dataclass(frozen=True)
class SoakPlan:
    """How long, how many, and how fast."""

    minutes: float
    stories: int
    rate: float
    """Turns in a second, of all stories together."""
    every_s: float
    """Seconds between disturbances."""
    seed: int


async def soak(plan: SoakPlan, folder: Path) -> dict[str, Any]:
    """Run it in a folder, and return the report. Memory is judged only where a server lived for minutes."""
    db = folder / "stories.db"
    tales: list[Tale] = []
    outcomes = Outcomes()
    over = asyncio.Event()
    async with ScriptedServer(Upstream().answer, kind="llama.cpp", window_tokens=8_192, keep=10) as upstream:
        servers = [Server(name, db, upstream.base_url) for name in "ab"]
        try:
            for server in servers:
                await server.start()
            disturber = Disturber(servers, db, plan.every_s, plan.seed)
            think_s = plan.stories / plan.rate
            tellers = [
                Teller(number, servers, tales, outcomes, think_s, plan.seed) for number in range(1, plan.stories + 1)
            ]
            began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                group.create_task(disturber.disturb(over, began + plan.minutes * 30))
                group.create_task(_sample(servers, over))
                for teller in tellers:
                    group.create_task(teller.tell(plan.stories, over))
                await asyncio.sleep(plan.minutes * 60)
                over.set()
            found = await _settle(db, tales)
            for server in servers:
                await server.stop()
            verified = await _verify(db)
        finally:
            for server in servers:
                await server.kill()
    lives = [life.describe() for server in servers for life in server.lives]
    slopes = [life["mb_per_minute"] for life in lives if life["seconds"] >= FLAT_LIFE_S]
    tracebacks = sum(server.count_tracebacks() for server in servers)
    deaths = [code for server in servers for code in server.deaths]
    keeps = outcomes.memory["unsaved"] <= MOST_UNSAVED * outcomes.acknowledged
    is_flat = max(slopes, default=0.0) <= MOST_MB_PER_MINUTE
    return {
        "minutes": plan.minutes,
        "stories": len(tales),
        "acknowledged_turns": outcomes.acknowledged,
        "memory": dict(outcomes.memory),
        "failed_turns": dict(outcomes.failed),
        "disturbances": dict(disturber.counts),
        **found.describe(),
        "verify": verified,
        "tracebacks": tracebacks,
        "deaths": deaths,
        "most_mb": max(life["most_mb"] for life in lives),
        "mb_per_minute": max(slopes, default=None),
        "lives": lives,
        "ok": found.sound and verified == "sound" and not tracebacks and not deaths and is_flat and keeps,
    }


async def _sample(servers: list[Server], over: asyncio.Event) -> None:
    while await pause(over, SAMPLE_S):
        for server in servers:
            server.sample()


async def _settle(db: Path, tales: list[Tale]) -> Audit:
    """Return the audit when everything is in its place, or when there was time enough for that."""
    last = time.monotonic() + SETTLING_S
    while True:
        found = await audit(db, tales)
        if found.sound or time.monotonic() > last:
            return found
        await asyncio.sleep(5.0)


async def _verify(db: Path) -> str:
    """Return "sound", or what `previously verify` says."""
    command = [sys.executable, "-m", "previously", "--db", str(db), "verify"]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    return "sound" if process.returncode == 0 else said.decode("utf-8", "replace")[-2_000:]
