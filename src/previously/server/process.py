"""The process of the proxy: it opens the stories, listens, and ends in order.

A guard sees a request when its head is whole. Until then a client can only be bounded here: by how long it takes to say
its head, by how many bytes it sends that become neither head nor body, and by how many connections there are. The
parser is llhttp in its strict form, which refuses what two readers could understand differently.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from previously.app import IN_MEMORY, Memory, default_place, model_from
from previously.core.errors import PreviouslyError, StoreProblem
from previously.server.app import ServerOptions, make_app
from previously.server.game_table import GameTable
from previously.server.guard import TARGET
from previously.server.hosts import check_bind
from previously.server.logs import start_log
from previously.server.pending_file import take_spool
from previously.settings_file import find_effective
from previously.story.parts import load_parts
from previously.wire.errors import write_openai_error

HEAD_S = 10.0
"""Seconds that a head may take: seconds over the worst line, and no time to hold connections open for nothing."""

MOST_LOOSE_BYTES = 64 * 1024
"""Of a head that does not end, or of framing around a body: chunk sizes, trailers."""

FRAMING = 16
"""Bytes of framing that a byte of a body may bring: a chunk of one byte has five."""

MOST_CONNECTIONS = 4_000
"""Far more than people have open, and each takes some kilobytes."""

MOST_FILES = 65_536
"""Enough for two files per connection; a system without a bound would else be asked for a billion."""

KEEP_ALIVE_S = 30
DRAIN_S = 30
BACKLOG = 2_048
"""The most connections that may wait to be taken: what Linux offers at most by default is 4,096."""

COLLECT_AFTER = 50_000
"""New objects before the collector looks for cycles: a turn makes some ten thousand, nearly all of them without a
cycle, and with Python's 700 the search took a tenth of a turn."""

SHOWN_CHARS = 40
"""Characters of a database's name that stand in the name of a folder: enough to know it again."""

SWITCH_S = 0.001
"""Seconds that a thread has the interpreter while others wait for it: each chunk of each stream waits for those that
make views, five times as long with what Python has by default."""

FIRST_SCREEN = ("/", "/api/v1/stories", "/api/v1/server")
"""The page, and what its first screen asks for."""

FOLD_S = 300.0
"""Seconds that a call to the operator's own model may take."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1, with a time for the head and a bound for what is neither head nor body."""

    head_s = HEAD_S
    most_connections = MOST_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_head = True
        self._loose = 0
        self._timer: asyncio.TimerHandle | None = None
        self._await_head()
        if len(self.connections) > self.most_connections:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head and self._timer is None:
            self._await_head()  # of another request on the same connection
        self._loose += len(data)
        super().data_received(data)
        if self._loose > MOST_LOOSE_BYTES and not self.transport.is_closing():
            if self._in_head:
                self._end_with(431, "headers_too_large", "The request has too many headers, or too long ones.")
            else:
                self._end_with(400, "bad_framing", "The request does not say clearly how long it is.")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what comes behind a body would count as if it had been there when the head was judged
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._loose = 0
        self._stop_waiting()
        self.scope[TARGET] = self.url  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._loose -= (FRAMING + 1) * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = True
        self._loose = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._end_with(400, "bad_request", msg)

    @property
    def _busy(self) -> bool:
        """True if a request is being answered, or about to be."""
        cycle: Any = self.cycle  # none before the first request
        return cycle is not None and not cycle.response_complete

    @property
    def _mid_answer(self) -> bool:
        return self._busy and (self.cycle.response_started or bool(self.pipeline))

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(self.head_s, self._head_is_late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_late(self) -> None:
        self._timer = None
        if self._busy:
            self.cycle.keep_alive = False  # an answer is under way, and goes out whole
        elif self._loose:
            self._end_with(408, "too_slow", f"The request did not arrive within {self.head_s:g} seconds.")
        else:
            self.transport.close()  # it never said a word

    def _end_with(self, status: int, code: str, message: str) -> None:
        """Answer what never became a request, unless an answer is on its way already, and close."""
        if not self._mid_answer:
            body = write_openai_error(message, "invalid_request_error", code)
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
            self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


def _do_nothing() -> None:
    """Nobody wants to be told."""


class ReadyServer(uvicorn.Server):
    """A server that says when it takes requests, and when its first screen can be shown at once."""

    listening: Callable[[], None] = staticmethod(_do_nothing)
    ready: Callable[[], None] = staticmethod(_do_nothing)
    first_screen: str = ""
    """The server's own address, where a person is to wait for nothing once the page is shown to them."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._called = asyncio.create_task(self._call())

    async def _call(self) -> None:
        self.listening()
        if self.first_screen:
            await warm_up(self.config.loaded_app, self.first_screen)
        await asyncio.to_thread(self.ready)  # a browser may take its time to start


async def warm_up(app: ASGIApp, address: str) -> None:
    """Ask an application for the first screen, so that all it needs is loaded before a person asks for it."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=address) as client:
        for path in FIRST_SCREEN:
            await client.get(path)


def make_server(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    head_s: float = HEAD_S,
    most_connections: int = MOST_CONNECTIONS,
    drain_s: int = DRAIN_S,
) -> ReadyServer:
    """Return a server for the application, on uvloop where there is one. It logs nothing of requests, believes no
    header about who the client is, and at its end gives streams `drain_s` seconds to end by themselves."""

    class Protocol(BoundedProtocol):
        pass

    Protocol.head_s, Protocol.most_connections = head_s, most_connections
    allow_many_files()
    config = uvicorn.Config(
        app,
        host,
        port,
        http=Protocol,
        ws="none",
        loop="auto",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        workers=1,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=drain_s,
    )
    return ReadyServer(config)


def allow_many_files() -> None:
    """Let the process have as many connections open as the system allows: the usual 1,024 are few for a proxy, which
    needs two for each stream."""
    try:
        import resource
    except ImportError:
        return  # Windows has no such bound
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class CannotListen(PreviouslyError):
    """The port is taken, or the address is none of this machine's."""


def run_server(
    options: ServerOptions,
    place: str | None,
    named: tuple[str, str] | None,
    listening: Callable[[], None],
    games: Callable[[], GameTable] | None = None,
    ready: Callable[[], None] = _do_nothing,
) -> None:
    """Serve until told to stop. `named` is the address and name of a model that folds, where the operator gave one;
    `listening` is called when the server takes requests, `ready` when its first screen need not be waited for; `games`
    gives those that are played on the page."""
    with asyncio.Runner(loop_factory=_find_loop_factory()) as runner:
        runner.run(_serve(options, place, named, (listening, ready), games))


def _find_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the faster loop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return None  # not on Windows
    return uvloop.new_event_loop


async def _serve(
    options: ServerOptions,
    place: str | None,
    named: tuple[str, str] | None,
    told: tuple[Callable[[], None], Callable[[], None]],
    games: Callable[[], GameTable] | None,
) -> None:
    environment = dict(find_effective(os.environ)[0])
    if named:
        environment |= {"PREVIOUSLY_ENDPOINT": named[0], "PREVIOUSLY_MODEL": named[1]}
        options = replace(options, memory_endpoint=named[0])
    model = model_from(environment, FOLD_S)
    where = place or environment.get("PREVIOUSLY_DB") or str(default_place())
    check_writable(where)
    memory = await Memory.open(where, model=model)
    try:
        check_bind(options.host, options.require_keys or bool(await memory.keys()))
        folder = find_pending_folder(where)
        if folder is not None:
            take_spool(find_earlier_spool(where), folder)
        app = make_app(memory, options, pending_folder=folder, has_model=model is not None, games=games)
    except BaseException:
        await memory.close()
        raise
    try:
        check_port(options.host, options.port)
    except CannotListen:
        await memory.close()
        raise
    server = make_server(app, options.host, options.port, drain_s=ceil(options.drain_s))
    start_log(as_json=options.log_json, requests=options.log_requests)
    gc.freeze()  # what is there now stays: it need not be looked through again
    gc.set_threshold(COLLECT_AFTER)
    sys.setswitchinterval(SWITCH_S)
    server.listening, server.ready = told
    if options.page_first:
        server.first_screen = options.origin
    else:
        load_parts()  # or the first chats wait for it
    try:
        await server.serve()
    except SystemExit:
        raise CannotListen(f"Cannot listen at {options.origin}: is another server there?") from None


def check_port(host: str, port: int) -> None:
    """Raise `CannotListen` if nothing can listen there, before anybody is told that something does."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = addresses[0]
        with socket.socket(family, kind) as tried:
            if os.name == "posix":
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "another server is there" if taken else (error.strerror or "it is no address of this machine")
        raise CannotListen(f"Cannot listen on {host}:{port}: {why}.") from None


def check_writable(where: str) -> None:
    """Raise `StoreProblem` if a server could not keep anything in a file, which others may still read."""
    if where == IN_MEMORY or "://" in where:
        return
    for path in (Path(where), Path(where).absolute().parent):
        if path.exists() and not os.access(path, os.W_OK):
            raise StoreProblem(f"{path} cannot be written: give it back its rights, or name another file with --db.")


def find_pending_folder(where: str) -> Path | None:
    """Return where turns wait for a store that is down: beside the file, or for a database on a server in the user's
    own folder, in one that whoever uses that database finds."""
    if where == IN_MEMORY:
        return None
    if "://" not in where:
        file = Path(where).resolve()  # whatever name leads to it
        return file.with_name(f"{file.name}-waiting")
    from psycopg.conninfo import conninfo_to_dict  # an extra: loaded when a server is named

    given = {name: str(value) for name, value in conninfo_to_dict(where).items()}
    database = given.get("dbname") or os.environ.get("PGDATABASE") or given.get("user", "")  # as PostgreSQL names it
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST", "")
    place = [host, given.get("port") or os.environ.get("PGPORT", "5432"), database]
    told_apart = blake2b(json.dumps(place).encode(), digest_size=4).hexdigest()
    shown = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in database)[:SHOWN_CHARS]
    return default_place().parent / f"{shown}-{told_apart}-waiting"


def find_earlier_spool(where: str) -> Path:
    """Return where versions up to 0.1 let turns wait."""
    if "://" in where:
        return default_place().parent / "proxy-spool.jsonl"
    return Path(where).with_name(f"{Path(where).name}-spool.jsonl")
