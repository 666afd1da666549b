"""The store's verbs for versions, on the tables of a database."""

from __future__ import annotations

from collections.abc import Sequence

from previously.core.versions import Kind, NewVersion, Status, Version
from previously.storage.database import Database
from previously.storage.store import StoryKey


class TableVersions:
    """The part of `TableStore` that keeps versions."""

    database: Database

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        return await self.database.writing(key, lambda tables: tables.versions.commit(key, version))

    async def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]:
        return await self.database.writing(key, lambda tables: tables.versions.commit_all(key, versions))

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        return await self.database.writing(key, lambda tables: tables.versions.set_status(key, version, status, reason))

    async def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        await self.database.writing(key, lambda tables: tables.versions.loosen(key, versions))

    async def versions(self, key: StoryKey) -> list[Version]:
        return await self.database.reading(key.owner, lambda tables: tables.versions.all(key))

    async def version(self, key: StoryKey, version: int) -> Version | None:
        return await self.database.reading(key.owner, lambda tables: tables.versions.find(key, version))

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]:
        return await self.database.reading(
            key.owner, lambda tables: tables.versions.newest(key, kind, scope, status, most, beyond)
        )

    async def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        return await self.database.reading(key.owner, lambda tables: tables.versions.notes(key, kind, scope, firsts))
