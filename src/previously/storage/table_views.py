"""The store's verbs for views and for recognising stories, on the tables of a database."""

from __future__ import annotations

from collections.abc import Collection

from previously.core.snapshot import KeptRecipe
from previously.storage.database import Database
from previously.storage.recognition_store import Holding
from previously.storage.store import StoryKey


class TableViews:
    """The part of `TableStore` that keeps recipes and finds stories by their messages."""

    database: Database

    async def keep_recipe(self, key: StoryKey, recipe: KeptRecipe, seen: bytes) -> None:
        await self.database.writing(key, lambda tables: tables.recipes.keep(key, recipe, seen))

    async def recipes(
        self, key: StoryKey, reader: str, asked: str | None, most: int, *, first: int = -1, last: int
    ) -> list[KeptRecipe]:
        return await self.database.reading(
            key.owner, lambda tables: tables.recipes.of(key, reader, asked, most, first, last)
        )

    async def usage(self, key: StoryKey) -> str:
        return await self.database.reading(key.owner, lambda tables: tables.stories.kept(key, "usage"))

    async def keep_usage(self, key: StoryKey, usage: str) -> None:
        await self.database.writing(key, lambda tables: tables.stories.keep(key, "usage", usage))

    async def last_changes(self, owner: str) -> dict[int, str]:
        return await self.database.reading(owner, lambda tables: tables.stories.last_changes(owner))

    async def all_witnessed(self, key: StoryKey) -> bool:
        return await self.database.reading(key.owner, lambda tables: tables.recipes.all_witnessed(key))

    async def holding(self, owner: str, match_keys: Collection[bytes]) -> list[Holding]:
        return await self.database.reading(owner, lambda tables: tables.stories.holding(owner, match_keys))
