"""A tiny HTTP server on the loopback interface that answers what a test tells it to, byte by byte if need be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Play = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


class ScriptedServer:
    """Serves while it is entered. `script` answers each request; `requests` and `disconnected` tell what happened."""

    def __init__(self, script: Play, port: int = 0) -> None:
        self.script = script
        self.port = port
        self.requests: list[Received] = []
        self.arrived = asyncio.Event()
        self.disconnected = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        await _settle()  # a connection may be half accepted: asyncio forgets its socket if the server closes first
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await _settle()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._attend(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            try:
                await writer.wait_closed()
            except (ConnectionError, asyncio.CancelledError):
                writer.transport.abort()  # what nobody reads any more would keep the socket open

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read(reader)
        self.requests.append(request)
        self.arrived.set()
        playing = asyncio.ensure_future(self.script(request, writer))
        watching = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({playing, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not playing.done():
                self.disconnected.set()
            elif playing.done():
                await playing
        finally:
            playing.cancel()
            watching.cancel()
            await asyncio.gather(playing, watching, return_exceptions=True)


async def _settle() -> None:
    """Let the event loop do what is already due."""
    for _ in range(10):
        await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


def raw(data: bytes) -> Play:
    """These bytes and then the end, whatever they are."""

    async def play(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return play


def answer(status: int, body: object = b"", **headers: str) -> Play:
    """A whole response: bytes as they are, text as UTF-8, anything else as JSON."""
    content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = {"Content-Type": "application/json", "Content-Length": str(len(content))}
    lines |= {name.replace("_", "-").title(): value for name, value in headers.items()}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return raw(f"{head}Connection: close\r\n\r\n".encode() + content)


def chat(text: str | None = "The ferry left at nine.", **more: Any) -> dict[str, Any]:
    """The body of an ordinary answer."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    return {
        "model": "small-7b",
        "choices": [{"index": 0, "message": message, "finish_reason": more.pop("finish_reason", "stop")}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 6},
        **more,
    }


async def hang(_: Received, __: asyncio.StreamWriter) -> None:
    """Take the request and never answer."""
    await asyncio.Event().wait()


def in_turn(*plays: Play) -> Play:
    """One play for each request."""
    left = list(plays)

    async def play(request: Received, writer: asyncio.StreamWriter) -> None:
        await left.pop(0)(request, writer)

    return play
