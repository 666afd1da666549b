"""`previously export`: a story as files that other programs and people read."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, Story, check_name, open_memory
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from previously.blocking import BlockingMemory
    from previously.story.export import ExportFile

WHOLE = "jsonl"
"""The format that holds everything and can be imported again."""

BINARY = frozenset({"epub"})

DIRECTORY = frozenset({"directory", "folder"})
"""The form that is a directory of files; it was called a folder."""

Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="PATH",
        help="The file or directory to write, in place of one that is there; else it is printed.",
    ),
]


def export(
    ctx: typer.Context,
    story: Story,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="jsonl (everything), sillytavern-chat, openai, anthropic, claude-code, world-info, character-book, "
            "markdown, epub, directory (to read, edit and keep in git).",
        ),
    ],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Write a story to a file: for other programs, for people, or whole, to be imported again."""
    with open_memory(ctx) as memory:
        if to in DIRECTORY:
            _export_directory(memory, story, out, as_json)
            return
        files = _write_whole(memory, story) if to == WHOLE else _write_story(memory, story, to)
        books = _list_attached(memory, story) if files[0].entries is not None else []
    _note_left_out(files, out)
    _note_books(files[0].entries, books, to)
    _deliver(story, to, files, out, as_json)


def export_book(
    ctx: typer.Context,
    book: Annotated[str, typer.Argument(metavar="BOOK", parser=check_name, help="The book, by its name.")],
    to: Annotated[str, typer.Option("--to", metavar="FORM", help="world-info or character-book.")],
    card: Annotated[
        str | None,
        typer.Option("--card", metavar="FILE", help="Write this character card (JSON or PNG) with the book inside."),
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Write a book to a file that SillyTavern and other programs read."""
    from previously.story.export import ExportFile

    given = _read_card(card) if card is not None else None
    with open_memory(ctx) as memory:
        content = memory.export_book(book, to)
    if card is not None and given is not None:
        from previously.formats.write_book import put_into_card

        try:
            content = put_into_card(given, json.loads(content))
        except BadInput as error:
            raise BadInput(f"{output.one_line(card)}: {error}") from None
    _deliver(book, to, [ExportFile(content)], out, as_json, noun="book")


def _export_directory(memory: BlockingMemory, story: str, out: str | None, as_json: bool) -> None:
    """Write a story to a new directory, or bring one that was exported before up to date. Edits in it are not lost."""
    from previously.formats.directory_files import read_directory, write_directory
    from previously.formats.story_directory import RECORD

    if out is None or not out.strip():
        raise BadInput("A directory is written to a place that you name with --out.")
    opened, place = memory.story(story, create=False), Path(out).absolute()
    seen = read_directory(place) if place.exists() else {}
    if RECORD in seen:
        pending = opened.apply(seen, preview=True)
        names = [edit.name for edit in (*pending.applied, *pending.left)]
        if names:
            raise BadInput(
                f"{place} has {output.count_nouns(len(names), 'edit')} that the story does not have "
                f"({', '.join(names[:MOST_NAMED])}); `previously apply` brings them in."
            )
        updated = opened.apply(seen)
        files, gone = updated.files, updated.gone
    else:
        files, gone = {file.path: file.content for file in opened.export("directory")}, ()
        there = next((path for path in files if path in seen), None)
        if there is not None:
            raise BadInput(
                f"{place / there} is there already, and nobody knows what was exported; choose another place."
            )
    changed = write_directory(place, files, seen=seen, gone=gone)
    for path in changed:
        output.note(f"{path} was changed meanwhile and is left as it is.")
    record = {"story": story, "format": "directory", "path": str(place), "branches": [], "files": len(files)}
    sentence = f"Exported {story} to {place}: {output.count_nouns(len(files), 'file')}."
    output.report(record, sentence, as_json=as_json)


MOST_NAMED = 5
"""Edits that are named where there are more: enough to know them again, on one line."""


def _write_story(memory: BlockingMemory, story: str, to: str) -> list[ExportFile]:
    from previously.story.export import EXPORT_FORMATS

    if to not in EXPORT_FORMATS:
        known = ", ".join((WHOLE, *EXPORT_FORMATS))
        raise BadInput(f"There is no format named {to!r} to export to; use one of {known}.")
    return memory.story(story, create=False).export(to)


def _write_whole(memory: BlockingMemory, story: str) -> list[ExportFile]:
    from previously.story.export import ExportFile

    with tempfile.TemporaryDirectory(prefix="previously-") as place:
        path = Path(place) / "story.jsonl"
        memory.write_story_file(story, path)
        return [ExportFile(path.read_bytes())]


def _read_card(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise BadInput(f"{path}: the card cannot be read ({reason}).") from None


def _note_left_out(files: list[ExportFile], out: str | None) -> None:
    if files[0].left_out:
        them = "it" if files[0].left_out == 1 else "them"
        output.note(
            f"Left out {output.count_nouns(files[0].left_out, 'hidden message')}: the format has no place for {them}."
        )
    if files[0].turns != files[0].messages:
        output.note(
            f"{output.count_nouns(files[0].messages, 'message')} became {output.count_nouns(files[0].turns, 'turn')}: "
            "in this format the user begins and roles alternate. No words are left out."
        )
    if out is None and len(files) > 1:
        others = output.count_nouns(len(files) - 1, "other branch")
        output.note(f"Only the active branch is printed; with --out {others} are files beside it.")


def _list_attached(memory: BlockingMemory, story: str) -> list[str]:
    shared = {one.name for one in memory.shared()}
    return [book for book in memory.story(story, create=False).attached_books() if book not in shared]


def _note_books(entries: int | None, books: Sequence[str], to: str) -> None:
    if entries is None:
        return
    output.note(f"{output.count_nouns(entries, 'entry')} of the story's own lore.")
    for book in books:
        command = f"previously lore export {output.as_typed(book)} --to {to}"
        output.note(f"The attached book {book} is not in it: `{command}` writes it.")


def _deliver(
    name: str, to: str, files: list[ExportFile], out: str | None, as_json: bool, *, noun: str = "story"
) -> None:
    """Write the files, or print the first."""
    if out is None:
        if to in BINARY or b"\0" in files[0].content[:1_000]:
            raise BadInput("This is no text: name a file with --out.")
        text = files[0].content.decode()
        if as_json:
            output.emit({noun: name, "format": to, "path": None, "content": text})
        else:
            output.write_data(text.removesuffix("\n"))
        return
    from previously.formats.write_file import write_atomically

    if not out.strip() or Path(out).is_dir():
        raise BadInput(f"--out names a file, and {out!r} is none.")
    path = Path(out).absolute()
    paths = [path.with_name(name) for name in _name_files(path, [file.branch for file in files])]
    for place, file in zip(paths, files, strict=True):
        write_atomically(place, [file.content])
    record = {noun: name, "format": to, "path": str(path), "branches": [str(place) for place in paths[1:]]}
    beside = f", and {output.count_nouns(len(paths) - 1, 'branch')} beside it" if paths[1:] else ""
    output.report(record, f"Exported {name} as {to}: {path}{beside}.", as_json=as_json)


LONGEST_NAME = 60
"""Characters of a branch's name in that of its file: 180 bytes in Chinese, of the 255 that the whole name may have."""


def _name_files(path: Path, branches: Sequence[str]) -> list[str]:
    """Return the names of the files of branches, without what no file can be named; no two are the same anywhere."""
    names: dict[str, str] = {}
    for branch in branches:
        safe = "".join(char if char.isalnum() or char in " ._-#()" else "_" for char in branch)[:LONGEST_NAME]
        wished = f"{path.stem} - {safe}" if branch else path.stem
        free = (wished if number == 1 else f"{wished} ({number})" for number in count(1))
        name = next(one for one in free if one.casefold() not in names)  # some disks do not tell A from a
        names[name.casefold()] = f"{name}{path.suffix}"
    return list(names.values())
