"""`kill -9` of a process that folds with a model: while the model thinks, and when it has answered and nothing is kept.

Nothing is torn, the lease of the dead one keeps others from folding until it has run out, and then they fold."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from previously import Draft, Memory, message
from previously.runtime import fold_ledger
from previously.runtime.clock import time_at
from previously.runtime.fold_loop import OTHERS
from previously.testing.answer import ScriptedAnswer
from previously.testing.server import ScriptedServer

STOP_BEFORE_KEEPING = """
import sys, time
from previously.runtime.fold_ledger import StoryLedger
async def stop(self, outcome):
    print("answered", flush=True)
    time.sleep(600)
StoryLedger.keep = stop
from previously.cli.main import run
run()
"""
"""The command, which stops where a fold is to be kept: how long that takes cannot be chosen otherwise."""

MESSAGES = 200
"""More than a fold waits for, and more than a small window holds."""


async def start_fold(program: list[str], place: Path, server: ScriptedServer) -> asyncio.subprocess.Process:
    asked = ["--db", str(place), "fold", "tale", "--endpoint", server.base_url, "--model", "scripted"]
    return await asyncio.create_subprocess_exec(
        sys.executable, *program, *asked, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def kill(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.communicate()


@pytest.mark.parametrize("when", ["while the model thinks", "before its answer is kept"])
async def test_a_fold_that_was_killed_leaves_nothing_and_is_done_by_the_next(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stories.db"
    memory = await Memory.open(place)
    story = await memory.story("tale")
    said = [
        f"Joaquin hid key {number} in the mill, and Maya counted her crowns twice that night."
        for number in range(MESSAGES)
    ]
    await story.add_drafts([Draft(message("user", text)) for text in said])
    thinking = when == "while the model thinks"
    plan = ScriptedAnswer(hold={-1: asyncio.Event()}) if thinking else ScriptedAnswer()
    async with ScriptedServer(plan) as server:
        process = await start_fold(["-m", "previously"] if thinking else ["-c", STOP_BEFORE_KEEPING], place, server)
        if thinking:
            await asyncio.wait_for(server.request(0), 60)
        else:
            assert process.stdout is not None
            assert await asyncio.wait_for(process.stdout.readline(), 60) == b"answered\n"
        await kill(process)
    assert [item.entry.message.text for item in await story.messages()] == said
    assert await story.log() == []
    assert (await memory.verify()).clean
    assert (await story.fold()).stopped == OTHERS
    assert await story.log() == []
    monkeypatch.setattr(fold_ledger, "time_at", lambda after_s=0.0: time_at(after_s + fold_ledger.LEASE_S + 1))
    await story.fold()
    assert await story.recap() is not None
    assert (await memory.verify()).clean
    await memory.close()
