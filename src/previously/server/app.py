"""The proxy put together: the options it is started with, its routes, what they share, and how it begins and ends.

When it is told to stop it begins nothing any more; what is under way is drained, kept and marked.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send

from previously.app import Memory, describe_model, model_at
from previously.core.errors import BadInput
from previously.models.client import Model, retire
from previously.models.endpoint import Endpoint, parse_endpoint
from previously.runtime.follow_client import ClientFollower
from previously.runtime.keys import LOCAL_OWNER
from previously.server.background_folds import BackgroundFolds
from previously.server.callers import Callers
from previously.server.chat import Chat
from previously.server.commands import Commands
from previously.server.free_memory import free_memory_when_idle
from previously.server.game_table import GameTable
from previously.server.guard import WITH_BODY, Guard, GuardRules, read_whole_body
from previously.server.hosts import is_loopback
from previously.server.logs import RequestLog
from previously.server.metrics import Metrics, make_metrics_route
from previously.server.model_choice import ChosenModel, ModelChoice
from previously.server.page.page_files import make_page_routes
from previously.server.passthrough import Passthrough
from previously.server.pending_turns import PendingTurns
from previously.server.refusals import Refusal, answer_refusal
from previously.server.reply_desk import ReplyDesk
from previously.server.server_facts import ServerFacts
from previously.server.turn import ChatTurns
from previously.server.upstream import Facts, Upstream
from previously.settings_file import find_effective
from previously.story.story import Story
from previously.wire.interface import INTERFACES

log: logging.Logger = logging.getLogger("previously.server")

FOLD_S = 600.0
"""Seconds that one call for a fold may take: a small machine thinks for minutes about a long span."""

CHECK_S = 10.0
"""Seconds that a model may take to say what it is: a person waits for it."""

MOST_PENS = 16
"""Models that write on whose connections stay open: more than people switch between."""

CATCH_UP_S = 2.0
"""Seconds between two tries to bring in pending turns: about as long as a person waits before they ask once more."""

NOWHERE: Endpoint = parse_endpoint("http://127.0.0.1:9/v1")
"""Stands for the upstream where none is named, and is never asked. (Port 9 throws everything away.)"""


class Proxy:
    """The parts of one running proxy."""

    def __init__(
        self,
        memory: Memory,
        options: ServerOptions,
        pending_folder: Path | None,
        has_model: bool,
        games: Callable[[], GameTable] | None = None,
    ) -> None:
        self.memory: Memory = memory
        self.options: ServerOptions = options
        upstream = options.upstream or NOWHERE
        self.upstream: Upstream = Upstream(upstream, key=options.upstream_key, timeout_s=options.timeout_s)
        self.recognising: ClientFollower = ClientFollower(memory.store)
        self.pending: PendingTurns = PendingTurns(pending_folder, options.waiting_bytes)
        self.turns: ChatTurns = ChatTurns(
            self.memory_of, self.recognising, self.pending, deadline_s=options.deadline_s, window_of=self._window
        )
        folds_upstream = options.upstream is not None and options.memory == "upstream" and not has_model
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
        self.desk: ReplyDesk = ReplyDesk(self.folds)
        self.games = games
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
        self.callers: Callers | None = None
        self.services: Any = None
        """Those of the API, once it is loaded."""
        self._folds_upstream = folds_upstream
        self._pens: dict[tuple[str, str], Model] = {}
        self._writers: dict[tuple[str, str, str], Memory] = {}
        self._address = upstream.join("").rstrip("/")
        self._chosen: ChosenModel | None = None
        self._earlier: list[Memory] = []
        self.choice: ModelChoice = ModelChoice(self.find_writer, self.use_model, editable=options.page_first)

    def memory_of(self, owner: str) -> Memory:
        return self.memory.sharing(owner)

    def list_notices(self, owner: str, story: Story) -> list[str]:
        """Return sentences for a person about memory that is missing in a story, or waits."""
        notices = self.turns.absences.describe(owner, story.name), self.folds.describe_folding(owner, story)
        return [notice for notice in notices if notice]

    async def _window(self, model: str, key: str | None) -> int | None:
        known = self.options.window_tokens
        if known is None:
            known = (await self.upstream.find_facts(model, key)).window_tokens
        return self.upstream.limit_window(model, known)

    def _facts(self, model: str) -> Facts:
        return self.upstream.get_facts(model)

    async def _open_story_to_fold(
        self, owner: str, name: str, model: str, key: str | None, *, chosen: bool = False
    ) -> Story:
        """Return a story with the model that folds it: the operator's, unless a person has `chosen` this one."""
        window = self.upstream.limit_window(model, self.options.window_tokens or self._facts(model).window_tokens)
        if not self._folds_upstream:
            return await self.memory.sharing(owner).story(name, create=False, window_tokens=window)
        named = model if chosen else self.options.memory_model or model or "default"
        wanted = owner, named, self.options.upstream_key or key or ""
        memory = self._writers.get(wanted)
        if memory is None:
            for stale in [known for known in self._writers if known[0] == owner]:
                await self._writers.pop(stale).close()
            memory = self._writers[wanted] = self.memory.sharing(owner, model_at(self._address, *wanted[1:], FOLD_S))
        return await memory.story(name, create=False, window_tokens=window)

    async def open_to_fold(self, owner: str, name: str, model: str = "") -> Story:
        """Return a story with the model that folds it, or with another one at the same server."""
        if self._folds_upstream or not model:
            return await self._open_story_to_fold(owner, name, model, None, chosen=bool(model))
        wanted = owner, model, ""
        if wanted not in self._writers:
            self._writers[wanted] = self.memory.sharing(owner, self._find_model(model))
        return await self._writers[wanted].story(name, create=False)

    def find_chosen(self) -> ChosenModel | None:
        """Return the model that writes memory, and where it is."""
        if self._chosen is not None or self.memory.model is None:
            return self._chosen
        environment = find_effective(os.environ)[0]
        endpoint = self.options.memory_endpoint or environment.get("PREVIOUSLY_ENDPOINT", "")
        key = environment.get("PREVIOUSLY_API_KEY", "")
        return ChosenModel(endpoint, self.memory.model.name, key) if endpoint else None

    def find_writer(self) -> ChosenModel | None:
        """Return the same, or the model of the upstream that writes memory where none is named."""
        chosen = self.find_chosen()
        if chosen is not None or not self._folds_upstream:
            return chosen
        return ChosenModel(self._address, self.options.memory_model or "default", self.options.upstream_key)

    async def use_model(self, chosen: ChosenModel) -> None:
        """Let another model write on and fold from now on; chats of clients go to its server, unless one was named.
        Connections to those before are closed behind what is under way there."""
        model = model_at(chosen.endpoint, chosen.name, chosen.key, FOLD_S)
        earlier = [*self._writers.values(), self.memory]
        former = [*self._pens.values(), *(memory.model for memory in earlier if memory.model)]
        self._earlier += earlier
        self._writers.clear()
        self._pens.clear()
        self.memory = self.memory.sharing(LOCAL_OWNER, model)
        self._chosen, self._folds_upstream = chosen, False
        if self.options.upstream_is_model:
            endpoint = parse_endpoint(chosen.endpoint)
            self.options = replace(self.options, upstream=endpoint, upstream_key=chosen.key)
            await self.upstream.turn_to(endpoint, chosen.key)
        for one in former:
            await retire(one)

    def _find_model(self, name: str) -> Model:
        """Return the model of that name at the server that writes memory."""
        chosen = self.find_chosen()
        if chosen is None:
            raise BadInput("There is no server to ask another model of: name a model first.")
        return model_at(chosen.endpoint, name, chosen.key, FOLD_S)

    async def describe_model(self) -> dict[str, Any] | None:
        """Return what the model that writes memory says of itself; None where none is named."""
        if self._folds_upstream:
            name, key = self.options.memory_model or "default", self.options.upstream_key
            return await describe_model(model_at(self._address, name, key, CHECK_S), probe_schema=False)
        model = self.memory.model
        return await describe_model(self._find_model(model.name), probe_schema=False) if model else None

    def describe(self) -> ServerFacts:
        """Return what the page shows of this server."""
        options, chosen = self.options, self.find_chosen()
        return ServerFacts(
            model=chosen.name if chosen else options.memory_model,
            endpoint=chosen.endpoint if chosen else "",
            proxy=f"{options.origin}/v1" if options.upstream else "",
            upstream=options.upstream.shown if options.upstream else "",
            place=self.memory.place,
        )

    async def find_model(self, owner: str) -> Model | None:
        """Return the model that writes on for somebody: the upstream's that they asked for last, else its first.
        Without an upstream it is the model that writes memory, or none."""
        if self.options.upstream is None or self._chosen:
            return self.memory.model
        name, key = self.folds.find_last(owner)
        name, key = name or self.options.memory_model, self.options.upstream_key or key or ""
        if not name:
            names = (await describe_model(model_at(self._address, "any", key, FOLD_S), probe_schema=False))["models"]
            name = names[0] if names else "default"
        if (name, key) not in self._pens:
            while len(self._pens) >= MOST_PENS:
                await self._pens.pop(next(iter(self._pens))).close()
            self._pens[name, key] = model_at(self._address, name, key, self.options.timeout_s)
        return self._pens[name, key]

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
        if self.services is not None:
            await self.services.close()
        await self.desk.close()
        for pen in self._pens.values():
            await pen.close()
        await self.chat.finish(self.options.drain_s)
        for writer in self._writers.values():
            await writer.close()
        await self.pending.close()
        await self.upstream.close()
        for memory in [self.memory, *reversed(self._earlier)]:
            await memory.close()


def make_app(
    memory: Memory,
    options: ServerOptions,
    *,
    pending_folder: Path | None = None,
    has_model: bool = False,
    games: Callable[[], GameTable] | None = None,
) -> ASGIApp:
    """Return the proxy as an application, which closes the memory at its end. `has_model`: the memory has a model of
    its own that folds. `games`: those that are played on the page."""
    proxy = Proxy(memory, options, pending_folder, has_model, games)

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
    callers = proxy.callers = Callers(memory.owner_of_key, has_keys, required=required)
    rules = GuardRules.of(options.host, allow_hosts=options.allow_hosts, allow_origins=options.allow_origins)
    return RequestLog(Guard(inner, rules, callers), proxy.metrics)


PASSED_ON = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""The methods that are passed on, whatever the path below `/v1`."""

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
        if proxy.options.upstream is None:
            upstream = "none"
        return JSONResponse({"ready": True, "memory": memory, "upstream": upstream})

    chats = {f"/v1/{interface.path}": proxy.chat.answer_in(interface) for interface in INTERFACES.values()}
    api = _Api(proxy)
    return [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        *(Route(path, _PassedOn(proxy, chat), methods=["POST"]) for path, chat in chats.items()),
        Route("/v1/{path:path}", _PassedOn(proxy, proxy.passthrough), methods=PASSED_ON),
        Mount("/api/v1", api),
        make_metrics_route(proxy.metrics),
        *make_page_routes(api.begin_to_load),
    ]


class _PassedOn:
    """An application that needs a server behind this one. While none is named, it says how to name one."""

    def __init__(self, proxy: Proxy, app: ASGIApp) -> None:
        self._proxy, self._app = proxy, app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._proxy.options.upstream:
            await self._app(scope, receive, send)
            return
        if scope["method"] in WITH_BODY:
            await read_whole_body(receive)
        words = "No model is named here: name one on the page, under Model, or start with --endpoint and --model."
        raise Refusal(503, "no_upstream", words)


class _Api:
    """The API, loaded when it is first asked for or when somebody opens the page: to pass chats on needs none of what
    it is made of."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._load: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        api = await asyncio.shield(self.begin_to_load())  # whoever goes away does not stop it for others
        await api(scope, receive, send)

    def begin_to_load(self) -> asyncio.Task[ASGIApp]:
        """Load the API beside what else is done, once."""
        if self._load is None or (self._load.done() and self._load.exception()):
            self._load = asyncio.create_task(self._make())
        return self._load

    async def _make(self) -> ASGIApp:
        application = await asyncio.to_thread(import_module, "previously.server.api.application")
        self._proxy.services = self._make_services()
        api: ASGIApp = application.make_api(self._proxy.services)
        return api

    def _make_services(self) -> Any:
        door = import_module("previously.server.api.door")
        proxy = self._proxy
        return door.Services(
            proxy.memory_of,
            open_to_fold=proxy.open_to_fold,
            describe=proxy.describe,
            choice=proxy.choice,
            callers=proxy.callers,
            describe_model=proxy.describe_model,
            desk=proxy.desk,
            find_model=proxy.find_model,
            games=proxy.games() if proxy.games else None,
            list_notices=proxy.list_notices,
        )


DEFAULT_PORT = 8642


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of a proxy. Nothing in them comes from a client."""

    upstream: Endpoint | None
    """None: nothing is passed on; the page and the API are there all the same."""
    upstream_key: str = field(default="", repr=False)
    """Sent to the upstream for clients with a key of ours, and for folds."""
    upstream_is_model: bool = False
    """True where the upstream is the server of the model that writes memory: who names another model, names both."""
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
    memory_endpoint: str = ""
    """The server of the operator's own model that folds; empty = the one in the environment."""
    require_keys: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    page_first: bool = False
    """True where the page is what people come for: its first screen is made ready before anybody is told of it."""
    log_json: bool = False
    log_requests: bool = True
    waiting_bytes: int = 64 * 1024 * 1024
    """The most that may wait on disk for a store that is down."""

    @property
    def origin(self) -> str:
        """Return the address of this server, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

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
