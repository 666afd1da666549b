"""Books: sets of lore that belong to an owner, and attach to stories.

What cannot be read as a book is refused before anything is kept; a book is kept as it was given, fields unknown to us
included.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from previously.core.errors import BadInput
from previously.core.exact_names import check_new_name
from previously.core.fact_book import explain_taken, parse_shared
from previously.core.json_values import clean, clean_json
from previously.runtime.clock import time_at
from previously.storage.store import Store, StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.books import Book, BookInfo, explain_no_book

if TYPE_CHECKING:
    from previously.lore.books import LoreBook
    from previously.lore.entry import KeyedEntry


class Books:
    """The books of one owner."""

    _store: Store
    _owner: str

    async def keep_book(self, name: str, given: object, *, preview: bool = False) -> LoreBook:
        """Keep a book under a name, in place of the one of that name: a parsed World Info file, the book of a character
        card, or a list of `{"name", "type", "keywords", "content"}`. `status` and `changes` say what is otherwise than
        before. A shared memory of that name is not written over. With `preview` nothing is kept.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     book = memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
        ...     len(book.entries)
        1
        """
        from previously.lore.books import parse_book

        name = " ".join(clean(name)[0].split())
        check_new_name("A book", name)
        given, _ = clean_json(given)
        book = parse_book(given, name)
        body = json.dumps(given, ensure_ascii=False)

        def keep(tables: Tables) -> LoreBook:
            from previously.lore.book_changes import compare_books

            before = tables.books.get(self._owner, name)
            if before and before.body == body:
                return replace(book, status="unchanged")
            if before and parse_shared(before.body, name):
                raise BadInput(explain_taken(name))
            if not preview:
                tables.books.keep(self._owner, Book(name, body, time_at()))
            if before is None:
                return replace(book, status="added")
            changes = tuple(compare_books(json.loads(before.body), given, name))
            return replace(book, changes=changes, status="updated")

        if preview:
            return await self._store.read(self._owner, keep)
        return await self._store.write(StoryKey(self._owner, 0), keep)

    async def edit_book(self, name: str, entry: str, /, **fields: object) -> KeyedEntry:
        """Set fields of one entry of a book, by its name or uid, and return it; nothing else in the book changes.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     _ = memory.keep_book("lethen", [{"name": "Grim", "keywords": ["Grim"], "content": "A barkeeper."}])
        ...     memory.edit_book("lethen", "Grim", content="A retired barkeeper.").content
        'A retired barkeeper.'
        """
        from previously.lore.book_changes import change_book

        values, _ = clean_json(fields)
        assert isinstance(values, dict)

        def edit(tables: Tables) -> KeyedEntry:
            kept = tables.books.get(self._owner, name)
            if kept is None:
                raise BadInput(explain_no_book(name))
            changed, edited = change_book(json.loads(kept.body), name, entry, values)
            tables.books.keep(self._owner, Book(name, json.dumps(changed, ensure_ascii=False), time_at()))
            return edited

        return await self._store.write(StoryKey(self._owner, 0), edit)

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
