"""A story from a file: its messages and branches, the books that came with it, and what others remembered of it.

Importing the same file twice changes nothing. A file is the whole conversation, so what it no longer has goes from the
path; only an opening (a character card) leaves a story that has gone on as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count, islice
from typing import Any

from previously.core.deed import Deed, DeedKind
from previously.core.errors import BadInput
from previously.core.json_values import clean_json
from previously.core.messages import Attributes, Draft, message
from previously.core.path import Span
from previously.core.scene import NO_MESSAGES, SpanMemory
from previously.formats.files import DraftStream, SourceBook, StorySource, StreamedBranch
from previously.formats.lore_files import has_other_entries
from previously.recognition.choose_story import BOOKS, parse_header
from previously.runtime.clock import time_at
from previously.runtime.note_deed import add_deed
from previously.runtime.story_moment import StoryMoment
from previously.storage.store import MAIN
from previously.storage.tables import Tables
from previously.storage.tables.books import Book
from previously.story.access import StoryAccess
from previously.story.file_branches import has_same_beginning, make_branch
from previously.story.follow_stream import follow_stream
from previously.story.memory_intake import NO_MEMORIES, MemoryIntake, find_scene, take_in_memories
from previously.story.transcript import Changes, Transcript

SCENE_MEMORY = "scene_memory"
"""The key in `extra` of a message that a scene memory brought along."""


@dataclass(frozen=True, slots=True)
class BookIntake:
    """A book that came with a file."""

    name: str
    entries: int
    status: str
    """`added`, `updated`, `unchanged`, or `kept`: a person has changed it since, so it stays as it is."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The changes that a file made, or would make."""

    changes: Changes
    branches: tuple[str, ...] = ()
    books: tuple[BookIntake, ...] = ()
    memories: MemoryIntake = NO_MEMORIES


class StoryIntake:
    """Takes files into one story."""

    def __init__(self, access: StoryAccess, name: str, transcript: Transcript) -> None:
        self._access = access
        self._name = name
        self._transcript = transcript

    async def take_in(self, source: StorySource) -> Intake:
        """Bring the story to what a file holds (see `read_story`); only what differs changes.

        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from previously import BlockingMemory, read_story
        >>> with TemporaryDirectory() as folder, BlockingMemory(":memory:") as memory:
        ...     file = Path(folder) / "ferry.txt"
        ...     _ = file.write_text("Wren: Is the ferry in?\\n\\nOdalys: Not yet.")
        ...     memory.story("ferry").take_in(read_story(file)).changes.added
        2
        """
        placed = await self._place_memories(source.memories)
        if source.stream is not None:
            changes = await self._follow_stream(source, source.stream)
            placed += [(memory, None) for memory in source.stream.memories]
        else:
            changes = await self._follow(source)
        if any(draft for _, draft in placed):
            added = [draft for _, draft in placed if draft]
            await self._transcript.add_drafts(added, undoable=True)
            changes = replace(changes, added=changes.added + len(added))
        books = await self._take_in_books(source, alone=not (changes.added or changes.updated or changes.removed))
        memories = NO_MEMORIES
        if placed:
            given = [memory for memory, _ in placed]
            memories = await self._access.change(lambda change: take_in_memories(change, given))
        return Intake(changes, _list_branches(source), books, memories)

    async def _place_memories(self, memories: Sequence[SpanMemory]) -> list[tuple[SpanMemory, Draft | None]]:
        """Return memories with the messages they are about. In a story that is made of scene memories alone, one that
        names none brings its own message: its summary."""
        if all(memory.first != NO_MESSAGES for memory in memories):
            return [(memory, None) for memory in memories]

        def read(moment: StoryMoment) -> tuple[list[Span | None], int]:
            snapshot = moment.snapshot
            spans = [find_scene(snapshot, memory.scene) if memory.scene else None for memory in memories]
            path = snapshot.path(0, snapshot.messages - 1) if None in spans and snapshot.messages else []
            if any(SCENE_MEMORY not in item.entry.attributes.extra for item in path):
                raise BadInput(
                    "A scene memory does not say which messages it is about, and this story has some: name them with "
                    "--span FIRST-LAST."
                )
            return spans, snapshot.messages

        spans, messages = await self._access.read(read)
        placed: list[tuple[SpanMemory, Draft | None]] = []
        for memory, span in zip(memories, spans, strict=True):
            if memory.first != NO_MESSAGES:
                placed.append((memory, None))
            elif span:
                placed.append((replace(memory, first=span.first, last=span.last), None))
            else:
                said = Draft(message("assistant", memory.text), Attributes(extra={SCENE_MEMORY: True}))
                placed.append((replace(memory, first=messages, last=messages), said))
                messages += 1
        return placed

    async def preview(self, source: StorySource) -> Intake:
        """Return what `take_in` would add, change and remove; nothing is written."""
        source = hold_stream(source)
        active = (await self._transcript.branch_info()).name
        beside = _choose_branch(source, active)
        every = [await self._preview(source, beside)] if source.drafts else []
        there = {branch.name for branch in await self._transcript.branches()}
        for branch in source.branches:
            path = [*source.drafts[: branch.at], *branch.drafts]
            if branch.name in there:
                changes = await self._transcript.compare(path, on=branch.name)
                every.append(replace(changes, unchanged=changes.unchanged - branch.at))
            else:
                every.append(Changes(len(branch.drafts), 0, 0, 0))
        if any(memory.first == NO_MESSAGES for memory in source.memories):
            added = sum(draft is not None for _, draft in await self._place_memories(source.memories))
            every.append(Changes(added, 0, 0, 0))
        books = await self._preview_books(source)
        return Intake(_add_up(every), _list_branches(source), books, _count_found(source))

    async def _preview_books(self, source: StorySource) -> tuple[BookIntake, ...]:
        if not source.books:
            return ()
        key = self._access.key

        def read(tables: Tables) -> tuple[BookIntake, ...]:
            digests = _find_digests(parse_header(tables.stories.kept(key, "header")))
            return tuple(self._judge_book(tables, book, digests)[0] for book in source.books)

        return await self._access.store.read(key.owner, read)

    async def _preview(self, source: StorySource, on: str) -> Changes:
        messages = (await self._transcript.branch_info()).messages
        if source.opening and messages:
            return Changes(0, 0, 0, messages)
        return await self._transcript.compare(source.drafts, on=on)

    async def _follow(self, source: StorySource) -> Changes:
        branch = await self._transcript.branch_info()
        if source.opening and branch.messages:
            return Changes(0, 0, 0, branch.messages)
        every: list[Changes] = []
        if source.drafts:
            beside, header = _choose_branch(source, branch.name), source.header
            every.append(await self._transcript.follow(source.drafts, on=beside, undoable=True, header=header))
            for other in source.branches:
                path = [*source.drafts[: other.at], *other.drafts]
                changes = await self._transcript.follow_branch(other.name, path, beside=beside, shared=other.at)
                every.append(replace(changes, unchanged=changes.unchanged - other.at))
        elif source.header:
            await self._transcript.keep_header(source.header)
        return _add_up(every)

    async def _follow_stream(self, source: StorySource, stream: DraftStream) -> Changes:
        beside = _choose_branch(source, (await self._transcript.branch_info()).name)
        header = source.header
        changes = await follow_stream(self._access, stream, beside, undoable=True, header=header)
        if changes is None:  # something in the middle differs: that takes all of it
            changes = await self._transcript.follow(list(stream), on=beside, undoable=True, header=header)
        every = [replace(changes, replaced_characters=stream.replaced)]
        for branch in stream.branches:
            every.append(await self._follow_branch(stream, branch, branch.find_at(), beside))
        return _add_up(every)

    async def _follow_branch(self, main: DraftStream, branch: StreamedBranch, at: int, beside: str) -> Changes:
        await make_branch(self._access, branch.name, beside=beside, shared=at)
        if await has_same_beginning(self._access, branch.name, beside, at):
            changes = await follow_stream(self._access, branch.stream, branch.name, behind=at)
            if changes is not None:
                return changes
        path = [*islice(main, at), *branch.stream]
        changes = await self._transcript.follow(path, on=branch.name)
        return replace(changes, unchanged=changes.unchanged - at)

    async def _take_in_books(self, source: StorySource, *, alone: bool) -> tuple[BookIntake, ...]:
        """Keep the books of a file; where they came `alone`, attaching them is a deed of its own, else part of the
        import."""
        if not source.books:
            return ()
        key = self._access.key

        def write(tables: Tables) -> tuple[BookIntake, ...]:
            header = parse_header(tables.stories.kept(key, "header"))
            digests = _find_digests(header)
            books = tuple(self._take_in_book(tables, book, digests, alone=alone) for book in source.books)
            header[BOOKS] = digests
            tables.stories.keep(key, "header", json.dumps(header, ensure_ascii=False))
            return books

        return await self._access.store.write(key, write)

    def _take_in_book(self, tables: Tables, given: SourceBook, digests: dict[str, Any], *, alone: bool) -> BookIntake:
        """Keep a book under its name, or the next that is free. What a person changed in it since stays."""
        key, body = self._access.key, _write_body(given)
        judged, attaches = self._judge_book(tables, given, digests)
        if judged.status == "kept":
            return judged
        there = tables.books.get(key.owner, judged.name)
        if there is None or there.body != body:
            tables.books.keep(key.owner, Book(judged.name, body, time_at()))
        if attaches:
            tables.books.attach(key, judged.name)
            if alone:
                add_deed(tables, key, Deed(DeedKind.ATTACHED, what=judged.name))
        digests[judged.name] = _digest(body)
        return judged

    def _judge_book(self, tables: Tables, given: SourceBook, digests: Mapping[str, Any]) -> tuple[BookIntake, bool]:
        """Return what becomes of a book, and whether it is attached now."""
        key, body = self._access.key, _write_body(given)
        entries, new = _count_entries(given.given), _digest(body)
        wanted, attaches = given.name or self._name, has_other_entries(given.given) or not given.name
        for number in count(1):
            name = wanted if number == 1 else f"{wanted} ({number})"
            there = tables.books.get(key.owner, name)
            mine = digests.get(name)
            if there and there.body != body and mine is None:
                continue  # another book of that name
            status = "added" if there is None else "unchanged" if there.body == body else "updated"
            if there and status == "updated" and (mine == new or _digest(there.body) != mine):
                return BookIntake(name, entries, "kept"), False
            is_attached = attaches and mine is None and name not in tables.books.attached(key)
            status = "added" if is_attached and status == "unchanged" else status
            return BookIntake(name, entries, status), is_attached
        raise AssertionError("there is no end of names")


def list_stories(named: str | None, file: str, source: StorySource) -> Iterator[tuple[str, StorySource]]:
    """Yield the conversations of a file, each with the name of its story: the one that a person gave, or the file's.
    A conversation among many has its own name behind it; alone, it is called what a person called it."""
    story = named or (f"{file} {source.title}" if source.title else file)
    if source.drafts or source.stream or not (source.others or source.stories):
        yield story, source
    for other in source.stories or source.others:
        yield f"{story} {other.name}", other.source


def hold_stream(source: StorySource) -> StorySource:
    """Return the source with all its messages in memory."""
    if source.stream is None:
        return source
    drafts = list(source.stream)
    memories = (*source.memories, *source.stream.memories)
    branches = tuple(branch.hold() for branch in source.stream.branches)
    return replace(source, drafts=drafts, memories=memories, branches=branches, stream=None)


def preview_new(source: StorySource, name: str) -> Intake:
    """Return what a file would add as a story of that name, which is not there yet."""
    if source.stream is not None:
        added = sum(1 for stream in (source.stream, *(one.stream for one in source.stream.branches)) for _ in stream)
        found = MemoryIntake(found=len(source.stream.memories))
        return Intake(Changes(added, 0, 0, 0), _list_branches(source), (), found)
    added = len(source.drafts) + sum(len(branch.drafts) for branch in source.branches)
    added += sum(memory.first == NO_MESSAGES for memory in source.memories)
    books = tuple(BookIntake(book.name or name, _count_entries(book.given), "added") for book in source.books)
    return Intake(Changes(added, 0, 0, 0), _list_branches(source), books, _count_found(source))


def _count_found(source: StorySource) -> MemoryIntake:
    return MemoryIntake(found=len(source.memories))


def _choose_branch(source: StorySource, active: str) -> str:
    """Return the branch that follows the file: the active one, unless the file itself has a branch of that name."""
    return MAIN if active in _list_branches(source) else active


def _list_branches(source: StorySource) -> tuple[str, ...]:
    beside = source.stream.branches if source.stream else source.branches
    return tuple(branch.name for branch in beside)


def _add_up(every: list[Changes]) -> Changes:
    fields = ("added", "updated", "removed", "unchanged", "replaced_characters")
    return Changes(*(sum(getattr(changes, field) for changes in every) for field in fields))


def _find_digests(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the books that came with files, each with its digest then."""
    told = header.get(BOOKS)
    return dict(told) if isinstance(told, Mapping) else {}


def _write_body(book: SourceBook) -> str:
    return json.dumps(clean_json(book.given)[0], ensure_ascii=False)


def _digest(body: str) -> str:
    return blake2b(body.encode(), digest_size=16).hexdigest()


def _count_entries(book: object) -> int:
    from previously.lore.books import parse_book

    return len(parse_book(book, "book").entries)
