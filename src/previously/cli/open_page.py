"""The command `open`: the page in the browser, on a server of its own that ends with the command."""

from __future__ import annotations

import os
import socket
from typing import Annotated
from urllib.parse import quote

import typer

from previously.cli import output
from previously.cli.arguments import Endpoint, ModelName, open_story
from previously.cli.serve import open_games
from previously.core.errors import BadInput

HOST = "127.0.0.1"

DRAIN_S = 1.0
"""Seconds that replies may go on after Ctrl-C: whoever presses it sits here, and wants it to end."""

SAMPLE = "harbour"


def open_page(
    ctx: typer.Context,
    story: Annotated[str, typer.Argument(metavar="[STORY]", help="The story to open; none: the list of all.")] = "",
    port: Annotated[int, typer.Option("--port", help="The port to listen on; 0: a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only say the address.")] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="Where there is no story yet, put the sample story in.")
    ] = False,
    upstream: Annotated[
        str, typer.Option("--upstream", metavar="URL", help="The server that chats are passed on to, with /v1.")
    ] = "",
    endpoint: Endpoint = "",
    model: ModelName = "",
) -> None:
    """Open your stories in the browser, until Ctrl-C. A model that is named writes on, folds, and answers chats."""
    from previously.settings_file import find_effective

    environment = find_effective(os.environ)[0]
    endpoint = endpoint or environment.get("PREVIOUSLY_ENDPOINT", "")
    model = model or environment.get("PREVIOUSLY_MODEL", "")
    if bool(endpoint) != bool(model):
        raise BadInput("A model needs both an endpoint and a name: --endpoint with --model, or both variables.")
    if story and not sample:
        _check_story(ctx, story)
    output.note("Starting the page.")  # to load the server takes seconds where the machine is busy
    if sample:
        put_sample_in(ctx)
        if story:
            _check_story(ctx, story)
    try:
        from previously.server.app import ServerOptions
        from previously.server.process import run_server
    except ImportError as error:
        raise BadInput("The page needs an extra: pip install 'previously[server]'.") from error
    from previously.models.endpoint import parse_endpoint

    key = environment.get("PREVIOUSLY_UPSTREAM_KEY", "")
    serving = ServerOptions(
        upstream=parse_endpoint(upstream or endpoint) if upstream or endpoint else None,
        upstream_key=key if upstream else key or environment.get("PREVIOUSLY_API_KEY", ""),
        upstream_is_model=not upstream,
        host=HOST,
        port=port or find_free_port(),
        drain_s=DRAIN_S,
        memory_model="" if upstream else model,
        log_requests=False,
        page_first=True,
    )
    page = f"{serving.origin}/" + (f"#/story/{quote(story, safe='')}/read" if story else "")

    def tell() -> None:
        if serving.upstream:
            output.note(f"Address for chat programs: {serving.origin}/v1 ({serving.upstream.shown} answers).")
        else:
            output.note("No model is named yet: name one on the page, under Model, or with --endpoint and --model.")
        output.note(f"The page is at {page} (Ctrl-C ends it).")

    def show() -> None:
        if not no_browser:
            import webbrowser

            webbrowser.open(page)

    run_server(serving, ctx.obj, (endpoint, model) if endpoint else None, tell, open_games, show)


def _check_story(ctx: typer.Context, story: str) -> None:
    with open_story(ctx, story):
        pass  # it is there


def find_free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def put_sample_in(ctx: typer.Context) -> None:
    """Put the sample story in, with the memory that a strong model wrote of it, where there is no story yet."""
    from previously.blocking import BlockingMemory
    from previously.demo.replay_model import RecordedModel
    from previously.demo.sample_story import BUDGET_TOKENS, make_settings, read_sample

    with BlockingMemory(ctx.obj, settings=make_settings(), model=RecordedModel()) as memory:
        if memory.stories():
            return
        story = memory.story(SAMPLE)
        story.follow(read_sample())
        story.view(BUDGET_TOKENS)  # folding makes room for the view that was last asked for
        with output.progress("Folding the sample story") as progress:
            story.fold(progress=progress)
