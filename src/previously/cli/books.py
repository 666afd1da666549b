"""The commands about books: sets of lore that are yours and can be attached to any story of yours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, check_name, open_memory, open_story, read_words
from previously.cli.forget import confirm_forgetting
from previously.cli.nouns import make_noun
from previously.core.errors import BadInput
from previously.lore.book_changes import WHOLE_ENTRY
from previously.lore.entry import CharacterFilter

if TYPE_CHECKING:
    from previously.lore.books import BookChange
    from previously.lore.entry import KeyedEntry

MOST_TOLD = 20
"""Entries with problems that are listed by name: a screenful; the rest are counted."""

BookName = Annotated[str, typer.Argument(metavar="BOOK", parser=check_name, help="The book, by its name.")]


app: typer.Typer = make_noun("Sets of lore that any story can use: list, show, add, edit, remove, attach, detach.")


@app.command("list")
def list_books(
    ctx: typer.Context,
    story: Annotated[
        str | None,
        typer.Argument(metavar="STORY", parser=check_name, help="Only the books attached to this story; else all."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List your books, or those of one story."""
    from previously.cli.terminal import report_table
    from previously.story.json_shapes import book_json

    with open_memory(ctx) as memory:
        attached = None if story is None else memory.story(story, create=False).attached_books()
        books = [(info, memory.book(info.name)) for info in memory.books() if attached is None or info.name in attached]
    listed = [book_json(info, entries) for info, entries in books]
    nothing = (
        "There are no books yet; `previously books add FILE` brings one in."
        if story is None
        else f"{story} has no books; `previously books attach {output.as_typed(story)} BOOK` gives it one."
    )
    rows = [(one["book"], one["entries"], one["with_problems"], one["at"][:16].replace("T", " ")) for one in listed]
    columns, left = ("book", "entries", "with problems", "kept (UTC)"), ("book", "kept (UTC)")
    report_table({"books": listed}, columns, rows, left=left, nothing=nothing, as_json=as_json)


@app.command("show")
def show(ctx: typer.Context, book: BookName, as_json: AsJson = False) -> None:
    """Show the entries of a book, and what is wrong with them."""
    with open_memory(ctx) as memory:
        entries = memory.book(book)
    if as_json:
        rows = [
            {
                "name": one.name,
                "type": one.type,
                "keywords": list(one.keys),
                "content": one.content,
                "problems": problems,
            }
            for one, problems in entries
        ]
        output.emit({"book": book, "entries": rows})
        return
    from previously.cli.terminal import print_texts, shorten

    rows_shown = [
        (one.name or one.uid, ", ".join(one.keys), shorten(one.content), " ".join(problems))
        for one, problems in entries
    ]
    print_texts(("entry", "keywords", "content", "problems"), rows_shown)


@app.command("add")
def import_book(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="World Info, a character book or card, or a list.")],
    book: Annotated[
        str | None,
        typer.Option("--book", metavar="BOOK", parser=check_name, help="What it is called; else as the file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a file as a book, in place of the book of that name."""
    from previously.formats.lore_files import read_book_file

    called = book or check_name(Path(file).stem)
    given = read_book_file(Path(file))
    with open_memory(ctx) as memory:
        replaced = called in [one.name for one in memory.books()]
        try:
            changes = memory.keep_book(called, given).changes
        except BadInput as error:
            raise BadInput(f"{output.one_line(file)}: {error}") from None
        entries = memory.book(called)
    unsound = [(entry, problems) for entry, problems in entries if problems]
    if as_json:
        problems_json = [{"entry": entry.name, "uid": entry.uid, "problems": problems} for entry, problems in unsound]
        record = {"book": called, "entries": len(entries), "replaced": replaced, "problems": problems_json}
        output.emit(record | {"changes": [describe_change(change) for change in changes]})
        return
    _print_imported(called, len(entries), unsound, replaced=replaced)
    if replaced:
        told = f"{output.count_nouns(len(changes), 'change')} since." if changes else "Nothing has changed since."
        output.console().print(told)
    print_changes([describe_change(change) for change in changes])


@app.command("edit")
def edit(
    ctx: typer.Context,
    book: BookName,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", parser=check_name, help="The entry, by its name or uid.")],
    name: Annotated[str | None, typer.Option("--name", metavar="N", help="Another name.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="T", help="What it says; - reads it from standard input.")
    ] = None,
    keywords: Annotated[
        list[str] | None, typer.Option("--keyword", metavar="K", help="A word that brings it up; repeatable.")
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Any other field: order=50, constant=true; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change fields of one entry of a book. Everything else in the book stays as it is."""
    values: dict[str, object] = {"name": name, "content": None if text is None else read_words(text), "keys": keywords}
    values = {field: value for field, value in values.items() if value is not None} | _parse_fields(fields or ())
    if not values:
        raise BadInput("There is nothing to change: give --name, --text, --keyword or --set.")
    with open_memory(ctx) as memory:
        edited = memory.edit_book(book, entry, **values)
    record = {"book": book, "edited": edited.name, "uid": edited.uid, "fields": list(values)}
    output.report(record, f"{edited.name} of {book} has a new {', '.join(values)}.", as_json=as_json)


def _parse_fields(given: Sequence[str]) -> dict[str, object]:
    """Return the values of `field=value`: numbers, true and false and lists as JSON has them, all else as text."""
    values: dict[str, object] = {}
    for assignment in given:
        field, equals, value = assignment.partition("=")
        if not equals or not field.strip():
            raise BadInput(f"--set takes FIELD=VALUE, not {assignment!r}.")
        try:
            values[field.strip()] = json.loads(value)
        except ValueError:
            values[field.strip()] = value
    return values


@app.command("attach")
def attach(ctx: typer.Context, story: Story, book: BookName, as_json: AsJson = False) -> None:
    """Let the entries of a book come up in a story."""
    with open_story(ctx, story) as opened:
        opened.attach_book(book)
        attached = opened.attached_books()
    _report_attached(story, "attached", book, attached, f"{book} is attached to {story}.", as_json)


@app.command("detach")
def detach(ctx: typer.Context, story: Story, book: BookName, as_json: AsJson = False) -> None:
    """Let them come up there no more. The book stays."""
    with open_story(ctx, story) as opened:
        opened.detach_book(book)
        attached = opened.attached_books()
    _report_attached(story, "detached", book, attached, f"{book} is not attached to {story} any more.", as_json)


@app.command("remove")
def remove(
    ctx: typer.Context,
    book: BookName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Destroy a book. There is no way back."""
    with open_memory(ctx) as memory:
        entries = len(memory.book(book))
        if not yes:
            _ask(book, entries)
        memory.forget_book(book)
    output.report({"forgotten": book, "entries": entries}, f"Forgot the book {output.one_line(book)}.", as_json=as_json)


def _ask(book: str, entries: int) -> None:
    output.note(f"The book {book} goes, {output.count_nouns(entries, 'entry')}, from every story it is attached to.")
    confirm_forgetting()


def _print_imported(called: str, count: int, unsound: list[tuple[KeyedEntry, list[str]]], *, replaced: bool) -> None:
    console = output.console()
    instead = ", in place of the one before" if replaced else ""
    console.print(
        f"{output.one_line(called)}: {output.count_nouns(count, 'entry')}{instead}. "
        f"`previously books attach STORY {output.one_line(called)}` lets them come up in a story.",
        soft_wrap=True,
    )
    for entry, problems in unsound[:MOST_TOLD]:
        console.print(
            f"  {output.one_line(entry.name or entry.uid)}: {output.one_line(' '.join(problems))}", soft_wrap=True
        )
    if len(unsound) > MOST_TOLD:
        console.print(f"  … and {len(unsound) - MOST_TOLD:,} more with problems.")


def describe_change(change: BookChange) -> dict[str, object]:
    """Return a change as JSON has it."""
    values = {"entry": change.entry, "uid": change.uid, "field": change.field}
    return {**values, "before": _as_plain(change.before), "after": _as_plain(change.after)}


def _as_plain(value: object) -> object:
    return asdict(value) if isinstance(value, CharacterFilter) else value


def print_changes(changes: Sequence[Mapping[str, object]]) -> None:
    """Print what a book says otherwise than the one before, entry by entry."""
    console = output.console()
    for change in changes[:MOST_TOLD]:
        told = f"{change['field']}: {_show_value(change['before'])} → {_show_value(change['after'])}"
        if change["field"] == WHOLE_ENTRY:
            told = "new" if change["before"] is None else "gone"
        console.print(f"  {output.one_line(str(change['entry']))}: {output.one_line(told)}", soft_wrap=True)
    if len(changes) > MOST_TOLD:
        console.print(f"  … and {len(changes) - MOST_TOLD:,} more.")


def _show_value(value: object) -> str:
    from previously.cli.terminal import shorten

    words = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return shorten(words) or "nothing"


def _report_attached(story: str, verb: str, book: str, attached: list[str], sentence: str, as_json: bool) -> None:
    output.report({"story": story, verb: book, "books": attached}, sentence, as_json=as_json)
