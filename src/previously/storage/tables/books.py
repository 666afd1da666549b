"""The tables of books, and of the stories that have them attached. Called inside a transaction or snapshot.

A book is a set of lore entries that belongs to an owner. `lore` knows the meaning of its text; here it is JSON under a
name. Stories of the owner may have it attached, any number of them: so memory crosses from one story to another through
books, by the choice of a person.

No story has a book attached that is not there. Whoever attaches a book holds its row until the transaction ends, and
whoever destroys one takes the row away first: so of two at once, one sees the change of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from previously.core.errors import BadInput
from previously.storage.tables.damage import expect_row
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import expect_story


class BookTable:
    """Reads and writes books, and which stories have them attached."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, owner: str, book: Book) -> None:
        """Keep a book, in place of one of its name."""
        self._session.run("keep_book", {"owner": owner, "name": book.name, "body": book.body, "at": book.at})

    def get(self, owner: str, name: str) -> Book | None:
        """The book of that name."""
        row = self._session.one("book", {"owner": owner, "name": name})
        return Book(*row) if row else None

    def all(self, owner: str) -> list[BookInfo]:
        """Every book of an owner, by name."""
        return [BookInfo(*row) for row in self._session.rows("books", {"owner": owner})]

    def forget(self, owner: str, name: str) -> bool:
        """Destroy a book, and detach it everywhere; whether there was one."""
        values = {"owner": owner, "name": name}
        was_there = self._session.one("book", values) is not None
        self._session.run("delete_book", values)  # waits for who holds it; what they attached is seen after
        for story in self.attached_to(owner, name):
            for table in ("recipe", "epoch"):  # views that were made may hold its words
                self._session.run(f"delete_story_{table}", {"story": story, "owner": owner})
        self._session.run("detach_book_everywhere", values)
        return was_there

    def attach(self, key: StoryKey, name: str) -> None:
        """Attach a book behind the others, unless it is."""
        expect_story(self._session, key)
        if self._session.one("hold_book", {"owner": key.owner, "name": name}) is None:
            raise BadInput(explain_no_book(name))
        self._session.run("attach_book", {**key.values, "name": name})

    def detach(self, key: StoryKey, name: str) -> bool:
        """Detach a book; whether it was attached."""
        was_attached = self._is_attached(key, name)
        self._session.run("detach_book", {**key.values, "name": name})
        return was_attached

    def attached(self, key: StoryKey) -> list[str]:
        """The books that a story has attached, in order."""
        return [name for (name,) in self._session.rows("attached_books", key.values)]

    def attached_to(self, owner: str, name: str) -> set[int]:
        """The stories that have a book attached."""
        return {story for (story,) in self._session.rows("book_attached_to", {"owner": owner, "name": name})}

    def whole(self, key: StoryKey) -> Iterator[list[Row]]:
        """For copying: place, name, text and time of each book that the story has attached, one at a time."""
        for place, name in enumerate(self.attached(key)):
            book = expect_row(self.get(key.owner, name), f"book {name!r}")
            yield [(place, book.name, book.body, book.at)]

    def take_in(self, key: StoryKey, rows: Sequence[Sequence[Any]]) -> None:
        """The books of a copy, attached to the story in their order. Where a book of that name says something else, it
        stays as it is, and the one that comes is kept under another name."""
        for _, name, body, at in rows:
            free = (one for one in _list_names(name) if not self._is_attached(key, one))
            self._session.run("attach_book", {**key.values, "name": self._keep_free(key.owner, free, body, at)})

    def take_in_beside(self, owner: str, book: Book) -> None:
        """The same for a book that no story has attached."""
        self._keep_free(owner, _list_names(book.name), book.body, book.at)

    def _keep_free(self, owner: str, names: Iterable[str], body: str, at: str) -> str:
        """The first of the names under which no other book is; there it is from now on, if it was not before."""
        for name in names:
            values = {"owner": owner, "name": name}
            self._session.run("add_book", {**values, "body": body, "at": at})
            if self._session.one("hold_book", values) == (body,):
                return name
        raise AssertionError("there is no end of names")

    def _is_attached(self, key: StoryKey, name: str) -> bool:
        return self._session.one("book_attached", {**key.values, "name": name}) is not None


def _list_names(name: str) -> Iterator[str]:
    return (number_name(name, number) for number in count(1))


@dataclass(frozen=True, slots=True)
class Book:
    """A book as it was last kept."""

    name: str
    body: str
    """JSON."""
    at: str


@dataclass(frozen=True, slots=True)
class BookInfo:
    """A book without its text."""

    name: str
    at: str
    """The time at which it was last kept."""
    size: int
    """Bytes of its text."""


def explain_no_book(name: str) -> str:
    """Return the error sentence for a book that is not there."""
    return f"There is no book named {name!r}."


def number_name(name: str, number: int) -> str:
    """Return the name of a book that is set aside because its name is taken: 1 is the name itself."""
    return name if number == 1 else f"{name} ({number})"
