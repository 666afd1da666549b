"""`previously state`: how things stand in a story, one value for each thing and aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, Words, open_memory, read_words
from previously.cli.nouns import Which, make_noun
from previously.cli.things import Thing, ThingKind, find_listed

if TYPE_CHECKING:
    from previously.blocking import BlockingStory

app: typer.Typer = make_noun("How things stand: list, show, add, edit, remove.")


@app.command("list")
def list_state(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List how things stand, the newest last."""
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        record, listed = _list_json(story, opened), opened.state()
    if as_json:
        output.emit(record)
        return
    if not listed:
        nothing = "Nothing is known of how things stand"
        add = f"`previously state add {output.as_typed(story)} LINE`"
        output.console().print(output.from_model(story, nothing, add), soft_wrap=True)
        return
    from previously.cli.terminal import make_table

    rows = [
        (at, one.thing or "-", one.aspect or "-", one.value, one.position, one.by) for at, one in enumerate(listed, 1)
    ]
    columns = ("", "thing", "aspect", "value", "since", "by")
    output.console().print(make_table(columns, rows, left=("thing", "aspect", "value", "by")))


@app.command("show")
def show(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Show one line of how things stand."""
    from previously.cli.memory_json import held_json

    with open_memory(ctx) as memory:
        one = find_listed(memory.story(story, create=False), Thing(ThingKind.STATE, which))
    sentence = f"{one.text} (since message {one.position}, by {one.by})"
    output.report({"story": story, **held_json(one)}, sentence, as_json=as_json)


@app.command("add")
def add(
    ctx: typer.Context,
    story: Story,
    line: Annotated[str, typer.Argument(metavar="LINE", help="'Maya / place: the mill', or free words.")],
    as_json: AsJson = False,
) -> None:
    """Say how something stands. No fold changes it."""
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        opened.hold(line)
        record = _list_json(story, opened)
    output.report({**record, "added": line}, f"So it stands: {line}", as_json=as_json)


@app.command("edit")
def edit(ctx: typer.Context, story: Story, which: Which, text: Words, as_json: AsJson = False) -> None:
    """Put your own words in place of a line."""
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        words = read_words(text)
        before = opened.reword_held(which, words)
        record = _list_json(story, opened)
    output.report({**record, "edited": before.text}, f"Instead of {before.text!r}: {words}", as_json=as_json)


@app.command("remove")
def remove(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Say that a line holds no more."""
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        ended = opened.end_held(which)
        record = _list_json(story, opened)
    output.report({**record, "removed": ended.text}, f"Ended: {ended.text}", as_json=as_json)


def _list_json(story: str, opened: BlockingStory) -> dict[str, Any]:
    from previously.cli.memory_json import held_json

    return {"story": story, "state": [held_json(one) for one in opened.state()]}
