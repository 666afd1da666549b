"""Trace one fold beside the chat: a story that has something due, a writer that asks a model over real HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from previously import Memory, ScriptedServer, Settings
from previously.app import model_at
from previously.core.model_io import ModelRequest
from previously.runtime.fold_report import FoldReport
from previously.runtime.keys import LOCAL_OWNER
from previously.server.background_folds import BackgroundFolds
from previously.server.upstream import Facts
from previously.story.story import Story
from previously.testing.connection import ServedRequest
from tests.end_to_end.runtime.faithful import faithful, said
from tests.trace.recorder import installed_recorder

RULES = Settings(fold_messages=6, tail_messages=2, chapter_messages=0)
MESSAGES = 9
"""One fold's worth: six that are due, two in the tail, and one to spare."""

PATIENCE_S = 60.0


async def trace_background_fold(db: Path) -> dict[str, Any]:
    """Return the trace of a fold from the wait for an idle moment to the version that is kept."""
    reported: asyncio.Future[FoldReport] = asyncio.get_running_loop().create_future()

    def note(report: FoldReport) -> None:
        if not reported.done():
            reported.set_result(report)

    with installed_recorder() as recorder:
        async with ScriptedServer(_answer) as server, await _open(db, server.base_url) as memory:
            story = await memory.story("tale")
            for number in range(MESSAGES):
                await story.add("assistant" if number % 2 else "user", said(number))

            async def open_story(_owner: str, name: str, _model: str, _key: str | None) -> Story:
                return await memory.story(name)

            folds = BackgroundFolds(open_story, lambda _: Facts(), idle_s=0, yields=False, on_report=note)
            recorder.start()
            folds.start()
            folds.add_story(LOCAL_OWNER, "tale")
            report = await asyncio.wait_for(reported, PATIENCE_S)
            trace = recorder.stop()
            await folds.stop()
    assert report.folds, report.stopped
    assert report.folds[0].made_by != "builtin", report.folds[0].reason
    return trace


async def _open(db: Path, url: str) -> Memory:
    return await Memory.open(db, model=model_at(url, "small", "", PATIENCE_S), settings=RULES)


def _answer(request: ServedRequest) -> str:
    said_to = {message["role"]: message["content"] for message in json.loads(request.body)["messages"]}
    return faithful(ModelRequest(said_to.get("system", ""), said_to["user"], max_output_tokens=1_000))
