"""Passing a request on and its answer back.

What must stay true: what the upstream sends reaches the client as it comes, byte for byte; when the client goes away,
the upstream is let go at once, before the first byte as well as after; what the upstream does wrong becomes a sentence
that a person can act upon: as an error before the first byte, as an error event after it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import httpx
from starlette.types import Receive, Send

from previously.server.holding import Hearing, Held
from previously.server.refusals import Header, Refusal
from previously.server.upstream import Upstream, passed_back
from previously.wire.errors import CHAT_ERRORS, ErrorFormat

log = logging.getLogger("previously.server")

MOST_ERROR_BYTES = 1024 * 1024
MOST_ANSWER_BYTES = 256 * 1024 * 1024
"""A stream beyond this has no end."""

MOST_WHOLE_BYTES = 32 * 1024 * 1024
"""An answer in one piece is held in memory, so it may be less."""

PAGE = b"(a page)"
"""What stands for the body of an error that says nothing."""

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
    """What the client is told in headers of ours."""
    wording: ErrorFormat = CHAT_ERRORS
    """How it is told what went wrong."""


@dataclass
class Outcome:
    """What came of it."""

    status: int = 0
    """0 = the upstream was not heard of."""
    broken: bool = False
    """Whether the answer ended before its end."""
    gone: bool = False
    """Whether the client went away."""
    sent: int = 0
    """How many bytes of the answer went out."""

    @property
    def answered(self) -> bool:
        """Whether the upstream took the request."""
        return 200 <= self.status < 300


Again = Callable[[int, bytes], Awaitable[Outgoing | None]]
"""What to ask instead when the upstream has refused with this status and body; None for nothing."""


async def relay(
    upstream: Upstream,
    out: Outgoing,
    receive: Receive,
    send: Send,
    *,
    hearing: Hearing | None = None,
    before_end: Callable[[Outcome], asyncio.Future[None]] | None = None,
    again: Again | None = None,
) -> Outcome:
    """Ask the upstream and pass its answer on; `hearing` gets every byte of an answer that was given. `before_end` is
    waited for before the client is told that the answer is at its end. `again` may give a second request in place of
    one that was refused. `Refusal` if there is no answer to pass on."""
    outcome = Outcome()
    passing = asyncio.create_task(_pass(upstream, out, send, hearing, outcome, before_end, again))
    leaving = asyncio.create_task(_left(receive))
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


async def _left(receive: Receive) -> None:
    """Returns when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pass(
    upstream: Upstream,
    out: Outgoing,
    send: Send,
    hearing: Hearing | None,
    outcome: Outcome,
    before_end: Callable[[Outcome], asyncio.Future[None]] | None,
    again: Again | None,
) -> None:
    try:
        while True:
            async with upstream.asked(out.method, out.path, out.headers, out.body, out.query) as response:
                outcome.status = response.status_code
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
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
            raise _refusal(error, upstream) from None
        await _say_broken(send, out, "The upstream broke off before its answer was whole.")
    if before_end:
        await before_end(outcome)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _pass_stream(
    response: httpx.Response,
    send: Send,
    hearing: Hearing | None,
    out: Outgoing,
    outcome: Outcome,
    again: Again | None,
) -> Outgoing | None:
    held = Held(response.aiter_bytes() if response.headers.get("content-encoding") else response.aiter_raw())
    try:
        if hearing and again:
            await held.look(hearing)
            if (failed := hearing.failed) is not None and (other := await again(400, _as_body(failed))):
                return other
        start = {"type": "http.response.start", "status": 200, "headers": [*passed_back(response.headers), *out.told]}
        await send(start)
        async for chunk, heard in held.all():
            outcome.sent += len(chunk)
            if hearing and not heard:
                hearing.feed(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if outcome.sent > MOST_ANSWER_BYTES:
                outcome.broken = True
                await _say_broken(send, out, "The upstream sends without end.")
                return None
    finally:
        held.let_go()
    if not outcome.sent:
        outcome.broken, outcome.sent = True, 1
        await _say_broken(send, out, "The upstream's answer is empty.")
    return None


async def _pass_whole(
    response: httpx.Response,
    send: Send,
    hearing: Hearing | None,
    out: Outgoing,
    outcome: Outcome,
    before_end: Callable[[Outcome], asyncio.Future[None]] | None,
    again: Again | None,
) -> Outgoing | None:
    body = await _read(response, MOST_WHOLE_BYTES)
    if body is None:
        raise Refusal(502, "bad_upstream", "The upstream's answer is too large.")
    if body.lstrip()[:1] == b"<":
        raise Refusal(
            502, "bad_upstream", "The upstream answered with a web page: is its address right, and does it end in /v1?"
        )
    if hearing and not _is_answer(body):
        raise Refusal(502, "bad_upstream", "The upstream's answer is none: it is not JSON, or was cut off.")
    if hearing:
        hearing.feed(body)
        hearing.finish()
        if again and (failed := hearing.failed) is not None and (other := await again(400, _as_body(failed))):
            return other
    if before_end:
        await before_end(outcome)
    own = [*passed_back(response.headers), *out.told, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": response.status_code, "headers": own})
    outcome.sent = len(body)
    await send({"type": "http.response.body", "body": body, "more_body": False})
    return None


def _as_body(error: object) -> bytes:
    """An error that came in an answer, as the body of one."""
    return json.dumps({"error": error}).encode()


def _is_answer(body: bytes) -> bool:
    """Whether a client can make anything of it: an object, or a stream that goes by another name."""
    if body.lstrip()[:1] != b"{":
        return b"data:" in body
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return b"data:" in body
    return True


async def _pass_error(response: httpx.Response, send: Send, out: Outgoing, again: Again | None) -> Outgoing | None:
    """What the upstream complains of, as it says it; or what to ask instead."""
    status = response.status_code
    if 300 <= status < 400:
        raise Refusal(
            502, "bad_upstream", "The upstream sends requests elsewhere, which is not followed: use its final address."
        )
    body = await _read(response, MOST_ERROR_BYTES)
    if body is None or body.lstrip()[:1] == b"<":
        body = None  # a page for people, or without end
    if again and (other := await again(status, PAGE if body is None else body)):
        return other
    own = passed_back(response.headers)
    if body is None:
        body = out.wording.error(f"The upstream failed with status {status}.", "upstream_error", "bad_upstream")
        own = [(name, JSON.encode() if name == b"content-type" else value) for name, value in own]
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*own, *out.told, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
    return None


async def _read(response: httpx.Response, most: int) -> bytes | None:
    """All of a body; None if it is larger than that."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            return None
    return bytes(body)


async def _say_broken(send: Send, out: Outgoing, sentence: str) -> None:
    await send({"type": "http.response.body", "body": out.wording.event(sentence), "more_body": True})


def _refusal(error: Exception, upstream: Upstream) -> Refusal:
    """Why there is no answer. The error's own words may hold an address with a key."""
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
