"""A tap on the line between a client and a server: every byte goes through, and each request is noted as it was."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sent:
    """A request as a client sent it."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: Any
    """The JSON of it; None where it has none."""


@dataclass
class Tap:
    """Where to connect, and the heads of the answers that came back."""

    port: int
    answers: list[bytes]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def tapped(find_port: Callable[[], int], note: Callable[[Sent], None]) -> AsyncIterator[Tap]:
    """Listen in front of the server at `find_port()`, which may be another one after a restart."""
    tap = Tap(0, [])
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        try:
            behind, to_server = await asyncio.open_connection("127.0.0.1", find_port(), limit=2**26)
        except OSError:
            writer.close()
            return
        # Either side may go away at any time: that is its affair, and ends the other way too.
        ways = _pass_requests(reader, to_server, note), _pass_answers(behind, writer, tap.answers)
        await asyncio.gather(*ways, return_exceptions=True)
        writer.close()
        to_server.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**26)
    tap.port = server.sockets[0].getsockname()[1]
    try:
        yield tap
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass_requests(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: Callable[[Sent], None]
) -> None:
    try:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return
            first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
            headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
            lower = {name.lower(): value for name, value in headers}
            raw = body = b""
            if "chunked" in lower.get("transfer-encoding", ""):
                while True:
                    size_line = await reader.readuntil(b"\r\n")
                    piece = await reader.readexactly(int(size_line.split(b";")[0], 16) + 2)
                    raw += size_line + piece
                    body += piece[:-2]
                    if piece == b"\r\n":
                        break
            elif length := int(lower.get("content-length", 0)):
                raw = body = await reader.readexactly(length)
            method, path, _ = first.split(" ")
            note(Sent(method, path, headers, _read_json(body)))
            writer.write(head + raw)
            await writer.drain()
    finally:
        with contextlib.suppress(OSError):
            if writer.can_write_eof():
                writer.write_eof()


async def _pass_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heads: list[bytes]) -> None:
    try:
        while data := await reader.read(65_536):
            if data.startswith(b"HTTP/1.1 "):
                heads.append(data.partition(b"\r\n\r\n")[0])
            writer.write(data)
            await writer.drain()
    finally:
        with contextlib.suppress(OSError):
            if writer.can_write_eof():
                writer.write_eof()


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode("latin-1")[:1_000]
