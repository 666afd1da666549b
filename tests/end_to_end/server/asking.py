"""Asking an ASGI application in this process, and a server over a raw socket, byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from previously.server.process import make_server

HOST = "127.0.0.1:8642"
JSON = {"content-type": "application/json"}
Given = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass
class Answer:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False

    @property
    def error(self) -> dict[str, Any]:
        """The error in OpenAI's shape, and nothing else."""
        told = json.loads(self.body)
        assert set(told) == {"error"}
        error: dict[str, Any] = told["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert all(isinstance(error[name], str) and error[name] for name in ("message", "type", "code"))
        return error


async def asked(
    app: ASGIApp,
    method: str = "GET",
    path: str = "/v1/models",
    headers: Given = (),
    body: bytes | Iterable[bytes] = b"",
    *,
    host: str | None = HOST,
) -> Answer:
    """One request; headers as given, with `host` before them."""
    given = list(headers.items() if isinstance(headers, Mapping) else headers)
    named = [*([("host", host)] if host is not None else []), *given]
    pieces = [body] if isinstance(body, bytes) else list(body)
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in named],
    }
    answer = Answer()

    async def receive() -> Message:
        if not pieces:
            await asyncio.Event().wait()
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode("latin-1") for name, value in message.get("headers", ())}
        else:
            answer.body += message.get("body", b"")
            answer.complete = not message.get("more_body", False)

    await app(scope, receive, send)
    return answer


class Application:
    """Remembers what reached it."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
            return
        self.scopes.append(scope)
        body, more = b"", True
        while more and scope["method"] != "GET":
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


async def live(receive: Receive, send: Send) -> None:
    """Start and stop well."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


@asynccontextmanager
async def listening(app: ASGIApp, **options: Any) -> AsyncIterator[int]:
    """A server in this loop, as it is made for people; its port."""
    server = make_server(app, "127.0.0.1", 0, drain_s=1, **options)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
        assert not running.done()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


async def talk(port: int, *pieces: bytes | float, until_close: bool = True, most_s: float = 10.0) -> bytes:
    """Send pieces, waiting where there is a number; all that came back until the server closed.

    It listens while it sends: a server that closes early resets what is still sent, and with it what nobody has read.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    heard, begun = bytearray(), asyncio.Event()

    async def listen() -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(65_536):
                heard.extend(piece)
                begun.set()
        begun.set()

    hearing = asyncio.create_task(listen())
    try:
        with suppress(ConnectionError):  # closed by now
            for piece in pieces:
                if isinstance(piece, bytes):
                    writer.write(piece)
                    await writer.drain()
                else:
                    await asyncio.sleep(piece)
        async with asyncio.timeout(most_s):
            await (hearing if until_close else begun.wait())
        return bytes(heard)
    finally:
        hearing.cancel()
        writer.transport.abort()
