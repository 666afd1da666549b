"""`previously state`: how things stand in a story, one value for each thing and aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, Words, open_story, read_words
from previously.cli.nouns import Which, make_noun
from previously.story.thing_name import Thing, ThingKind

if TYPE_CHECKING:
    from previously.blocking import BlockingStory

app: typer.Typer = make_noun("How things stand: list, show, add, edit, remove.")


@app.command("list")
def list_state(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List how things stand, the newest last."""
    from previously.cli.terminal import report_table

    with open_story(ctx, story) as opened:
        record, listed = _list_json(story, opened), opened.state()
    by_hand = f"`previously state add {output.as_typed(story)} LINE`"
    nothing = output.from_model(story, "Nothing is known of how things stand", by_hand)
    rows = [
        (at, one.thing or "-", one.aspect or "-", one.value, one.position, one.by) for at, one in enumerate(listed, 1)
    ]
    columns, left = ("", "thing", "aspect", "value", "since", "by"), ("thing", "aspect", "value", "by")
    report_table(record, columns, rows, left=left, nothing=nothing, as_json=as_json)


@app.command("show")
def show(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Show one line of how things stand."""
    from previously.story.json_shapes import held_json

    with open_story(ctx, story) as opened:
        one = opened.find_listed(Thing(ThingKind.STATE, which))
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
    with open_story(ctx, story) as opened:
        opened.hold(line)
        record = _list_json(story, opened)
    output.report({**record, "added": line}, f"So it stands: {line}", as_json=as_json)


@app.command("edit")
def edit(ctx: typer.Context, story: Story, which: Which, text: Words, as_json: AsJson = False) -> None:
    """Put your own words in place of a line."""
    with open_story(ctx, story) as opened:
        words = read_words(text)
        before = opened.reword_held(which, words)
        record = _list_json(story, opened)
    output.report({**record, "edited": before.text}, f"Instead of {before.text!r}: {words}", as_json=as_json)


@app.command("remove")
def remove(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Say that a line holds no more."""
    with open_story(ctx, story) as opened:
        ended = opened.end_held(which)
        record = _list_json(story, opened)
    output.report({**record, "removed": ended.text}, f"Ended: {ended.text}", as_json=as_json)


def _list_json(story: str, opened: BlockingStory) -> dict[str, Any]:
    from previously.story.json_shapes import held_json

    return {"story": story, "state": [held_json(one) for one in opened.state()]}
