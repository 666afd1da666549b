"""`previously demo`: one story folded and looked at, then one of thousands of messages. Every figure is measured."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson

if TYPE_CHECKING:
    from rich.console import Console

    from previously.blocking import BlockingMemory
    from previously.core.messages import Draft
    from previously.folds.fold import Fold
    from previously.runtime.answer_cache import AnswerSource
    from previously.runtime.writer import MemoryReply
    from previously.view.view import View

BUDGET_TOKENS = 2_400
"""A tenth of the sample story: memory has to stand for nearly all of it."""

LONG_STORY_MESSAGES = 5_000
"""Enough for dozens of chapters, and for a backbone that tells of them."""

NEWEST_SHOWN = 6
"""Two or three turns: they fit on a screen together with the bar."""


@dataclass
class CountingWriter:
    """The built-in writer, and how many words it was given to read."""

    made_by: str = "builtin"
    amends: bool = False
    words_read: int = 0

    async def ready(self) -> bool:
        return True

    async def write(self, asked: Fold, *, source: AnswerSource | None = None, anew: bool = False) -> MemoryReply:
        from previously.runtime.writer import BuiltinWriter

        self.words_read += asked.words_read
        return await BuiltinWriter().write(asked, source=source, anew=anew)


def demo(
    ctx: typer.Context,
    messages: Annotated[
        int, typer.Option("--messages", min=100, hidden=True, help="How long the generated story is.")
    ] = LONG_STORY_MESSAGES,
    as_json: AsJson = False,
) -> None:
    """Fold a sample story and a long one; show what a model sees."""
    from previously.blocking import BlockingMemory
    from previously.settings import Settings

    started = perf_counter()
    console = output.console()
    console.quiet = as_json
    writer = CountingWriter()
    with _open_place(ctx.obj) as place, BlockingMemory(place, settings=Settings(), writer=writer) as memory:
        figures: dict[str, Any] = {"harbour": _show_sample(console, memory, writer)}
        figures["generated"] = _show_long(console, memory, writer, messages)
    figures |= {"db": ctx.obj, "seconds": round(perf_counter() - started, 2)}
    if as_json:
        output.emit(figures)
        return
    _print_heading(console, "Your turn")
    kept = f" The stories of this demo are in {output.one_line(ctx.obj)}." if ctx.obj else ""
    console.print(f"All of this took {figures['seconds']:.1f} s.{kept} Next:\n")
    for command, what in _NEXT:
        console.print(f"  {command:<47}", style="bold", end="")
        console.print(what)


_NEXT = (
    ("previously import chat.jsonl --story tale", "bring in a story of your own"),
    ("previously fold tale", "fold what is due"),
    ("previously view tale --budget 2000 --explain", "see what a model sees, and why"),
    ("previously --help", "everything else"),
)


@contextmanager
def _open_place(db: str | None) -> Iterator[str]:
    """The place that was asked for, or one that is gone afterwards."""
    if db is not None:
        yield db
        return
    with tempfile.TemporaryDirectory(prefix="previously-demo-", ignore_cleanup_errors=True) as folder:
        yield str(Path(folder) / "stories.db")


def _show_sample(console: Console, memory: BlockingMemory, writer: CountingWriter) -> dict[str, Any]:
    from importlib.resources import as_file, files

    from previously.core.scripts import count_words
    from previously.formats import read_story

    with as_file(files("previously.demo").joinpath("harbour.jsonl")) as path:
        drafts = read_story(path, None).drafts
    chapters = [str(draft.attributes.extra["chapter"]) for draft in drafts if "chapter" in draft.attributes.extra]
    speakers = {draft.message.speaker for draft in drafts}
    words, tokens = sum(count_words(draft.message.text) for draft in drafts), _count_tokens(drafts)
    _print_heading(console, "1  A story")
    console.print(f"Harbour, a role-play in {len(chapters)} chapters: {', '.join(chapters)}.")
    console.print(f"{len(drafts):,} messages, {len(speakers)} speakers, {words:,} words, {tokens:,} tokens.")

    started = perf_counter()
    story = memory.story(_find_free_name(memory, "demo-harbour"))
    story.follow(drafts)
    story.view(BUDGET_TOKENS)  # folding makes room for the view that was last asked for
    _print_heading(console, "2  Folding it")
    with output.progress("Folding") as progress:
        report = story.fold(progress=progress)
    seconds, live = perf_counter() - started, story.recap()
    recap_words = count_words(live.text) if live else 0
    closed = story.chapters()
    chapter_words = sum(count_words(one.text) for one in closed)
    console.print(
        f"{len(report.folds)} folds by the built-in writer: {len(closed)} closed chapters became {chapter_words} "
        f"words, the open one a recap of {recap_words}.\nThe transcript is untouched; folding only adds."
    )

    seen = story.view(BUDGET_TOKENS)
    _print_heading(console, f"3  What a model would see, in {BUDGET_TOKENS:,} tokens")
    verbatim = _print_view(console, seen)
    costs = (
        ("Story", f"{len(drafts):,} messages, {tokens:,} tokens"),
        ("View", f"{seen.tokens:,} tokens: memory, and {verbatim} messages word for word"),
        ("Model calls", f"{report.calls}"),
        ("Words read", f"{writer.words_read:,} while folding, {writer.words_read / words:.1f} times the story"),
        ("Time", f"{seconds:.2f} s to import and fold"),
    )
    console.print()
    for what, cost in costs:
        console.print(f"{what:<12}", style="bold", end="")
        console.print(cost)
    return {
        "story": story.name,
        "messages": len(drafts),
        "words": words,
        "tokens": tokens,
        "folds": len(report.folds),
        "calls": report.calls,
        "words_read": writer.words_read,
        "recap_words": recap_words,
        "chapters": len(closed),
        "chapter_words": chapter_words,
        "budget_tokens": seen.budget_tokens,
        "view_tokens": seen.tokens,
        "verbatim_messages": verbatim,
        "left_out": len(seen.left_out),
        "seconds": round(seconds, 3),
    }


def _print_view(console: Console, seen: View) -> int:
    """Print the view in short form; how many messages it holds word for word."""
    from previously.cli.terminal import draw_budget, render_message
    from previously.cli.view import list_placed

    messages = list_placed(seen)
    spoken = [(position, message) for position, message in messages if position is not None]
    for position, message in messages:
        if position is None:
            console.print(output.printable(message.text))
    shown = spoken[-NEWEST_SHOWN:]
    console.print(
        f"\nThen {len(spoken)} messages word for word. Here are the last {len(shown)}, shortened for this screen:\n"
    )
    console.print(render_message(shown, short=True))
    console.print()
    console.print(draw_budget(seen))
    missing = "; ".join(f"{item.what} ({item.reason.value})" for item in seen.left_out)
    console.print(f"Left out: {missing or 'nothing'}.")
    return len(spoken)


def _show_long(console: Console, memory: BlockingMemory, writer: CountingWriter, messages: int) -> dict[str, Any]:
    from previously.cli.terminal import make_table
    from previously.core.messages import Draft, message
    from previously.demo.long_story import generate_story

    _print_heading(console, "4  The same with a very long story")
    started = perf_counter()
    drafts = [
        Draft(message(str(line["role"]), str(line["content"]), speaker=str(line["name"])))
        for line in generate_story(messages)
    ]
    story = memory.story(_find_free_name(memory, "demo-generated"))
    points: list[dict[str, Any]] = []
    done, folds, calls, read_before = 0, 0, 0, writer.words_read
    with output.progress(f"Folding {messages:,} messages") as progress:
        for end in (messages // 100, messages // 10, messages):
            story.add_drafts(drafts[done:end])
            report = story.fold(progress=lambda folded, _: progress(folded, messages))
            seen = story.view()
            done, folds, calls = end, folds + len(report.folds), calls + report.calls
            points.append(
                {
                    "messages": end,
                    "story_tokens": _count_tokens(drafts[:end]),
                    "view_tokens": seen.tokens,
                    "left_out": len(seen.left_out),
                    "folds": folds,
                    "words_read": writer.words_read - read_before,
                }
            )
    seconds = perf_counter() - started
    console.print(
        f"A generated story, imported and folded in {seconds:.1f} s, {output.count_nouns(calls, 'model call')}.\n"
    )
    rows = [[point[key] for key in ("messages", "story_tokens", "view_tokens", "folds")] for point in points]
    console.print(make_table(("after messages", "story, tokens", "view, tokens", "folds"), rows))
    grown = [points[-1][key] / points[0][key] for key in ("story_tokens", "view_tokens")]
    console.print(
        f"\nThe story grew {grown[0]:.0f} times over, the view {grown[1]:.1f} times: what left it is in memory, which "
        "takes up its share of the budget and then no more."
    )
    return {"story": story.name, "messages": messages, "calls": calls, "points": points, "seconds": round(seconds, 3)}


def _count_tokens(drafts: Sequence[Draft]) -> int:
    from previously.core.tokens import message_tokens

    return sum(message_tokens(draft.message) for draft in drafts)


def _find_free_name(memory: BlockingMemory, wanted: str) -> str:
    """A name that no story has: whatever is there already is not the demo's to change."""
    taken = {info.name for info in memory.stories()}
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _print_heading(console: Console, text: str) -> None:
    console.print()
    console.rule(text, align="left", style="dim")
    console.print()
