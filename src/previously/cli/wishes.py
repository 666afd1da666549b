"""`previously wishes`: what the players asked for about the telling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, Words, open_story, read_words
from previously.cli.nouns import Which, make_noun

if TYPE_CHECKING:
    from previously.blocking import BlockingStory

app: typer.Typer = make_noun("What the players asked for about the telling: list, edit, remove.")


@app.command("list")
def list_wishes(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List the wishes, the oldest first."""
    from previously.cli.terminal import report_table

    with open_story(ctx, story) as opened:
        record, listed = _list_json(story, opened), opened.wishes()
    rows = [(at, one.text, one.position, one.by) for at, one in enumerate(listed, 1)]
    nothing = "No wish is noted: a model notes what players ask for out of character."
    report_table(record, ("", "wish", "since", "by"), rows, left=("wish", "by"), nothing=nothing, as_json=as_json)


@app.command("edit")
def edit(ctx: typer.Context, story: Story, which: Which, text: Words, as_json: AsJson = False) -> None:
    """Give a wish other words."""
    with open_story(ctx, story) as opened:
        wish = opened.reword_wish(which, read_words(text))
        record = _list_json(story, opened)
    output.report({**record, "edited": wish.text}, f"Reworded: {wish.text}", as_json=as_json)


@app.command("remove")
def remove(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Take a wish back."""
    with open_story(ctx, story) as opened:
        wish = opened.withdraw_wish(which)
        record = _list_json(story, opened)
    output.report({**record, "removed": wish.text}, f"Withdrawn: {wish.text}", as_json=as_json)


def _list_json(story: str, opened: BlockingStory) -> dict[str, Any]:
    from previously.story.json_shapes import wish_json

    return {"story": story, "wishes": [wish_json(one) for one in opened.wishes()]}
