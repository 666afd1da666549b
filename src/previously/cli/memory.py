"""The commands about memory: folding, and what is remembered."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding, open_memory
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.core.path import Span
    from previously.memory.in_force import ChapterText, MemoryText
    from previously.runtime.fold_report import FoldDone, FoldReport

NEWEST = 5
"""The messages that `show` ends with: enough to see where the story is, on one screen with its memory."""


def fold(
    ctx: typer.Context,
    story: Story,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be folded.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Fold one span at most.")] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Fold everything anew, what is folded already too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --anew: do not ask.")] = False,
    endpoint: Endpoint = "",
    model: ModelName = "",
    as_json: AsJson = False,
) -> None:
    """Fold all that is due into memory."""
    if anew and once:
        raise BadInput("--anew folds everything: it does not go with --once.")
    with open_for_folding(ctx, endpoint, model) as memory:
        opened = memory.story(story, create=False)
        if plan:
            report = opened.plan(anew=anew)
        elif anew:
            report = fold_anew(opened, story, yes=yes)
        else:
            with output.progress(f"Folding {output.one_line(story)}") as progress:
                report = opened.fold(once=once, progress=progress)
    if plan and once:
        report = replace(report, folds=report.folds[:1])
    if as_json:
        output.emit(report_json(story, report))
    else:
        print_folds(report, planned=plan)


def fold_anew(found: BlockingStory, story: str, *, yes: bool) -> FoldReport:
    """Fold everything anew. What it will cost is said first, and asked about where somebody sits at a terminal."""
    from previously.runtime.fold_report import FoldReport

    planned = found.plan(anew=True)
    read = sum(done.cost.input_tokens for done in planned.folds)
    written = sum(done.cost.output_tokens for done in planned.folds)
    money = f", about {compute_price(planned):,.4f} in money" if compute_price(planned) else ""
    output.note(
        f"Folding {story} anew: {output.count_nouns(len(planned.folds), 'fold')}, "
        f"{output.count_nouns(planned.calls, 'model call')}, "
        f"about {read:,} tokens to read and {written:,} to write{money}."
    )
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if at_terminal and not yes and not typer.confirm("Fold it anew?", err=True):
        return FoldReport((), "nobody wanted it")
    with output.progress(f"Folding {output.one_line(story)} anew") as progress:
        return found.rebuild(progress=progress)


def show(
    ctx: typer.Context,
    story: Story,
    gaps: Annotated[
        bool, typer.Option("--gaps", help="Instead, where the librarian's summary cannot go on, and why.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Show closed chapters in full, not in short.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered of a story."""
    from previously.cli.memory_json import remembered_json

    if gaps:
        _show_gaps(ctx, story, as_json)
        return
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        info, branches, recap = opened.info(), opened.branches(), opened.recap()
        chapters, backbone, pins, flagged = opened.chapters(), opened.backbone(), opened.pins(), opened.flagged()
        length = info.active.messages
        newest = opened.messages(max(length - NEWEST, 0), -1) if length else []
        beside = remembered_json(opened)
        brief = opened.brief()
    if as_json:
        output.emit(
            {
                "story": story,
                "branch": info.active.name,
                "messages": length,
                "recap": recap.text if recap and not brief else None,
                "recap_span": span_json(recap.told) if recap else None,
                **({"recap_cut": span_json(recap.cut)} if recap and recap.cut else {}),
                "chapters": [chapter_json(one) for one in chapters],
                "backbone": backbone.text if backbone else None,
                "backbone_span": span_json(backbone.span) if backbone else None,
                "pins": [{"pin": pin.id, "position": pin.position, "text": pin.text} for pin in pins],
                "stale": [name for name, text in (("recap", recap), ("backbone", backbone)) if text and text.stale],
                "flagged": flagged,
                "layers": [],
                **beside,
                "brief": brief.text if brief else None,
                "branches": [{"branch": branch.name, "messages": branch.messages} for branch in branches],
            }
        )
        return
    from previously.cli.terminal import render_message

    console = output.console()
    console.print(
        f"{output.one_line(story)}: {output.count_nouns(length, 'message')} on branch {info.active.name}", style="bold"
    )
    others = [f"{branch.name} ({branch.messages:,})" for branch in branches if branch.name != info.active.name]
    if others:
        console.print(output.one_line(f"Other branches: {', '.join(others)}"))
    if not (recap or chapters):
        console.print(f"\nNothing is folded yet. `previously fold {output.one_line(story)}` folds what is due.")
    if pins:
        console.print("\nPinned", style="bold")
        console.print("\n".join(f"  {pin.id}: {output.one_line(pin.text)}" for pin in pins))
    if backbone:
        _print_text("The story so far", backbone)
    for one in chapters:
        print_chapter(one, full=full)
    if recap:
        _print_text("Brief" if brief else "Recap", recap)
    _print_beside(story, beside)
    if flagged:
        console.print(f"\nMessages have changed under what you wrote: {', '.join(flagged)}.")
    if newest:
        console.print("\nNewest messages", style="bold")
        console.print(render_message([(item.position, item.entry.message) for item in newest], short=True))


def _show_gaps(ctx: typer.Context, story: str, as_json: bool) -> None:
    with open_memory(ctx) as memory:
        gaps = memory.story(story, create=False).gaps()
    if as_json:
        output.emit({"story": story, "gaps": [{"position": gap.position, "reason": gap.reason} for gap in gaps]})
        return
    console = output.console()
    for gap in gaps:
        console.print(f"Message {gap.position}: {_GAPS[gap.reason]} ({gap.reason}).")
    if not gaps:
        console.print("There are no gaps in a librarian's summary of this story.")


_GAPS = {
    "missing_analysis": "it has no analysis yet",
    "empty_summary_update": "its analysis says nothing for the summary",
}


def _print_beside(story: str, beside: Mapping[str, Any]) -> None:
    """Print the memory beside the texts, in a line each, with the command that shows it."""
    lines = [
        ("log", output.count_nouns(len(beside["episodes"]), "episode")),
        ("scenes", output.count_nouns(len(beside["scenes"]), "scene")),
        ("lore list", output.count_nouns(len(beside["lore"]), "entry") + " of lore"),
        ("threads", output.count_nouns(len(beside["threads"]), "open thread")),
        ("state", output.count_nouns(len(beside["state"]), "line") + " of how things stand"),
        ("cast", output.count_nouns(len(beside["cast"]), "character") + " whose knowledge is kept"),
        ("wishes", f"{len(beside['wishes']):,} of the players' wishes"),
    ]
    hints = [f"  {what}: `previously {command} {output.one_line(story)}`" for command, what in lines if what[0] != "0"]
    if hints:
        output.console().print("\nAlso kept", style="bold")
        output.console().print("\n".join(hints), soft_wrap=True)
    if beside["books"]:
        output.console().print(f"  books: {output.one_line(', '.join(beside['books']))}", soft_wrap=True)


def _print_text(name: str, text: MemoryText | None, span: Span | None = None) -> None:
    console = output.console()
    covers = text.told if text else span
    by = f", by {text.made_by}{', stale' if text.stale else ''}" if text else ""
    by += f"; {', '.join(map(str, text.cuts))} told no more" if text and text.cuts else ""
    console.print(f"\n{name} ({covers}{by})", style="bold")
    console.print(output.printable(text.text) if text else "Its recap waits to be folded.")


def chapters(
    ctx: typer.Context,
    story: Story,
    full: Annotated[bool, typer.Option("--full", help="Show the full forms, not the short ones.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the closed chapters of a story: number, title, messages, and each in short."""
    with open_memory(ctx) as memory:
        closed = memory.story(story, create=False).chapters()
    if as_json:
        output.emit({"story": story, "chapters": [chapter_json(one) for one in closed]})
        return
    for one in closed:
        print_chapter(one, full=full)
    if not closed:
        close = f"`previously chapter {output.one_line(story)} --title TITLE`"
        output.console().print(
            f"No chapter of this story is closed yet: a fold closes them as the story goes on, or you do ({close}).",
            soft_wrap=True,
        )


def print_chapter(one: ChapterText, *, full: bool) -> None:
    """A closed chapter for people: in short where it has a short form, unless all of it is wanted."""
    if full or not one.short or one.recap is None:
        _print_text(output.one_line(one.name), one.recap, one.span)
        return
    _print_text(output.one_line(one.name), replace(one.recap, text=one.short), one.span)


def chapter_json(one: ChapterText) -> dict[str, Any]:
    """A closed chapter: `recap` is its full form."""
    return {
        "chapter": one.number,
        "title": one.title,
        "span": span_json(one.span),
        "recap": one.recap.text if one.recap else None,
        "short": one.short or None,
        "made_by": one.recap.made_by if one.recap else None,
        "stale": bool(one.recap and one.recap.stale),
    }


_DEEDS = {
    "scene": ("noted", "as a scene"), "analysis": ("analysed", ""), "state": ("put together", "in a snapshot"),
    "episode": ("folded", "into an episode"), "note": ("noted", ""), "short": ("told", "in short"),
}  # fmt: skip
"""Words for folds that do something else to messages than to fold them, and for the result."""


def _describe_fold(done: FoldDone) -> str:
    """Say what a fold did to its messages."""
    from previously.folds.amend import AMENDED

    verb, into = _DEEDS.get(done.kind.value, ("folded", f"into the {done.kind.value}"))
    if done.kind.value == "cast":
        verb, into = "noted", f"as what {output.one_line(name_character(done.scope))} knows"
    match done.status:
        case "planned":
            verb = f"would be {verb}"
        case "provisional":
            verb = f"{verb} for the time being"
        case "pending":
            verb = f"{verb}, waiting for approval,"
        case "refused":
            verb, into = ("could not be amended", "") if AMENDED in done.reason else (f"could not be {verb}", into)
    beside = f" with {' and '.join(done.beside)}" if done.beside else ""
    return f"{verb} {into}".rstrip() + beside


def name_character(scope: str) -> str:
    """Whose memory a scope is: the name of a character; empty where it is nobody's in particular."""
    from previously.core.marks import OWN_SCOPE

    return scope.removeprefix(OWN_SCOPE) if scope.startswith(OWN_SCOPE) else ""


def print_folds(report: FoldReport, *, planned: bool) -> None:
    """Print for people what was folded, or would be."""
    console = output.console()
    for end in report.closed:
        verb = "would close" if planned else "closed"
        title = f" ({output.one_line(end.title)})" if end.title else ""
        console.print(f"A chapter{title} {verb} with message {end.position}: {end.reason}.", soft_wrap=True)
    for done in report.folds:
        console.print(
            f"{str(done.span).capitalize()} {_describe_fold(done)} ({done.reason}): "
            f"reads {done.cost.input_tokens:,} tokens, writes {done.cost.output_tokens:,}.",
            soft_wrap=True,
        )
    if not report.folds:
        console.print(f"Nothing {'would be' if planned else 'was'} folded: {report.stopped}.")
        return
    folds, calls = output.count_nouns(len(report.made), "fold"), output.count_nouns(report.calls, "model call")
    made = "would be made" if planned else "made"
    spent = f", about {compute_price(report):,.4f} in money" if compute_price(report) else ""
    console.print(f"{folds} {made}, {calls}{spent}; no more for now: {report.stopped}.", soft_wrap=True)


def report_json(story: str, report: FoldReport) -> dict[str, object]:
    """Return the report of a fold in the shape that is relied on from outside."""
    return {
        "folds": [_fold_json(done) for done in report.folds],
        "calls": report.calls,
        "price": compute_price(report),
        "stopped": report.stopped,
        "closed": [{"position": end.position, "title": end.title, "reason": end.reason} for end in report.closed],
        "story": story,
    }


def compute_price(report: FoldReport) -> float:
    """Return the cost of the folds by the prices in the settings, where a model was or would be asked."""
    from previously.settings import resolve
    from previously.settings_file import find_effective

    settings = resolve(find_effective(os.environ)[1])
    asked = [done.cost for done in report.folds if done.cost.calls]
    read, written = sum(cost.input_tokens for cost in asked), sum(cost.output_tokens for cost in asked)
    return round((read * settings.input_price + written * settings.output_price) / 1_000_000, 6)


def _fold_json(done: FoldDone) -> dict[str, object]:
    return {
        "kind": done.kind.value,
        "scope": done.scope,
        "status": done.status,
        "made_by": done.made_by,
        "reason": done.reason,
        "span": span_json(done.span),
        "beside": list(done.beside),
        "calls": done.cost.calls,
        "input_tokens": done.cost.input_tokens,
        "output_tokens": done.cost.output_tokens,
    }


def span_json(span: Span) -> Sequence[int]:
    """A span as JSON."""
    return [span.first, span.last]
