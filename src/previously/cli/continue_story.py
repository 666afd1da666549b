"""The command `continue`: a new story that begins with the memory of another."""

from __future__ import annotations

from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, check_name, open_for_folding, parse_position


def continue_story(
    ctx: typer.Context,
    story: Story,
    new: Annotated[str, typer.Option("--as", metavar="NEW", parser=check_name, help="The new story.")],
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="POSITION", parser=parse_position, help="The last message it remembers; else all."
        ),
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="BRANCH", help="A branch of the story; else the active one.")
    ] = None,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Begin a new story with the memory of another: what happened, lore, who knows what, what is open."""
    with open_for_folding(ctx, endpoint, model) as memory:
        done = memory.continue_story(story, new, at=at, branch=branch)
    folds = done.folds.folds if done.folds else ()
    # A reason says why a fold was due, and then what went wrong.
    failed = [fold.reason.partition("; ")[2] or fold.reason for fold in folds if fold.status == "provisional"]
    if failed:
        output.note(
            f"The model did not write the memory of {done.earlier}, which holds quotations for now: "
            f"{failed[0].rstrip('.')}. `previously fold {output.as_typed(done.story)}` asks it again."
        )
    record = {
        "story": done.story,
        "continues": done.earlier,
        "branch": done.branch,
        "messages": done.messages,
        "folds": len(folds),
        "calls": done.folds.calls if done.folds else 0,
    }
    remembered = output.count_nouns(done.messages, "message")
    sentence = (
        f"{done.story} continues {done.earlier} and remembers {remembered} of it. "
        f"`previously view {output.as_typed(done.story)}` shows how. "
        f'{done.earlier} keeps what it remembers as a branch of its own, "{done.branch}", and goes on as before.'
    )
    output.report(record, sentence, as_json=as_json)
