"""The guard between the network and the proxy: it applies every rule, in one order, to every request.

The order is part of the safety. First what needs no thought (sizes, names, origins), so that most of what is hostile
costs nothing; then whether there is room; then who asks, how often; and only then is a body read, counted and timed.
The application sees a request when it is whole and its caller known: `get_caller(scope)`. It never sees a websocket.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from previously.server.callers import FRESH_S, NOBODY_YET, Caller, Callers, refuse_key
from previously.server.hosts import (
    check_host,
    check_origin,
    check_own_page,
    check_target,
    is_preflight,
    make_cors_headers,
    make_preflight_headers,
    parse_hosts,
    parse_origins,
    values,
)
from previously.server.refusals import Header, Refusal, make_retry_header, refuse
from previously.wire.interface import INTERFACES

JSON, UPLOAD = "application/json", "application/octet-stream"
"""The kinds of bodies: a page of another origin can send neither without being asked about it first."""

API = "/api/"
SESSION = "/api/v1/session"
"""The address at which people sign in, and so ask before they have."""

FILES = re.compile(r"/api/v1/(?:imports|stories/.+/apply)", re.DOTALL)
"""The addresses that files are sent to."""

WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MOST_OWNERS = 10_000
"""Whose buckets are kept: a bucket that was not used for longest is full again in any case."""


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
    """Raise `Refusal` 431 or 414 for a head that is too large."""
    if len(headers) > bounds.headers or sum(len(n) + len(v) for n, v in headers) > bounds.header_bytes:
        raise Refusal(431, "headers_too_large", "The request has too many headers, or too long ones.")
    if len(path) > bounds.path_bytes:
        raise Refusal(414, "path_too_long", "The address of the request is too long.")


def check_body(
    method: str, headers: Collection[Header], bounds: Bounds, kind: str = JSON, *, of_any_kind: bool = False
) -> None:
    """Raise `Refusal` for a body that is not of its kind (415: what a page can send without being asked is no JSON),
    where none belongs (400), or that says it is too large (413). `of_any_kind`: it is passed on, and need be no
    JSON."""
    lengths, codings = values(headers, b"content-length"), values(headers, b"transfer-encoding")
    clear = len(lengths) + len(codings) <= 1 and all(coding.lower() == "chunked" for coding in codings)
    if not clear or not all(length.isascii() and length.isdecimal() for length in lengths):
        raise Refusal(400, "bad_framing", "The request does not say clearly how long it is.")
    if method not in WITH_BODY:
        if codings or any(int(length[:20]) for length in lengths):
            raise Refusal(400, "body_not_expected", f"A {method} request has no body.")
        return
    if not of_any_kind:
        _check_kind(headers, kind)
    if lengths and (len(lengths[0]) > 20 or int(lengths[0]) > bounds.body_bytes):
        raise _refuse_too_large(bounds)


def _check_kind(headers: Collection[Header], kind: str) -> None:
    kinds = values(headers, b"content-type")
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != kind:
        raise Refusal(415, "not_json" if kind == JSON else "not_a_file", f"The body must be sent as {kind}.")
    if [coding for coding in values(headers, b"content-encoding") if coding.lower() != "identity"]:
        raise Refusal(415, "encoded", "The body must be sent as it is, not compressed.")


async def read_body(receive: Receive, bounds: Bounds, hold: Callable[[int], None]) -> bytes:
    """Return the whole body, counted while it comes; `hold` is told of every piece and may refuse it. `Refusal` 413
    when it is too large, 408 when it takes too long."""
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
                    raise _refuse_too_large(bounds)
                hold(len(piece))
                pieces.append(piece)
                if not message.get("more_body", False):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except TimeoutError:
        raise Refusal(408, "too_slow", f"The body did not arrive within {bounds.body_s:g} seconds.") from None


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Give an application a body that was read, in one piece, and then what comes after it."""
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
        """Take one request of an owner; `Refusal` 429 if the bucket is empty, which says when to come again."""
        now = self._clock()
        left, at = self._buckets.pop(owner, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_s)
        self._buckets[owner] = (left - 1 if left >= 1 else left), now
        while len(self._buckets) > MOST_OWNERS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = (1 - left) / self._per_s
            raise Refusal(429, "rate_limit_exceeded", "Too many requests; slow down.", [make_retry_header(wait)])


def _refuse_too_large(bounds: Bounds) -> Refusal:
    return Refusal(413, "body_too_large", f"The body has more than {bounds.body_bytes} bytes, the most allowed here.")


async def read_whole_body(receive: Receive) -> bytes:
    """Return the body that the guard has read and bounded before."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


_CHATS = frozenset(f"/v1/{interface.path}" for interface in INTERFACES.values())

CALLER = "previously.caller"
"""The key of the caller in a scope."""

TARGET = "previously.target"
"""The key in a scope of the target as the request has it: a path, or an address whose host the path does not tell."""

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that answer anybody who may connect, also when there is no room: they say nothing of anybody's stories."""


@dataclass(frozen=True, slots=True)
class GuardRules:
    """The rules of one server."""

    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()
    bounds: Bounds = field(default_factory=Bounds)

    @classmethod
    def of(
        cls, bind_host: str, *, allow_hosts: Iterable[str] = (), allow_origins: Iterable[str] = (), **bounds: float
    ) -> GuardRules:
        """Return the rules of a server that listens on this host; `BadInput` for a name or an origin that is none."""
        hosts, origins = parse_hosts(bind_host, allow_hosts), parse_origins(allow_origins)
        return cls(hosts, origins, replace(Bounds(), **bounds))  # type: ignore[arg-type]


class KeyGone(OSError):
    """The key that let a stream in was removed. To the application it is as if the client had gone."""


class Guard:
    """Lets through what the rules allow."""

    def __init__(
        self, app: ASGIApp, rules: GuardRules, callers: Callers, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._rules = rules
        self._callers = callers
        self._rates = Rates(rules.bounds, clock)
        self._clock = clock
        self.requests: int = 0
        """The number of requests under way."""
        self.held_bytes = 0
        """Of their bodies."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        response = _Response(send)
        try:
            if self._is_allowed(scope, response):
                await self._answer(scope, receive, response)
            else:
                await _answer_preflight(scope["headers"], response.send)
        except Refusal as refusal:
            if response.begun:
                raise
            await refuse(refusal, receive, response.send, scope["path"])
        except ClientGone:
            pass

    def _is_allowed(self, scope: Scope, response: _Response) -> bool:
        """Return whether a request may be looked at further; False for a browser that only asks what is allowed."""
        rules, headers, method = self._rules, scope["headers"], scope["method"]
        check_head(scope.get("raw_path", b"") + scope.get("query_string", b""), headers, rules.bounds)
        host = check_host(headers, rules.hosts)
        check_target(scope.get(TARGET, b"/"), host)
        origin = check_origin(method, host, headers, rules.origins)
        if origin is not None:
            response.extra = make_cors_headers(origin)
            if is_preflight(method, headers):
                return False
        kind = UPLOAD if FILES.fullmatch(scope["path"]) else JSON
        check_body(method, headers, rules.bounds, kind, of_any_kind=is_passed_on(scope["path"]))
        return True

    async def _answer(self, scope: Scope, receive: Receive, response: _Response) -> None:
        if scope["path"] in PROBES or is_page(scope["path"]):
            await self._app(scope, receive, response.send)
            return
        if self.requests >= self._rules.bounds.requests:
            raise Refusal(503, "too_many_at_once", "Too many requests at once.", [make_retry_header(1)])
        body_bytes = _HeldBytes(self)
        self.requests += 1
        try:
            caller = await self._find_caller(scope)
            scope[CALLER] = caller
            self._rates.take(caller.owner)
            if scope["method"] in WITH_BODY:
                receive = replay_body(await read_body(receive, self._rules.bounds, body_bytes.hold), receive)
            await self._app(scope, receive, self._make_watched_send(caller, response))
        except Exception:
            if not response.key_gone:
                raise
            if not response.begun:
                raise refuse_key() from None
            # else the answer stays unfinished, and the server closes the connection
        finally:
            self.requests -= 1
            body_bytes.let_go()

    async def _find_caller(self, scope: Scope) -> Caller:
        """Return who asks. On the API a session counts; a change by one needs a page of ours, since a browser sends its
        cookies whoever asks."""
        path, headers = scope["path"], scope["headers"]
        is_api = path.startswith(API)
        try:
            caller = await self._callers.caller(headers, by_session=is_api)
        except Refusal as refusal:
            if path != SESSION or refusal.status != 401:
                raise
            return NOBODY_YET
        if caller.by_session and scope["method"] not in ("GET", "HEAD"):
            check_own_page(headers, check_host(headers, self._rules.hosts))
        return caller

    def _make_watched_send(self, caller: Caller, response: _Response) -> Send:
        """Return what sends as long as the caller's key is one of ours."""
        if not caller.ours:
            return response.send
        looked = self._clock()

        async def send(message: Message) -> None:
            nonlocal looked
            now = self._clock()
            if now - looked >= FRESH_S:
                looked = now
                response.key_gone = response.key_gone or not await self._callers.still(caller)
            if response.key_gone:
                raise KeyGone("The key was removed.")
            await response.send(message)

        return send


class _Response:
    """One request's way back, to which headers are added, and which knows whether an answer was begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.extra: list[Header] = []
        self.begun = False
        self.key_gone = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            if self.extra:
                message = {**message, "headers": [*message.get("headers", ()), *self.extra]}
        await self._send(message)


class _HeldBytes:
    """The bytes of one body, as part of those of all."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._bytes = 0

    def hold(self, count: int) -> None:
        """Take in so many more; `Refusal` 503 if there is no room for them."""
        if self._guard.held_bytes + count > self._guard._rules.bounds.held_bytes:
            raise Refusal(503, "no_room", "Too much is being sent at once.", [make_retry_header(1)])
        self._bytes += count
        self._guard.held_bytes += count

    def let_go(self) -> None:
        self._guard.held_bytes -= self._bytes
        self._bytes = 0


def get_caller(scope: Scope) -> Caller:
    """Return who asks; only for requests that came through a guard, and no probe."""
    caller: Caller = scope[CALLER]
    return caller


def is_passed_on(path: str) -> bool:
    """Return whether a request goes to the upstream as it is. No page of another origin gets that far."""
    return path.startswith("/v1/") and path not in _CHATS


def is_page(path: str) -> bool:
    """Return whether it is a file of the page: these are the same for everybody and hold no story, so that whoever
    may connect gets them, and with them the way to sign in."""
    return path == "/" or path.startswith("/page/")


async def _answer_preflight(headers: list[Header], send: Send) -> None:
    start: Message = {"type": "http.response.start", "status": 204, "headers": make_preflight_headers(headers)}
    await send(start)
    await send({"type": "http.response.body", "body": b""})
