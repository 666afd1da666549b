"""The store's verbs for keys, on the tables of a database."""

from __future__ import annotations

from previously.storage.database import Database
from previously.storage.key_store import NOBODY, AccessKey
from previously.storage.store import StoryKey

_NOWHERE = StoryKey(NOBODY, 0)
"""Keys are of no story."""


class TableKeys:
    """The part of `TableStore` that keeps keys."""

    database: Database

    async def add_key(self, key: AccessKey) -> None:
        await self.database.writing(_NOWHERE, lambda tables: tables.keys.add(key))

    async def keys(self) -> list[AccessKey]:
        return await self.database.reading(NOBODY, lambda tables: tables.keys.all())

    async def remove_key(self, name: str) -> AccessKey:
        return await self.database.writing(_NOWHERE, lambda tables: tables.keys.remove(name))

    async def owner_of(self, key_hash: bytes) -> str | None:
        return await self.database.reading(NOBODY, lambda tables: tables.keys.owner_of(key_hash))
