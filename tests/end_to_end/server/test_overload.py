"""Many turns at once: each is answered within its time, none is lost, and memory is back when they are over."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import httpx
import pytest

from previously.server import free_memory
from previously.server.admission import Admission
from tests.effort import mark_slow
from tests.end_to_end.server.running import Rig, Talk, running_rig, stories_with

BACK_S = 60.0
"""How long memory may take to be back; far above what it takes, for machines under load."""


async def test_only_so_many_turns_are_at_work_and_the_others_follow_in_order() -> None:
    admission, end = Admission(places=2), time.monotonic() + 60
    first, second = await admission.enter(end), await admission.enter(end)
    assert first is not None and second is not None
    assert not admission.has_room
    waiting = [asyncio.create_task(admission.enter(end)) for _ in range(3)]
    await asyncio.sleep(0)
    first.leave()
    first.leave()  # it had one place
    await asyncio.wait({waiting[0]})
    assert [task.done() for task in waiting] == [True, False, False]
    waiting[1].cancel()
    second.leave()
    third = await waiting[2]
    assert third is not None and not admission.has_room
    third.leave()
    assert admission.has_room


async def test_a_place_that_was_given_to_one_who_left_goes_to_the_next() -> None:
    admission, end = Admission(places=1), time.monotonic() + 60
    first = await admission.enter(end)
    assert first is not None
    leaving, staying = (asyncio.create_task(admission.enter(end)) for _ in range(2))
    await asyncio.sleep(0)
    first.leave()
    leaving.cancel()
    place = await asyncio.wait_for(staying, 60)
    assert place is not None


async def test_who_cannot_be_done_in_time_is_told_so() -> None:
    admission = Admission(places=1)
    assert await admission.enter(time.monotonic() + 60) is not None
    assert await admission.enter(time.monotonic() + 0.001) is None  # at once: no turn takes so little
    began = time.monotonic()
    assert await admission.enter(began + 0.3) is None  # when too little is left of its time
    assert time.monotonic() - began < BACK_S


async def test_memory_is_given_back_once_after_each_load(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[int] = []
    given_back = asyncio.Semaphore(0)
    loop, turns = asyncio.get_running_loop(), 0

    def note() -> None:
        freed.append(turns)
        loop.call_soon_threadsafe(given_back.release)

    measured = free_memory.measure_memory
    monkeypatch.setattr(free_memory, "LOOK_S", 0.001)
    monkeypatch.setattr(free_memory, "free_memory", note)
    monkeypatch.setattr(free_memory, "measure_memory", lambda: turns * free_memory.WORTH_BYTES // 2)
    idle = asyncio.Event()
    beside = asyncio.create_task(free_memory.free_memory_when_idle(lambda: turns, idle.is_set))
    await asyncio.sleep(0)
    for turns in (2, 4):
        idle.clear()
        await asyncio.sleep(0.05)
        assert turns not in freed
        idle.set()
        async with asyncio.timeout(BACK_S):
            await given_back.acquire()
        await asyncio.sleep(0.05)
    turns = 5  # which took half of what is worth it
    await asyncio.sleep(0.05)
    beside.cancel()
    assert freed == [2, 4]
    assert measured() > 0 or sys.platform != "linux"


async def hear(rig: Rig, client: httpx.AsyncClient, talk: Talk, text: str) -> str:
    """Say something, hear all of the answer; return what the head says of memory."""
    address = f"{rig.proxy.base_url}/chat/completions"
    response = await client.post(address, json=talk.body(text, stream=True), headers=talk.headers)
    assert response.status_code == 200
    assert b"data: [DONE]" in response.content
    return response.headers["x-previously-memory"]


@pytest.mark.parametrize("streams", [40, *mark_slow(300, reason="300 streams at once")])
async def test_memory_is_back_after_many_streams_and_no_turn_is_lost(tmp_path: Path, streams: int) -> None:
    limits = httpx.Limits(max_connections=None)
    async with (
        running_rig(tmp_path, deadline_s=0.5, memory="builtin") as rig,
        httpx.AsyncClient(limits=limits, timeout=300, trust_env=False) as client,
    ):
        talks = [Talk(rig, f"story {number}") for number in range(streams)]
        said = [f"Overload, says number {number}." for number in range(streams)]
        states = await asyncio.gather(*(hear(rig, client, talk, text) for talk, text in zip(talks, said, strict=True)))
        # Where a disk takes longer than the deadline, a client is told that its turn is not kept yet; it is kept below.
        assert set(states) <= {"on", "degraded", "unsaved"}
        end = time.monotonic() + BACK_S
        late = Talk(rig, "afterwards")
        while await hear(rig, client, late, "Is memory back?") != "on":
            assert time.monotonic() < end, rig.proxy.written()
            late.messages.clear()
        while (await client.get(f"{rig.proxy.origin}/readyz")).json()["memory"] != "on":
            assert time.monotonic() < end, rig.proxy.written()
            await asyncio.sleep(0.1)
        stories = await stories_with(rig.proxy.db, "Overload, says")
    assert {name: [text for role, text in path if role == "user"] for name, path in stories.items()} == {
        f"story {number}": [text] for number, text in enumerate(said)
    }
    assert all(path[1:] and path[1][0] == "assistant" for path in stories.values())
