"""`previously chapters`: the chapters of a story, and where they end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, At, Story, open_story, read_words
from previously.cli.nouns import NewWords, Which, expect_change, make_noun
from previously.story.json_shapes import chapter_json, span_json
from previously.story.thing_name import Thing, ThingKind

if TYPE_CHECKING:
    from previously.core.path import Span
    from previously.memory.in_force import ChapterText, MemoryText

Full = Annotated[bool, typer.Option("--full", help="Show the full forms, not the short ones.")]
Title = Annotated[str, typer.Option("--title", metavar="T", help="What the chapter is called.")]

app: typer.Typer = make_noun(
    "The chapters of a story: list, show, add (a chapter ends here), edit, remove (it ends there no more)."
)


@app.command("list")
def list_chapters(ctx: typer.Context, story: Story, full: Full = False, as_json: AsJson = False) -> None:
    """List the closed chapters of a story: number, title, messages, and each in short."""
    with open_story(ctx, story) as opened:
        closed = opened.chapters()
    if as_json:
        output.emit({"story": story, "chapters": [chapter_json(one) for one in closed]})
        return
    for one in closed:
        print_chapter(one, full=full)
    if not closed:
        close = f"`previously chapters add {output.as_typed(story)} --title TITLE`"
        output.console().print(
            f"No chapter of this story is closed yet: a fold closes them as the story goes on, or you do ({close}).",
            soft_wrap=True,
        )


@app.command("show")
def show(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Show one chapter in full."""
    with open_story(ctx, story) as opened:
        chapter = opened.find_listed(Thing(ThingKind.CHAPTER, which))
    if as_json:
        output.emit({"story": story, **chapter_json(chapter)})
    else:
        print_chapter(chapter, full=True)


@app.command("add", context_settings={"ignore_unknown_options": True})
def add(ctx: typer.Context, story: Story, title: Title = "", at: At = None, as_json: AsJson = False) -> None:
    """Close the chapter with the newest message, or with another; a chapter that ends there gets the title."""
    with open_story(ctx, story) as opened:
        closed = opened.close_chapter(title, -1 if at is None else at)
    if as_json:
        output.emit({"story": story, "chapter": closed.number, "title": closed.title, "span": span_json(closed.span)})
        return
    sentence = "It has its recap." if closed.recap else "The next fold writes its recap."
    output.console().print(f"{output.one_line(closed.name)} is closed ({closed.span}). {sentence}", soft_wrap=True)


@app.command("edit")
def edit(
    ctx: typer.Context,
    story: Story,
    which: Which,
    text: NewWords = None,
    title: Annotated[str | None, typer.Option("--title", metavar="T", help="What the chapter is called.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give a chapter another title, or put your own words in place of its recap."""
    expect_change(text, title)
    with open_story(ctx, story) as opened:
        number = opened.find_listed(Thing(ThingKind.CHAPTER, which)).number
        if text is not None:
            opened.write(f"chapter:{number}", read_words(text))
        if title is not None:
            opened.name_chapter(number, title)
        chapter = opened.chapters()[number - 1]
    output.report({"story": story, **chapter_json(chapter)}, f"{chapter.name} is as you say now.", as_json=as_json)


@app.command("remove")
def remove(ctx: typer.Context, story: Story, which: Which, as_json: AsJson = False) -> None:
    """Let a chapter end no more where it ended: what follows becomes part of it."""
    with open_story(ctx, story) as opened:
        sentence = opened.remove_thing(Thing(ThingKind.CHAPTER, which))
    output.report({"story": story, "removed": f"chapter:{which}"}, sentence, as_json=as_json)


def print_text(name: str, text: MemoryText | None, span: Span | None = None) -> None:
    """Print a text of memory under its name."""
    console = output.console()
    covers = text.told if text else span
    by = f", by {text.made_by}{', stale' if text.stale else ''}" if text else ""
    by += f"; {', '.join(map(str, text.cuts))} told no more" if text and text.cuts else ""
    console.print(f"\n{name} ({covers}{by})", style="bold")
    told = output.printable(text.text) or "Nothing is told there." if text else "Its recap waits to be folded."
    console.print(told)


def print_chapter(one: ChapterText, *, full: bool) -> None:
    """A closed chapter for people: in short where it has a short form, unless all of it is wanted."""
    if full or not one.short or one.recap is None:
        print_text(output.one_line(one.name), one.recap, one.span)
        return
    print_text(output.one_line(one.name), replace(one.recap, text=one.short), one.span)
