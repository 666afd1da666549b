"""The commands about memory: folding, and what is remembered."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Endpoint, ModelName, Story, open_for_folding
from previously.core.errors import BadInput
from previously.core.path import Span
from previously.story.json_results import report_json

if TYPE_CHECKING:
    from previously.blocking import BlockingStory
    from previously.runtime.fold_report import FoldDone, FoldReport


Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Tell every detail, not a summary.")]


def fold(
    ctx: typer.Context,
    story: Story,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be folded.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Fold one span at most.")] = False,
    anew: Annotated[bool, typer.Option("--anew", help="Fold everything anew, what is folded already too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --anew: do not ask.")] = False,
    verbose: Verbose = False,
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
        output.emit(report_json(story, report, compute_price(report)))
    else:
        print_folds(report, planned=plan, verbose=verbose)


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
        f"about {output.count_nouns(read, 'token')} to read and {written:,} to write{money}."
    )
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if at_terminal and not yes and not typer.confirm("Fold it anew?", err=True):
        return FoldReport((), "nobody wanted it")
    with output.progress(f"Folding {output.one_line(story)} anew") as progress:
        return found.rebuild(progress=progress)


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


def print_folds(report: FoldReport, *, planned: bool, verbose: bool = True) -> None:
    """Print for people what was folded, or would be: a summary, or every fold."""
    console = output.console()
    if verbose or len(report.folds) == 1:
        for line in _list_details(report, planned=planned):
            console.print(line, soft_wrap=True)
    elif report.folds:
        console.print(_summarize(report, planned=planned), soft_wrap=True)
    if not report.folds:
        console.print(f"Nothing {'would be' if planned else 'was'} folded: {report.stopped}.")
        return
    folds, calls = output.count_nouns(len(report.made), "fold"), output.count_nouns(report.calls, "model call")
    made = "would be made" if planned else "made"
    spent = f", about {compute_price(report):,.4f} in money" if compute_price(report) else ""
    console.print(f"{folds} {made}, {calls}{spent}; no more for now: {report.stopped}.", soft_wrap=True)


def _list_details(report: FoldReport, *, planned: bool) -> list[str]:
    verb = "would close" if planned else "closed"
    lines = []
    for end in report.closed:
        title = f" ({output.one_line(end.title)})" if end.title else ""
        lines.append(f"A chapter{title} {verb} with message {end.position}: {end.reason}.")
    for done in report.folds:
        lines.append(
            f"{str(done.span).capitalize()} {_describe_fold(done)} ({done.reason}): "
            f"reads {output.count_nouns(done.cost.input_tokens, 'token')}, writes {done.cost.output_tokens:,}."
        )
    return lines


def _summarize(report: FoldReport, *, planned: bool) -> str:
    """Say in a sentence what was folded into what, and what did not go as it should."""
    folds = report.folds
    kinds = Counter(kind for done in folds for kind in (done.kind.value, *done.beside) if done.status != "refused")
    counted = ", ".join(output.count_nouns(number, kind) for kind, number in kinds.items())
    span = Span(min(done.span.first for done in folds), max(done.span.last for done in folds))
    read, written = (sum(getattr(done.cost, name) for done in folds) for name in ("input_tokens", "output_tokens"))
    were = "would be" if planned else "was" if len(span) == 1 else "were"
    sentence = f"{str(span).capitalize()} {were} folded: {counted}"
    sentence += f"; {output.count_nouns(read, 'token')} read, {written:,} written."
    if report.closed:
        sentence += f" {output.count_nouns(len(report.closed), 'chapter')} closed."
    for status, (of_one, of_many) in _OUTCOMES.items():
        told = [done.reason for done in folds if done.status == status]
        sentence += f" {output.count_nouns(len(told), 'fold')} {of_one if len(told) == 1 else of_many}." if told else ""
        # A reason says why a fold was due, and then what went wrong.
        causes = dict.fromkeys(reason.partition("; ")[2] for reason in told if status == "provisional")
        sentence += "".join(f" {cause.rstrip('.')}." for cause in causes if cause)
    return f"{sentence} -v tells each."


_OUTCOMES = {
    "provisional": ("is provisional, until the model answers", "are provisional, until the model answers"),
    "pending": ("waits for your approval", "wait for your approval"),
    "refused": ("could not be kept", "could not be kept"),
}
"""Outcomes of folds that a person should know of, of one fold and of many."""


def compute_price(report: FoldReport) -> float:
    """Return the cost of the folds by the prices in the settings, where a model was or would be asked."""
    from previously.settings import resolve
    from previously.settings_file import find_effective

    return resolve(find_effective(os.environ)[1]).compute_price(done.cost for done in report.folds)
