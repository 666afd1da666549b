"""The commands about how a story stands: what is open, what holds now, who is there, where scenes end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding, open_memory, parse_position
from previously.cli.memory_edits import At
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.core.scene import Analysis
    from previously.story.threads_state import ThreadListing

All = Annotated[bool, typer.Option("--all", help="Also what is dormant and what is settled.")]
NewlyOpen = Annotated[str | None, typer.Option("--open", metavar="TEXT", help="Say that this is open.")]
Due = Annotated[str, typer.Option("--due", metavar="WHEN", help="By when, in your own words.")]
Resolve = Annotated[
    str | None, typer.Option("--resolve", metavar="TEXT", help="Say that this is settled: its words, or some of them.")
]
Reopen = Annotated[str | None, typer.Option("--reopen", metavar="TEXT", help="Say that this is open all the same.")]
Reword = Annotated[str | None, typer.Option("--reword", metavar="TEXT", help="Give this other words; with --to.")]
To = Annotated[str | None, typer.Option("--to", metavar="WORDS", help="The words that --reword gives.")]


def threads(
    ctx: typer.Context,
    story: Story,
    everything: All = False,
    newly: NewlyOpen = None,
    due: Due = "",
    resolve: Resolve = None,
    reopen: Reopen = None,
    reword: Reword = None,
    to: To = None,
    as_json: AsJson = False,
) -> None:
    """List what is open, or say that something is open, settled or better said otherwise."""
    from previously.cli.memory_json import thread_json

    if due and newly is None:
        raise BadInput("--due goes with --open: it says by when that is due.")
    _check_rewording(reword, to)
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if resolve is not None:
            output.note(f"Settled: {opened.resolve_thread(resolve).text}")
        if reopen is not None:
            output.note(f"Open again: {opened.reopen_thread(reopen).text}")
        if reword is not None and to is not None:
            output.note(f"Reworded: {opened.reword_thread(reword, to).text}")
        if newly is not None:
            opened.open_thread(newly, due)
            output.note(f"Open: {newly}")
        listed = opened.threads(everything=everything)
        own = opened.settings()
    if as_json:
        output.emit({"story": story, "threads": [thread_json(one) for one in listed]})
        return
    if not listed:
        what = "No thread is known" if everything else "Nothing is known to be open"
        sentence = output.from_model(story, what, "`previously threads --open`")
        output.console().print(
            sentence if _notes_threads(story, own) else f"{what}; {_explain_none(story)}.", soft_wrap=True
        )
        return
    from previously.cli.terminal import make_table

    columns = ("status", "thread", "due", "since", "by")
    rows = [_make_thread_row(one) for one in listed]
    output.console().print(make_table(columns, rows, left=("status", "thread", "due", "by")))


def _check_rewording(reword: str | None, to: str | None) -> None:
    if (reword is None) != (to is None):
        raise BadInput("--reword and --to go together: which one, and the words it is given.")


def _notes_threads(story: str, own: Mapping[str, Any]) -> bool:
    """Return whether a model is asked for threads in this story."""
    from previously.settings import Layer, Origin, resolve
    from previously.settings_file import find_effective

    layers = find_effective(os.environ)[1]
    in_force = resolve([*layers, Layer(Origin.STORY, own, f"the settings of {story}")])
    return bool(in_force.scene_messages) or in_force.timeline == "librarian"


def _explain_none(story: str) -> str:
    name = output.one_line(story)
    return (
        f"this story notes none by itself: `previously set {name} scene_messages=24` has scenes noted with what they "
        "leave open, and --open says what is"
    )


def _make_thread_row(one: ThreadListing) -> tuple[object, ...]:
    thread = one.thread
    ended = f" ({thread.outcome})" if thread.outcome else ""
    return one.status.value, thread.text + ended, thread.due or "-", thread.opened, thread.by


def state(
    ctx: typer.Context,
    story: Story,
    said: Annotated[
        str | None,
        typer.Option(
            "--set", metavar="LINE", help="Say how something stands: 'Maya / place: the mill', or free words."
        ),
    ] = None,
    ended: Annotated[
        str | None,
        typer.Option("--end", metavar="TEXT", help="Say that this holds no more: its line, or a part of it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List how things stand, one value for each thing and aspect; or say how something stands."""
    from previously.cli.memory_json import held_json

    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if ended is not None:
            output.note(f"Ended: {opened.end_held(ended).text}")
        if said is not None:
            opened.hold(said)
        listed = opened.state()
    if as_json:
        output.emit({"story": story, "state": [held_json(one) for one in listed]})
        return
    if not listed:
        nothing = "Nothing is known of how things stand"
        output.console().print(output.from_model(story, nothing, "`previously state --set`"), soft_wrap=True)
        return
    from previously.cli.terminal import make_table

    rows = [(one.thing or "-", one.aspect or "-", one.value, one.position, one.by) for one in listed]
    columns = ("thing", "aspect", "value", "since", "by")
    output.console().print(make_table(columns, rows, left=("thing", "aspect", "value", "by")))


def wishes(
    ctx: typer.Context,
    story: Story,
    withdraw: Annotated[
        str | None, typer.Option("--withdraw", metavar="TEXT", help="Take this back: its words, or some of them.")
    ] = None,
    reword: Reword = None,
    to: To = None,
    as_json: AsJson = False,
) -> None:
    """List what the players asked for about the telling; reword a wish or take it back."""
    from previously.cli.memory_json import wish_json

    _check_rewording(reword, to)
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        if withdraw is not None:
            output.note(f"Withdrawn: {opened.withdraw_wish(withdraw).text}")
        if reword is not None and to is not None:
            output.note(f"Reworded: {opened.reword_wish(reword, to).text}")
        listed = opened.wishes()
    if as_json:
        output.emit({"story": story, "wishes": [wish_json(one) for one in listed]})
        return
    if not listed:
        output.console().print("No wish is noted: a model notes what players ask for out of character.")
        return
    from previously.cli.terminal import make_table

    rows = [(one.text, one.position, one.by) for one in listed]
    output.console().print(make_table(("wish", "since", "by"), rows, left=("wish", "by")))


def scene(ctx: typer.Context, story: Story, at: At = None, as_json: AsJson = False) -> None:
    """End the scene with the newest message, or with another; the next fold notes it."""
    with open_memory(ctx) as memory:
        mark = memory.story(story, create=False).end_scene(-1 if at is None else at)
    if as_json:
        output.emit({"story": story, "position": mark.position})
    else:
        output.console().print(f"The scene ends with message {mark.position}. The next fold notes it.")


def scenes(ctx: typer.Context, story: Story, as_json: AsJson = False) -> None:
    """List the scenes that were noted, with their summaries and what they describe."""
    from previously.cli.memory_json import scene_json

    with open_memory(ctx) as memory:
        notes = memory.story(story, create=False).scenes()
    if as_json:
        output.emit({"story": story, "scenes": [scene_json(number, one) for number, one in enumerate(notes, 1)]})
        return
    console = output.console()
    for number, one in enumerate(notes, 1):
        console.print(f"Scene {number} ({one.span}, by {one.made_by})", style="bold")
        console.print(output.printable(one.summary))
        if one.entries:
            console.print(f"Describes: {output.one_line(', '.join(one.entries))}.", soft_wrap=True)
        console.print()
    if not notes:
        ends = f"`previously scene {output.one_line(story)}` ends one"
        console.print(f"No scene is noted yet; a fold notes those that are over, and {ends}.", soft_wrap=True)


def analyze(
    ctx: typer.Context,
    story: Story,
    where: Annotated[
        int | None,
        typer.Argument(
            metavar="POSITION", parser=parse_position, help="Which fragment; else all that have no analysis."
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what has an analysis: the newest counts.")] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Analyse fragments as the librarian does: what each adds, what changed, what is open."""
    from previously.cli.memory import print_folds, report_json
    from previously.cli.memory_json import analysis_json

    with open_for_folding(ctx, endpoint, model) as memory:
        opened = memory.story(story, create=False)
        report = opened.analyze(where, again=again)
        analyses = dict(opened.analyses())
        length = opened.branch_info().messages
    wanted = {done.span.first for done in report.folds} if where is None else {where if where >= 0 else length + where}
    chosen = [(at, one) for at, one in analyses.items() if at in wanted]
    if as_json:
        output.emit({**report_json(story, report), "analyses": [analysis_json(at, one) for at, one in chosen]})
    else:
        for at, one in chosen:
            _print_analysis(at, one)
        if report.folds:
            print_folds(report, planned=False)
        else:
            output.console().print("Nothing was left to analyse; --again makes analyses anew.")
    if report.folds and not report.made:
        raise typer.Exit(1)


def _print_analysis(at: int, one: Analysis) -> None:
    console = output.console()
    console.print(f"Message {at}", style="bold")
    console.print(output.printable(one.summary_update) or "It adds nothing to the summary.")
    lists = {**one.signals.as_json(), "mentions": list(one.mentions), "contradictions": list(one.contradictions)}
    for name, items in lists.items():
        if items:
            console.print(f"  {name.replace('_', ' ')}: {output.one_line('; '.join(items))}", soft_wrap=True)
