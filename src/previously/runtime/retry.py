"""Try again what another writer got in the way of.

What is decided on a story and then written names the head it was read at: if that has moved meanwhile, everything is
read again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from previously.core.errors import HeadMoved

TRIES = 50
"""Tries when other writers get there first. Each reads the story again, so there is an end to them."""

Done = TypeVar("Done")


async def retry_when_moved(work: Callable[[], Awaitable[Done]]) -> Done:
    """Do the work, again from the start when another writer got there first."""
    for _ in range(TRIES - 1):
        try:
            return await work()
        except HeadMoved:
            continue
    return await work()
