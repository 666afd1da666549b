"""Books: what lore asks of a store beside stories.

A book is a set of lore entries that belongs to an owner. What its text says is the business of `lore`; here it is JSON
under a name. Stories of the owner may have it attached, any number of them: so memory crosses from one story to another
through books, by the choice of a person. What must stay true: whatever is attached is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from previously.storage.tables.records import StoryKey


@dataclass(frozen=True, slots=True)
class Book:
    """A book as it was last kept."""

    name: str
    body: str
    """JSON."""
    at: str


@dataclass(frozen=True, slots=True)
class BookInfo:
    """What is told of a book without reading it."""

    name: str
    at: str
    """When it was last kept."""
    size: int
    """Bytes of its text."""


class BookReading(Protocol):
    """Reads books, and which stories have them attached."""

    async def book(self, owner: str, name: str) -> Book | None: ...

    async def books(self, owner: str) -> list[BookInfo]: ...

    async def attached(self, key: StoryKey) -> list[str]: ...


def no_such_book(name: str) -> str:
    """What a person is told who names a book that is not there."""
    return f"There is no book named {name!r}."


def other_name(name: str, number: int) -> str:
    """What a book is called that is set aside because its name is taken: 1 is the name itself."""
    return name if number == 1 else f"{name} ({number})"
