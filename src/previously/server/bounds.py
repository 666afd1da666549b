"""How much a request may be: its head, its body, the time it takes, and how many there are. Each bound one function."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from starlette.types import Message, Receive

from previously.server.hosts import values
from previously.server.refusals import Header, Refusal, retry_after

WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MOST_OWNERS = 10_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a server. The defaults are far beyond what people do and far below what hurts."""

    headers: int = 100
    header_bytes: int = 32 * 1024
    path_bytes: int = 8 * 1024
    body_bytes: int = 64 * 1024 * 1024
    body_s: float = 60.0
    """For a whole body."""
    held_bytes: int = 1024 * 1024 * 1024
    """Of all bodies together."""
    requests: int = 1_000
    """At once."""
    per_s: float = 100.0
    """Requests of one owner, in the long run;"""
    burst: int = 1_000
    """and at once."""


class ClientGone(Exception):
    """The client went away in the middle of its request: nobody is there to be answered."""


def check_head(path: bytes, headers: Collection[Header], bounds: Bounds) -> None:
    """`Refusal` 431 or 414 for a head that is too large."""
    if len(headers) > bounds.headers or sum(len(n) + len(v) for n, v in headers) > bounds.header_bytes:
        raise Refusal(431, "headers_too_large", "The request has too many headers, or too long ones.")
    if len(path) > bounds.path_bytes:
        raise Refusal(414, "path_too_long", "The address of the request is too long.")


def check_body(method: str, headers: Collection[Header], bounds: Bounds) -> None:
    """`Refusal` for a body that is no JSON (415: what a page can send without being asked is none), where none belongs
    (400), or that says it is too large (413)."""
    lengths, codings = values(headers, b"content-length"), values(headers, b"transfer-encoding")
    clear = len(lengths) + len(codings) <= 1 and all(coding.lower() == "chunked" for coding in codings)
    if not clear or not all(length.isascii() and length.isdecimal() for length in lengths):
        raise Refusal(400, "bad_framing", "The request does not say clearly how long it is.")
    if method not in WITH_BODY:
        if codings or any(int(length[:20]) for length in lengths):
            raise Refusal(400, "body_not_expected", f"A {method} request has no body.")
        return
    kinds = values(headers, b"content-type")
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "not_json", "The body must be sent as application/json.")
    if [coding for coding in values(headers, b"content-encoding") if coding.lower() != "identity"]:
        raise Refusal(415, "encoded", "The body must be sent as it is, not compressed.")
    if lengths and (len(lengths[0]) > 20 or int(lengths[0]) > bounds.body_bytes):
        raise _too_large(bounds)


async def read_body(receive: Receive, bounds: Bounds, hold: Callable[[int], None]) -> bytes:
    """The whole body, counted while it comes; `hold` is told of every piece and may refuse it. `Refusal` 413 when it is
    too large, 408 when it takes too long."""
    pieces: list[bytes] = []
    total = 0
    try:
        async with asyncio.timeout(bounds.body_s):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                piece: bytes = message.get("body", b"")
                total += len(piece)
                if total > bounds.body_bytes:
                    raise _too_large(bounds)
                hold(len(piece))
                pieces.append(piece)
                if not message.get("more_body", False):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except TimeoutError:
        raise Refusal(408, "too_slow", f"The body did not arrive within {bounds.body_s:g} seconds.") from None


def replayed(body: bytes, receive: Receive) -> Receive:
    """Gives an application a body that was read, in one piece, and then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


class Rates:
    """A bucket of tokens for each owner: as many as a burst may have, filled at the rate of the long run."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst = bounds.per_s, float(bounds.burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, owner: str) -> None:
        """One request of an owner; `Refusal` 429 if the bucket is empty, which says when to come again."""
        now = self._clock()
        left, at = self._buckets.pop(owner, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_s)
        self._buckets[owner] = (left - 1 if left >= 1 else left), now
        while len(self._buckets) > MOST_OWNERS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = (1 - left) / self._per_s
            raise Refusal(429, "rate_limit_exceeded", "Too many requests; slow down.", [retry_after(wait)])


def _too_large(bounds: Bounds) -> Refusal:
    return Refusal(413, "body_too_large", f"The body has more than {bounds.body_bytes} bytes, the most allowed here.")
