"""`previously branches`: the branches of a story; and the commands `branch` and `switch`."""

from __future__ import annotations

from typing import Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Branch, Story, check_name, open_story, parse_position
from previously.cli.nouns import make_noun
from previously.cli.transcript import report_branch
from previously.core.continuation import describe_link_branch
from previously.core.errors import UnknownBranch

app: typer.Typer = make_noun("The branches of a story: list, show, add, edit (its name).")


@app.command("list")
def list_branches(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List the branches, the oldest first, and which is active."""
    from previously.cli.terminal import report_table

    with open_story(ctx, story) as opened:
        branches, active = opened.branches(), opened.branch_info().name
    rows = [{"branch": one.name, "messages": one.messages, "active": one.name == active} for one in branches]
    record = {"story": story, "active": active, "branches": rows}
    lines = [
        (one.name, one.messages, "active" if one.name == active else describe_link_branch(one.name)) for one in branches
    ]
    report_table(record, ("branch", "messages", ""), lines, left=("branch", ""), nothing="", as_json=as_json)


@app.command("show")
def show(ctx: typer.Context, story: Story, branch: Branch, as_json: AsJson = False) -> None:
    """Show one branch: how long it is, and its newest message."""
    with open_story(ctx, story) as opened:
        branches, active = opened.branches(), opened.branch_info().name
        one = next((one for one in branches if one.name == branch), None)
        if one is None:
            raise UnknownBranch(branch, tuple(other.name for other in branches))
    stands = "active" if one.name == active else "not active"
    sentence = f"{one.name}: {output.count_nouns(one.messages, 'message')}, {stands}."
    record = {"story": story, "branch": one.name, "messages": one.messages, "active": one.name == active}
    output.report(record, sentence, as_json=as_json)


@app.command("add", context_settings={"ignore_unknown_options": True})
def branch(
    ctx: typer.Context,
    story: Story,
    new: Annotated[str, typer.Argument(metavar="NEW", parser=check_name, help="The new branch.")],
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="POSITION", parser=parse_position, help="The last message it takes over; else all."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a new branch of a story; the active branch stays active."""
    with open_story(ctx, story) as opened:
        made, active = opened.branch(new, at), opened.branch_info().name
    sentence = f"Made branch {new} with {output.count_nouns(made.messages, 'message')}; {active} is still active."
    report_branch(as_json, story, made, sentence, active=active)


def switch(ctx: typer.Context, story: Story, to: Branch, as_json: AsJson = False) -> None:
    """Go on with another branch of a story."""
    with open_story(ctx, story) as opened:
        now = opened.switch(to)
    report_branch(
        as_json, story, now, f"{story} goes on with branch {to}, {output.count_nouns(now.messages, 'message')}."
    )


@app.command("edit")
def edit(
    ctx: typer.Context,
    story: Story,
    branch: Branch,
    name: Annotated[str, typer.Option("--name", metavar="NEW", parser=check_name, help="Its new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a branch another name."""
    with open_story(ctx, story) as opened:
        renamed = opened.rename_branch(branch, name)
    report_branch(as_json, story, renamed, f"{branch} is called {name} now.")
