"""The commands for stories whose folds wait for approval (the setting `review`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_story, parse_version

if TYPE_CHECKING:
    from previously.core.versions import Version

VersionId = Annotated[
    int, typer.Argument(metavar="VERSION", parser=parse_version, help="A version by its number, like version:12.")
]


def pending(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List what waits for approval (see the setting `review`)."""
    from previously.story.json_shapes import version_json

    with open_story(ctx, story) as opened:
        waiting = opened.pending()
    if as_json:
        output.emit({"story": story, "versions": [{**version_json(one), "text": one.made.text} for one in waiting]})
        return
    console = output.console()
    for one in waiting:
        console.print(f"Version {one.id}, {one.made.kind.value} of {one.made.span}:", style="bold")
        console.print(output.printable(_lay_out(one)), soft_wrap=True)
    if not waiting:
        console.print("Nothing waits for approval.")


def _lay_out(version: Version) -> str:
    """The text of a version as a person can read it: a note is JSON on one line."""
    import json

    if version.made.kind.value not in ("scene", "analysis", "note", "cast"):
        return version.made.text
    try:
        return json.dumps(json.loads(version.made.text), ensure_ascii=False, indent=2)
    except ValueError:
        return version.made.text


def approve(ctx: typer.Context, story: Story, which: VersionId, as_json: AsJson = False) -> None:
    """Put a version that waits in force."""
    with open_story(ctx, story) as opened:
        _report_decision(story, opened.approve(which), as_json)


def reject(
    ctx: typer.Context,
    story: Story,
    which: VersionId,
    reason: Annotated[str, typer.Option("--reason", metavar="T", help="Why, for the log.")] = "",
    as_json: AsJson = False,
) -> None:
    """Refuse a version that waits; the next fold makes another."""
    with open_story(ctx, story) as opened:
        _report_decision(story, opened.reject(which, reason), as_json)


def _report_decision(story: str, version: Version, as_json: bool) -> None:
    status = version.made.status.value
    output.report({"story": story, status: version.id}, f"Version {version.id} is {status}.", as_json=as_json)
