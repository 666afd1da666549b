"""The store's verbs for recall, on the tables of a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from previously.storage.database import Database
from previously.storage.recall_store import MOST_AT_ONCE
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.kept_paths import KeptPaths

if TYPE_CHECKING:
    from previously.recall.outline import PathEntries
    from previously.recall.search import StoryIndex
    from previously.recall.vectors import WordTable

T = TypeVar("T")


class TableRecall:
    """The part of `TableStore` that keeps an index. What brings numpy is imported by the first call that needs it."""

    database: Database
    paths: KeptPaths

    async def index(self, key: StoryKey, table: WordTable | None, *, most: int = MOST_AT_ONCE) -> int:
        from previously.storage.tables.indexing import keep_batch, read_batch

        while True:
            batch = await self.database.reading(key.owner, lambda tables: read_batch(tables.session, key, table, most))
            if batch is None:
                return 0
            made = batch
            if await self.database.writing(key, lambda tables, made=made: keep_batch(tables.session, key, made)):  # type: ignore[misc]
                return made.waiting

    async def recall(self, key: StoryKey, branch: str, work: Callable[[StoryIndex, PathEntries], T]) -> T:
        from previously.storage.tables.index_reading import path_entries, story_index

        def read(tables: Tables) -> T:
            path = path_entries(tables.session, key, tables.branch(key, branch), self.paths)
            return work(story_index(tables.session, key, self.paths.indexes), path)

        return await self.database.reading(key.owner, read)
