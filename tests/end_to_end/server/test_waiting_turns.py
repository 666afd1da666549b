"""Turns that wait while the store is down, with real processes: two servers on one file, kills, half-written lines,
clients that send only what is new, clocks that jump, power that is cut."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from previously import ScriptedServer
from previously.core.messages import message
from previously.server.pending_turns import PendingTurns
from tests.crash.power_loss import (
    Acknowledged,
    Created,
    Deleted,
    Event,
    FolderSynced,
    Synced,
    Truncated,
    Written,
    state_after,
    without_syncs,
)
from tests.effort import cases
from tests.end_to_end.server.running import (
    SETTLING_S,
    Proxy,
    Rig,
    Said,
    Talk,
    running_proxy,
    running_rig,
    settled,
    stories_with,
)
from tests.end_to_end.server.test_faults_of_machines import locked
from tests.end_to_end.server.test_pending_turns import MUCH, asked, read_all

MEMORY = "x-previously-memory"


def said_in(talk: Talk) -> list[Said]:
    return [(message["role"], message["content"]) for message in talk.messages]


async def memory_state(proxy: Proxy) -> str:
    answer = await proxy.client.get(f"{proxy.origin}/readyz")
    assert answer.status_code == 200
    state = answer.json()
    assert state["ready"] is True
    return str(state["memory"])


async def until_memory_is(proxy: Proxy, state: str) -> None:
    last = time.monotonic() + SETTLING_S
    while await memory_state(proxy) != state:
        assert time.monotonic() < last, await memory_state(proxy)
        await asyncio.sleep(0.05)


@pytest.mark.slow(reason="starts three proxies of its own")
async def test_two_servers_on_one_file_are_killed_while_the_store_is_locked(tmp_path: Path) -> None:
    db = tmp_path / "stories.db"
    async with ScriptedServer() as upstream:
        talks: list[Talk] = []
        async with (
            running_proxy(upstream.base_url, db=db, deadline_s=0.3) as one,
            running_proxy(upstream.base_url, db=db, deadline_s=0.3) as two,
        ):
            with locked(db):
                for number in range(10):
                    talk = Talk(Rig(upstream, (one, two)[number % 2]), f"two {number}")
                    for turn in range(2):
                        response = await talk.ask(f"TWO {number} turn {turn}.")
                        assert (response.status_code, response.headers[MEMORY]) == (200, "degraded")
                    talks.append(talk)
                for proxy in (one, two):
                    await proxy.stop(signal.SIGKILL)
        async with running_proxy(upstream.base_url, db=db) as proxy:
            for number, talk in enumerate(talks):
                said = said_in(talk)
                await settled(db, f"TWO {number} ", said, said[:-1])  # the last answer may not have been kept yet
            await until_memory_is(proxy, "on")
        assert list((tmp_path / "stories.db-waiting").glob("*.damaged")) == []


@pytest.mark.slow(reason="starts two proxies of its own")
async def test_what_a_dead_server_left_is_brought_in_by_one_that_lives(tmp_path: Path) -> None:
    db = tmp_path / "stories.db"
    async with ScriptedServer() as upstream:
        async with running_proxy(upstream.base_url, db=db, deadline_s=0.3) as one:
            talk = Talk(Rig(upstream, one), "left")
            with locked(db):
                assert (await talk.ask("LEFT behind.")).headers[MEMORY] == "degraded"
                assert await memory_state(one) == "waiting"
                await one.stop(signal.SIGKILL)
        async with running_proxy(upstream.base_url, db=db) as two:
            await settled(db, "LEFT", said_in(talk), said_in(talk)[:-1])
            await until_memory_is(two, "on")
            assert len(list((tmp_path / "stories.db-waiting").iterdir())) == 1  # its own


@pytest.mark.slow(reason="starts two proxies of its own")
async def test_a_turn_that_no_story_takes_is_put_aside_and_holds_up_nobody(tmp_path: Path) -> None:
    db, folder = tmp_path / "stories.db", tmp_path / "stories.db-waiting"
    async with ScriptedServer() as upstream:
        async with running_proxy(upstream.base_url, db=db) as proxy:
            response = await Talk(Rig(upstream, proxy), "hers").ask("HERS alone.", user="alice")
            name = unquote(response.headers["x-previously-story"])
            await proxy.stop()
        fields = {"id": 1, "owner": "local", "dialect": "chat", "body": asked("NOT his.").body, "story": name}
        (folder / "left.jsonl").write_text(json.dumps(fields | {"named": True, "kind": "", "names": [None, None, []]}))
        async with running_proxy(upstream.base_url, db=db) as proxy:
            response = await Talk(Rig(upstream, proxy), "other").ask("OTHER story.")
            assert (response.status_code, response.headers[MEMORY]) == (200, "on")
            await until_memory_is(proxy, "on")
            assert await stories_with(db, "NOT his") == {}
            assert "NOT his." in (folder / "left.jsonl.damaged").read_text()


async def test_a_client_that_sends_only_what_is_new_is_kept_in_order(tmp_path: Path) -> None:
    async with running_rig(tmp_path, deadline_s=0.3) as rig:
        expected: list[Said] = []

        async def ask(number: int) -> str:
            talk = Talk(rig, "single")
            response = await talk.ask(f"SINGLE {number}")
            expected.extend(said_in(talk))
            return response.headers[MEMORY]

        await ask(0)
        await until_memory_is(rig.proxy, "on")
        with locked(rig.proxy.db):
            assert await ask(1) == "degraded"
            assert await ask(2) == "degraded"
        states = [await ask(number) for number in range(3, 6)]
        assert set(states) <= {"on", "degraded"}
        await rig.keeps("SINGLE", *expected)
        await until_memory_is(rig.proxy, "on")
        await rig.check_after_stopping()


@contextmanager
def most_file_bytes(proxy: Proxy, most: int) -> Iterator[None]:
    """No file of the process can grow beyond that meanwhile: to it the disk is full in the middle of a write."""
    before = resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.slow(reason="starts two proxies of its own")
async def test_a_line_that_was_half_written_takes_no_other_with_it(tmp_path: Path) -> None:
    db = tmp_path / "stories.db"
    async with ScriptedServer() as upstream:
        async with running_proxy(upstream.base_url, db=db, deadline_s=0.3) as proxy:
            rig = Rig(upstream, proxy)
            with locked(db):
                states = []
                for number, room in enumerate((10**6, 200, 10**6)):
                    [path] = (tmp_path / "stories.db-waiting").glob("*.jsonl")
                    with most_file_bytes(proxy, path.stat().st_size + room):
                        states.append((await Talk(rig, f"half {number}").ask(f"HALF {number}")).headers[MEMORY])
                assert states == ["degraded", "unsaved", "degraded"]
                await proxy.stop(signal.SIGKILL)
        async with running_proxy(upstream.base_url, db=db) as proxy:
            await until_memory_is(proxy, "on")
            for number, there in enumerate((1, 0, 1)):
                assert len(await stories_with(db, f"HALF {number}")) == there
        assert list((tmp_path / "stories.db-waiting").glob("*.damaged")) == []


CLOCK = """
import datetime as real, pathlib, time
from previously.runtime import clock
jump = lambda: float(pathlib.Path({path!r}).read_text())
now = time.time
class Datetime(real.datetime):
    @classmethod
    def now(cls, tz=None):
        return real.datetime.now(tz) + real.timedelta(seconds=jump())
clock.datetime = Datetime
time.time = lambda: now() + jump()
"""


@pytest.mark.slow(reason="waits for the deadline of many turns")
async def test_a_clock_that_jumps_loses_and_reorders_nothing(tmp_path: Path) -> None:
    jump, hooks = tmp_path / "jump", tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(CLOCK.format(path=str(jump)))
    jump.write_text("0")
    paths = os.pathsep.join([str(hooks), *filter(None, [os.environ.get("PYTHONPATH")])])
    async with running_rig(tmp_path, deadline_s=0.3, env={"PYTHONPATH": paths}) as rig:
        full, single = Talk(rig, "full"), list[Said]()

        async def ask(number: int, seconds: float) -> set[str]:
            (hooks / "next").write_text(str(seconds))
            (hooks / "next").replace(jump)
            talk = Talk(rig, "single")
            answers = await asyncio.gather(full.ask(f"FULL {number}"), talk.ask(f"SINGLE {number}"))
            single.extend(said_in(talk))
            return {answer.headers[MEMORY] for answer in answers}

        day = 86_400.0
        await ask(0, 0)
        await until_memory_is(rig.proxy, "on")
        with locked(rig.proxy.db):
            for number, seconds in enumerate((-day, day, -2 * day, 0), 1):
                assert await ask(number, seconds) == {"degraded"}
        await rig.keeps("FULL", *said_in(full))
        await rig.keeps("SINGLE", *single)
        await until_memory_is(rig.proxy, "on")
        for number, seconds in enumerate((-day, day, 0), 5):
            assert await ask(number, seconds) <= {"on", "degraded"}
        await rig.keeps("FULL", *said_in(full))
        await rig.keeps("SINGLE", *single)
        await until_memory_is(rig.proxy, "on")
        await rig.check_after_stopping()


CALLS = ("open", "write", "lseek", "ftruncate", "fsync", "unlink")


class Recorder:
    """Records what is done to the files of one folder, in the order in which it is done."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[Event] = []
        self._paths: dict[int, str] = {}
        self._places: dict[int, int] = {}
        self._folder = folder
        real = {name: getattr(os, name) for name in CALLS}

        def record_open(path: Any, flags: int, *mode: int) -> int:
            handle: int = real["open"](path, flags, *mode)
            self._paths[handle], self._places[handle] = str(path), 0
            if flags & os.O_CREAT:
                self.log.append(Created(str(path)))
            return handle

        def record_seek(handle: int, place: int, how: int) -> int:
            self._places[handle] = place
            return int(real["lseek"](handle, place, how))

        def record_write(handle: int, data: Any) -> int:
            count: int = real["write"](handle, data)
            if handle in self._paths:
                self.log.append(Written(self._paths[handle], self._places[handle], bytes(data[:count])))
                self._places[handle] += count
            return count

        def record_truncate(handle: int, size: int) -> None:
            real["ftruncate"](handle, size)
            self.log.append(Truncated(self._paths[handle], size))

        def record_unlink(path: Any) -> None:
            real["unlink"](path)
            self.log.append(Deleted(str(path)))

        def record_sync(handle: int) -> None:
            began = len(self.log)
            real["fsync"](handle)
            folder = Path(self._paths[handle]).is_dir()
            self.log.append(FolderSynced(began) if folder else Synced(self._paths[handle], began))

        replaced = (record_open, record_write, record_seek, record_truncate, record_sync, record_unlink)
        for name, function in zip(CALLS, replaced, strict=True):
            monkeypatch.setattr(os, name, function)


async def run_a_day(folder: Path, recorder: Recorder, *, seed: int) -> None:
    """A process that adds, answers and removes; the log says what it has promised and what it need not keep."""
    chance = random.Random(seed)
    pending = PendingTurns(folder, 6_000)  # so small that the file is written anew now and then
    keys: dict[str, Any] = {}
    for number in range(40):
        name = f"turn {number}"
        if key := await pending.add("ann", asked(name)):
            keys[name] = key
            recorder.log.append(Acknowledged(("added", name)))
            if chance.random() < 0.5 and await pending.keep_answer(key, [message("assistant", name)], partial=False):
                recorder.log.append(Acknowledged(("answered", name)))
        while keys and chance.random() < 0.5:
            name = chance.choice(sorted(keys))
            recorder.log.append(Acknowledged(("removed", name)))
            await pending.remove(keys.pop(name))


async def find_losses(log: list[Event], point: int, seed: int, folder: Path) -> set[str]:
    """What was promised and is not there once the power is cut at that point. The folder is there, and empty."""
    for name, content in state_after(log, point, seed).items():
        (folder / name).write_bytes(content)
    promised: dict[str, str] = {}
    for event in log[:point]:
        match event:
            case Acknowledged(("removed", str() as name)):
                promised.pop(name, None)
            case Acknowledged((str() as what, str() as name)):
                promised[name] = what
            case _:
                pass
    pending = PendingTurns(folder, MUCH)
    turns = {turn.request.client_list.body[0].message.text: turn for turn in await read_all(pending)}
    await pending.close()
    assert all(name.startswith("turn ") for name in turns)
    kept = {"added": set(turns), "answered": {name for name, turn in turns.items() if turn.replies}}
    return {name for name, what in promised.items() if name not in kept[what]}


@pytest.mark.parametrize("syncs", [True, False], ids=["synced", "not synced"])
async def test_power_that_is_cut_takes_no_turn_that_was_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, syncs: bool
) -> None:
    """With syncs that do nothing it must show."""
    with monkeypatch.context() as patch:
        recorder = Recorder(tmp_path / "waiting", patch)
        (tmp_path / "waiting").mkdir()
        await run_a_day(tmp_path / "waiting", recorder, seed=1)
    log = recorder.log if syncs else without_syncs(recorder.log, ".jsonl")
    chance, losses = random.Random(2), 0
    for number in range(cases(600, quick=40)):
        folder = tmp_path / f"after {number}"
        folder.mkdir()
        losses += bool(await find_losses(log, chance.randint(1, len(log)), number, folder))
    assert (losses == 0) is syncs
