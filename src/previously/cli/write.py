"""The command `write`: a story written on by a model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding, read_words
from previously.core.errors import BadInput, PreviouslyError


def write(
    ctx: typer.Context,
    story: Story,
    text: Annotated[str, typer.Option("--text", metavar="T", help="What you say; - reads standard input.")] = "",
    direction: Annotated[
        str, typer.Option("--direction", metavar="D", help="What should happen next: told to the model, not kept.")
    ] = "",
    again: Annotated[bool, typer.Option("--again", help="Another reply beside the newest.")] = False,
    longer: Annotated[bool, typer.Option("--longer", help="More of the newest reply.")] = False,
    setup: Annotated[
        list[str] | None,
        typer.Option("--setup", metavar="KEY=VALUE", help="Change how the model is asked, and write nothing."),
    ] = None,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Let a model write a story on: a reply to what you say, or the next passage."""
    if again + longer + bool(text) + bool(setup) > 1:
        raise BadInput("Give only one of --text, --again, --longer and --setup.")
    with open_for_folding(ctx, endpoint, model) as memory:
        opened = memory.story(story, create=bool(text or direction or setup))
        if setup:
            _report_setup(story, opened.change_setup(_parse_setup(setup)), as_json=as_json)
            return
        told = None if as_json or not sys.stdout.isatty() else _make_teller()
        if again:
            reply = opened.reply_again(direction=direction, told=told)
        elif longer:
            reply = opened.reply_longer(direction=direction, told=told)
        else:
            reply = opened.reply(read_words(text) if text else "", direction=direction, told=told)
    record = {
        "story": story,
        "branch": reply.branch.name,
        "messages": reply.branch.messages,
        "position": reply.position,
        "text": reply.text,
        "finish": reply.finish,
        "failure": reply.failure,
    }
    if as_json:
        output.emit(record)
    elif told:
        output.write_data("")
    elif reply.text:
        output.write_data(output.printable(reply.text))
    if reply.failure:
        kept = " What came is kept." if reply.text else ""
        raise PreviouslyError(f"{reply.failure}{kept}")


def _make_teller() -> Callable[[str], None]:
    """Return what prints the words as they come."""
    printed = 0

    def tell(words: str) -> None:
        nonlocal printed
        typer.echo(output.printable(words[printed:]), nl=False)
        printed = len(words)

    return tell


def _parse_setup(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the changes that `key=value` words ask for; `key=` takes a value back."""
    from previously.view.setup import parse_setup_words

    changes: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, words = assignment.partition("=")
        if not equals:
            raise BadInput(f"{assignment[:60]!r} sets nothing; write key=value, as in temperature=0.9.")
        changes[key.strip()] = parse_setup_words(key.strip(), words)
    return changes


def _report_setup(story: str, setup: Any, *, as_json: bool) -> None:
    from previously.view.setup import list_setup

    values = list_setup(setup)
    if as_json:
        output.emit({"story": story, "setup": values})
    for key, value in values.items() if not as_json else ():
        if value not in ("", None, []):
            output.write_data(f"{key}: {output.printable(str(value))}")
