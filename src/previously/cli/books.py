"""The commands about books: sets of lore that are yours and can be attached to any story of yours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, check_name, open_memory
from previously.cli.export import export_book
from previously.cli.forget import confirm_forgetting
from previously.cli.nouns import make_noun
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.lore.entry import KeyedEntry

MOST_TOLD = 20
"""Entries with problems that are listed by name: a screenful; the rest are counted."""

BookName = Annotated[str, typer.Argument(metavar="BOOK", parser=check_name, help="The book, by its name.")]


app: typer.Typer = make_noun("Sets of lore that any story can use: list, show, add, remove, attach, detach, export.")


@app.command("list")
def list_books(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List your books."""
    with open_memory(ctx) as memory:
        books = [(info, memory.book(info.name)) for info in memory.books()]
    if as_json:
        output.emit(
            {
                "books": [
                    {
                        "book": info.name,
                        "entries": len(entries),
                        "with_problems": sum(bool(problems) for _, problems in entries),
                        "size_bytes": info.size,
                        "at": info.at,
                    }
                    for info, entries in books
                ]
            }
        )
        return
    if not books:
        output.console().print("There are no books yet; `previously books add FILE` brings one in.")
        return
    from previously.cli.terminal import make_table

    rows = [
        (info.name, len(entries), sum(bool(problems) for _, problems in entries), info.at[:16].replace("T", " "))
        for info, entries in books
    ]
    output.console().print(
        make_table(("book", "entries", "with problems", "kept (UTC)"), rows, left=("book", "kept (UTC)"))
    )


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
    from previously.cli.terminal import make_table, shorten

    rows_shown = [
        (one.name or one.uid, ", ".join(one.keys), shorten(one.content), " ".join(problems))
        for one, problems in entries
    ]
    columns = ("entry", "keywords", "content", "problems")
    output.console().print(make_table(columns, rows_shown, left=columns))


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
    from previously.core.json_values import parse_json
    from previously.formats.files import open_document

    called = book or check_name(Path(file).stem)
    with open_document(Path(file)) as document:
        try:
            given = parse_json(document.text(), "file")
        except BadInput as error:
            raise document.fault(error) from None
    with open_memory(ctx) as memory:
        replaced = called in [one.name for one in memory.books()]
        try:
            memory.keep_book(called, given)
        except BadInput as error:
            raise BadInput(f"{output.one_line(file)}: {error}") from None
        entries = memory.book(called)
    unsound = [(entry, problems) for entry, problems in entries if problems]
    if as_json:
        problems_json = [{"entry": entry.name, "uid": entry.uid, "problems": problems} for entry, problems in unsound]
        output.emit({"book": called, "entries": len(entries), "replaced": replaced, "problems": problems_json})
        return
    _print_imported(called, len(entries), unsound, replaced=replaced)


@app.command("attach")
def attach(ctx: typer.Context, story: Story, book: BookName, as_json: AsJson = False) -> None:
    """Let the entries of a book come up in a story."""
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
        opened.attach_book(book)
        attached = opened.attached_books()
    _report_attached(story, "attached", book, attached, f"{book} is attached to {story}.", as_json)


@app.command("detach")
def detach(ctx: typer.Context, story: Story, book: BookName, as_json: AsJson = False) -> None:
    """Let them come up there no more. The book stays."""
    with open_memory(ctx) as memory:
        opened = memory.story(story, create=False)
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


app.command("export")(export_book)


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


def _report_attached(story: str, verb: str, book: str, attached: list[str], sentence: str, as_json: bool) -> None:
    output.report({"story": story, verb: book, "books": attached}, sentence, as_json=as_json)
