"""The lease on folding a story: whoever holds it folds, and nobody pays for the same fold twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from previously.runtime.clock import time_at
from previously.runtime.fold_store import FoldStore
from previously.storage.store import StoryKey

LEASE_S = 30.0
"""A loop that died holds up the others no longer than this; one that works renews its lease."""

LEASE = "fold"


async def taken(store: FoldStore, key: StoryKey, holder: str) -> bool:
    """Whether a holder may fold for a while."""
    return await store.take_lease(key, LEASE, holder, now=time_at(), until=time_at(LEASE_S))


@asynccontextmanager
async def renewed(store: FoldStore, key: StoryKey, holder: str) -> AsyncIterator[None]:
    """The lease is kept for as long as the block lasts."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            await taken(store, key, holder)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
