"""A request passed on to the upstream, and its answer passed back.

The answer reaches the client as it comes, byte for byte. When the client goes away, the upstream is let go at once,
before the first byte as well as after. What the upstream does wrong becomes a sentence that a person can act upon: an
error before the first byte, an error event after it. Some servers say only in their stream that a request was too long,
so its beginning is looked at before the client sees any of it: nothing is held back once a part of an answer is there,
nor for longer than `HOLD_S`, and what was held goes out unchanged and in order.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx
from starlette.types import Receive, Send

from previously.server.refusals import Header, Refusal
from previously.server.upstream import Upstream, list_end_to_end, select_headers
from previously.wire.errors import CHAT_ERRORS, ErrorFormat
from previously.wire.reply import Reply
from previously.wire.sse import ReplyReader

log: logging.Logger = logging.getLogger("previously.server")

MOST_ERROR_BYTES = 1024 * 1024
"""A longer complaint is no complaint of a model's server."""

MOST_ANSWER_BYTES = 256 * 1024 * 1024
"""A stream beyond this has no end."""

MOST_WHOLE_BYTES = 32 * 1024 * 1024
"""An answer in one piece is held in memory, so it may be less."""

PAGE = b"(a page)"
"""Stands for the body of an error that says nothing."""

EVENT_STREAM, JSON = "text/event-stream", "application/json"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request for the upstream."""

    method: str
    path: str
    headers: dict[bytes, bytes]
    body: bytes = b""
    query: bytes = b""
    streams: bool = False
    told: Sequence[Header] = ()
    """Headers of ours that the client gets."""
    errors: ErrorFormat = CHAT_ERRORS
    """The format in which the client is told what went wrong."""
    as_is: bool = False
    """True when the answer goes back as it comes, whatever it is."""


@dataclass
class RelayOutcome:
    """The outcome of a request that was passed on."""

    status: int = 0
    """0 when the upstream never answered."""
    broken: bool = False
    """True when the answer broke off."""
    gone: bool = False
    """True when the client went away."""
    sent: int = 0
    """The bytes of the answer that went out."""

    @property
    def answered(self) -> bool:
        """True when the upstream took the request."""
        return 200 <= self.status < 300


Again = Callable[[int, bytes], Awaitable[Outgoing | None]]
"""Gives the request to send instead when the upstream has refused with this status and body; None for nothing."""


async def relay(
    upstream: Upstream,
    out: Outgoing,
    receive: Receive,
    send: Send,
    *,
    hearing: ReplyListener | None = None,
    before_end: Callable[[RelayOutcome], asyncio.Future[None]] | None = None,
    again: Again | None = None,
) -> RelayOutcome:
    """Ask the upstream and pass its answer on. `Refusal` if there is no answer to pass on.

    `hearing` gets every byte of an answer that was given. `before_end` is waited for before the client is told that the
    answer is at its end. `again` may give a second request in place of one that was refused.
    """
    outcome = RelayOutcome()
    passing = asyncio.create_task(_pass(upstream, out, send, hearing, outcome, before_end, again))
    leaving = asyncio.create_task(_wait_until_gone(receive))
    try:
        await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not passing.done():
            outcome.gone = outcome.broken = True
            passing.cancel()
        with suppress(asyncio.CancelledError):
            try:
                await passing
            except OSError:  # the connection to the client is gone, or its key is
                outcome.gone = outcome.broken = True
    finally:
        leaving.cancel()
        if not passing.done():  # we are being stopped ourselves
            outcome.broken = True
            passing.cancel()
            with suppress(asyncio.CancelledError):
                await passing
    return outcome


async def _wait_until_gone(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pass(
    upstream: Upstream,
    out: Outgoing,
    send: Send,
    hearing: ReplyListener | None,
    outcome: RelayOutcome,
    before_end: Callable[[RelayOutcome], asyncio.Future[None]] | None,
    again: Again | None,
) -> None:
    kind = ""
    try:
        while True:
            async with upstream.open_response(out.method, out.path, out.headers, out.body, out.query) as response:
                outcome.status = response.status_code
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if out.as_is:
                    await _pass_as_is(response, kind, send, out, outcome)
                    break
                if not outcome.answered:
                    other = await _pass_error(response, send, out, again)
                elif out.streams and kind == EVENT_STREAM:
                    other = await _pass_stream(response, send, hearing, out, outcome, again)
                    if other is None:
                        break
                else:
                    other = await _pass_whole(response, send, hearing, out, outcome, before_end, again)
                if other is None:
                    return
                out, again = other, None  # once
                if hearing:
                    hearing.again()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        outcome.broken = True
        if not outcome.sent:
            raise _explain_loss(error, upstream) from None
        if out.as_is and kind != EVENT_STREAM:
            raise ConnectionError("half of a file is none: the client sees that the connection ends") from None
        await _say_broken(send, out, "The upstream broke off before its answer was whole.")
    if before_end:
        await before_end(outcome)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _pass_as_is(response: httpx.Response, kind: str, send: Send, out: Outgoing, outcome: RelayOutcome) -> None:
    """Pass an answer on byte by byte, with all of its headers but those of the connection."""
    if 300 <= outcome.status < 400:
        raise _refuse_redirect()
    if outcome.answered and kind == "text/html":
        raise _refuse_page()
    headers = [*list_end_to_end(response.headers.raw), *out.told]
    await send({"type": "http.response.start", "status": outcome.status, "headers": headers})
    outcome.sent = 1  # from now on the client has an answer
    async for chunk in response.aiter_raw():
        outcome.sent += len(chunk)
        await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _pass_stream(
    response: httpx.Response,
    send: Send,
    hearing: ReplyListener | None,
    out: Outgoing,
    outcome: RelayOutcome,
    again: Again | None,
) -> Outgoing | None:
    stream = HeldStream(response.aiter_bytes() if response.headers.get("content-encoding") else response.aiter_raw())
    try:
        if hearing and again:
            await stream.look(hearing)
            if (failed := hearing.failed) is not None and (other := await again(400, _write_error_body(failed))):
                return other
        start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [*select_headers(response.headers), *out.told],
        }
        await send(start)
        async for chunk, heard in stream.all():
            outcome.sent += len(chunk)
            if hearing and not heard:
                hearing.feed(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if outcome.sent > MOST_ANSWER_BYTES:
                outcome.broken = True
                await _say_broken(send, out, "The upstream sends without end.")
                return None
    finally:
        stream.let_go()
    if not outcome.sent:
        outcome.broken, outcome.sent = True, 1
        await _say_broken(send, out, "The upstream's answer is empty.")
    return None


async def _pass_whole(
    response: httpx.Response,
    send: Send,
    hearing: ReplyListener | None,
    out: Outgoing,
    outcome: RelayOutcome,
    before_end: Callable[[RelayOutcome], asyncio.Future[None]] | None,
    again: Again | None,
) -> Outgoing | None:
    body = await _read(response, MOST_WHOLE_BYTES)
    if body is None:
        raise Refusal(502, "bad_upstream", "The upstream's answer is too large.")
    if body.lstrip()[:1] == b"<":
        raise _refuse_page()
    if hearing and not _is_answer(body):
        raise Refusal(502, "bad_upstream", "The upstream's answer is none: it is not JSON, or was cut off.")
    if hearing:
        hearing.feed(body)
        hearing.finish()
        if again and (failed := hearing.failed) is not None and (other := await again(400, _write_error_body(failed))):
            return other
    if before_end:
        await before_end(outcome)
    own = [*select_headers(response.headers), *out.told, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": response.status_code, "headers": own})
    outcome.sent = len(body)
    await send({"type": "http.response.body", "body": body, "more_body": False})
    return None


def _write_error_body(error: object) -> bytes:
    """Write an error that came in an answer as the body of one."""
    return json.dumps({"error": error}).encode()


def _is_answer(body: bytes) -> bool:
    """Return whether a client can make anything of a body: an object, or a stream that goes by another name."""
    if body.lstrip()[:1] != b"{":
        return b"data:" in body
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return b"data:" in body
    return True


async def _pass_error(response: httpx.Response, send: Send, out: Outgoing, again: Again | None) -> Outgoing | None:
    """Pass on what the upstream complains of, as it says it; or return the request to send instead."""
    status = response.status_code
    if 300 <= status < 400:
        raise _refuse_redirect()
    body = await _read(response, MOST_ERROR_BYTES)
    if body is None or body.lstrip()[:1] == b"<":
        body = None  # a page for people, or without end
    if again and (other := await again(status, PAGE if body is None else body)):
        return other
    own = select_headers(response.headers)
    if body is None:
        body = out.errors.write_body(f"The upstream failed with status {status}.", "upstream_error", "bad_upstream")
        own = [(name, JSON.encode() if name == b"content-type" else value) for name, value in own]
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*own, *out.told, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
    return None


def _refuse_page() -> Refusal:
    return Refusal(
        502, "bad_upstream", "The upstream answered with a web page: is its address right, and does it end in /v1?"
    )


def _refuse_redirect() -> Refusal:
    return Refusal(
        502, "bad_upstream", "The upstream sends requests elsewhere, which is not followed: use its final address."
    )


async def _read(response: httpx.Response, most: int) -> bytes | None:
    """Read all of a body; None if it is larger than that."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


async def _say_broken(send: Send, out: Outgoing, sentence: str) -> None:
    await send({"type": "http.response.body", "body": out.errors.write_event(sentence), "more_body": True})


def _explain_loss(error: Exception, upstream: Upstream) -> Refusal:
    """Return why there is no answer. The error's own words may hold an address with a key."""
    where = upstream.endpoint.shown
    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return Refusal(504, "upstream_timeout", f"No connection to {where} in time.")
        case httpx.TimeoutException():
            return Refusal(504, "upstream_timeout", f"The upstream at {where} did not answer in time.")
        case httpx.ConnectError() if "certificate" in str(error).lower():
            return Refusal(502, "bad_upstream", f"The certificate of {where} cannot be trusted.")
        case httpx.ConnectError():
            return Refusal(502, "bad_upstream", f"No connection to {where}: is the server running?")
        case httpx.DecodingError():
            return Refusal(502, "bad_upstream", "The upstream's answer is packed in a way that cannot be undone.")
        case _:
            return Refusal(502, "bad_upstream", f"The connection to {where} broke off before there was an answer.")


HOLD_S = 2.0
"""Seconds for which the relay holds back the beginning of a stream in which nothing is said yet: long enough for an
error that comes in place of an answer, short enough that nobody waits for a first word."""

MOST_HELD_BYTES = 256 * 1024


class ReplyListener:
    """Reads an answer as it passes by, and begins anew where it is asked for once more."""

    def __init__(self, reader: Callable[[], ReplyReader]) -> None:
        self._make = reader
        self._reader = reader()

    def feed(self, piece: bytes) -> None:
        """Read the next bytes of the answer."""
        self._reader.feed(piece)

    @property
    def begun(self) -> bool:
        """Return whether anything came that a client could show, or an error."""
        return self._reader.begun or self._reader.reply().error is not None

    @property
    def failed(self) -> object:
        """Return the error the server sent in place of an answer; None if it sent nothing, or a part of an answer."""
        reply = self._reader.reply()
        return reply.error if all(choice.empty and not choice.reasoning for choice in reply.choices) else None

    def again(self) -> None:
        self._reader = self._make()

    def finish(self) -> Reply:
        """Return the reply the client got, now that no more comes."""
        return self._reader.finish()


class HeldStream:
    """The chunks of a stream, the first of which can be looked at."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._next: asyncio.Task[bytes | None] | None = None
        self._looked_at: list[bytes] = []

    async def look(self, hearing: ReplyListener) -> None:
        """Take what comes until something is said, or for a while, and have it heard. What breaks off before its
        first byte is no answer at all."""
        loop = asyncio.get_running_loop()
        end, size = loop.time() + HOLD_S, 0
        while size < MOST_HELD_BYTES and not hearing.begun:
            self._next = self._next or asyncio.create_task(self._one())
            await asyncio.wait({self._next}, timeout=max(0.0, end - loop.time()))
            if not self._next.done() or (self._looked_at and self._next.exception()):
                return
            if (chunk := self._next.result()) is None:
                return
            self._next = None
            self._looked_at.append(chunk)
            hearing.feed(chunk)
            size += len(chunk)

    async def _one(self) -> bytes | None:
        return await anext(self._chunks, None)

    async def all(self) -> AsyncIterator[tuple[bytes, bool]]:
        """All chunks, each with whether it was heard when it was looked at."""
        for chunk in self._looked_at:
            yield chunk, True
        while True:
            waiting, self._next = self._next, None
            following = await (waiting or self._one())
            if following is None:
                return
            yield following, False

    def let_go(self) -> None:
        """Stop waiting for the next piece."""
        if self._next is not None:
            self._next.cancel()
