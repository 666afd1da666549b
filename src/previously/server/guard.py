"""What stands between the network and the proxy: every rule is applied here, in one order, to every request.

The order is part of the safety. First what needs no thought (sizes, names, origins), so that most of what is hostile
costs nothing; then whether there is room; then who asks, how often; and only then is a body read, counted and timed.
The application sees a request when it is whole and its caller known: `caller_of(scope)`. It never sees a websocket.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from previously.server.bounds import (
    WITH_BODY,
    Bounds,
    ClientGone,
    Rates,
    check_body,
    check_head,
    read_body,
    replayed,
)
from previously.server.callers import FRESH_S, Caller, Callers, unknown_key
from previously.server.hosts import (
    allowed_hosts,
    allowed_origins,
    check_host,
    check_origin,
    cors_headers,
    is_preflight,
    preflight_headers,
)
from previously.server.refusals import Header, Refusal, refuse, retry_after

CALLER = "previously.caller"
"""Where in a scope the caller stands."""

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that answer anybody who may connect, also when there is no room: they say nothing of anybody's stories."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one server lets in."""

    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()
    bounds: Bounds = field(default_factory=Bounds)

    @classmethod
    def of(
        cls, bind_host: str, *, allow_hosts: Iterable[str] = (), allow_origins: Iterable[str] = (), **bounds: float
    ) -> Rules:
        """The rules of a server that listens on this host; `BadInput` for a name or an origin that is none."""
        hosts, origins = allowed_hosts(bind_host, allow_hosts), allowed_origins(allow_origins)
        return cls(hosts, origins, replace(Bounds(), **bounds))  # type: ignore[arg-type]


class KeyGone(OSError):
    """The key that let a stream in was removed. To the application it is as if the client had gone."""


class Guard:
    """Lets through what the rules allow."""

    def __init__(
        self, app: ASGIApp, rules: Rules, callers: Callers, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._rules = rules
        self._callers = callers
        self._rates = Rates(rules.bounds, clock)
        self._clock = clock
        self.requests = 0
        """How many are under way."""
        self.held_bytes = 0
        """Of their bodies."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        asked = _Asked(send)
        try:
            if self._is_allowed(scope, asked):
                await self._answer(scope, receive, asked)
            else:
                await _answer_preflight(scope["headers"], asked.send)
        except Refusal as refusal:
            if asked.begun:
                raise
            await refuse(refusal, receive, asked.send, scope["path"])
        except ClientGone:
            pass

    def _is_allowed(self, scope: Scope, asked: _Asked) -> bool:
        """Whether a request may be looked at further; False for a browser that only asks what is allowed."""
        rules, headers, method = self._rules, scope["headers"], scope["method"]
        check_head(scope.get("raw_path", b"") + scope.get("query_string", b""), headers, rules.bounds)
        host = check_host(headers, rules.hosts)
        origin = check_origin(method, host, headers, rules.origins)
        if origin is not None:
            asked.extra = cors_headers(origin)
            if is_preflight(method, headers):
                return False
        check_body(method, headers, rules.bounds)
        return True

    async def _answer(self, scope: Scope, receive: Receive, asked: _Asked) -> None:
        if scope["path"] in PROBES:
            await self._app(scope, receive, asked.send)
            return
        if self.requests >= self._rules.bounds.requests:
            raise Refusal(503, "too_many_at_once", "Too many requests at once.", [retry_after(1)])
        held = _Held(self)
        self.requests += 1
        try:
            caller = await self._callers.caller(scope["headers"], page=is_page(scope["path"]))
            scope[CALLER] = caller
            self._rates.take(caller.owner)
            if scope["method"] in WITH_BODY:
                receive = replayed(await read_body(receive, self._rules.bounds, held.hold), receive)
            await self._app(scope, receive, self._watched(caller, asked))
        except Exception:
            if not asked.key_gone:
                raise
            if not asked.begun:
                raise unknown_key() from None
            # else the answer stays unfinished, and the server closes the connection
        finally:
            self.requests -= 1
            held.let_go()

    def _watched(self, caller: Caller, asked: _Asked) -> Send:
        """Sends as long as the caller's key is one of ours."""
        if not caller.ours:
            return asked.send
        looked = self._clock()

        async def send(message: Message) -> None:
            nonlocal looked
            now = self._clock()
            if now - looked >= FRESH_S:
                looked = now
                asked.key_gone = asked.key_gone or not await self._callers.still(caller)
            if asked.key_gone:
                raise KeyGone("The key was removed.")
            await asked.send(message)

        return send


class _Asked:
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


class _Held:
    """The bytes of one body, as part of those of all."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._bytes = 0

    def hold(self, count: int) -> None:
        """Take in so many more; `Refusal` 503 if there is no room for them."""
        if self._guard.held_bytes + count > self._guard._rules.bounds.held_bytes:
            raise Refusal(503, "no_room", "Too much is being sent at once.", [retry_after(1)])
        self._bytes += count
        self._guard.held_bytes += count

    def let_go(self) -> None:
        """Give all of it back."""
        self._guard.held_bytes -= self._bytes
        self._bytes = 0


def caller_of(scope: Scope) -> Caller:
    """Who asks; only for requests that came through a guard, and no probe."""
    caller: Caller = scope[CALLER]
    return caller


def is_page(path: str) -> bool:
    """Whether people look at it with a browser, which asks for a key by HTTP Basic."""
    return path == "/" or path.startswith("/stories/")


def page_headers(style: str) -> list[tuple[str, str]]:
    """What a page of ours is sent with: it loads nothing and runs nothing, is shown in no frame and kept nowhere. Of
    styles, those of exactly these bytes count."""
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style_hash}'; "
    return [
        ("content-security-policy", policy + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ]


async def _answer_preflight(headers: list[Header], send: Send) -> None:
    start: Message = {"type": "http.response.start", "status": 204, "headers": preflight_headers(headers)}
    await send(start)
    await send({"type": "http.response.body", "body": b""})
