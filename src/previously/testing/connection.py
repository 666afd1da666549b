"""A connection of the scripted server: it reads requests, takes the steps of an answer, and notes who went away when.

It reads as much HTTP/1.1 as clients and proxies write: requests one after the other on a connection, bodies with a
length or in chunks. No task runs for a connection: a timer or the transport takes the next step.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

from previously.testing.answer import End, Step

MAX_HEAD_BYTES = 1_000_000
"""Far above any head that clients send; whoever sends more speaks another protocol."""

_METHOD = re.compile(rb"[A-Z]{1,10}( |\Z)")
_STREAM = re.compile(rb'(?<!\\)"stream"\s*:\s*true')
"""Inside a JSON string every quote has a backslash before it, so this is a key."""


class ChangeSignal:
    """Lets any number of waiters wait for something to become true. Costs nothing while nobody waits."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def tell(self) -> None:
        if self._next is not None:
            waited, self._next = self._next, None
            if not waited.done():
                waited.set_result(None)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._next is None:
                self._next = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._next)


class ServedRequest:
    """A request as it arrived, and what became of it. Times are those of the event loop's clock."""

    def __init__(
        self, method: str, path: str, raw_headers: list[tuple[str, str]], body: bytes, changes: ChangeSignal, at: float
    ) -> None:
        self.number = -1
        """Its place among the requests for an answer; -1 for all others."""
        self.method = method
        self.path = path
        self.raw_headers = raw_headers
        self.headers: dict[str, str] = {name.lower(): value for name, value in raw_headers}
        self.body = body
        self.arrived_at = at
        self.ended_at: float | None = None
        self.state: Literal["running", "answered", "cut", "gone"] = "running"
        """`answered` whole; `cut` by the script; `gone`: the peer went away before the answer was whole."""
        self.sent_chunks = 0
        self.sent_bytes = 0
        """Of the body."""
        self._changes = changes
        self._json: Any = ...
        self._when_ended: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"ServedRequest({self.number}, {self.method} {self.path}, {self.state})"

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        if self._json is ...:
            try:
                self._json = json.loads(self.body)
            except (ValueError, RecursionError):
                self._json = None
        return self._json

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.json["messages"])

    @property
    def streamed(self) -> bool:
        """True when a stream was asked for. Found without reading all of the body as JSON."""
        return _STREAM.search(self.body) is not None

    async def sent(self, chunks: int) -> None:
        """Wait until so many chunks were written, or there will be no more."""
        await self._changes.until(lambda: self.sent_chunks >= chunks or self.state != "running")

    async def ended(self) -> str:
        """Wait until it has ended, and say how."""
        await self._changes.until(lambda: self.state != "running")
        return self.state

    def end(self, state: Literal["answered", "cut", "gone"], at: float) -> None:
        """Note how it ended. The first end counts."""
        if self.state == "running":
            self.state, self.ended_at = state, at
            if self._when_ended is not None:
                self._when_ended()
            self._changes.tell()

    def when_ended(self, call: Callable[[], None]) -> None:
        """Have this called when it ends."""
        self._when_ended = call


class RequestHandler(Protocol):
    """The server, as far as a connection needs it."""

    changes: ChangeSignal
    connections: set[Connection]

    def answer(self, request: ServedRequest) -> Iterator[Step]: ...


class Connection(asyncio.Protocol):
    """One connection of a client, with at most one answer under way."""

    def __init__(self, server: RequestHandler) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport = None  # type: ignore[assignment] # there is one before anything arrives
        self._buffer = bytearray()
        self._needed = 0
        self._request: ServedRequest | None = None
        self._steps: Iterator[Step] | None = None
        self._timer: asyncio.Handle | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._paused = False
        self.lost: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # it is one of a stream
        self._server.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._request is None and len(self._buffer) >= self._needed:
            self._read()

    def eof_received(self) -> None:
        self._gone()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - how it was lost makes no difference
        self._gone()
        self._steps = None
        for pending in (self._timer, self._waiting):
            if pending is not None:
                pending.cancel()
        self._server.connections.discard(self)
        self._server.changes.tell()
        if not self.lost.done():
            self.lost.set_result(None)

    def _gone(self) -> None:
        if self._request is not None:
            self._request.end("gone", self._loop.time())

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._next()

    def abort(self) -> None:
        self._transport.abort()

    def _read(self) -> None:
        """Take a request off the buffer, if a whole one is there, and begin to answer it."""
        buffer = self._buffer
        if buffer and (not _METHOD.match(buffer) or (len(buffer) > MAX_HEAD_BYTES and b"\r\n\r\n" not in buffer)):
            self._transport.close()  # another protocol, or nonsense
            return
        head, blank, _ = buffer.partition(b"\r\n\r\n")
        if not blank:
            return
        start, *lines = bytes(head).decode("latin-1").split("\r\n")
        method, _, rest = start.partition(" ")
        pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        fields = {name.lower(): value for name, value in pairs}
        at = len(head) + 4
        if "expect" in fields and len(buffer) == at:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in fields.get("transfer-encoding", "").lower():
            chunked = _read_chunks(buffer, at)
            if chunked is None:
                return
            body, used = chunked
        else:
            used = at + int(fields.get("content-length") or 0)
            if len(buffer) < used:
                self._needed = used
                return
            body = bytes(buffer[at:used])
        del buffer[:used]
        self._needed = 0
        path = rest.partition(" ")[0]
        self._request = ServedRequest(method, path, pairs, body, self._server.changes, self._loop.time())
        self._steps = self._server.answer(self._request)
        self._next()

    def _next(self) -> None:
        """Take the next step of the answer."""
        if self._steps is None or self._paused or self._waiting is not None or self._transport.is_closing():
            return
        if self._timer is not None:
            self._timer.cancel()  # when the transport and a timer both want the next step, one of them gets it
        try:
            step = next(self._steps)
        except Exception:
            self._transport.abort()  # the plan itself is wrong: nobody shall wait for what it will not say
            raise
        if type(step) is bytes:
            self._transport.write(step)
            self._server.changes.tell()
            self._timer = self._loop.call_soon(self._next)
        elif type(step) is float:
            self._timer = self._loop.call_later(step, self._next)
        elif isinstance(step, asyncio.Event):
            self._waiting = self._loop.create_task(self._held(step))
        elif isinstance(step, End):
            self._end(step)

    async def _held(self, event: asyncio.Event) -> None:
        await event.wait()
        self._waiting = None
        self._next()

    def _end(self, end: End) -> None:
        self._steps = None
        if end is End.NEVER:
            return
        request, self._request = self._request, None
        assert request is not None
        if end is End.KEPT:
            request.end("answered", self._loop.time())
            if request.headers.get("connection", "").lower() == "close":
                self._transport.close()
            elif self._buffer:
                self._read()
            return
        request.end("cut", self._loop.time())
        if end is End.CLOSED:
            self._transport.close()
        else:
            linger = struct.pack("ii", 1, 0)  # what is not sent is thrown away, and the peer gets a reset
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._transport.abort()


def _read_chunks(buffer: bytearray, at: int) -> tuple[bytes, int] | None:
    """Return a body in chunks and where it ends; None while it is not whole."""
    body = bytearray()
    while True:
        line_end = buffer.find(b"\r\n", at)
        if line_end < 0:
            return None
        size = int(bytes(buffer[at:line_end]).partition(b";")[0], 16)
        first = line_end + 2
        if len(buffer) < first + size + 2:
            return None
        body += buffer[first : first + size]
        at = first + size + 2
        if not size:
            return bytes(body), at
