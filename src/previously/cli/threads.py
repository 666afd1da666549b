"""`previously threads`: what is open in a story, and what people say of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, open_story, read_words
from previously.cli.nouns import NewWords, Which, expect_change, make_noun
from previously.story.thing_name import Thing, ThingKind

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.lore.threads import Thread
    from previously.story.threads_state import ThreadListing

All = Annotated[bool, typer.Option("--all", help="Also what is dormant and what is settled.")]
Due = Annotated[str, typer.Option("--due", metavar="WHEN", help="By when, in your own words.")]
Owner = Annotated[
    str | None, typer.Option("--owner", metavar="WHO", help="Whose it is: who promised, owes or asks; '' for nobody's.")
]

NOTHING_OPEN = "Nothing is known to be open"

app: typer.Typer = make_noun("What is open in a story: list, show, add, edit, remove, settle, reopen, merge.")


@app.command("list")
def list_threads(ctx: typer.Context, story: Story, everything: All = False, as_json: AsJson = False) -> None:
    """List what is open, what matters most first."""
    from previously.cli.terminal import report_table

    with open_story(ctx, story) as opened:
        listed, own = opened.threads(everything=everything), opened.settings()
    columns, left = ("", "status", "thread", "whose", "due", "since", "by"), ("status", "thread", "whose", "due", "by")
    nothing = "" if listed else _explain_none(story, own, "No thread is known" if everything else NOTHING_OPEN)
    rows = [_make_row(one) for one in listed]
    report_table(_list_json(story, listed), columns, rows, left=left, nothing=nothing, as_json=as_json)


@app.command("show")
def show(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Show one thread, with its earlier words and what folds suggest for it."""
    from previously.story.json_shapes import thread_json

    with open_story(ctx, story) as opened:
        one = opened.find_listed(Thing(ThingKind.THREAD, which))
    if as_json:
        output.emit({"story": story, **thread_json(one)})
        return
    console = output.console()
    console.print(
        f"Thread {one.number}, {one.status.value} since message {one.thread.opened}, by {one.thread.by}", style="bold"
    )
    console.print(output.printable(one.thread.line))
    for heading, texts in (("Earlier", one.thread.earlier), ("Suggested", one.suggestions)):
        for text in texts:
            console.print(f"{heading}: {output.one_line(text)}", soft_wrap=True)


@app.command("add")
def add(
    ctx: typer.Context,
    story: Story,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is open.")],
    due: Due = "",
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Say that something is open."""
    with open_story(ctx, story) as opened:
        opened.open_thread(text, due, owner or "")
        listed = opened.threads()
    output.report({**_list_json(story, listed), "added": text}, f"Open: {text}", as_json=as_json)


@app.command("edit")
def edit(
    ctx: typer.Context,
    story: Story,
    which: Which,
    text: NewWords = None,
    due: Annotated[str | None, typer.Option("--due", metavar="WHEN", help="By when, in your own words.")] = None,
    owner: Owner = None,
    as_json: AsJson = False,
) -> None:
    """Correct a thread: its words, its date, whose it is. No fold changes what you say."""
    expect_change(text, due, owner)
    words = "" if text is None else read_words(text)
    _change(
        ctx, story, which, as_json, "edited", "Edited",
        lambda opened, thread: opened.edit_thread(thread, words, due=due or "", owner=owner),
    )  # fmt: skip


@app.command("remove")
def remove(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Show a thread no more, as if nobody had opened it."""
    _change(ctx, story, which, as_json, "removed", "Removed", lambda opened, thread: opened.remove_thread(thread))


@app.command("settle")
def settle(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Say that a thread is settled."""
    _change(ctx, story, which, as_json, "settled", "Settled", lambda opened, thread: opened.resolve_thread(thread))


@app.command("reopen")
def reopen(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Say that a settled thread is open all the same."""
    _change(ctx, story, which, as_json, "reopened", "Open again", lambda opened, thread: opened.reopen_thread(thread))


@app.command("merge")
def merge(
    ctx: typer.Context,
    story: Story,
    which: Which,
    into: Annotated[str, typer.Argument(metavar="INTO", help="The thread that it is the same as.")],
    as_json: AsJson = False,
) -> None:
    """Say that two threads are one, under the words of the second."""
    _change(
        ctx, story, which, as_json, "merged", "One thread now",
        lambda opened, thread: opened.merge_threads(thread, into),
    )  # fmt: skip


def _change(
    ctx: typer.Context,
    story: str,
    which: str,
    as_json: bool,
    verb: str,
    said: str,
    change: Callable[[BlockingStory, str], Thread],
) -> None:
    with open_story(ctx, story) as opened:
        thread = change(opened, which)
        listed = opened.threads()
    output.report({**_list_json(story, listed), verb: thread.text}, f"{said}: {thread.line}", as_json=as_json)


def _list_json(story: str, listed: list[ThreadListing]) -> dict[str, Any]:
    from previously.story.json_shapes import thread_json

    return {"story": story, "threads": [thread_json(one) for one in listed]}


def _explain_none(story: str, own: Mapping[str, Any], what: str) -> str:
    """Say why there are none: no fold has noted one yet, or a story with these settings is asked for none."""
    from previously.settings import Layer, Origin, resolve
    from previously.settings_file import find_effective

    layers = find_effective(os.environ)[1]
    in_force = resolve([*layers, Layer(Origin.STORY, own, f"the settings of {story}")])
    name = output.as_typed(story)
    if in_force.scene_messages or in_force.timeline == "librarian":
        return output.from_model(story, what, f"`previously threads add {name} TEXT`")
    return (
        f"{what}; this story notes none by itself: `previously set {name} scene_messages=24` has scenes noted with "
        "what they leave open, and `threads add` says what is."
    )


def _make_row(one: ThreadListing) -> tuple[object, ...]:
    thread = one.thread
    ended = f" ({thread.outcome})" if thread.outcome else ""
    return (
        one.number,
        one.status.value,
        thread.text + ended,
        thread.owner or "-",
        thread.due or "-",
        thread.opened,
        thread.by,
    )
