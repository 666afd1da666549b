"""The proxy put together: the options it is started with, its routes, what they share, and how it begins and ends.

When it is told to stop it begins nothing any more; what is under way is drained, kept and marked.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send

from previously.app import Memory, model_at
from previously.core.errors import BadInput
from previously.models.endpoint import Endpoint
from previously.runtime.follow_client import ClientFollower
from previously.server.background_folds import BackgroundFolds
from previously.server.callers import Callers
from previously.server.chat import Chat
from previously.server.commands import Commands
from previously.server.free_memory import free_memory_when_idle
from previously.server.guard import Guard, GuardRules
from previously.server.hosts import is_loopback
from previously.server.logs import RequestLog
from previously.server.metrics import Metrics, make_metrics_route
from previously.server.page import make_page_routes
from previously.server.passthrough import Passthrough
from previously.server.pending_turns import PendingTurns
from previously.server.refusals import Refusal, answer_refusal
from previously.server.turn import ChatTurns
from previously.server.upstream import Facts, Upstream
from previously.story.story import Story
from previously.wire.interface import INTERFACES

log: logging.Logger = logging.getLogger("previously.server")

FOLD_S = 600.0
"""Seconds that one call for a fold may take: a small machine thinks for minutes about a long span."""

CATCH_UP_S = 2.0
"""Seconds between two tries to bring in pending turns: about as long as a person waits before they ask once more."""


class Proxy:
    """All that one proxy holds."""

    def __init__(self, memory: Memory, options: ServerOptions, pending_folder: Path | None, has_model: bool) -> None:
        self.memory = memory
        self.options = options
        self.upstream: Upstream = Upstream(options.upstream, key=options.upstream_key, timeout_s=options.timeout_s)
        self.recognising: ClientFollower = ClientFollower(memory.store)
        self.pending: PendingTurns = PendingTurns(pending_folder, options.waiting_bytes)
        self.turns: ChatTurns = ChatTurns(
            self.memory_of,
            self.recognising,
            self.pending,
            deadline_s=options.deadline_s,
            window_of=self._window,
        )
        folds_upstream = options.memory == "upstream" and not has_model
        self.metrics: Metrics = Metrics()
        self.metrics.waiting.ask = lambda: self.pending.count
        self.folds: BackgroundFolds = BackgroundFolds(
            self._open_story_to_fold,
            self._facts,
            idle_s=options.idle_s,
            yields=folds_upstream,
            on_report=self.metrics.count_folds,
            on_failure=self.metrics.failed_folds.add,
        )
        self.metrics.to_fold.ask = lambda: self.folds.waiting
        commands = Commands(
            self.memory_of,
            self.recognising,
            options.deadline_s,
            self.turns.absences,
            self.folds,
            self.turns.views,
            self._open_story_to_fold,
        )
        self.passthrough: Passthrough = Passthrough(self.upstream)
        self.chat: Chat = Chat(self.upstream, self.turns, self.folds, commands, self.metrics, self.passthrough)
        self.stopping = False
        self._folds_upstream = folds_upstream
        self._writers: dict[tuple[str, str, str], Memory] = {}
        self._address = options.upstream.join("").rstrip("/")

    def memory_of(self, owner: str) -> Memory:
        return self.memory.sharing(owner)

    def list_notices(self, owner: str, story: Story) -> list[str]:
        """Return sentences for a person about memory that is missing in a story, or waits."""
        return [self.turns.absences.describe(owner, story.name), self.folds.describe_folding(owner, story)]

    async def _window(self, model: str, key: str | None) -> int | None:
        known = self.options.window_tokens
        if known is None:
            known = (await self.upstream.find_facts(model, key)).window_tokens
        return self.upstream.limit_window(model, known)

    def _facts(self, model: str) -> Facts:
        return self.upstream.get_facts(model)

    async def _open_story_to_fold(self, owner: str, name: str, model: str, key: str | None) -> Story:
        window = self.upstream.limit_window(model, self.options.window_tokens or self._facts(model).window_tokens)
        if not self._folds_upstream:
            return await self.memory.sharing(owner).story(name, create=False, window_tokens=window)
        wanted = owner, self.options.memory_model or model or "default", self.options.upstream_key or key or ""
        memory = self._writers.get(wanted)
        if memory is None:
            for stale in [known for known in self._writers if known[0] == owner]:
                await self._writers.pop(stale).close()
            memory = self._writers[wanted] = self.memory.sharing(owner, model_at(self._address, *wanted[1:], FOLD_S))
        return await memory.story(name, create=False, window_tokens=window)

    async def catch_up(self) -> None:
        """Bring pending turns into their stories, again and again."""
        failed = ""
        while True:
            try:
                more, failed = await self.turns.catch_up(), ""
            except Exception as error:
                if failed != type(error).__name__:  # once, not every two seconds
                    failed = type(error).__name__
                    log.warning("Turns that wait are not brought in: %s", failed)
                more = False
            await asyncio.sleep(0 if more else CATCH_UP_S)

    async def free_memory(self) -> None:
        """Give memory back after each load."""
        await free_memory_when_idle(self.metrics.turns.value, lambda: self.chat.is_idle)

    async def close(self) -> None:
        """End: folds are given up, answers kept, connections closed."""
        await self.folds.stop()
        await self.chat.finish(self.options.drain_s)
        for writer in self._writers.values():
            await writer.close()
        await self.pending.close()
        await self.upstream.close()
        await self.memory.close()


def make_app(
    memory: Memory, options: ServerOptions, *, pending_folder: Path | None = None, has_model: bool = False
) -> ASGIApp:
    """Return the proxy as an application, which closes the memory at its end. `has_model`: the memory has a model of
    its own that folds."""
    proxy = Proxy(memory, options, pending_folder, has_model)

    async def has_keys() -> bool:
        return bool(await memory.keys())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        proxy.folds.start()
        beside = [asyncio.create_task(proxy.catch_up()), asyncio.create_task(proxy.free_memory())]
        try:
            yield
        finally:
            proxy.stopping = True
            for task in beside:
                task.cancel()
            await proxy.close()

    inner = Starlette(routes=make_routes(proxy), lifespan=lifespan, exception_handlers=HANDLERS)
    required = options.require_keys or not is_loopback(options.host)
    callers = Callers(memory.owner_of_key, has_keys, required=required)
    rules = GuardRules.of(options.host, allow_hosts=options.allow_hosts, allow_origins=options.allow_origins)
    return RequestLog(Guard(inner, rules, callers), proxy.metrics)


WITHOUT_V1 = ("/chat/", "/messages", "/responses", "/models", "/completions", "/embeddings")
"""The beginnings of paths that clients ask for when `/v1` is missing in the address they were given."""


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """Return a 404 or 405 in the client's own error format."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    if status == 404 and request.url.path.startswith(WITHOUT_V1):
        words[404] = "There is nothing at this address: the address of this server ends in /v1."
    return await answer_refusal(request, Refusal(status, "not_found", words.get(status, "This cannot be done.")))


async def _answer_failure(request: Request, _: Exception) -> Response:
    return await answer_refusal(request, Refusal(500, "internal", "Something went wrong here; the log says what."))


HANDLERS: dict[Any, ExceptionHandler] = {
    Refusal: answer_refusal, HTTPException: _answer_http_error, Exception: _answer_failure
}  # fmt: skip


def make_routes(proxy: Proxy) -> list[BaseRoute]:
    """Return all that the proxy answers: chats with memory, and what else is under `/v1` without."""

    async def healthz(_: Request) -> Response:
        return JSONResponse({"ok": True})

    async def readyz(_: Request) -> Response:
        if proxy.stopping:
            return JSONResponse({"ready": False, "reason": "stopping"}, 503)
        memory = "unsaved" if proxy.turns.unsaved else "waiting" if proxy.pending.count else "on"
        upstream = "on" if proxy.upstream.is_reachable else "unreachable"
        return JSONResponse({"ready": True, "memory": memory, "upstream": upstream})

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        *(
            _make_route(f"/v1/{interface.path}", proxy.chat.answer_in(interface), "POST")
            for interface in INTERFACES.values()
        ),
        _make_route("/v1/{path:path}", proxy.passthrough, "GET", "POST", "PUT", "PATCH", "DELETE"),
        make_metrics_route(proxy.metrics),
        *make_page_routes(proxy.memory_of, proxy.list_notices),
    ]


def _make_route(path: str, app: ASGIApp, *methods: str) -> Route:
    return Route(path, _Endpoint(app), methods=methods)


class _Endpoint:
    """An application at a path. (A bare function would be taken for one that answers requests with responses.)"""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


DEFAULT_PORT = 8642


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a proxy. Nothing in them comes from a client."""

    upstream: Endpoint
    upstream_key: str = field(default="", repr=False)
    """Sent to the upstream for clients with a key of ours, and for folds."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    window_tokens: int | None = None
    """None = what the upstream tells, else what is taken for an unknown model."""
    deadline_s: float = 2.0
    """Seconds that memory may take before a request goes on without it."""
    idle_s: float = 1.0
    """Seconds that nobody may have asked for anything before folding begins."""
    timeout_s: float = 600.0
    """Seconds that the upstream may be silent."""
    drain_s: float = 20.0
    """Seconds that streams may go on when the proxy is told to stop."""
    memory: str = "upstream"
    """Who folds: `upstream`, or `builtin`."""
    memory_model: str = ""
    """Which model of the upstream folds; empty = the one that was last asked for."""
    require_keys: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    log_json: bool = False
    waiting_bytes: int = 64 * 1024 * 1024
    """The most that may wait on disk for a store that is down."""

    def __post_init__(self) -> None:
        if not 0 < self.port < 65_536:
            raise BadInput(f"{self.port} is no port; use a number from 1 to 65535.")
        if self.window_tokens is not None and self.window_tokens < 512:
            raise BadInput(f"A window of {self.window_tokens} tokens is too small for a story; use 512 or more.")
        if not (0 < self.deadline_s < math.inf and 0 < self.timeout_s < math.inf):
            raise BadInput("A time limit must be more than 0 seconds.")
        if not (0 <= self.idle_s < math.inf and 0 <= self.drain_s < math.inf):
            raise BadInput("A time to wait must be 0 seconds or more.")
        if self.memory == "builtin" and self.memory_model:
            raise BadInput("The built-in writer needs no model: give --memory builtin or --memory-model, not both.")
        if self.memory not in ("upstream", "builtin"):
            raise BadInput(f"{self.memory!r} cannot fold; use upstream or builtin, or name a memory endpoint.")
