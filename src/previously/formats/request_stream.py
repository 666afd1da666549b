"""Large requests and lists of messages, read as they go.

Such a file is one JSON document. A first look parses all of it, and keeps what stands beside its items and those few of
them that tell its format. Where something else than plain words is among them, a second look finds the calls that got
no result (see `log_stream`). Then each item becomes a message when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.messages import Draft
from previously.formats.files import Document, DraftStream, StorySource, open_document
from previously.formats.json_array import CHUNK, ITEMS, UnevenList, split_document
from previously.formats.log_stream import CallLedger, CallWindow, TangledLog
from previously.formats.request_files import RequestFormat, RequestParts, clean_header, is_anthropic, is_responses

_TELLING = {"anthropic": is_anthropic, "responses": is_responses}
"""Formats that are known by their items."""

_LISTS = ("messages", "input", "output")

_PLAIN = frozenset(["role", "content", "name"])
"""The fields of an item that is plain words in every format, if its content is a text."""

_OF_WORDS = _PLAIN | {"type", "id", "status"}
_WORDS = ("text", "input_text", "output_text")
"""The fields of an item with a list of such parts, and nothing else, that is only words."""

_SPEAKING = ("user", "assistant", "system", "developer")
_OF_TOOLS = ("tool", "function")
"""The roles of results."""


def stream(document: Document, path: Path, choose: Callable[[Any], RequestFormat | None]) -> StorySource | None:
    """Return a file of one request or list, to be read as its messages are asked for; None if it is anything else, or
    has to be held as a whole. `choose` returns the format of a document by its fields and its telling items."""
    try:
        look = _Look(document)
        format = choose(look.sample)
        if format is None or not look.fits(format):
            return None
        parts = format.split(look.outline)
        header, replaced = clean_header(parts.header)
        total = len(parts.items) + look.items
        never = frozenset() if look.is_plain else _find_unanswered(path, format, parts, total)
    except (UnevenList, TangledLog, RecursionError):
        return None
    except BadInput as error:
        raise error if str(error).startswith(document.name) else document.fault(error) from None

    def read(again: Document) -> Iterator[tuple[Draft, int]]:
        window, waiting = CallWindow(never), 0
        for draft, count in _read_drafts(again, format, parts, total):
            waiting += count
            for whole in window.take(draft):
                yield whole, waiting
                waiting = 0
        for whole in window.end():
            yield whole, waiting
            waiting = 0

    return StorySource([], format.name, header, replaced, stream=DraftStream(path, read))


def _has_only_words(item: dict[str, Any]) -> bool:
    """Return whether an item is plain words in every format, and holds neither a call nor a result."""
    content = item.get("content")
    if type(content) is list:
        blocks = (block.get("type") if isinstance(block, dict) else None for block in content)
        return item.keys() <= _OF_WORDS and item.get("role") in _SPEAKING and all(one in _WORDS for one in blocks)
    return type(content) is str and item.keys() <= _PLAIN and item.get("role") not in _OF_TOOLS


class _Look:
    """One look through a document."""

    def __init__(self, document: Document) -> None:
        self._fields: dict[str, Any] = {}
        self._telling: dict[str, list[Any]] = {}
        """By list, in their order, its first item and the first of each format that is known by its items."""
        self.items: int = 0
        self.is_plain: bool = True
        known: set[str] = set()
        for name, value in split_document(document.chunks(CHUNK), _LISTS):
            if value is ITEMS:
                self._telling[name] = []
            elif name in self._telling:
                self.items += 1
                if self._is_telling(value, known) or not self._telling[name]:
                    self._telling[name].append(value)
            else:
                self._fields[name] = value

    def _is_telling(self, item: Any, known: set[str]) -> bool:
        if not isinstance(item, dict) or (type(item.get("content")) is str and _has_only_words(item)):
            return False
        self.is_plain = self.is_plain and _has_only_words(item)
        new = {name for name, tells in _TELLING.items() if name not in known and tells([item])}
        known |= new
        return bool(new)

    @property
    def sample(self) -> Any:
        """The document with no other items than those that tell its format."""
        return self._telling.get("", {**self._fields, **self._telling})

    @property
    def outline(self) -> Any:
        """The document without its items."""
        return [] if "" in self._telling else self._fields | {name: [] for name in self._telling}

    def fits(self, format: RequestFormat) -> bool:
        """Return whether the items stand in the lists of that format, in their order."""
        return list(self._telling) in ([""], [name for name in format.lists if name in self._telling])


def _read_drafts(
    document: Document, format: RequestFormat, parts: RequestParts, total: int
) -> Iterator[tuple[Draft, int]]:
    def read_items() -> Iterator[Any]:
        lists: set[str] = set()
        for name, value in split_document(document.chunks(CHUNK), _LISTS):
            if value is ITEMS:
                lists.add(name)
            elif name in lists:
                yield value

    try:
        yield from format.read_items(document, parts, chain(parts.items, read_items()), total)
    except UnevenList:
        raise document.fault(BadInput("the file was changed while it was read.")) from None


def _find_unanswered(path: Path, format: RequestFormat, parts: RequestParts, total: int) -> frozenset[str]:
    """Return the calls that got no result; `TangledLog` if that cannot be told as the messages go."""
    ledger = CallLedger()
    with open_document(path) as document:
        for draft, _ in _read_drafts(document, format, parts, total):
            ledger.note(draft.message)
    return ledger.never
