"""HTTP/1.1 to one upstream, with as little as can be done between two chunks.

httpx has the request and what is known of errors, and asks here for the bytes: by way of the layers that it comes with,
a stream took as much CPU as all of its memory, and each new one looked at all others. The parser is llhttp, as on the
side of the clients. Where a proxy of the environment stands between, httpx keeps its own way.
"""

from __future__ import annotations

import asyncio
import select
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httptools
import httpx

MOST_IDLE = 64
"""Connections that are kept open for the next request: more than people talk at once."""

IDLE_S = 5.0
"""Seconds that an idle connection is used again: whatever stands between may forget a longer one without a word."""

MOST_AHEAD_BYTES = 256 * 1024
"""Bytes that are read before whoever takes them: a client on a slow line makes the upstream wait, not this memory
grow."""

PIECE_BYTES = 32 * 1024
"""The most bytes of a body that are given at once: a packed one unfolds to up to a thousand times its size."""

MOST_HEAD_BYTES = 100 * 1024
"""A longer head is no head of a model's server."""


def needs_proxy(scheme: str, host: str) -> bool:
    """Return whether the environment has a proxy for such an address."""
    return bool(getproxies().keys() & {scheme, "all"}) and not proxy_bypass(host)


class _Connection(asyncio.Protocol):
    """One connection, and the response that comes on it."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.is_open: bool = False
        self._begin()

    def _begin(self) -> None:
        self.status: int = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_head: bool = False
        self.is_whole: bool = False
        self.is_reusable: bool = False
        self.chunks: deque[bytes] = deque()
        self._has_end = False
        self._loose = 0
        self._ahead = 0
        self._error: httpx.TransportError | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._parser: Any = httptools.HttpResponseParser(self)

    def ask(self, head: bytes, body: bytes) -> None:
        """Send a request; what comes from now on is its response."""
        self._begin()
        self.transport.write(head + body)

    async def wait(self, most_s: float | None) -> None:
        """Wait until something comes."""
        if self._error:
            raise self._error
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(most_s):
                await self._waiting
        except TimeoutError:
            raise httpx.ReadTimeout("nothing came in time") from None
        finally:
            self._waiting = None

    def take(self) -> bytes:
        """Return what has come of the body since the last time."""
        body = self.chunks.popleft() if len(self.chunks) == 1 else b"".join(self.chunks)
        self.chunks.clear()
        if self._ahead > MOST_AHEAD_BYTES and self.is_open:
            self.transport.resume_reading()
        self._ahead = 0
        return body

    def seems_open(self) -> bool:
        """Return whether nothing waits to be read while nothing was asked for: else it is the other side's goodbye."""
        if not self.is_open or self.transport.is_closing():
            return False
        if not hasattr(select, "poll"):  # Windows
            return True
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self.is_open = False
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment] # that of uvloop is none by its type
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(httpx.RemoteProtocolError(str(error)))
            return
        if not self.has_head:
            self._loose += len(data)
            if self._loose > MOST_HEAD_BYTES:
                self._fail(httpx.RemoteProtocolError("the head does not end"))
        if self._ahead > MOST_AHEAD_BYTES and not self.is_whole:
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self.has_head and not self.is_whole and not self._has_end and exc is None:
            self.is_whole = True  # a body that ends with its connection
        elif not self.is_whole and self._error is None:
            self._error = httpx.ReadError("the connection was closed")
        self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.has_head:
            return  # a trailer
        self.headers.append((name, value))
        self._has_end = self._has_end or name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self.has_head = self.status >= 200

    def on_body(self, body: bytes) -> None:
        self.chunks.append(body)
        self._ahead += len(body)

    def on_message_complete(self) -> None:
        if not self.has_head:  # only a sign that the response is under way
            self.headers = []
            return
        self.is_whole = True
        self.is_reusable = self._parser.should_keep_alive()

    def _fail(self, error: httpx.TransportError) -> None:
        self._error = error
        self.close()
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            if self._error and not self.chunks and not self.is_whole:
                self._waiting.set_exception(self._error)
            else:
                self._waiting.set_result(None)


class _Body(httpx.AsyncByteStream):
    """The body of a response, as it comes in."""

    def __init__(self, transport: LeanTransport, connection: _Connection, most_s: float | None) -> None:
        self._transport = transport
        self._connection: _Connection | None = connection
        self._most_s = most_s

    async def __aiter__(self) -> AsyncIterator[bytes]:
        connection = self._connection
        while connection is not None:
            if connection.chunks:
                body = connection.take()
                for start in range(0, len(body), PIECE_BYTES):
                    yield body[start : start + PIECE_BYTES]
            elif connection.is_whole:
                return
            else:
                await connection.wait(self._most_s)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._transport.take_back(connection)


class LeanTransport(httpx.AsyncBaseTransport):
    """Connections to the servers that are asked."""

    def __init__(self, *, trust_env: bool) -> None:
        self._trust_env = trust_env
        self._tls: ssl.SSLContext | None = None
        self._idle: deque[tuple[tuple[str, str, int], float, _Connection]] = deque()
        self._places: dict[_Connection, tuple[str, str, int]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timeout = request.extensions.get("timeout", {})
        url = request.url
        place = url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)
        connection = self._take_idle(place) or await self._open(place, timeout.get("connect"))
        try:
            connection.ask(_write_head(request), request.content)
            while not connection.has_head:
                await connection.wait(timeout.get("read"))
        except BaseException:
            self.take_back(connection)
            raise
        body = _Body(self, connection, timeout.get("read"))
        return httpx.Response(connection.status, headers=connection.headers, stream=body)

    def take_back(self, connection: _Connection) -> None:
        """Keep a connection for the next request if its response is whole, else close it at once."""
        place = self._places.pop(connection)
        if connection.is_whole and connection.is_reusable and connection.is_open and not connection.chunks:
            self._idle.append((place, time.monotonic(), connection))
            if len(self._idle) > MOST_IDLE:
                self._idle.popleft()[2].close()
        else:
            connection.close()

    async def aclose(self) -> None:
        for connection in [*self._places, *(connection for _, _, connection in self._idle)]:
            connection.close()
        self._idle.clear()

    def _take_idle(self, place: tuple[str, str, int]) -> _Connection | None:
        while self._idle:
            known, since, connection = self._idle.pop()
            if known == place and time.monotonic() - since < IDLE_S and connection.seems_open():
                self._places[connection] = place
                return connection
            connection.close()
        return None

    async def _open(self, place: tuple[str, str, int], most_s: float | None) -> _Connection:
        scheme, host, port = place
        if scheme == "https" and self._tls is None:
            self._tls = httpx.create_ssl_context(trust_env=self._trust_env)
        tls = self._tls if scheme == "https" else None
        try:
            async with asyncio.timeout(most_s):
                _, connection = await asyncio.get_running_loop().create_connection(
                    _Connection, host, port, ssl=tls, server_hostname=host if tls else None
                )
        except TimeoutError:
            raise httpx.ConnectTimeout("no connection in time") from None
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
        self._places[connection] = place
        return connection


def _write_head(request: httpx.Request) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1:
        raise httpx.LocalProtocolError("a header holds a line break")
    return head + b"\r\n\r\n"
