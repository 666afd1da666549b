"""Disks that are full or cannot be written: turns are answered, what is lost is said to be lost, and memory comes back
by itself. Each has a proxy of its own, over real sockets."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from previously import ScriptedAnswer, ScriptedServer
from previously.core.errors import StoreProblem
from previously.server.process import check_writable
from tests.end_to_end.server.running import Proxy, Rig, Talk, running_proxy, running_rig, settled, stories_with
from tests.end_to_end.server.test_faults_of_machines import locked
from tests.end_to_end.server.test_waiting_turns import MEMORY, memory_state, most_file_bytes, said_in, until_memory_is


async def read_metrics(proxy: Proxy) -> dict[str, float]:
    lines = (await proxy.client.get(f"{proxy.origin}/metrics")).text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


async def ask_until_on(talk: Talk, words: str) -> None:
    """Go on until a turn has memory: the store is left alone for some seconds after it failed."""
    for number in range(200):
        if (await talk.ask(f"{words} {number}.")).headers[MEMORY] == "on":
            return
        await asyncio.sleep(0.1)
    raise AssertionError("memory does not come back")


async def test_on_a_full_disk_turns_are_answered_and_said_to_be_unsaved(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        talk = Talk(rig, "full")
        assert (await talk.ask("FULL: before.")).headers[MEMORY] == "on"
        with most_file_bytes(rig.proxy, 0):
            for number in range(3):
                response = await talk.ask(f"FULL: turn {number}.")
                assert (response.status_code, response.headers[MEMORY]) == (200, "unsaved")
                assert response.json()["choices"][0]["message"]["content"]
            assert await memory_state(rig.proxy) == "unsaved"
            counts = await read_metrics(rig.proxy)
            assert (counts["previously_unsaved_turns_total"], counts["previously_degraded_turns_total"]) == (3, 0)
            assert counts["previously_waiting_turns"] == 0
        await until_memory_is(rig.proxy, "on")  # without a turn, and without a restart
        await ask_until_on(talk, "FULL: there is room again,")
        await rig.keeps("FULL:", *said_in(talk))  # the client showed what was lost
        await rig.check_after_stopping()


@pytest.mark.slow(reason="a proxy of its own once more")
async def test_an_answer_that_alone_cannot_be_kept_is_counted(tmp_path: Path) -> None:
    async with running_rig(tmp_path) as rig:
        hold = asyncio.Event()
        rig.upstream.new_plan([ScriptedAnswer(text=["One ", "two."], hold={1: hold})])
        talk = Talk(rig, "alone")
        async with talk.hearing("ALONE: count.") as hearing:
            assert hearing.response.headers[MEMORY] == "on"
            await hearing.until("One ")
            with most_file_bytes(rig.proxy, 0):
                hold.set()
                await hearing.all()
                assert hearing.text == "One two."
                for _ in range(400):
                    lost = (await read_metrics(rig.proxy))["previously_unsaved_answers_total"]
                    if lost:
                        break
                    await asyncio.sleep(0.05)
                assert lost == 1
        await settled(rig.proxy.db, "ALONE:", [("user", "ALONE: count.")])
        talk.messages.append({"role": "assistant", "content": "One two."})
        await ask_until_on(talk, "ALONE: go on,")
        await rig.keeps("ALONE:", *said_in(talk))
        await rig.check_after_stopping()


@pytest.mark.slow(reason="a proxy of its own once more")
async def test_an_answer_waits_where_only_the_store_fails(tmp_path: Path) -> None:
    async with running_rig(tmp_path, deadline_s=0.5) as rig:
        talk = Talk(rig, "waits")
        await talk.ask("WAITS: before.")
        await until_memory_is(rig.proxy, "on")
        hold = asyncio.Event()
        rig.upstream.new_plan([ScriptedAnswer(text=["One ", "two."], hold={1: hold})])
        async with talk.hearing("WAITS: count.") as hearing:
            await hearing.until("One ")
            with locked(rig.proxy.db):
                hold.set()
                await hearing.all()
                await until_memory_is(rig.proxy, "waiting")
        talk.messages.append({"role": "assistant", "content": "One two."})
        await rig.keeps("WAITS:", *said_in(talk))
        assert (await read_metrics(rig.proxy))["previously_unsaved_answers_total"] == 0
        await rig.check_after_stopping()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A disk of that size, where this user may mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may mount nothing")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow(reason="fills a disk, with a proxy of its own")
async def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder, "4m"):
        async with ScriptedServer() as upstream, running_proxy(upstream.base_url, db=folder / "stories.db") as proxy:
            rig = Rig(upstream, proxy)
            assert (await Talk(rig, "before").ask("BEFORE it was full.")).headers[MEMORY] == "on"
            filler = folder / "filler"
            fill(filler)
            states = []
            for number in range(6):
                response = await Talk(rig, f"full {number}").ask(f"FULL {number} " + "word " * 2_000)
                assert response.status_code == 200
                states.append(response.headers[MEMORY])
            assert set(states) == {"unsaved"}
            assert await memory_state(proxy) == "unsaved"
            filler.unlink()
            await until_memory_is(proxy, "on")
            await ask_until_on(Talk(rig, "after"), "AFTER")
            assert len(await stories_with(proxy.db, "AFTER")) == 1
            assert len(await stories_with(proxy.db, "BEFORE")) == 1
            await until_memory_is(proxy, "on")
            await proxy.stop()
        assert list((folder / "stories.db-waiting").iterdir()) == []


def fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        for size in (65_536, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


READ_ONLY = """
import errno, os, pathlib
import apsw
from tests.crash.disk import Disk, Point, Refused, What
from tests.crash.disk_vfs import in_place

flag = pathlib.Path({flag!r})
codes = {{What.WRITE: apsw.SQLITE_IOERR_WRITE, What.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
         What.SYNC: apsw.SQLITE_IOERR_FSYNC, What.CREATE: apsw.SQLITE_CANTOPEN, What.DELETE: apsw.SQLITE_IOERR_DELETE}}
write, truncate = os.write, os.ftruncate

class Switched(Disk):
    def before(self, point: Point) -> None:
        if point.what in codes and flag.exists():
            raise Refused(codes[point.what])

def refuse(real):
    def call(handle, *rest):
        if handle > 2 and flag.exists():
            raise OSError(errno.EROFS, "Read-only file system")
        return real(handle, *rest)
    return call

os.write, os.ftruncate = refuse(write), refuse(truncate)
disk = in_place(Switched())
disk.__enter__()
"""
"""A file system that turns read-only under a running server, as Linux does to one with errors."""


@pytest.mark.slow(reason="a proxy of its own once more")
async def test_a_disk_that_turns_read_only(tmp_path: Path) -> None:
    flag, hooks = tmp_path / "read-only", tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(READ_ONLY.format(flag=str(flag)))
    paths = os.pathsep.join([str(hooks), os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[3])])
    async with running_rig(tmp_path, env={"PYTHONPATH": paths}) as rig:
        talk = Talk(rig, "only")
        assert (await talk.ask("ONLY: before.")).headers[MEMORY] == "on"
        flag.touch()
        assert (await talk.ask("ONLY: read.")).headers[MEMORY] == "unsaved"
        assert await memory_state(rig.proxy) == "unsaved"
        flag.unlink()
        await until_memory_is(rig.proxy, "on")
        await ask_until_on(talk, "ONLY: written again,")
        await rig.keeps("ONLY:", *said_in(talk))
        await rig.check_after_stopping()


@pytest.mark.skipif(os.name != "posix", reason="Windows moves no file that is open")
async def test_a_file_that_was_moved_away_takes_no_turn_with_it(tmp_path: Path) -> None:
    """SQLite would go on writing to it, wherever it is, also where it was deleted."""
    away = tmp_path / "away.db"
    async with running_rig(tmp_path) as rig:
        talk = Talk(rig, "moved")
        assert (await talk.ask("MOVED: before.")).headers[MEMORY] == "on"
        rig.proxy.db.rename(away)
        assert (await talk.ask("MOVED: away.")).headers[MEMORY] == "degraded"
        assert await memory_state(rig.proxy) == "waiting"
        away.rename(rig.proxy.db)
        await rig.keeps("MOVED:", *said_in(talk))
        await ask_until_on(talk, "MOVED: back again,")
        await rig.keeps("MOVED:", *said_in(talk))
        await rig.check_after_stopping()


def test_a_file_that_cannot_be_written_is_said_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = tmp_path / "stories.db"
    check_writable(str(db))
    db.touch()
    check_writable(str(db))
    check_writable(":memory:")
    for kept in (db, tmp_path):  # whoever runs the tests may write everywhere
        monkeypatch.setattr(os, "access", lambda path, mode, kept=kept: not (path == kept and mode == os.W_OK))
        with pytest.raises(StoreProblem, match="cannot be written"):
            check_writable(str(db))


@pytest.mark.slow(reason="needs a disk of its own")
def test_serve_refuses_a_disk_that_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder, "4m"):
        db, environment = str(folder / "stories.db"), {**os.environ, "PREVIOUSLY_CONFIG": ""}
        run = [sys.executable, "-m", "previously", "--db", db]
        subprocess.run([*run, "add", "tale", "--role", "user", "--text", "Hi."], check=True, env=environment)
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        serve = [*run, "serve", "--upstream", "http://127.0.0.1:9/v1", "--port", "18642"]
        refused = subprocess.run(serve, capture_output=True, text=True, env=environment, timeout=60, check=False)
        assert refused.returncode == 1
        assert "cannot be written" in refused.stderr and "Traceback" not in refused.stderr
