"""Books: sets of lore that belong to an owner, and attach to stories.

What cannot be read as a book is refused before anything is kept; a book is kept as it was given, fields unknown to us
included.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from previously.core.errors import BadInput
from previously.core.json_values import clean, clean_json
from previously.runtime.clock import time_at
from previously.storage.store import Store, StoryKey
from previously.storage.tables.books import Book, BookInfo

if TYPE_CHECKING:
    from previously.lore.books import LoreBook
    from previously.lore.entry import KeyedEntry

LONGEST_NAME = 200
"""Characters of a book's name: file names have no more."""


class Books:
    """The books of one owner."""

    _store: Store
    _owner: str

    async def keep_book(self, name: str, given: object) -> LoreBook:
        """Keep a book under a name, in place of the one of that name: a parsed World Info file, the book of a character
        card, or a list of `{"name", "type", "keywords", "content"}`.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     book = memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
        ...     len(book.entries)
        1
        """
        from previously.lore.books import parse_book

        name = " ".join(clean(name)[0].split())
        if not name or len(name) > LONGEST_NAME:
            raise BadInput(f"A book needs a name of 1 to {LONGEST_NAME} characters.")
        given, _ = clean_json(given)
        book = parse_book(given, name)
        kept = Book(name, json.dumps(given, ensure_ascii=False), time_at())
        await self._store.write(StoryKey(self._owner, 0), lambda tables: tables.books.keep(self._owner, kept))
        return book

    async def books(self) -> list[BookInfo]:
        """Return every book, by name.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
        ...     [book.name for book in memory.books()]
        ['lethen']
        """
        return await self._store.read(self._owner, lambda tables: tables.books.all(self._owner))

    async def book(self, name: str) -> list[tuple[KeyedEntry, list[str]]]:
        """Return the entries of a book, each with what keeps it from doing its work."""
        from previously.lore.entry import find_problems
        from previously.memory.known import parse_kept_book

        book = await self._store.read(self._owner, lambda tables: tables.books.get(self._owner, name))
        return [(entry, find_problems(entry)) for entry in parse_kept_book(book.body if book else None, name)]

    async def export_book(self, name: str, to: str, *, card: bytes | None = None) -> bytes:
        """Return a book as a file of other programs (`world-info` or `character-book`), or with `card` the character
        card, JSON or PNG, with the book inside."""
        from previously.formats.write_book import put_into_card, write_book
        from previously.memory.known import parse_kept_book

        kept = await self._store.read(self._owner, lambda tables: tables.books.get(self._owner, name))
        if kept is None:
            raise BadInput(f"There is no book named {name!r}.")
        book = write_book(to, name, parse_kept_book(kept.body, name), json.loads(kept.body))
        if card is not None:
            return put_into_card(card, book)
        return json.dumps(book, ensure_ascii=False, indent=4).encode()

    async def forget_book(self, name: str) -> None:
        """Destroy a book; stories that had it attached have it no more."""
        if not await self._store.forget_book(self._owner, name):
            raise BadInput(f"There is no book named {name!r}.")
