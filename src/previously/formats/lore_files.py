"""Files of lore: World Info, books of character cards, Risu's lorebooks and plain lists, and MemoryBooks' memories.

MemoryBooks keeps what happened as entries of a World Info file, each with the first and the last message it is about
(`STMB_start`, `STMB_end`). Those entries are memories of a story. The book is kept whole; a story has it attached only
if it holds something else too, so that nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import clean, clean_json, kind, parse_json, parse_object
from previously.core.patterns import lazy_pattern
from previously.core.scene import SpanMemory
from previously.formats.files import Document, SourceBook, StorySource, open_document, read_value
from previously.formats.png_texts import LARGEST_PICTURE, PNG_LINE, read_picture_text
from previously.lore.books import list_raw_entries, parse_book

NAME = "book"

MEMORY_BOOKS = "MemoryBooks"

_FURTHEST = 10_000_000
"""Positions of messages: no chat has as many."""

_NUMBER = lazy_pattern(r"\s*\[?\s*\d{1,6}\s*\]?\s*[-—–:.]?\s*")
"""The number that MemoryBooks puts before a memory's title."""


def is_book(value: object) -> bool:
    """Return whether a parsed file is a book of lore."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, Mapping) and "content" in one and "keywords" in one for one in value)
    if not isinstance(value, Mapping):
        return False
    return isinstance(value.get("entries"), Mapping | list) or value.get("spec") == "lorebook_v3" or is_risu(value)


def is_risu(value: object) -> bool:
    """Return whether a parsed file is a lorebook of Risu."""
    return isinstance(value, Mapping) and value.get("type") == "risu" and isinstance(value.get("data"), list)


def read(document: Document) -> StorySource:
    return read_value(document, parse_file)


def parse_file(document: Document, value: object) -> StorySource:
    """Return the book of a file, and the memories in it."""
    cleaned, replaced = clean_json(value)
    given = convert_book(cleaned)
    parse_book(given, "book")  # refused before anything is kept
    name = document.path.stem if document.path else ""
    memories = tuple(list_memories(given))
    return StorySource([], NAME, {}, replaced, books=(SourceBook(clean(name)[0], given),), memories=memories)


def read_book_file(path: Path) -> Any:
    """Return the book of a file, in a form that can be kept: also of a picture with a card."""
    with open_document(path) as document:
        try:
            if document.begins(PNG_LINE):
                return parse_object(read_picture_text(document.content(LARGEST_PICTURE)))
            return convert_book(parse_json(document.text(), "file"))
        except BadInput as error:
            raise document.fault(error) from None


def convert_book(given: Any) -> Any:
    """Return a book in a form that is kept: Risu's becomes one of a character card, with all that it had."""
    if not is_risu(given):
        return given
    entries = [_convert_risu(place, one) for place, one in enumerate(given["data"])]
    extensions = {"risu": {key: value for key, value in given.items() if key != "data"}}
    return {"spec": "lorebook_v3", "data": {"extensions": extensions, "entries": entries}}


def _convert_risu(place: int, given: object) -> dict[str, Any]:
    """Return an entry of Risu as a card has it. Its own fields stay, in `extensions.risu`."""
    if not isinstance(given, Mapping):
        raise BadInput(f"The entry {place} of the Risu lorebook must be an object, not {kind(given)}.")
    uses_regex = given.get("useRegex") is True
    extensions: dict[str, Any] = {"risu": dict(given)}
    percent = given.get("activationPercent")
    if isinstance(percent, int | float) and not isinstance(percent, bool):
        extensions |= {"probability": percent, "useProbability": True}
    own = given.get("extentions")
    if isinstance(own, Mapping) and own.get("risu_case_sensitive") is True:
        extensions["case_sensitive"] = True
    content, comment = given.get("content"), given.get("comment")
    order = given.get("insertorder")
    return {
        "id": place,
        "keys": _split_keys(given.get("key"), uses_regex),
        "secondary_keys": _split_keys(given.get("secondkey"), uses_regex),
        "comment": comment if isinstance(comment, str) else "",
        "content": content if isinstance(content, str) else "",
        "constant": given.get("alwaysActive") is True or given.get("mode") == "constant",
        "selective": given.get("selective") is True,
        "insertion_order": order if isinstance(order, int | float) and not isinstance(order, bool) else 100,
        "enabled": given.get("mode") != "folder",
        "use_regex": uses_regex,
        "extensions": extensions,
    }


def _split_keys(given: object, uses_regex: bool) -> list[str]:
    if not isinstance(given, str) or not given.strip():
        return []
    return [given] if uses_regex else [key.strip() for key in given.split(",") if key.strip()]


def list_memories(book: object) -> Iterator[SpanMemory]:
    """Yield the memories that MemoryBooks has put into a book, by their messages."""
    found = [memory for entry in list_raw_entries(book) if (memory := _find_memory(entry))]
    yield from sorted(found, key=lambda memory: (memory.first, memory.last))


def has_other_entries(book: object) -> bool:
    """Return whether a book holds an entry that is no memory."""
    return any(_find_memory(entry) is None for entry in list_raw_entries(book))


def _find_memory(entry: object) -> SpanMemory | None:
    if not isinstance(entry, Mapping) or entry.get("stmemorybooks") is not True:
        return None
    first, last, text = entry.get("STMB_start"), entry.get("STMB_end"), entry.get("content")
    if type(first) is not int or type(last) is not int or not isinstance(text, str) or not text.strip():
        return None
    if not 0 <= first <= last < _FURTHEST:
        return None
    comment = entry.get("comment")
    title = " ".join(comment.split()) if isinstance(comment, str) else ""
    return SpanMemory(first, last, MEMORY_BOOKS, text.strip(), _NUMBER.sub("", title, count=1) or title)
