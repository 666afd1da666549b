"""A story as files of other programs, and as a book for people. The file that loses nothing is `storage.story_file`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import Entry, Message, Role
from previously.core.path import OnPath
from previously.formats import to_anthropic, to_claude_code, to_openai
from previously.formats.story_book import AppendixPart, BookChapter, StoryBook, write_epub, write_markdown
from previously.formats.story_directory import write_new_files
from previously.formats.write_book import write_book
from previously.formats.write_sillytavern import ChatLine, write_chat
from previously.lore.books import CHARACTER_BOOK, WORLD_INFO
from previously.lore.entry import KeyedEntry
from previously.lore.threads import ThreadStatus
from previously.runtime.story_moment import StoryMoment
from previously.storage.tables import Tables
from previously.story.access import StoryAccess
from previously.story.deeds import find_deleted
from previously.story.directory_content import read_content
from previously.story.lore_edits import LoreEdits
from previously.story.memory_texts import MemoryTexts
from previously.story.threads_state import ThreadsState
from previously.story.transcript import Transcript

EARLIEST = "1970-01-01T00:00:00.000Z"
"""The time of messages in a transcript that has to name one, where the story knows none."""

_KINDS = {"character": "People", "location": "Places", "item": "Things", "faction": "Groups"}
"""Headings of the appendix by kind of entry, in their order; all other kinds come last."""

_OTHER_KINDS = "More about the world"


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of an export. The first of several has no `branch`: it is the story as it goes on now."""

    content: bytes
    branch: str = ""
    left_out: int = 0
    """The number of messages that the format has no place for."""
    messages: int = 0
    turns: int = 0
    """The number of messages, and of the turns that they are in a format in which roles alternate; 0 in others."""
    entries: int | None = None
    """The number of entries of lore, where the file is a book."""
    path: str = ""
    """Its path, where it is a file of a directory."""


class StoryExport:
    """Writes one story in the formats of others."""

    def __init__(
        self,
        access: StoryAccess,
        name: str,
        transcript: Transcript,
        texts: MemoryTexts,
        lore: LoreEdits,
        state: ThreadsState,
    ) -> None:
        self._access = access
        self._name = name
        self._transcript, self._texts, self._lore, self._state = transcript, texts, lore, state

    async def export(self, to: str) -> list[ExportFile]:
        """Return the story as files in a format (`EXPORT_FORMATS`). A SillyTavern chat has one file for each branch, a
        directory many, all others are one file."""
        to = OLD_NAMES.get(to, to)
        if to not in EXPORT_FORMATS:
            raise BadInput(f"There is no format named {to!r} to export to; use one of {', '.join(EXPORT_FORMATS)}.")
        return await EXPORT_FORMATS[to](self)

    async def _write_openai(self) -> list[ExportFile]:
        said, left_out = _drop_hidden(await self._transcript.messages())
        return [_file([one for item in said for one in to_openai(item.entry.message)], left_out)]

    async def _write_anthropic(self) -> list[ExportFile]:
        said, left_out = _drop_hidden(await self._transcript.messages())
        attributes = [item.entry.attributes for item in said]
        messages = [item.entry.message for item in said]
        body = to_anthropic(messages, attributes)
        return [replace(_file(body, left_out), messages=len(messages), turns=len(body["messages"]))]

    async def _write_claude_code(self) -> list[ExportFile]:
        said, left_out = _drop_hidden(await self._transcript.messages())
        header = await self._transcript.header()
        times = [item.entry.attributes.at for item in said if item.entry.attributes.at]
        lines = to_claude_code(
            [item.entry.message for item in said],
            [item.entry.attributes for item in said],
            session_id=str(header.get("sessionId") or self._name),
            at=times[0] if times else EARLIEST,
            header=header,
        )
        content = "".join(f"{line}\n" for line in lines).encode()
        return [ExportFile(content, left_out=left_out, messages=len(said), turns=len(lines))]

    async def _write_chat(self) -> list[ExportFile]:
        header = await self._transcript.header()
        key = self._access.key

        def read(tables: Tables) -> list[tuple[str, list[ChatLine]]]:
            active = tables.snapshot(key).branch
            names = [branch.name for branch in tables.stories.branches(key)]
            snapshots = [tables.snapshot(key, name) for name in sorted(names, key=lambda name: name != active)]
            paths = {snapshot.branch: snapshot.path(0, snapshot.messages - 1) for snapshot in snapshots}
            told = {item.entry.id: item.entry for path in paths.values() for item in path}
            beside = tables.reader.beside(key, told.values(), find_deleted(tables, key))
            return [
                ("" if name == active else name, [_line(item, beside, told) for item in path])
                for name, path in paths.items()
            ]

        chats = await self._access.store.read(key.owner, read)
        return [ExportFile(write_chat(header, lines).encode(), branch) for branch, lines in chats]

    async def _write_world_info(self) -> list[ExportFile]:
        return await self._write_lore(WORLD_INFO)

    async def _write_character_book(self) -> list[ExportFile]:
        return await self._write_lore(CHARACTER_BOOK)

    async def _write_lore(self, form: str) -> list[ExportFile]:
        """Write the entries of the story itself; books that are attached to it are files of their own."""
        entries = [
            KeyedEntry(f"story/{number}", entry.name, entry.content, entry.keywords, entry.type)
            for number, entry in enumerate(await self._lore.lore())
            if entry.by != "book" and entry.status in ("live", "retired")
        ]
        return [replace(_file(write_book(form, self._name, entries)), entries=len(entries))]

    async def _write_markdown(self) -> list[ExportFile]:
        return [ExportFile(write_markdown(await self._bind()).encode())]

    async def _write_epub(self) -> list[ExportFile]:
        return [ExportFile(write_epub(await self._bind()))]

    async def _write_directory(self) -> list[ExportFile]:
        def read(moment: StoryMoment) -> dict[str, bytes]:
            return write_new_files(read_content(moment, self._name), self._name, moment.snapshot.branch)

        files = await self._access.read(read)
        return [ExportFile(content, path=path) for path, content in files.items()]

    async def _bind(self) -> StoryBook:
        """Return the story as a book."""
        said, closed, recap = await self._transcript.messages(), await self._texts.chapters(), await self._texts.recap()
        chapters = [
            BookChapter(
                chapter.title,
                chapter.text,
                _list_passages(said[chapter.span.first : chapter.span.last + 1]),
                number=chapter.number,
            )
            for chapter in closed
        ]
        rest = said[closed[-1].span.last + 1 :] if closed else said
        if rest or not chapters:
            number = closed[-1].number + 1 if closed else 0
            chapters.append(BookChapter("", recap.text if recap else "", _list_passages(rest), number=number))
        return StoryBook(self._name, tuple(chapters), tuple(await self._list_appendix()))

    async def _list_appendix(self) -> list[AppendixPart]:
        kinds: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_KINDS.values(), _OTHER_KINDS)}
        for entry in await self._lore.lore():
            if entry.by != "book" and entry.status in ("live", "retired"):
                kinds[_KINDS.get(entry.type, _OTHER_KINDS)].append((entry.name, entry.content))
        threads = await self._state.threads(everything=True)
        kinds["Open threads"] = [
            (listing.thread.text, "") for listing in threads if listing.status is not ThreadStatus.RESOLVED
        ]
        kinds["Settled threads"] = [
            (listing.thread.text, listing.thread.outcome)
            for listing in threads
            if listing.status is ThreadStatus.RESOLVED
        ]
        return [AppendixPart(title, tuple(items)) for title, items in kinds.items() if items]


EXPORT_FORMATS: Mapping[str, Callable[[StoryExport], Coroutine[Any, Any, list[ExportFile]]]] = {
    "openai": StoryExport._write_openai,
    "anthropic": StoryExport._write_anthropic,
    "claude-code": StoryExport._write_claude_code,
    "sillytavern-chat": StoryExport._write_chat,
    "world-info": StoryExport._write_world_info,
    "character-book": StoryExport._write_character_book,
    "markdown": StoryExport._write_markdown,
    "epub": StoryExport._write_epub,
    "directory": StoryExport._write_directory,
}
"""The formats of other programs that a story is written in."""

OLD_NAMES = {"folder": "directory"}
"""Formats by names that they had."""


def _drop_hidden(said: Sequence[OnPath]) -> tuple[list[OnPath], int]:
    """Return the messages that the model was to see, and how many are hidden from it."""
    shown = [item for item in said if not item.entry.attributes.hidden]
    return shown, len(said) - len(shown)


def _line(item: OnPath, beside: Mapping[int, Sequence[Entry]], told: Collection[int]) -> ChatLine:
    """Return a line with its swipes; what another branch goes on with is told in that branch's file."""
    others = [entry for entry in beside.get(item.entry.id, ()) if entry.id not in told]
    return ChatLine(item.entry, tuple(entry for entry in others if entry.message.role is item.entry.message.role))


def _list_passages(said: Sequence[OnPath]) -> tuple[tuple[str, str], ...]:
    """Return who said what, as a reader of the book sees it: no tools, nothing hidden, no names in plain prose."""
    shown: list[Message] = [item.entry.message for item in said if not item.entry.attributes.hidden]
    return tuple(
        (message.speaker or "", message.text)
        for message in shown
        if message.role is not Role.TOOL and message.text.strip()
    )


def _file(value: object, left_out: int = 0) -> ExportFile:
    return ExportFile((json.dumps(value, ensure_ascii=False, indent=4) + "\n").encode(), left_out=left_out)
