"""Stories in memory: readers and writers of one process, and commands that are about files."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from previously import Memory


async def test_reads_of_any_length_and_writes_in_memory_never_lock_each_other_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("previously.storage.sqlite.file.BUSY_GIVE_UP_S", 0.0)
    memory = await Memory.open(":memory:")
    story = await memory.story("tale")
    await story.add("user", "First.")
    began, may_end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def read_long(tables: Any) -> int:
        messages = tables.snapshot(story._access.key).messages
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result(30)
        return int(messages)

    reading = asyncio.create_task(memory.store.read("local", read_long))
    await began.wait()
    writing = asyncio.create_task(story.add("user", "Second."))
    await asyncio.sleep(0.05)
    may_end.set()
    assert await reading == 1
    await writing
    assert len(await story.messages()) == 2
    assert await memory.backups() == []
    await memory.close()
