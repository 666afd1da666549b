"""The store's verbs for answers of models and facts about them, on the tables of a database."""

from __future__ import annotations

from previously.storage.database import Database
from previously.storage.store import StoryKey


class TableAnswers:
    """The part of `TableStore` that keeps answers and facts."""

    database: Database

    async def answer(self, owner: str, request: bytes) -> str | None:
        return await self.database.reading(owner, lambda tables: tables.answers.get(owner, request))

    async def keep_answer(
        self, key: StoryKey, request: bytes, text: str, *, model: str, at: str, node: int = 0, seen: bytes = b""
    ) -> None:
        await self.database.writing(
            key, lambda tables: tables.answers.keep(key, request, text, model, at, node=node, seen=seen)
        )

    async def model_fact(self, owner: str, model: str) -> str:
        return await self.database.reading(owner, lambda tables: tables.answers.fact(owner, model))

    async def set_model_fact(self, owner: str, model: str, fact: str, at: str) -> None:
        nowhere = StoryKey(owner, 0)  # facts are of no story
        await self.database.writing(nowhere, lambda tables: tables.answers.set_fact(owner, model, fact, at))
