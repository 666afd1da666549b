"""The commands that keep stories safe: backups, restoring them, and moving all to another place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, check_name, open_memory
from previously.cli.memory_edits import restore_thing
from previously.core.errors import BadInput
from previously.story.json_results import copies_json

if TYPE_CHECKING:
    from previously.runtime.backup import Copies
    from previously.runtime.whole_stories import Backup

Stories = Annotated[
    list[str] | None,
    typer.Option("--story", metavar="NAME", parser=check_name, help="Only this one; may be given again."),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Where a name is taken by another story, keep that under a new name.")
]


def backup(
    ctx: typer.Context,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="The new file, or a folder; named after the time if not given.")
    ] = None,
    stories: Stories = None,
    listed: Annotated[bool, typer.Option("--list", help="List the backups that were made.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy all stories to a new file, each as it is at one moment. Others may write meanwhile."""
    if listed:
        if file is not None or stories:
            raise BadInput("--list takes no file and no story.")
        with open_memory(ctx) as memory:
            _print_list(memory.backups(), as_json)
        return
    if file is not None and not file.strip():
        raise BadInput("The name of the file is empty.")
    with open_memory(ctx) as memory, output.progress("Backing up") as progress:
        made = memory.backup(file, stories=stories, progress=progress)
    if as_json:
        output.emit({"path": made.path, "stories": _stories_json(made)})
        return
    total = sum(one.messages for one in made.stories)
    counts = f"{output.count_nouns(len(made.stories), 'story')}, {output.count_nouns(total, 'message')}"
    output.console().print(f"Backed up {counts}: {output.one_line(made.path)}", soft_wrap=True)


def restore(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="A backup; with THING, the story.")],
    thing: Annotated[
        str | None,
        typer.Argument(metavar="THING", help="version:12; recap or chapter:2 for the one before; lore:NAME."),
    ] = None,
    stories: Stories = None,
    new: Annotated[
        str | None, typer.Option("--as", metavar="NAME", parser=check_name, help="The name of the one story restored.")
    ] = None,
    replace: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Bring stories back from a backup; or, with THING, put an earlier version of a story's memory in force again."""
    if thing is not None:
        if stories or new or replace:
            raise BadInput("--story, --as and --replace are for backups; a version is restored where it was.")
        restore_thing(ctx, check_name(what), thing, as_json)
        return
    if not Path(what).is_file():
        story = output.one_line(what)
        raise BadInput(
            f"There is no file {story}; a version of a story is restored with its number: restore {story} version:N."
        )
    with open_memory(ctx) as memory, output.progress("Restoring") as progress:
        done = memory.restore(what, stories=stories, name=new, replace=replace, progress=progress)
    _report(done, as_json)


def move(
    ctx: typer.Context,
    to: Annotated[str, typer.Option("--to", metavar="PATH-or-URL", help="A file, or postgresql://…")],
    stories: Stories = None,
    replace: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Copy all stories to another place, and say what to do next. What is here stays as it is."""
    if not to.strip():
        raise BadInput("--to names no place.")
    with open_memory(ctx) as memory, output.progress("Moving") as progress:
        done = memory.move(to, stories=stories, replace=replace, progress=progress)
    changed = [output.one_line(one.story) for one in done.stories if one.status == "changed meanwhile"]
    _report(done, as_json)
    if changed:
        output.complain(f"Written to while being moved: {', '.join(changed)}; run it again with --replace.")
        raise typer.Exit(1)
    if not as_json:
        there = "that address" if "://" in done.target else output.one_line(done.target)
        left = (
            "The stories are in the old database too; forget them there, or drop its schema `previously`,"
            if "://" in done.source
            else f"{output.one_line(done.source)} is as it was; delete it"
        )
        output.console().print(
            f"Next: set PREVIOUSLY_DB to {there}, or give it with --db. {left} when you are content.", soft_wrap=True
        )


def _print_list(backups: Sequence[Backup], as_json: bool) -> None:
    listed = [
        {"path": made.path, "at": made.at, "there": Path(made.path).is_file(), "stories": _stories_json(made)}
        for made in backups
    ]
    if as_json:
        output.emit({"backups": listed})
        return
    console = output.console()
    if not listed:
        console.print("No backup was made yet; `previously backup` makes one.")
        return
    for made, one in zip(backups, listed, strict=True):
        gone = "" if one["there"] else " (no longer there)"
        line = f"{made.at[:16].replace('T', ' ')} UTC, {output.count_nouns(len(made.stories), 'story')}: "
        console.print(f"{line}{output.one_line(made.path)}{gone}", soft_wrap=True)


def _stories_json(made: Backup) -> list[dict[str, Any]]:
    return [{"story": one.story, "messages": one.messages, "digest": one.digest} for one in made.stories]


def _report(done: Copies, as_json: bool) -> None:
    if as_json:
        output.emit(copies_json(done))
        return
    console = output.console()
    for one in done.stories:
        line = f"{output.one_line(one.story)}: {one.status.value}, {output.count_nouns(one.messages, 'message')}."
        console.print(line, soft_wrap=True)
