"""The values of a large JSON document, one after the other, so that never more than a few of them are held."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterator
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import parse_next
from previously.core.patterns import lazy_pattern

CHUNK = 1_000_000
"""Bytes that are read at a time: more than most conversations have, so that few are parsed twice."""

_SPACE = lazy_pattern(r"[ \t\n\r]*")


class UnevenList(Exception):
    """The text is no such document, or something is wrong in it: who reads it as a whole can say what."""


class _Items:
    """Says that the list of a field begins, and its values follow one by one."""


ITEMS = _Items()


def split_document(chunks: Iterator[bytes], lists: Collection[str] | None) -> Iterator[tuple[str, Any]]:
    """Yield the fields of the object that these bytes are, each whole; but a list in a field of one of these names, or
    of any (None), as `ITEMS`, and then each of its values under that name. The values of a list that is no field have
    no name.
    `UnevenList` where the bytes are anything else, or there are two fields of such a name."""
    window = _Window(chunks)
    mark = window.take()
    if mark == "[":
        yield "", ITEMS
        for value in _split_list(window):
            yield "", value
    elif mark == "{":
        yield from _split_object(window, lists)
    else:
        raise UnevenList
    if window.look():
        raise UnevenList


def _split_list(window: _Window) -> Iterator[Any]:
    if window.look() == "]":
        window.take()
        return
    goes_on = True
    while goes_on:
        yield window.parse()
        goes_on = window.goes_on("]")


def _split_object(window: _Window, lists: Collection[str] | None) -> Iterator[tuple[str, Any]]:
    if window.look() == "}":
        window.take()
        return
    seen: set[str] = set()
    goes_on = True
    while goes_on:
        name = window.parse()
        if not isinstance(name, str) or window.take() != ":" or name in seen:
            raise UnevenList
        is_split = lists is None or name in lists
        if is_split:
            seen.add(name)
        if is_split and window.look() == "[":
            window.take()
            yield name, ITEMS
            for value in _split_list(window):
                yield name, value
        else:
            yield name, window.parse()
        goes_on = window.goes_on("}")


class _Window:
    """The part of a text that is being read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._at = 0

    def look(self) -> str:
        """Return the next character that is no white space; none at the end."""
        while True:
            mark = self._text[self._at : self._at + 1]
            if mark > " ":  # as nearly always: what is white space in JSON is no more than a space
                return mark
            self._at = _skip_space(self._text, self._at)
            if self._at < len(self._text) or not self._read_on():
                return self._text[self._at : self._at + 1]

    def take(self) -> str:
        """Return the same, and go behind it."""
        mark = self.look()
        self._at += 1
        return mark

    def goes_on(self, end: str) -> bool:
        """Go behind the comma or the end that comes next; return whether it was a comma."""
        mark = self.take()
        if mark not in (",", end):
            raise UnevenList
        return mark == ","

    def parse(self) -> Any:
        """Return the next value, and go behind it."""
        self.look()
        while True:
            try:
                value, end = parse_next(self._text, self._at)
            except (BadInput, RecursionError):  # its end may not have been read yet
                value, end = None, len(self._text)
            if _skip_space(self._text, end) < len(self._text):  # else a number might go on
                self._at = end
                return value
            if not self._read_on():
                raise UnevenList

    def _read_on(self) -> bool:
        """Read at least as much again as is held, so that a long value is not tried too often."""
        rest = self._text[self._at :]
        read: list[str] = []
        size = 0
        for data in self._chunks:
            try:
                read.append(self._decode(data))
            except UnicodeDecodeError:
                raise UnevenList from None
            size += len(data)
            if size >= len(rest):
                break
        self._text, self._at = "".join((rest, *read)), 0
        return bool(read)


def _skip_space(text: str, at: int) -> int:
    if text[at : at + 1] > " ":
        return at
    found = _SPACE.match(text, at)
    assert found is not None, "it may be empty"
    return found.end()
