"""The memory proxy in its own process, and what it has stored, read from the same file through the library."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from previously import Memory
from tests.clients.sillytavern import stop
from tests.ports import find_port

PATIENCE_S = 20.0
"""How long the proxy may take to store what the client has already seen."""


@dataclass(frozen=True)
class Told:
    """A message on the path of a story, as it is stored."""

    role: str
    speaker: str | None
    text: str


@dataclass(frozen=True)
class Proxy:
    """A proxy that is running."""

    origin: str
    database: Path
    log: Path

    @property
    def url(self) -> str:
        """What a client is given as its base URL."""
        return f"{self.origin}/v1"

    async def stories(self) -> dict[str, list[Told]]:
        """Every story by name, with what is visible on its active path."""
        async with await Memory.open(self.database) as memory:
            return {info.name: await _visible(memory, info.name) for info in await memory.stories()}

    async def recap(self, name: str) -> str:
        """The recap in force of a story; empty when there is none."""
        async with await Memory.open(self.database) as memory:
            recap = await (await memory.story(name, create=False)).recap()
            return recap.text if recap else ""

    async def story_of(self, texts: list[str]) -> str:
        """The name of the story whose visible path has exactly these texts. What is stored soon counts as stored."""
        tries = int(PATIENCE_S / 0.2)
        for attempt in range(tries):
            stored = {name: [told.text for told in path] for name, path in (await self.stories()).items()}
            for name, path in stored.items():
                if path == texts:
                    return name
            if attempt < tries - 1:
                await asyncio.sleep(0.2)
        raise AssertionError(f"No story has the path that is on the screen.\n{_nearest(stored, texts)}")


@asynccontextmanager
async def remembering(
    upstream: str, folder: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Proxy]:
    """`previously serve` before that upstream, with a database of its own in `folder`."""
    port = port or find_port()
    proxy = Proxy(f"http://127.0.0.1:{port}", folder / "stories.db", folder / "proxy.log")
    with proxy.log.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "previously", "--db", str(proxy.database),
            "serve", "--upstream", upstream, "--port", str(port),
            stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **(settings or {})},
        )  # fmt: skip
    try:
        await _until_healthy(proxy, port, process)
        yield proxy
    finally:
        await stop(process)


async def import_file(proxy: Proxy, path: Path, story: str) -> None:
    """`previously import`, while the proxy runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "previously", "--db", str(proxy.database), "import", str(path), "--story", story,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


async def _visible(memory: Memory, name: str) -> list[Told]:
    story = await memory.story(name, create=False)
    entries = [item.entry for item in await story.messages()]
    return [
        Told(entry.message.role.value, entry.message.speaker, entry.message.text)
        for entry in entries
        if not entry.attributes.hidden
    ]


async def _until_healthy(proxy: Proxy, port: int, process: asyncio.subprocess.Process) -> None:
    for _ in range(300):
        if process.returncode is not None:
            break
        if b" 200 " in await _status(port):
            return
        await asyncio.sleep(0.1)
    raise RuntimeError(f"The proxy does not answer:\n{proxy.log.read_text('utf-8', errors='replace')}")


async def _status(port: int) -> bytes:
    """The first line of the answer to `/healthz`; empty when nobody listens."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return b""
    try:
        writer.write(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        line = await reader.readline()
        await reader.read()
        return line
    except OSError:
        return b""
    finally:
        writer.close()


def _nearest(stored: dict[str, list[str]], texts: list[str]) -> str:
    """How the story that is most like the screen differs from it."""
    if not stored:
        return "Nothing is stored at all."
    name = max(stored, key=lambda name: len(set(stored[name]) & set(texts)))
    lines = unified_diff(stored[name], texts, f"stored as {name!r}", "on the screen", lineterm="", n=1)
    return "\n".join(lines)
