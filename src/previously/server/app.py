"""The proxy put together: its routes, what they share, and how it begins and ends.

What must stay true: what is under way when it is told to stop is drained, kept and marked; nothing is begun any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from previously.app import Memory, model_at
from previously.runtime.follow_client import ClientFollower
from previously.runtime.story import Story
from previously.server.background_folds import BackgroundFolds
from previously.server.callers import Callers
from previously.server.chat import Chat
from previously.server.commands import Commands
from previously.server.guard import Guard, GuardRules
from previously.server.hosts import is_loopback
from previously.server.logs import RequestLog
from previously.server.metrics import Metrics, make_metrics_route
from previously.server.options import ServerOptions
from previously.server.page import make_page_routes
from previously.server.passthrough import Passthrough
from previously.server.pending_turns import PendingTurns
from previously.server.refusals import Refusal, answer_refusal
from previously.server.turn import ChatTurns
from previously.server.upstream import Facts, Upstream
from previously.wire.interface import INTERFACES

log = logging.getLogger("previously.server")

FOLD_S = 600.0
"""How long one call for a fold may take."""

CATCH_UP_S = 2.0
"""How often what waits in the spool is tried again."""


class Proxy:
    """All that one proxy holds."""

    def __init__(self, memory: Memory, serving: ServerOptions, spool_path: Path | None, has_model: bool) -> None:
        self.memory = memory
        self.serving = serving
        self.upstream = Upstream(serving.upstream, key=serving.upstream_key, timeout_s=serving.timeout_s)
        self.recognising = ClientFollower(memory.store)
        self.spool = PendingTurns(spool_path, serving.spool_bytes)
        self.turns = ChatTurns(
            self.memory_of,
            self.recognising,
            self.spool,
            deadline_s=serving.deadline_s,
            window_of=self._window,
        )
        folds_upstream = serving.memory == "upstream" and not has_model
        self.metrics = Metrics()
        self.metrics.spool.ask = lambda: self.spool.waits
        self.keeper = BackgroundFolds(
            self._story_to_fold,
            self._facts,
            idle_s=serving.idle_s,
            yields=folds_upstream,
            told=self.metrics.folded,
            failed=self.metrics.failed_folds.add,
        )
        commands = Commands(self.memory_of, self.recognising, serving.deadline_s)
        self.passing = Passthrough(self.upstream)
        self.chat = Chat(self.upstream, self.turns, self.keeper, commands, self.metrics, self.passing)
        self.stopping = False
        self._folds_upstream = folds_upstream
        self._folders: dict[tuple[str, str, str], Memory] = {}
        self._address = serving.upstream.join("").rstrip("/")

    def memory_of(self, owner: str) -> Memory:
        """The stories of an owner."""
        return self.memory.sharing(owner)

    async def _window(self, model: str, key: str | None) -> int | None:
        known = self.serving.window_tokens
        if known is None:
            known = (await self.upstream.find_facts(model, key)).window_tokens
        return self.upstream.limit_window(model, known)

    def _facts(self, model: str) -> Facts:
        return self.upstream.get_facts(model)

    async def _story_to_fold(self, owner: str, name: str, model: str, key: str | None) -> Story:
        """A story with the folder that is to fold it."""
        window = self.upstream.limit_window(model, self.serving.window_tokens or self._facts(model).window_tokens)
        if not self._folds_upstream:
            return await self.memory.sharing(owner).story(name, create=False, window_tokens=window)
        wanted = owner, self.serving.memory_model or model or "default", self.serving.upstream_key or key or ""
        found = self._folders.get(wanted)
        if found is None:
            for stale in [one for one in self._folders if one[0] == owner]:
                await self._folders.pop(stale).close()
            found = self._folders[wanted] = self.memory.sharing(owner, model_at(self._address, *wanted[1:], FOLD_S))
        return await found.story(name, create=False, window_tokens=window)

    async def catch_up(self) -> None:
        """Bring in what waits in the spool, as often as it takes."""
        while True:
            await asyncio.sleep(CATCH_UP_S)
            if self.spool.waits:
                with suppress(Exception):
                    await self.turns.catch_up()

    async def close(self) -> None:
        """End: folds are given up, answers kept, connections closed."""
        await self.keeper.stop()
        await self.chat.finish(self.serving.drain_s)
        for folder in self._folders.values():
            await folder.close()
        await self.upstream.close()
        await self.memory.close()


def make_app(
    memory: Memory, serving: ServerOptions, *, spool_path: Path | None = None, has_model: bool = False
) -> ASGIApp:
    """The proxy as an application, which closes the memory at its end. `has_model`: the memory has a model of its own
    that folds."""
    proxy = Proxy(memory, serving, spool_path, has_model)

    async def any_keys() -> bool:
        return bool(await memory.keys())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        proxy.keeper.start()
        catching_up = asyncio.create_task(proxy.catch_up())
        try:
            yield
        finally:
            proxy.stopping = True
            catching_up.cancel()
            await proxy.close()

    inner = Starlette(routes=routes(proxy), lifespan=lifespan, exception_handlers=HANDLERS)
    required = serving.require_keys or not is_loopback(serving.host)
    callers = Callers(memory.owner_of_key, any_keys, required=required)
    rules = GuardRules.of(serving.host, allow_hosts=serving.allow_hosts, allow_origins=serving.allow_origins)
    return RequestLog(Guard(inner, rules, callers), proxy.metrics)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """What there is not, in the shape that clients of this interface understand."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    return await answer_refusal(request, Refusal(status, "not_found", words.get(status, "This cannot be done.")))


async def _answer_failure(request: Request, _: Exception) -> Response:
    return await answer_refusal(request, Refusal(500, "internal", "Something went wrong here; the log says what."))


HANDLERS = {Refusal: answer_refusal, HTTPException: _answer_http_error, Exception: _answer_failure}


def routes(proxy: Proxy) -> list[BaseRoute]:
    """What the proxy answers. Whatever is not here is not passed on."""

    async def healthz(_: Request) -> Response:
        return JSONResponse({"ok": True})

    async def readyz(_: Request) -> Response:
        if proxy.stopping:
            return JSONResponse({"ready": False, "reason": "stopping"}, 503)
        return JSONResponse({"ready": True, "memory": "waiting" if proxy.spool.waits else "on"})

    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        *(_at(f"/v1/{dialect.path}", proxy.chat.speaking(dialect), "POST") for dialect in INTERFACES.values()),
        _at("/v1/messages/count_tokens", proxy.passing, "POST"),
        *(_at(f"/v1/responses/{path}", proxy.passing, "POST") for path in ("compact", "input_tokens")),
        _at("/v1/responses/{response}/cancel", proxy.passing, "POST"),
        _at("/v1/responses/{response}/input_items", proxy.passing, "GET"),
        _at("/v1/responses/{response}", proxy.passing, "GET", "DELETE"),
        _at("/v1/completions", proxy.passing, "POST"),
        _at("/v1/embeddings", proxy.passing, "POST"),
        _at("/v1/models", proxy.passing, "GET"),
        _at("/v1/models/{model:path}", proxy.passing, "GET"),
        make_metrics_route(proxy.metrics),
        *make_page_routes(proxy.memory_of),
    ]


def _at(path: str, app: ASGIApp, *methods: str) -> Route:
    return Route(path, _Endpoint(app), methods=methods)


class _Endpoint:
    """An application at a path. (A bare function would be taken for one that answers requests with responses.)"""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
