"""The commands that look after the store: checking that everything in it is as it must be, and cleaning it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, is_in_memory, is_on_server, open_memory
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.storage.findings import Garbage, Verified

NOTE_EVERY_S = 5.0
"""Seconds between two notes of a long check on stderr: often enough to see that it moves, too seldom to fill a log."""

LONGEST_MINUTES = 100 * 366 * 24 * 60
"""A century: a longer time is a slip, and may lie before the first date that can be computed with."""


def parse_minutes(text: str) -> int:
    """Parse a number of minutes."""
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) > LONGEST_MINUTES:
        raise BadInput(f"{text!r} is not a time: give a whole number of minutes.")
    return int(text)


def verify(
    ctx: typer.Context,
    mend: Annotated[
        bool,
        typer.Option(
            "--mend", help="First take the file as it is, after a program that is not Previously wrote to it."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Derive every hash and cache anew and say what differs. Only --mend changes anything. Exit code 1 if something is
    wrong."""
    if mend:
        from previously.app import mend_file

        output.note(f"Each page has the checksum of what it holds now. The file as it was: {mend_file(ctx.obj)}.")
    with open_memory(ctx) as memory:
        result = memory.verify(_make_note())
    if as_json:
        from previously.story.json_results import verified_json

        output.emit(verified_json(result))
    else:
        _print_verified(result)
    if not result.clean:
        raise typer.Exit(1)


def gc(
    ctx: typer.Context,
    older_than: Annotated[
        int | None,
        typer.Option(
            "--older-than",
            metavar="MINUTES",
            parser=parse_minutes,
            help="Leave alone what was begun since, as somebody may be at it; else an hour.",
        ),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Give free space back to the disk. Whoever writes waits for it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take away what no story needs: what interrupted imports left behind, and caches that no branch shows."""
    from previously.app import GIVEN_UP_S

    with open_memory(ctx) as memory:
        if shrink and not is_on_server(ctx) and not is_in_memory(ctx):
            output.note("Giving space back: a file is written anew, and nobody else can write meanwhile.")
        taken = memory.gc(older_than_s=GIVEN_UP_S if older_than is None else older_than * 60.0, shrink=shrink)
    shrunk = shrink and taken.freed_bytes is not None
    if as_json:
        output.emit({**asdict(taken), "shrunk": shrunk})
        return
    console = output.console()
    words = _list_garbage(taken)
    console.print(f"Taken away: {words}." if words else _say_nothing_taken(older_than), soft_wrap=True)
    if taken.freed_bytes is None:
        if shrink and is_in_memory(ctx):
            console.print("Stories in memory take no room on a disk.")
        elif shrink:
            console.print(
                "PostgreSQL uses free space again by itself (autovacuum). VACUUM FULL gives it back to the disk; that "
                "is up to whoever runs the server.",
                soft_wrap=True,
            )
    elif shrunk:
        console.print(f"The disk has {_render_size(taken.freed_bytes)} back.")
    elif taken.freed_bytes > 0:
        console.print(
            f"{_render_size(taken.freed_bytes)} of the file are free for what comes; --shrink gives them to the disk."
        )


def _make_note() -> Callable[[str, int], None]:
    """Says now and then where a check is, on stderr."""
    said = time.monotonic()

    def tell(story: str, rows: int) -> None:
        nonlocal said
        if time.monotonic() - said >= NOTE_EVERY_S:
            said = time.monotonic()
            output.note(f"Checking {output.one_line(story)}: {rows:,} rows so far.")

    return tell


def _print_verified(found: Verified) -> None:
    console = output.console()
    for fault in found.faults:
        console.print(output.one_line(f"{fault.where}: {fault.reason}."), soft_wrap=True)
    if found.more_faults:
        console.print(f"… and {found.more_faults:,} more.")
    looked_at = f"{output.count_nouns(found.stories, 'story')}, {output.count_nouns(found.messages, 'message')}"
    rows = f"{sum(found.checked.values()):,} rows compared"
    if found.clean:
        console.print(f"Everything is as it must be: {looked_at}, {rows}.", soft_wrap=True)
    else:
        faults = output.count_nouns(len(found.faults) + found.more_faults, "fault")
        console.print(f"{faults} in {looked_at}, {rows}. Nothing was changed.", style="bold red", soft_wrap=True)
    words = _list_garbage(found.garbage)
    if words:
        console.print(f"`previously gc` would take away what no story needs: {words}.", soft_wrap=True)


def _say_nothing_taken(older_than: int | None) -> str:
    since = "hour" if older_than is None else output.count_nouns(older_than, "minute")
    spared = f"; what was begun in the last {since} and is not finished is left alone" if older_than != 0 else ""
    return f"There was nothing to take away{spared}."


def _list_garbage(garbage: Garbage) -> str:
    counts = (
        (garbage.entries, "entry"),
        (garbage.nodes, "node"),
        (garbage.lines, "line"),
        (garbage.path_rows, "path row"),
        (garbage.cover_rows, "cover row"),
        (garbage.leases, "lease"),
    )
    return ", ".join(output.count_nouns(number, noun) for number, noun in counts if number)


def _render_size(size: int) -> str:
    return f"{size / 1_048_576:.1f} MB" if size >= 1_048_576 else f"{size / 1_024:.0f} KB"
