"""Admission to memory: only so many turns are at work on it at a time, the others wait in order, none of them for long.

All turns share one interpreter. If all of them began at once, none would have its memory in time. A turn that cannot
have it in time is told so at once, and goes on without; what is in front of any other stays little.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

PLACES = 4
"""Turns at work at a time: as many as a store has readers. More would only share the interpreter, and all would be
late."""

FIRST_GUESS_S = 0.05
"""Seconds that a turn is taken to need before any was measured: about what it takes on a small machine."""

WEIGHT = 0.3
"""The weight of the newest turn in what a turn usually takes: what holds now is known after a few."""

SLOWING = 1.02
"""The factor by which a quick turn is taken to become slower with each turn that is not as quick: nobody is turned away
at once because the turns before were slow."""

LONGEST_S = 0.5
"""A turn that is at work for longer hangs, which says nothing of what others take."""


class Place:
    """A place among those at work, which is given back once."""

    def __init__(self, admission: Admission) -> None:
        self._admission: Admission | None = admission
        self._began = time.monotonic()

    def leave(self) -> None:
        if self._admission is not None:
            admission, self._admission = self._admission, None
            admission.take_back(time.monotonic() - self._began)


class Admission:
    """Lets turns in, in order."""

    def __init__(self, places: int = PLACES) -> None:
        self._places = places
        self._taken = 0
        self._waiting: deque[asyncio.Future[Place]] = deque()
        self._usual_s = self._quick_s = FIRST_GUESS_S

    @property
    def has_room(self) -> bool:
        return self._taken < self._places

    async def enter(self, end: float) -> Place | None:
        """Return a place at work for a turn that must be done by that time; None if that cannot be: at once if not even
        quick turns ahead of it would be done, else when too little time is left."""
        if self._taken >= self._places or self._waiting:
            ahead_s = (len(self._waiting) + 1) * self._quick_s / self._places
            left_s = end - time.monotonic() - self._usual_s
            return await self._wait(left_s) if ahead_s <= left_s else None
        self._taken += 1
        return Place(self)

    async def _wait(self, most_s: float) -> Place | None:
        given = asyncio.get_running_loop().create_future()
        self._waiting.append(given)
        try:
            await asyncio.wait({given}, timeout=most_s)
        except asyncio.CancelledError:
            if given.done():
                given.result().leave()
            raise
        finally:
            if not given.done():
                self._waiting.remove(given)
        return given.result() if given.done() else None

    def take_back(self, took_s: float) -> None:
        """Give a place to whoever waits longest, after it was taken for so long."""
        took_s = min(took_s, LONGEST_S)
        self._usual_s += WEIGHT * (took_s - self._usual_s)
        self._quick_s = min(took_s, self._quick_s * SLOWING)
        if self._waiting:
            self._waiting.popleft().set_result(Place(self))
        else:
            self._taken -= 1
