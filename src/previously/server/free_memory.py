"""Memory given back to the system once a load is over.

What many streams took is free again when they have ended. The C library keeps it in pieces, in case it is needed once
more; without being told to, it gives back next to nothing (measured: 5 of 200 MB after 500 streams).
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK_S = 2.0
"""Seconds between two looks: memory is given back when nobody has asked for anything for so long."""


WORTH_BYTES = 32 * 1024 * 1024
"""Bytes more than after the last time: what some tens of streams take. To look through all objects takes as much CPU as
several turns, so it is not done after each turn of a single user."""


async def free_memory_when_idle(count_turns: Callable[[], float], is_idle: Callable[[], bool]) -> None:
    """Give memory back, again and again, whenever it has grown and no turn is under way."""
    seen, least = count_turns(), measure_memory()
    while True:
        await asyncio.sleep(LOOK_S)
        before, seen = seen, count_turns()
        if seen == before and is_idle() and measure_memory() >= least + WORTH_BYTES:
            await asyncio.to_thread(free_memory)
            least = measure_memory()


def measure_memory() -> int:
    """Return the bytes of memory that the process holds; 0 where the system does not tell as Linux does."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def free_memory() -> None:
    """Collect what hangs together in cycles, and give free memory back where the C library knows how."""
    gc.collect()
    with suppress(OSError, AttributeError):  # not that of Linux, or another one than glibc
        library: Any = ctypes.CDLL(None)
        library.malloc_trim(0)
