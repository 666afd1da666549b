"""A real client that works on a task and ends: how it is furnished, started, waited for and ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients.workplace import Workplace

WINDOW = 32_000
LARGE_WINDOW = 1_000_000
"""The window that clients are told: so large that they leave the folding to whoever stands behind their address."""

PATIENCE_S = 280.0
"""Below five minutes, what an agent may take for a task on a busy machine."""


@dataclass(frozen=True)
class Spoken:
    """What a client printed, and how it ended."""

    code: int
    output: str


class Agent:
    """A client that does one task and ends. `task` goes on with the session before it where `goes_on` says so."""

    name: str
    window = WINDOW
    """The window of the model that its tests put behind it."""

    def furnish(self, place: Workplace, origin: str, window: int = LARGE_WINDOW) -> None:
        """Write its settings into the home of the workplace."""
        raise NotImplementedError

    def command(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Sequence[str | Path]:
        raise NotImplementedError

    def variables(self, origin: str) -> dict[str, str]:
        return {}

    def typed(self, task: str) -> str:
        """What is typed while it runs; nothing where the command says all."""
        return ""

    async def run(self, place: Workplace, origin: str, task: str, *, goes_on: bool) -> Spoken:
        """Start it, wait until it has ended, and return what it said."""
        log, typed = place.home / "said.log", place.home / "typed.txt"
        typed.write_text(self.typed(task), "utf-8")
        with log.open("wb") as written, typed.open("rb") as keyboard:
            process = await asyncio.create_subprocess_exec(
                *map(str, self.command(place, origin, task, goes_on=goes_on)), cwd=place.project,
                start_new_session=True, stdin=keyboard, stdout=written, stderr=written,
                env=place.environment(**self.variables(origin)),
            )  # fmt: skip
        try:
            code = await asyncio.wait_for(process.wait(), PATIENCE_S)
        except TimeoutError:
            code = -1
        finally:
            _end_group(process.pid)
            await process.wait()
        return Spoken(code, log.read_text("utf-8", errors="replace"))


def _end_group(leader: int) -> None:
    """End whatever a client left running: the group is its own."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
