"""Books: what lore asks of a store beside stories.

A book is a set of lore entries that belongs to an owner. What its text says is the business of `lore`; here it is JSON
under a name. Stories of the owner may have it attached, any number of them: so memory crosses from one story to another
through books, by the choice of a person. What must stay true: whatever is attached is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from previously.storage.store import StoryKey


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


class BookStore(Protocol):
    """Keeps books, and which stories have them attached."""

    async def keep_book(self, owner: str, name: str, body: str, *, at: str) -> None:
        """Keep a book, in place of the owner's book of that name; stories that have that attached have this."""

    async def book(self, owner: str, name: str) -> Book | None:
        """The owner's book of that name, or None."""

    async def books(self, owner: str) -> list[BookInfo]:
        """The owner's books by name."""

    async def forget_book(self, owner: str, name: str) -> bool:
        """Destroy a book and detach it from every story; whether there was one."""

    async def attach_book(self, key: StoryKey, name: str) -> None:
        """Attach a book of the story's owner, behind those that are attached; no-op if it is. `BadInput` if the owner
        has no such book."""

    async def detach_book(self, key: StoryKey, name: str) -> bool:
        """Detach a book, which stays; whether it was attached."""

    async def attached(self, key: StoryKey) -> list[str]:
        """The names of the books that the story has attached, in the order they were."""


def no_such_book(name: str) -> str:
    """What a person is told who names a book that is not there."""
    return f"There is no book named {name!r}."


def other_name(name: str, number: int) -> str:
    """What a book is called that is set aside because its name is taken: 1 is the name itself."""
    return name if number == 1 else f"{name} ({number})"
