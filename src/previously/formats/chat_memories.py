"""Memories that SillyTavern's extensions leave with a chat: Summarize's with a message, qvink's with each, MemoryBooks'
in its book.

Summarize goes on with one summary (`extra.memory`), which tells of all messages up to the one it stands with; so the
newest counts. Where qvink has summed up the messages of a chat too, one by one, its words are taken instead.

qvink sums up messages one by one (`extra.qvink_memory`). Those that follow one another are put together, as long as a
chapter's recap may be; what it was told to leave out stays out. MemoryBooks keeps its memories in the book that the
chat is bound to; where a chat lies in SillyTavern's own folders, that book is looked for there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean_json
from previously.core.messages import Draft
from previously.core.scene import SpanMemory
from previously.core.scripts import count_words
from previously.formats.files import SourceBook
from previously.formats.lore_files import list_memories, read_book_file
from previously.lore.books import parse_book

QVINK = "qvink"
SUMMARIZE = "Summarize"

LONGEST_RUN = 120
"""Messages of one memory: those of a chapter of a role-play."""

MOST_WORDS = 500
"""Words of one memory: those of a chapter's recap."""

WIDEST_GAP = 10
"""Messages without a memory that may stand between two that have one: the user's are often left out, long stretches
are not told."""


class ChatMemories:
    """Gathers the memories in a chat while its messages pass; `key` is that of SillyTavern's fields in `extra`. Where a
    book has memories of the chat, Summarize's summary is `told_elsewhere`."""

    def __init__(self, key: str, *, told_elsewhere: bool) -> None:
        self._key = key
        self._told_elsewhere = told_elsewhere
        self._qvink: list[tuple[int, str]] = []
        self._summary: SpanMemory | None = None

    def note(self, position: int, draft: Draft) -> None:
        """Look at the message at a position."""
        if position == 0:
            self._qvink, self._summary = [], None  # the chat is read anew
        fields = draft.attributes.extra.get(self._key)
        extra = fields.get("extra") if isinstance(fields, Mapping) else None
        if not isinstance(extra, Mapping):
            return
        if text := _find_qvink(extra):
            self._qvink.append((position, text))
        summary = extra.get("memory")
        if isinstance(summary, str) and summary.strip():
            self._summary = SpanMemory(0, position, SUMMARIZE, summary.strip())

    def list_memories(self) -> Iterator[SpanMemory]:
        """Yield the memories of the messages that have passed."""
        if self._summary and not self._qvink and not self._told_elsewhere:
            return iter([self._summary])
        return _join_qvink(self._qvink)


def _join_qvink(told: Iterable[tuple[int, str]]) -> Iterator[SpanMemory]:
    """Yield the memories of stretches, from what qvink says of single messages."""
    first, last, texts, words = 0, 0, list[str](), 0
    for position, text in told:
        length = count_words(text)
        too_long = position - first >= LONGEST_RUN or words + length > MOST_WORDS or position - last > WIDEST_GAP
        if texts and too_long:
            yield SpanMemory(first, last, QVINK, "\n".join(texts))
            texts, words = [], 0
        if not texts:
            first = position
        texts.append(text)
        last, words = position, words + length
    if texts:
        yield SpanMemory(first, last, QVINK, "\n".join(texts))


def _find_qvink(extra: Mapping[str, Any]) -> str:
    kept = extra.get("qvink_memory")
    if not isinstance(kept, Mapping) or kept.get("exclude") is True:
        return ""
    memory = kept.get("memory")
    return " ".join(memory.split()) if isinstance(memory, str) else ""


def find_bound_book(path: Path | None, header: Mapping[str, Any]) -> tuple[SourceBook, tuple[SpanMemory, ...]] | None:
    """Return the book that a chat is bound to and the memories in it, if it holds some and lies where SillyTavern keeps
    its books. A book without memories, or one that cannot be read, is left where it is."""
    metadata = header.get("chat_metadata")
    name = metadata.get("world_info") if isinstance(metadata, Mapping) else None
    if path is None or not isinstance(name, str) or not name or name != Path(name).name or name.startswith("."):
        return None
    file = _find_world(path, name)
    if file is None:
        return None
    try:
        given, _ = clean_json(read_book_file(file))
        parse_book(given, name)
    except (BadInput, RecursionError):
        return None
    memories = tuple(list_memories(given))
    if not memories or not isinstance(given, dict):
        return None
    return SourceBook(name, given), memories


def _find_world(path: Path, name: str) -> Path | None:
    """Return the file of a book of that name beside the folders of chats: `chats/NAME/` or `group chats/`."""
    try:
        for folder in list(path.absolute().parents)[1:3]:
            file = folder / "worlds" / f"{name}.json"
            if file.is_file():
                return file
    except OSError:
        return None
    return None
