"""The proxy as people run it: a process of its own, spoken to over real sockets, and looked into through its store.

`running_proxy` is the only place that knows how a proxy is started. `Rig` is one with a scripted upstream behind it;
`Talk` is a client's side of one conversation with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from previously import Memory, ScriptedServer
from previously.wire.reply import Reply
from previously.wire.sse import ReplyReader
from tests.end_to_end.server.forked_processes import CAN_FORK, ForkedProcess, fork_previously
from tests.ports import find_port

STARTING_S = 60.0
SETTLING_S = 20.0
"""How long the store may take to hold what it should; far above what it takes, for machines under load."""

PARTIAL = "(partial) "
"""What an answer begins with here that is marked as broken off."""

FLAGS = {
    "window": "--window",
    "deadline_s": "--deadline",
    "timeout_s": "--timeout",
    "drain_s": "--drain",
    "idle_s": "--idle",
}
"""How the command calls what tests want to set."""


@dataclass
class Proxy:
    """A proxy that runs."""

    process: asyncio.subprocess.Process | ForkedProcess
    port: int
    db: Path
    log: Path
    client: httpx.AsyncClient

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    def written(self) -> str:
        """What it has written to its log."""
        return self.log.read_text("utf-8", errors="replace")

    def rss_bytes(self) -> int:
        """How much memory it takes."""
        return self._status("VmRSS")

    def peak_rss_bytes(self) -> int:
        """How much memory it has taken at most."""
        return self._status("VmHWM")

    def loop_cpu_s(self) -> float:
        """How long its event loop has worked: the thread that all requests share. Not longer on a busy machine."""
        fields = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/stat").read_text("ascii").rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Tell it to stop, and wait until it has."""
        if self.process.returncode is None:
            self.process.send_signal(how)
        await self.process.wait()

    async def stopped(self) -> None:
        """Wait until it has stopped in order: at the end of its work, or by the signal that it got."""
        assert await self.process.wait() in (0, -signal.SIGTERM), self.written()


@asynccontextmanager
async def running_proxy(
    upstream_url: str,
    *,
    db: Path,
    window: int | None = 8_192,
    deadline_s: float = 60.0,
    env: dict[str, str] | None = None,
    **options: object,
) -> AsyncIterator[Proxy]:
    """A proxy in front of an upstream, which is ready when this is entered and gone when it is left. Unless a test says
    otherwise, memory has time enough on any machine."""
    port = find_port()
    command = ["--db", str(db), "serve", "--upstream", upstream_url, "--port", str(port)]
    for name, value in {"window": window, "deadline_s": deadline_s, **options}.items():
        if value is None:
            continue
        command += [FLAGS.get(name, f"--{name.replace('_', '-')}"), str(value)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREVIOUSLY_")}
    environment |= {"PREVIOUSLY_CONFIG": ""} | (env or {})
    log = db.with_name(f"{db.stem}-{port}.log")
    process = await _start(command, environment, log, anew=any(name.startswith("PYTHON") for name in env or ()))
    async with httpx.AsyncClient(trust_env=False, timeout=60.0) as client:
        proxy = Proxy(process, port, db, log, client)
        try:
            await _ready(proxy)
            yield proxy
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _start(
    arguments: Sequence[str], environment: dict[str, str], log: Path, *, anew: bool
) -> asyncio.subprocess.Process | ForkedProcess:
    """Start the command; `anew` if Python itself is to see the environment."""
    if CAN_FORK and not anew:
        return fork_previously(arguments, environment, log)
    command = [sys.executable, "-m", "previously", *arguments]
    with log.open("wb") as written:
        return await asyncio.create_subprocess_exec(*command, stdout=written, stderr=written, env=environment)


async def _ready(proxy: Proxy) -> None:
    last = time.monotonic() + STARTING_S
    while time.monotonic() < last:
        if proxy.process.returncode is not None:
            raise AssertionError(f"The proxy did not start:\n{proxy.written()}")
        try:
            if (await proxy.client.get(f"{proxy.origin}/healthz")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)
    raise AssertionError(f"The proxy does not say that it is alive:\n{proxy.written()}")


Said = tuple[str, str]
"""Role and text; a text that is marked as broken off begins with `PARTIAL`."""


async def stories_with(db: Path, words: str) -> dict[str, list[Said]]:
    """Every story in which these words were said, with its path, as the library reads it from the file."""
    async with await Memory.open(db) as memory:
        return await _stories_with(memory, words)


async def _stories_with(memory: Memory, words: str) -> dict[str, list[Said]]:
    found: dict[str, list[Said]] = {}
    for info in await memory.stories():
        story = await memory.story(info.name)
        path: list[Said] = []
        for item in await story.messages():
            broken = PARTIAL if item.entry.attributes.extra.get("partial") is True else ""
            path.append((item.entry.message.role.value, broken + item.entry.message.text))
        if any(words in text for _, text in path):
            found[info.name] = path
    return found


async def swipes_of(db: Path, words: str, position: int) -> list[str]:
    """All that ever stood at that place of the one story with these words."""
    (name,) = await stories_with(db, words)
    async with await Memory.open(db) as memory:
        story = await memory.story(name)
        return [swipe.message.text for swipe in await story.swipes(position)]


async def settled(db: Path, words: str, expected: Sequence[Said], *others: Sequence[Said]) -> None:
    """Wait until there is one story with these words, and it says just this, or one of the others."""
    last = time.monotonic() + SETTLING_S
    async with await Memory.open(db) as memory:
        while True:
            found = list((await _stories_with(memory, words)).values())
            if len(found) == 1 and any(found[0] == list(path) for path in (expected, *others)):
                return
            if time.monotonic() > last:
                raise AssertionError(f"{words!r} is not as it should be, but: {found}")
            await asyncio.sleep(0.05)


@dataclass
class Rig:
    """A proxy with a scripted upstream behind it."""

    upstream: ScriptedServer
    proxy: Proxy
    expected: dict[str, list[Said]] = field(default_factory=dict)
    """For the opening words of each conversation, what must be stored of it in the end."""

    @property
    def client(self) -> httpx.AsyncClient:
        return self.proxy.client

    async def keeps(self, words: str, *path: Said) -> None:
        """The one story with these words says just this, soon; and still does when the proxy has stopped."""
        self.expected[words] = list(path)
        await settled(self.proxy.db, words, path)

    async def check_after_stopping(self) -> None:
        """Stop the proxy as an operator does: nothing was lost by then, and nothing comes twice."""
        await self.proxy.stop()
        await self.proxy.stopped()
        assert "Traceback" not in self.proxy.written(), self.proxy.written()
        paths = (await stories_with(self.proxy.db, "")).values()
        for words, path in self.expected.items():
            found = [told for told in paths if any(words in text for _, text in told)]
            assert found == [path], f"{words!r} is not as it should be, but: {found}"
        await self.upstream.idle()


@asynccontextmanager
async def running_rig(folder: Path, **options: Any) -> AsyncIterator[Rig]:
    """A proxy and its upstream, with a store of their own."""
    async with (
        ScriptedServer() as upstream,
        running_proxy(upstream.base_url, db=folder / "stories.db", **options) as proxy,
    ):
        yield Rig(upstream, proxy)


class Talk:
    """A client's side of one conversation: it keeps the history and sends all of it, as clients do."""

    def __init__(self, rig: Rig, name: str | None = None) -> None:
        """With a name the client says which story it means; without one the proxy has to find out."""
        self.rig = rig
        self.headers = {"X-Previously-Story": name} if name else {}
        self.messages: list[dict[str, Any]] = []

    def body(self, text: str | None = None, **fields: Any) -> dict[str, Any]:
        """The next request, with these words of the user at its end."""
        if text is not None:
            self.messages.append({"role": "user", "content": text})
        return {"model": "small", "messages": list(self.messages), **fields}

    async def ask(self, text: str | None = None, **fields: Any) -> httpx.Response:
        """Say something and take the answer as one object; it becomes part of the history if there is one."""
        address = f"{self.rig.proxy.base_url}/chat/completions"
        response = await self.rig.client.post(address, json=self.body(text, **fields), headers=self.headers)
        if response.status_code == 200 and "choices" in response.text and not fields.get("stream"):
            self.messages.append({"role": "assistant", "content": response.json()["choices"][0]["message"]["content"]})
        return response

    @asynccontextmanager
    async def hearing(self, text: str | None = None, **fields: Any) -> AsyncIterator[Hearing]:
        """Say something and hear the answer as a stream. Leaving early is a client that goes away."""
        address = f"{self.rig.proxy.base_url}/chat/completions"
        body = self.body(text, stream=True, **fields)
        async with self.rig.client.stream("POST", address, json=body, headers=self.headers) as response:
            yield Hearing(response)

    async def hear(self, text: str | None = None, **fields: Any) -> Reply:
        """Say something and hear all of the answer, which becomes part of the history."""
        async with self.hearing(text, **fields) as hearing:
            await hearing.all()
        reply = hearing.reader.finish()
        if reply.choice().text:
            self.messages.append({"role": "assistant", "content": reply.choice().text})
        return reply


class Hearing:
    """A stream as it reaches the client."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.content = b""
        self.reader = ReplyReader()
        self.broken = False
        self._pieces = response.aiter_raw()

    @property
    def text(self) -> str:
        return self.reader.reply().choice().text

    async def until(self, text: str) -> None:
        """Listen until this has been said."""
        while self.text != text:
            self._take(await anext(self._pieces))

    async def all(self) -> None:
        """Listen until the end, also if that is no good one."""
        try:
            async for piece in self._pieces:
                self._take(piece)
        except httpx.TransportError:
            self.broken = True

    def _take(self, piece: bytes) -> None:
        self.content += piece
        self.reader.feed(piece)
