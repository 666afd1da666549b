"""The commands by which people have the last word: chapters, texts by hand, pins, taking back, approving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import (
    AsJson,
    Endpoint,
    ModelName,
    Story,
    Words,
    open_for_folding,
    open_memory,
    parse_number,
    parse_position,
    parse_version,
    read_words,
)

if TYPE_CHECKING:
    from previously.core.versions import Version

What = Annotated[str, typer.Argument(metavar="WHAT", help="recap, backbone, or chapter:N.")]
VersionId = Annotated[
    int, typer.Argument(metavar="VERSION", parser=parse_version, help="A version by its id in `log`.")
]
At = Annotated[
    int | None,
    typer.Option(
        "--at", metavar="POSITION", parser=parse_position, help="Which message: from 0, or from the end with -1."
    ),
]


def chapter(
    ctx: typer.Context,
    story: Story,
    title: Annotated[str, typer.Option("--title", metavar="T", help="What the chapter is called.")] = "",
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Close the chapter with the newest message, or with another; a chapter that ends there gets the title."""
    with open_memory(ctx) as memory:
        closed = memory.story(story, create=False).close_chapter(title, -1 if at is None else at)
    span = [closed.span.first, closed.span.last]
    if as_json:
        output.emit({"story": story, "chapter": closed.number, "title": closed.title, "span": span})
        return
    name = output.one_line(closed.name)
    sentence = "It has its recap." if closed.recap else "The next fold writes its recap."
    output.console().print(f"{name} is closed ({closed.span}). {sentence}", soft_wrap=True)


def rewrite(ctx: typer.Context, story: Story, what: What, text: Words, as_json: AsJson = False) -> None:
    """Put your own words in place of the recap, the backbone or a chapter's recap. No fold changes them."""
    with open_memory(ctx) as memory:
        memory.story(story, create=False).write(what, read_words(text))
    _report(story, "rewritten", what, f"Your words stand for {what} now; memory goes on behind them.", as_json)


def lock(ctx: typer.Context, story: Story, what: What, as_json: AsJson = False) -> None:
    """Keep a text as it stands: no fold changes it any more."""
    with open_memory(ctx) as memory:
        memory.story(story, create=False).lock(what)
    _report(story, "locked", what, f"{what} is locked; memory goes on behind it.", as_json)


def unlock(ctx: typer.Context, story: Story, what: What, as_json: AsJson = False) -> None:
    """Take back what you wrote or locked: the text is folded again."""
    with open_memory(ctx) as memory:
        memory.story(story, create=False).unlock(what)
    _report(story, "unlocked", what, f"{what} is folded again from now on.", as_json)


def pin(
    ctx: typer.Context,
    story: Story,
    text: Annotated[
        str | None, typer.Option("--text", metavar="T", help="The words; - reads them from standard input.")
    ] = None,
    at: At = None,
    as_json: AsJson = False,
) -> None:
    """Show words in every view: your own, or those of a message."""
    with open_memory(ctx) as memory:
        pinned = memory.story(story, create=False).pin(
            None if text is None else read_words(text), at=-1 if at is None else at
        )
    record = {"story": story, "pin": pinned.id, "position": pinned.position, "text": pinned.text}
    output.report(record, f"Pin {pinned.id}: {pinned.text}", as_json=as_json)


def unpin(
    ctx: typer.Context,
    story: Story,
    which: Annotated[int, typer.Argument(metavar="PIN", parser=parse_number, help="A pin by its number in `show`.")],
    as_json: AsJson = False,
) -> None:
    """Show a pin no more."""
    with open_memory(ctx) as memory:
        memory.story(story, create=False).unpin(which)
    _report(story, "unpinned", which, f"Pin {which} is gone.", as_json)


def undo(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """Take back the newest thing that was done to the memory of the active branch."""
    with open_memory(ctx) as memory:
        undone = memory.story(story, create=False).undo()
    _report(story, "undone", undone, f"Taken back: {undone}.", as_json)


def restore_version(ctx: typer.Context, story: str, which: int, as_json: bool) -> None:
    """Put an earlier version in force again, in place of what came after it."""
    with open_memory(ctx) as memory:
        restored = memory.story(story, create=False).restore(which)
    _report(story, "restored", restored.id, f"Version {which} is in force again.", as_json)


def pending(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List what waits for approval (see the setting `review`)."""
    from previously.cli.versions import version_json

    with open_memory(ctx) as memory:
        waiting = memory.story(story, create=False).pending()
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
    with open_memory(ctx) as memory:
        _report_decision(story, memory.story(story, create=False).approve(which), as_json)


def reject(
    ctx: typer.Context,
    story: Story,
    which: VersionId,
    reason: Annotated[str, typer.Option("--reason", metavar="T", help="Why, for the log.")] = "",
    as_json: AsJson = False,
) -> None:
    """Refuse a version that waits; the next fold makes another."""
    with open_memory(ctx) as memory:
        _report_decision(story, memory.story(story, create=False).reject(which, reason), as_json)


def rebuild(
    ctx: typer.Context,
    story: Story,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Fold everything anew, as `fold --anew` does. What is there stays until better stands in its place."""
    from previously.cli.memory import fold_anew, print_folds, report_json

    with open_for_folding(ctx, endpoint, model) as memory:
        opened = memory.story(story, create=False)
        report = fold_anew(opened, story, yes=yes)
    if as_json:
        output.emit(report_json(story, report))
    else:
        print_folds(report, planned=False)


def _report_decision(story: str, version: Version, as_json: bool) -> None:
    status = version.made.status.value
    _report(story, status, version.id, f"Version {version.id} is {status}.", as_json)


def _report(story: str, verb: str, what: object, sentence: str, as_json: bool) -> None:
    output.report({"story": story, verb: what}, sentence[0].upper() + sentence[1:], as_json=as_json)
