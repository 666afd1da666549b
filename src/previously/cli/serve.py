"""The command that serves: the memory proxy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.server.game_table import GameTable


def open_games() -> GameTable:
    """Return the games that are played on the page; they are read when somebody first asks."""
    from previously.play.table import PlayTable

    return PlayTable()


def serve(
    ctx: typer.Context,
    upstream: Annotated[
        str, typer.Option("--upstream", metavar="URL", help="The server that answers, with /v1 at its end.")
    ],
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8642,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="TOKENS", help="The model's window, where the upstream does not tell it."),
    ] = None,
    memory: Annotated[str, typer.Option("--memory", help="Who folds: upstream, or builtin (no model).")] = "upstream",
    memory_endpoint: Annotated[
        str, typer.Option("--memory-endpoint", metavar="URL", help="Another server that folds.")
    ] = "",
    memory_model: Annotated[str, typer.Option("--memory-model", metavar="NAME", help="The model that folds.")] = "",
    deadline: Annotated[
        float, typer.Option("--deadline", metavar="SECONDS", help="How long memory may keep an answer waiting.")
    ] = 2.0,
    idle: Annotated[
        float, typer.Option("--idle", metavar="SECONDS", help="How long nobody has asked before a fold begins.")
    ] = 1.0,
    drain: Annotated[
        float, typer.Option("--drain", metavar="SECONDS", help="How long streams may go on when told to stop.")
    ] = 20.0,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long the upstream may be silent.")
    ] = 600.0,
    require_keys: Annotated[
        bool, typer.Option("--require-keys", help="Let nobody in without a key of `previously keys add`.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name this server is reached by.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", metavar="ORIGIN", help="A web page that may ask from a browser."),
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log in JSON lines.")] = False,
) -> None:
    """Remember for any OpenAI-compatible client: a server between it and its model."""
    try:
        from previously.server.app import ServerOptions
        from previously.server.process import run_server
    except ImportError as error:
        raise BadInput("Serving needs an extra: pip install 'previously[server]'.") from error
    from previously.models.endpoint import parse_endpoint

    if memory_endpoint and not memory_model:
        raise BadInput("A memory endpoint needs a model: --memory-model.")
    serving = ServerOptions(
        upstream=parse_endpoint(upstream),
        upstream_key=os.environ.get("PREVIOUSLY_UPSTREAM_KEY", ""),
        host=host,
        port=port,
        window_tokens=window,
        deadline_s=deadline,
        idle_s=idle,
        drain_s=drain,
        timeout_s=timeout,
        memory=memory,
        memory_model="" if memory_endpoint else memory_model,
        require_keys=require_keys,
        allow_hosts=tuple(allow_host or ()),
        allow_origins=tuple(allow_origin or ()),
        log_json=log_json,
    )
    named = (memory_endpoint, memory_model) if memory_endpoint else None
    told = f"Remembering at {serving.origin}/v1 for {parse_endpoint(upstream).shown}; the page is at /."
    run_server(serving, ctx.obj, named, lambda: output.note(told), open_games)
