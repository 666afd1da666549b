"""Running the proxy as a process: opening the stories, listening, and ending in order."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from math import ceil
from pathlib import Path

from previously.app import IN_MEMORY, Memory, default_place, model_from
from previously.core.errors import PreviouslyError
from previously.server.app import make_app
from previously.server.hosts import check_bind
from previously.server.listening import make_server
from previously.server.logs import write_to
from previously.server.serving import Serving
from previously.settings_file import effective


class CannotListen(PreviouslyError):
    """The port is taken, or the address is none of this machine's."""


def run(serving: Serving, place: str | None, named: tuple[str, str] | None, note: Callable[[str], None]) -> None:
    """Serve until told to stop. `named` is the address and name of a model that folds, where the operator gave one."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(serving, place, named, note))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return None  # not on Windows
    return uvloop.new_event_loop


async def _serve(
    serving: Serving, place: str | None, named: tuple[str, str] | None, note: Callable[[str], None]
) -> None:
    environment = dict(effective(os.environ)[0])
    if named:
        environment |= {"PREVIOUSLY_ENDPOINT": named[0], "PREVIOUSLY_MODEL": named[1]}
    model = model_from(environment, 300.0)
    where = place or environment.get("PREVIOUSLY_DB") or str(default_place())
    memory = await Memory.open(where, model=model)
    try:
        check_bind(serving.host, serving.require_keys or bool(await memory.keys()))
        app = make_app(memory, serving, spool_path=spool_place(where), has_model=model is not None)
    except BaseException:
        await memory.close()
        raise
    try:
        check_port(serving.host, serving.port)
    except CannotListen:
        await memory.close()
        raise
    server = make_server(app, serving.host, serving.port, drain_s=ceil(serving.drain_s))
    write_to(as_json=serving.log_json)
    shown = f"[{serving.host}]" if ":" in serving.host else serving.host
    note(f"Remembering at http://{shown}:{serving.port}/v1 for {serving.upstream.shown}; the page is at /.")
    try:
        await server.serve()
    except SystemExit:
        raise CannotListen(f"Cannot listen on {shown}:{serving.port}: is another server there?") from None


def check_port(host: str, port: int) -> None:
    """`CannotListen` if nothing can listen there, before anybody is told that something does."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        with socket.socket(family, kind) as tried:
            if os.name == "posix":
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "another server is there" if taken else (error.strerror or "it is no address of this machine")
        raise CannotListen(f"Cannot listen on {host}:{port}: {why}.") from None


def spool_place(where: str) -> Path | None:
    """Where requests wait for a store that is down: beside the file, or in the user's own folder."""
    if where == IN_MEMORY:
        return None
    if "://" in where:
        return default_place().parent / "proxy-spool.jsonl"
    return Path(where).with_name(f"{Path(where).name}-spool.jsonl")
