"""`previously try FILE`: somebody's own chat, folded and looked at, and nothing is kept.

No model is asked: the built-in writer quotes. Questions that nobody typed are made of the story's own words.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output, tour
from previously.cli.arguments import AsJson, parse_budget
from previously.cli.demo import count_tokens, hits_json, open_place
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from previously.blocking import BlockingStory
    from previously.core.messages import Draft
    from previously.formats import StorySource
    from previously.runtime.fold_report import FoldReport
    from previously.runtime.search import SearchHit
    from previously.settings import Settings
    from previously.view.view import View

MOST_MESSAGES = 10_000
"""The newest messages of a huge file: some ten seconds. `import` takes all."""

SMALLEST_BUDGET = 1_000
"""Tokens that a view gets at least beside its first and its newest message: memory needs some room."""

VIEW_SHARE = 4
"""A quarter of the story, if that is less than its model's window holds: then memory has something to stand for."""

MADE_UP = 3
"""Questions made of the story's own words: one from each third."""

MOST_PLACES = 12
"""Messages that such a name may stand in: what is in more needs no finding."""

HITS = 2
"""Messages shown for each question,"""

WORTH = 0.8
"""and of these only such as hold a word of the question and score nearly as high as the best."""

_NAME = "try"


def try_file(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A chat, in any format that import knows.")],
    questions: Annotated[
        list[str] | None, typer.Option("--ask", metavar="QUESTION", help="Ask your story this; repeatable.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option("--budget", metavar="N", parser=parse_budget, help="Tokens that the view may take.")
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="F", help="The file's format; else it is recognised.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try the memory on a chat of your own; nothing is kept."""
    from previously.blocking import BlockingMemory
    from previously.formats import read_story
    from previously.runtime.writer import BuiltinWriter

    started = perf_counter()
    if ctx.obj:
        output.note("`try` keeps nothing, so --db is not used; `import` keeps a story.")
    console = output.console()
    console.quiet = as_json
    source = read_story(Path(file), file_format)
    if not source.drafts and not source.others:
        raise BadInput(
            f"{output.one_line(file)}: there are no messages to try it on; `import` takes the file as it is."
        )
    drafts = (source.drafts or source.others[0].source.drafts)[-MOST_MESSAGES:]
    settings = _choose_settings(drafts)
    story_tokens = count_tokens(drafts)
    budget = tokens or _choose_budget(drafts, settings, story_tokens)
    plan = _plan_with_model(drafts, settings, budget)
    with open_place(None) as place, BlockingMemory(place, settings=settings, writer=BuiltinWriter()) as memory:
        story = memory.story(_NAME)
        story.follow(drafts)
        story.view(budget)  # folding makes room for the view that was last asked for
        with output.progress("Folding") as progress:
            report = story.fold(progress=progress)
        seen = story.view(budget)
        asked = {question: _find(story, question) for question in questions or _make_questions(drafts)}
        _print_story(console, file, source, drafts)
        verbatim = _print_view(console, story, seen, story_tokens)
        _print_answers(console, asked)
        if not as_json and not questions and sys.stdin and sys.stdin.isatty() and console.is_terminal:
            _converse(console, story)
    if as_json:
        output.emit(
            {
                "file": file,
                "format": source.format,
                "messages": len(drafts),
                "tokens": story_tokens,
                "folds": len(report.folds),
                "budget_tokens": seen.budget_tokens,
                "view_tokens": seen.tokens,
                "verbatim_messages": verbatim,
                "questions": [{"question": question, "hits": hits_json(hits)} for question, hits in asked.items()],
                "with_a_model": _plan_json(plan),
                "seconds": round(perf_counter() - started, 2),
            }
        )
        return
    _print_more(console, file, settings, plan)


def _choose_settings(drafts: Sequence[Draft]) -> Settings:
    """Return an agent's settings for a conversation in which tools are called, else a story's."""
    from previously.core.messages import ToolCall
    from previously.settings import Settings

    calls_tools = any(isinstance(part, ToolCall) for draft in drafts for part in draft.message.parts)
    return Settings.of("agent" if calls_tools else "roleplay")


def _choose_budget(drafts: Sequence[Draft], settings: Settings, story_tokens: int) -> int:
    """Return a budget in which a view has to leave messages to memory, with room for what it cannot do without."""
    from previously.core.messages import Role

    opening = takewhile(lambda draft: draft.message.role is Role.SYSTEM, drafts)
    needed = count_tokens([*opening, drafts[-1]]) + SMALLEST_BUDGET
    return max(needed, min(settings.budget_tokens(), story_tokens // VIEW_SHARE))


class _AbsentModel:
    """A model that is only counted on: a plan says what it would be asked, and asks nothing."""

    name = "a model"

    async def ask(self, request: object) -> Any:
        raise NotImplementedError(request)

    async def close(self) -> None:
        """Hold nothing open."""


def _plan_with_model(drafts: Sequence[Draft], settings: Settings, budget: int) -> FoldReport:
    """Return what folding would take with a model."""
    from previously.app import IN_MEMORY
    from previously.blocking import BlockingMemory

    with BlockingMemory(IN_MEMORY, settings=settings, model=_AbsentModel()) as memory:
        story = memory.story(_NAME)
        story.follow(drafts)
        story.view(budget)
        return story.plan()


def _plan_json(plan: FoldReport) -> dict[str, int]:
    return {
        "calls": plan.calls,
        "input_tokens": sum(fold.cost.input_tokens for fold in plan.folds),
        "output_tokens": sum(fold.cost.output_tokens for fold in plan.folds),
    }


def _print_story(console: Console, file: str, source: StorySource, drafts: Sequence[Draft]) -> None:
    tour.print_heading(console, output.one_line(Path(file).name))
    speakers = {draft.message.speaker for draft in drafts if draft.message.speaker}
    by = f" by {output.count_nouns(len(speakers), 'speaker')}" if speakers else ""
    console.print(f"{output.count_nouns(len(drafts), 'message')}{by}, read as {source.format}.")
    held = len(source.drafts or source.others[0].source.drafts)
    if held > len(drafts):
        console.print(
            f"The file holds {output.count_nouns(held, 'message')}; these are the newest. `import` takes all of them."
        )
    if source.others:
        conversations = len(source.others) + bool(source.drafts)
        console.print(f"The file holds {conversations} conversations; this is the first. `import` takes all of them.")


def _print_view(console: Console, story: BlockingStory, seen: View, story_tokens: int) -> int:
    """Print what a model would see; return how many messages of it are word for word."""
    tour.print_heading(console, "What a model would see of it")
    tour.print_sizes(console, story_tokens, seen)
    console.print()
    verbatim = tour.print_view(console, story, seen)
    if verbatim == story.branch_info().messages:
        console.print("\nAll of it fits, so nothing had to be folded yet. Memory begins where a story outgrows that.")
    return verbatim


def _find(story: BlockingStory, question: str) -> list[SearchHit]:
    hits = story.search(question, top=HITS)
    return [hit for hit in hits if hit.terms and hit.score >= WORTH * hits[0].score]


def _print_answers(console: Console, asked: Mapping[str, Sequence[SearchHit]]) -> None:
    if asked:
        tour.print_heading(console, "Ask: the answer comes with its message")
    for question, hits in asked.items():
        tour.print_answer(console, question, hits)
        console.print()


def _converse(console: Console, story: BlockingStory) -> None:
    """Answer what a person asks, until they ask nothing."""
    console.print("Ask it something yourself; an empty line ends this.", style="bold")
    while True:
        try:
            question = input("? ").strip()
        except (EOFError, UnicodeDecodeError):
            question = ""
        if not question:
            return
        try:
            tour.print_answer(console, "", _find(story, question))
        except BadInput as error:
            console.print(str(error))


def _make_questions(drafts: Sequence[Draft]) -> list[str]:
    """Return a name from each third of the story: of those that come back, the one that comes back after the longest
    time. The names of speakers are everywhere and ask for nothing."""
    from previously.core.scripts import casefold
    from previously.text.names import find_names
    from previously.text.stopwords import is_generic

    speakers = {word for draft in drafts for word in casefold(draft.message.speaker or "").split()}
    places: dict[str, list[int]] = {}
    for position, draft in enumerate(drafts):
        for name in find_names(draft.message.text):
            if not is_generic(name) and not speakers & {*casefold(name).split()}:
                places.setdefault(name, []).append(position)
    back = {name: found for name, found in places.items() if 1 < len(found) <= MOST_PLACES}
    third = -(-len(drafts) // MADE_UP)
    questions = []
    for first in range(0, len(drafts), third):
        begun = [name for name, found in back.items() if first <= found[0] < first + third]
        if begun:
            questions.append(max(begun, key=lambda name: (" " in name, back[name][-1] - back[name][0])))
    return questions


def _print_more(console: Console, file: str, settings: Settings, plan: FoldReport) -> None:
    figures, program = _plan_json(plan), tour.name_program()
    tour.print_heading(console, "What a model would add")
    if settings.preset == "agent":
        added = "A model writes a brief of the work: its goal, what was decided, which files, what failed."
    else:
        added = (
            "A model writes summaries of chapters and of the whole story, and notes what is promised, owed and secret, "
            f"how things stand and who knows what; `{program} demo` shows it."
        )
    console.print(f"No model was asked: memory here is made of quotations. {added}")
    if plan.calls:
        console.print(
            f"For this file that would be about {output.count_nouns(plan.calls, 'call')}, "
            f"{figures['input_tokens']:,} tokens read and {figures['output_tokens']:,} written."
        )
    console.print("Nothing of this was kept. To go on:\n")
    story = quote(output.one_line(Path(file).stem))
    tour.print_next(
        console,
        (
            (f"import {quote(output.one_line(file))}", "keep it"),
            (f"fold {story} --endpoint URL --model NAME", "with a model"),
            ("serve --upstream URL", "in your chat program"),
        ),
    )
