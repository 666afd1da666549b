"""The command `import`: files of other programs as stories, books and memory.

Files that are named are all read before anything is written. Of a directory each file is taken by itself: what cannot
be read is named and left, and the rest comes in.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli import output
from previously.cli.arguments import AsJson, check_name, open_memory, parse_stretch
from previously.cli.transcript import note_replaced
from previously.core.errors import BadInput, UnknownStory
from previously.core.exact_names import check_new_name
from previously.story.json_results import intake_json

if TYPE_CHECKING:
    from previously.blocking import BlockingMemory
    from previously.formats.files import StorySource
    from previously.story.intake import Intake

_MEMORY_COUNTS = ("found", "added", "updated")
_COUNTS = ("added", "updated", "removed", "unchanged")

MOST_LEFT = 5
"""Memories that were left out and are named: more would not be read."""


@dataclass(frozen=True, slots=True)
class _Options:
    """The options that hold for all files."""

    story: str | None
    format: str | None
    user: str | None
    span: tuple[int, int] | None
    dry_run: bool


def import_files(
    ctx: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Files, or directories of them.")],
    story: Annotated[
        str | None,
        typer.Option("--story", metavar="NAME", parser=check_name, help="The story's name; else the file's."),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="F", help="The file's format; else it is recognised.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="N", help="The user's name, in plain texts and for {{user}} in cards."),
    ] = None,
    span: Annotated[
        str | None, typer.Option("--span", metavar="FIRST-LAST", help="The messages that a scene memory is about.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change; write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import files as stories, or bring stories up to date."""
    options = _Options(story, file_format, user, None if span is None else parse_stretch(span), dry_run)
    results: list[dict[str, Any]] = []
    try:
        _import_all(ctx, files, options, results, as_json=as_json)
    except KeyboardInterrupt as error:
        done = _list_done(results)
        rest = f"{done} came in, the rest did not" if done else "nothing was imported"
        if error.args:
            rest = f"{output.one_line(error.args[0])} may have its file whole, or nothing of it; import it again"
        output.complain(f"Interrupted: {rest}.")
        raise


def _list_done(results: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(output.one_line(str(one.get("story", one.get("book")))) for one in results)


def _import_all(
    ctx: typer.Context, files: Sequence[str], options: _Options, results: list[dict[str, Any]], *, as_json: bool
) -> None:
    listed = _list_files(files, options)
    names = _name_stories(listed, options)
    # Files that are named are all read before anything is written.
    read = {file: _read(file, options) for file, of_directory in listed if not of_directory}
    if len(read) > 1:  # a large file is read as it is taken in, so here it is only looked through
        for source in read.values():
            deque((source.stream if source else None) or (), maxlen=0)
    failed: list[dict[str, str]] = []
    gc.freeze()  # all that was loaded stays: to look through it again and again would take a tenth of the time
    with open_memory(ctx) as memory, output.progress("Importing") as progress:
        known = {info.name for info in memory.stories()}
        for file, source in read.items():
            _check_names(file, names[file], source, options, known)
        for number, (file, _) in enumerate(listed):
            progress(number, len(listed))
            try:
                source = read[file] if file in read else _read(file, options)
                results += _import_file(memory, file, names[file], source, options)
            except BadInput as error:
                if file in read:
                    done = _list_done(results)
                    raise BadInput(f"{error} Before that, {done} came in.") if done else error from None
                failed.append({"file": str(file), "reason": str(error)})
                output.complain(str(error))
    _report(results, failed, options, as_json=as_json)
    if failed:
        raise typer.Exit(1)


def _list_files(files: Sequence[str], options: _Options) -> list[tuple[Path, bool]]:
    """Return the files to import, each with whether it was found in a directory."""
    from previously.formats.detect_format import SUFFIXES, is_story_directory

    listed: list[tuple[Path, bool]] = []
    for given in files:
        path = Path(given)
        if not path.is_dir() or options.format is not None or is_story_directory(path):
            listed.append((path, False))
            continue
        inside = list(_walk(path, SUFFIXES))
        if not inside:
            raise BadInput(f"{output.one_line(given)}: there are no files to import in this directory.")
        listed += [(file, True) for file in inside]
    return list(dict(listed).items())


def _walk(folder: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    """Yield the files of a directory that may hold something, in the order of their names; links are not followed."""
    from previously.formats.detect_format import is_story_directory

    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir() and not is_story_directory(path):
            yield from _walk(path, suffixes)
        elif path.is_dir() or path.suffix.lower() in suffixes:
            yield path


def _name_stories(listed: Sequence[tuple[Path, bool]], options: _Options) -> dict[Path, str]:
    files = [file for file, _ in listed]
    if options.story is not None:
        if len(files) > 1:
            inside = "the directory holds" if any(of_directory for _, of_directory in listed) else "files are given:"
            raise BadInput(f"--story names one story, but {inside} {len(files)} files.")
        return {files[0]: options.story}
    stems: dict[str, list[Path]] = {}
    for file in files:
        stems.setdefault(file.stem, []).append(file)
    named = {file for file, of_directory in listed if not of_directory}
    names: dict[Path, str] = {}
    for alike in stems.values():
        for file, its_name in zip(alike, _tell_apart(alike), strict=True):
            names[file] = file.stem if file in named else its_name
    owners: dict[str, Path] = {}
    for file, its_name in names.items():
        other = owners.setdefault(its_name, file)
        if other != file:
            both = f"{output.one_line(str(other))} and {output.one_line(str(file))}"
            raise BadInput(f"{both} would both become the story {its_name!r}; import them one by one with --story.")
    return names


def _tell_apart(files: Sequence[Path]) -> list[str]:
    """Return names for files of one name: with their directories, their endings, or both, as far as it is needed."""
    places = [file.absolute().parent.name for file in files]
    if len(files) == 1:
        return [files[0].stem]
    if len(set(places)) == len(files):
        return [f"{place} {file.stem}" for place, file in zip(places, files, strict=True)]
    if len({file.name for file in files}) == len(files):
        return [file.name for file in files]
    return [f"{place} {file.name}" for place, file in zip(places, files, strict=True)]


def _read(file: Path, options: _Options) -> StorySource | None:
    """Return what a file holds; None for a whole story of ours, which is read as it is taken in."""
    from previously.formats import open_story
    from previously.storage.story_file import is_story_file

    if options.format is None and is_story_file(file):
        return None
    source = open_story(file, options.format, user=options.user)
    if options.span is None:
        return source
    if not source.memories or source.drafts or source.stream:
        raise BadInput(f"{output.one_line(str(file))}: --span is for memories alone, and this file holds messages.")
    return source.place_memories(*options.span)


def _import_file(
    memory: BlockingMemory, file: Path, story: str, source: StorySource | None, options: _Options
) -> list[dict[str, Any]]:
    from previously.formats.lore_files import NAME as BOOK

    if source is None:
        return [_take_in_whole(memory, file, options)]
    if source.format == BOOK and options.story is None:
        return [_keep_book(memory, file, book.name, book.given, options) for book in source.books]
    from previously.story.intake import list_stories

    results = []
    known = {info.name for info in memory.stories()}  # asked once: an export holds thousands
    for its_name, its_source in list_stories(options.story, story, source):
        if options.story is None and its_name not in known:
            _check_name(file, its_name)
        if options.dry_run:
            intake = _preview(memory, its_name, its_source)
        else:
            intake = _take_in(memory, its_name, its_source, is_new=its_name not in known)
        results.append(intake_json(its_name, its_source, intake))
    return results


def _check_names(file: Path, name: str, source: StorySource | None, options: _Options, known: Collection[str]) -> None:
    """Refuse a file of whose name no story can be called, before anything of other files is written. Of those that are
    read as they come in, the first conversation stands for all: titles are cut."""
    from previously.formats.lore_files import NAME as BOOK
    from previously.story.intake import list_stories

    if source is None or source.format == BOOK or options.story is not None:
        return
    held = None if source.stories is None else 1
    for its_name, _ in islice(list_stories(None, name, source), held):
        if its_name not in known:
            _check_name(file, its_name)


def _check_name(file: Path, name: str) -> None:
    """Refuse a file of whose name no new story can be called, and say how to give it another."""
    try:
        check_new_name("A story", name)
    except BadInput as error:
        told = f"{output.one_line(str(file))} cannot give its story a name"
        raise BadInput(f"{told}; import it by itself with --story NAME. {error}") from None


def _take_in(memory: BlockingMemory, story: str, source: StorySource, *, is_new: bool) -> Intake:
    try:
        intake = memory.story(story).take_in(source)
    except (BadInput, KeyboardInterrupt) as error:
        # A fault in the middle of a large file, or Ctrl-C: there is no story of it.
        if is_new and story in {info.name for info in memory.stories()}:
            memory.forget(story, backups=False)
        if isinstance(error, KeyboardInterrupt) and not is_new:
            raise KeyboardInterrupt(story) from None  # what the store had begun it may have ended
        raise
    note_replaced(source.replaced + intake.changes.replaced_characters)
    _note_skipped(story, source.skipped)
    if source.opening and not is_new and not intake.changes.added:
        output.note(f"{story} has messages already: a card opens a story, so nothing but its book is taken from it.")
    left = intake.memories.left
    for sentence in left[:MOST_LEFT]:
        output.note(f"{story}: left out a memory of {sentence}.")
    if len(left) > MOST_LEFT:
        output.note(f"{story}: left out {len(left) - MOST_LEFT:,} more memories.")
    for book in intake.books:
        if book.status == "kept":
            output.note(f"{story}: the book {book.name} was changed since, so it stays as it is.")
    return intake


def _preview(memory: BlockingMemory, story: str, source: StorySource) -> Intake:
    from previously.story.intake import preview_new

    try:
        return memory.story(story, create=False).preview(source)
    except UnknownStory:
        return preview_new(source, story)


def _take_in_whole(memory: BlockingMemory, file: Path, options: _Options) -> dict[str, Any]:
    """Take in a story that `export --to jsonl` wrote, with all its memory."""
    from previously.storage.story_file import read_first_line

    if options.dry_run:
        about = read_first_line(file)
        story, messages = options.story or about.story, about.messages
        is_new = story not in {info.name for info in memory.stories()}
    else:
        copied = memory.read_story_file(file, name=options.story)
        story, messages, is_new = copied.story, copied.messages, copied.status == "restored"
    counts = dict.fromkeys(_COUNTS, 0) | {"added" if is_new else "unchanged": messages}
    return {"story": story, **counts, "format": "previously", "branches": [], "skipped": {}}


def _keep_book(memory: BlockingMemory, file: Path, name: str, given: object, options: _Options) -> dict[str, Any]:
    """Keep a book that is no part of a story, in place of the one of that name."""
    from previously.cli.books import describe_change

    try:
        kept = memory.keep_book(name, given, preview=options.dry_run)
    except BadInput as error:
        raise BadInput(f"{output.one_line(str(file))}: {error}") from None
    record = {"book": name, "entries": len(kept.entries), "status": kept.status, "format": "book"}
    return record | {"changes": [describe_change(change) for change in kept.changes]}


def _report(
    results: Sequence[Mapping[str, Any]], failed: Sequence[Mapping[str, str]], options: _Options, *, as_json: bool
) -> None:
    if as_json:
        alone = len(results) == 1 and not failed
        record: dict[str, Any] = dict(results[0]) if alone else {"stories": list(results)}
        record |= {"failed": list(failed)} if failed else {}
        output.emit(record | ({"dry_run": True} if options.dry_run else {}))
        return
    console = output.console()
    for result in results:
        console.print(_summarize(result), soft_wrap=True)
        if result.get("changes"):
            from previously.cli.books import print_changes

            print_changes(result["changes"])
    if options.dry_run:
        output.note("Nothing was written.")


def _summarize(result: Mapping[str, Any]) -> str:
    from previously.formats.lore_files import NAME as BOOK

    if "book" in result:
        entries = output.count_nouns(result["entries"], "entry")
        return f"The book {output.one_line(result['book'])}: {result['status']}, {entries}."
    told = result.get("memories", {})
    memories = [f"{output.count_nouns(told[word], 'memory')} {word}" for word in _MEMORY_COUNTS if told.get(word)]
    if result["format"] == BOOK and result.get("books"):
        sentences = [
            f"The book {output.one_line(book['book'])}: {book['status']}, "
            f"{output.count_nouns(book['entries'], 'entry')}, attached to {output.one_line(result['story'])}."
            for book in result["books"]
        ]
        return " ".join([*sentences, *([", ".join(memories) + "."] if memories else [])])
    counts = ", ".join(f"{result[what]:,} {what}" for what in _COUNTS)
    beside = f", {output.count_nouns(len(result['branches']), 'branch')}" if result["branches"] else ""
    beside += "".join(f", {memory}" for memory in memories)
    beside += "".join(
        f", the book {output.one_line(book['book'])} {book['status']}" for book in result.get("books", ())
    )
    return f"{output.one_line(result['story'])}: {counts} ({result['format']}{beside})."


def _note_skipped(story: str, skipped: Mapping[str, int]) -> None:
    if skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(skipped.items(), key=lambda one: -one[1]))
        lines = output.count_nouns(sum(skipped.values()), "line")
        output.note(f"{story}: skipped {lines} without a message ({kinds}).")
