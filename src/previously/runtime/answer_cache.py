"""Answers that were paid for once, kept by the hash of their request, and what is known of a model.

Only answers that were accepted are kept, so that a bad one is asked for again. They belong to the story they were made
for: forgetting it, or any message of it, takes them away.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

from previously.core.errors import StoreProblem
from previously.core.model_io import ModelReply, ModelRequest, Usage
from previously.runtime.clock import time_at
from previously.storage.store import Store, StoryKey
from previously.storage.tables import Tables

TWO_STEPS = "two steps"
"""The fact that a model cannot give texts and lists in one answer."""


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The subject of an answer: a story, and the last message that its request was made of."""

    story: StoryKey
    node: int
    seen: bytes
    """The hash of the path up to that message."""


class AnswerCache:
    """The kept answers of one owner. Without a store nothing is kept beyond this object, and no answer at all."""

    def __init__(self, store: Store | None, owner: str) -> None:
        self._store = store
        self._owner = owner
        self._facts: dict[str, str] = {}

    async def answer(self, source: AnswerSource | None, model: str, request: ModelRequest) -> ModelReply | None:
        """Return the answer that this request was given before; None where it was not, or for no story."""
        if self._store is None or source is None:
            return None
        asked = hash_request(model, request)
        text = await self._store.read(self._owner, lambda tables: tables.answers.get(self._owner, asked))
        return ModelReply(text, model, "stop", Usage(0, 0, False)) if text is not None else None

    async def keep(self, source: AnswerSource | None, model: str, request: ModelRequest, reply: ModelReply) -> None:
        """Keep an answer for the next time the same is asked. One that was cut off is not the same a second time."""
        if self._store is None or source is None or reply.finish_reason == "length":
            return
        key, asked, at = source.story, hash_request(model, request), time_at()

        def write(tables: Tables) -> None:
            tables.answers.keep(key, asked, reply.text, model, at, node=source.node, seen=source.seen)

        with suppress(KeyError, StoreProblem):  # the story was forgotten meanwhile; or there is no room for a cache
            await self._store.write(source.story, write)

    async def takes_two_steps(self, model: str) -> bool:
        """Return whether a model is known to need texts and lists asked apart."""
        if model not in self._facts and self._store is not None:
            self._facts[model] = await self._store.read(
                self._owner, lambda tables: tables.answers.fact(self._owner, model)
            )
        return self._facts.get(model) == TWO_STEPS

    async def take_two_steps(self, model: str) -> None:
        """Remember that a model needs texts and lists asked apart."""
        self._facts[model] = TWO_STEPS
        if self._store is not None:
            at, nowhere = time_at(), StoryKey(self._owner, 0)  # facts are of no story
            await self._store.write(nowhere, lambda tables: tables.answers.set_fact(self._owner, model, TWO_STEPS, at))


def hash_request(model: str, request: ModelRequest) -> bytes:
    """Return what a request is known by: the model, the words and the shape that was asked for."""
    asked = [model, request.system, request.user, request.schema]
    return blake2b(json.dumps(asked, sort_keys=True).encode("utf-8", "surrogatepass"), digest_size=32).digest()
