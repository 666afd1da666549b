"""Take the traces: an edit, a fold, a view and a chat turn on the sample story, through the real code."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from previously import BadInput, BlockingMemory, Memory, ScriptedServer, read_story
from previously.blocking import BlockingStory
from tests.ports import find_port
from tests.trace.recorder import PACKAGE, Recorder, installed_recorder

SAMPLE = PACKAGE / "demo" / "harbour.jsonl"
BUDGET_TOKENS = 6_000
"""Less than the sample story, so that memory stands for what is old."""

NEVER_S = 100_000.0
PATIENCE_S = 60.0
"""How long a proxy may take to start, or to store an answer; far above what it takes, for machines under load."""

Trace = dict[str, Any]


def take_traces(directory: Path) -> dict[str, Trace]:
    """Return the trace of each operation by its name."""
    traces = _trace_library(directory / "library.db")
    traces["chat turn"] = asyncio.run(trace_turn(directory / "proxy.db"))
    return traces


def _trace_library(db: Path) -> dict[str, Trace]:
    with installed_recorder() as recorder, BlockingMemory(db) as memory:
        story = memory.story("sample")
        story.add_drafts(_sample_drafts())
        edited = len(story.messages()) // 2

        def record(act: Callable[[BlockingStory], object]) -> Trace:
            return _record(recorder, lambda: act(story))

        fold = record(lambda it: it.fold())
        view = record(lambda it: it.view(BUDGET_TOKENS))
        edit = record(lambda it: it.edit(edited, "The lamp on the quay was out, so they counted by hand."))
    return {"edit": edit, "fold": fold, "view": view}


def _record(recorder: Recorder, act: Callable[[], object]) -> Trace:
    recorder.start()
    act()
    return recorder.stop()


def _sample_drafts() -> list[Any]:
    return list(read_story(SAMPLE).drafts)


async def trace_turn(db: Path) -> Trace:
    """Return the trace of a chat turn in a story that has memory, through a real proxy."""
    async with ScriptedServer() as upstream, _traced_proxy(upstream.base_url, db) as proxy:
        history = [{"role": draft.message.role.value, "content": draft.message.text} for draft in _sample_drafts()]
        for question in ("What do we know of the key?", "And of the lamp?"):
            history.append({"role": "user", "content": question})
            history.append({"role": "assistant", "content": await proxy.ask(history)})
        async with await Memory.open(db) as memory:
            await (await memory.story("sample", create=False)).fold()
        await proxy.command("start")
        history.append({"role": "user", "content": "Who has the ledger now?"})
        await proxy.ask(history)
        return await proxy.command("stop")


@dataclass
class TracedProxy:
    """A proxy in a process of its own, with a recorder in it."""

    process: asyncio.subprocess.Process
    replies: asyncio.StreamReader
    url: str
    db: Path

    async def command(self, word: str) -> Trace:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n".encode())
        reply: Trace = json.loads(await self.replies.readline())
        return reply

    async def ask(self, messages: list[dict[str, str]]) -> str:
        """Send a chat request, and return its answer when it is stored."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            response = await client.post(
                f"{self.url}/v1/chat/completions",
                json={"model": "small", "messages": messages},
                headers={"X-Previously-Story": "sample"},
            )
        response.raise_for_status()
        answer = str(response.json()["choices"][0]["message"]["content"])
        await self._stored(len(messages) + 1)
        return answer

    async def _stored(self, count: int) -> None:
        last = time.monotonic() + PATIENCE_S
        async with await Memory.open(self.db) as memory:
            while time.monotonic() < last:
                with suppress(BadInput):
                    story = await memory.story("sample", create=False)
                    if (await story.branch_info()).messages >= count:
                        await story.why(-1)  # refused as long as nothing is known of the view
                        return
                await asyncio.sleep(0.02)
        raise AssertionError(f"{count} messages were to be stored and are not")


@asynccontextmanager
async def _traced_proxy(upstream_url: str, db: Path) -> AsyncIterator[TracedProxy]:
    read_end, write_end = os.pipe()
    port = find_port()
    command = [sys.executable, "-m", "tests.trace.proxy", "--db", str(db), "serve", "--upstream", upstream_url]
    command += ["--port", str(port), "--memory", "builtin", "--window", str(BUDGET_TOKENS)]
    command += ["--idle", str(NEVER_S), "--deadline", str(PATIENCE_S)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREVIOUSLY_")}
    log = db.with_suffix(".log")
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=kept | {"PREVIOUSLY_CONFIG": "", "TRACE_FD": str(write_end)},
            pass_fds=(write_end,),
            stdin=asyncio.subprocess.PIPE,
            stdout=written,
            stderr=written,
        )
    os.close(write_end)
    replies = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(replies), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        proxy = TracedProxy(process, replies, f"http://127.0.0.1:{port}", db)
        await _ready(proxy, log)
        yield proxy
    finally:
        process.kill()
        await process.wait()
        transport.close()


async def _ready(proxy: TracedProxy, log: Path) -> None:
    last = time.monotonic() + PATIENCE_S
    async with httpx.AsyncClient(trust_env=False) as client:
        while time.monotonic() < last and proxy.process.returncode is None:
            with suppress(httpx.TransportError):
                if (await client.get(f"{proxy.url}/healthz")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
    raise AssertionError(f"The proxy did not start; {log} says why.")
