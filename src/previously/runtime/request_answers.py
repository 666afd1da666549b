"""Answers to requests that changed a story, kept for a client that asks again with the same key after a restart.

They stand among the answers of models, as answers of no model: with their story, and gone with it or with any message
of it that is forgotten. Each key has a slot, and a later key with the same slot takes its place: so they stay few.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import blake2b

from previously.core.errors import PreviouslyError
from previously.runtime.clock import time_at
from previously.storage.store import Store
from previously.storage.tables import Tables

SLOTS = 512
"""Answers of one owner. A client that was cut off asks again within minutes, and makes few changes in that time."""

NO_MODEL = ""


class RequestAnswers:
    """The kept answers of one owner."""

    def __init__(self, store: Store, owner: str) -> None:
        self._store, self._owner = store, owner

    async def find(self, key: str) -> str | None:
        """Return what was answered to the request with that key."""
        text = await self._store.read(self._owner, lambda tables: tables.answers.get(self._owner, _find_slot(key)))
        kept_key, answer = json.loads(text) if text else ("", None)
        return str(answer) if kept_key == key else None

    async def keep(self, story: str, key: str, answer: str) -> None:
        """Keep an answer with its story, if the story is still there."""
        info = await self._store.read(self._owner, lambda tables: tables.stories.named(self._owner, story))
        if info is None:
            return
        slot, text, at = _find_slot(key), json.dumps([key, answer]), time_at()

        def write(tables: Tables) -> None:
            tables.answers.keep(info.key, slot, text, NO_MODEL, at)

        with suppress(KeyError, PreviouslyError):  # forgotten meanwhile, or there is no room: what was done is done
            await self._store.write(info.key, write)


def _find_slot(key: str) -> bytes:
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) % SLOTS
    return blake2b(number.to_bytes(8), digest_size=32, person=b"prev.request").digest()
