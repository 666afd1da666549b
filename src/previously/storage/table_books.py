"""The store's verbs for books, on the tables of a database."""

from __future__ import annotations

from collections.abc import Generator

from previously.storage.book_store import Book, BookInfo
from previously.storage.database import Database
from previously.storage.store import StoryKey
from previously.storage.tables import Tables


class TableBooks:
    """The part of `TableStore` that keeps books."""

    database: Database

    async def keep_book(self, owner: str, name: str, body: str, *, at: str) -> None:
        await self.database.writing(_of(owner), lambda tables: tables.books.keep(owner, Book(name, body, at)))

    async def book(self, owner: str, name: str) -> Book | None:
        return await self.database.reading(owner, lambda tables: tables.books.get(owner, name))

    async def books(self, owner: str) -> list[BookInfo]:
        return await self.database.reading(owner, lambda tables: tables.books.all(owner))

    async def forget_book(self, owner: str, name: str) -> bool:
        def forget(tables: Tables) -> Generator[None, None, bool]:
            return tables.books.forget(owner, name)
            yield

        done = await self.database.destroying(_of(owner), forget)
        await self.database.clear_log()
        return done

    async def attach_book(self, key: StoryKey, name: str) -> None:
        await self.database.writing(key, lambda tables: tables.books.attach(key, name))

    async def detach_book(self, key: StoryKey, name: str) -> bool:
        return await self.database.writing(key, lambda tables: tables.books.detach(key, name))

    async def attached(self, key: StoryKey) -> list[str]:
        return await self.database.reading(key.owner, lambda tables: tables.books.attached(key))


def _of(owner: str) -> StoryKey:
    """Books are of no story."""
    return StoryKey(owner, 0)
