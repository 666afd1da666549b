"""The ledgers of a fold loop, which it reads and keeps in: a story of a store, or a plan that only goes on in memory.

The same loop runs on both, so what `fold --plan` says is what `fold` does, as far as it can be known beforehand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol, TypeVar
from uuid import uuid4

from previously.core.errors import StoreProblem
from previously.core.marks import Mark, MarkKind
from previously.core.snapshot import Snapshot, with_planned
from previously.core.versions import NewVersion, Status, Version
from previously.folds.boundary import Boundary
from previously.memory.notes import NOTES
from previously.memory.presence import Presences
from previously.plan.residue import find_outdated_states
from previously.runtime.clock import time_at
from previously.runtime.fold_versions import FoldOutcome
from previously.runtime.story_moment import find_known_reader
from previously.storage.store import Store, StoryKey
from previously.storage.tables import Tables

T = TypeVar("T")

LEASE = "fold"
LEASE_S = 30.0
"""A loop that died holds up the others no longer than this; one that works renews its lease."""

OUTDATED = "a note it was put together from was made anew"


class FoldLedger(Protocol):
    """Reads one branch of a story, and keeps what is folded."""

    @property
    def key(self) -> StoryKey: ...

    @property
    def presences(self) -> Presences: ...

    async def take_lease(self) -> bool:
        """Return whether this loop may fold for a while: nobody pays for the same fold twice."""

    async def give_lease(self) -> None: ...

    async def read(self, work: Callable[[Snapshot], T]) -> T: ...

    async def close_chapter(self, boundary: Boundary) -> None: ...

    async def keep(self, outcome: FoldOutcome) -> Sequence[Version]:
        """Keep what became of a fold, and drop the states that were put together without it; return what is there now
        for each of its versions."""

    async def undo(self, versions: Sequence[int], reason: str) -> None: ...


@asynccontextmanager
async def renew_lease(ledger: FoldLedger) -> AsyncIterator[None]:
    """Keep the lease for as long as the block lasts."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(StoreProblem):  # the next time may be in time, and what is to be kept says what is wrong
                await ledger.take_lease()

    renewal = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewal.cancel()
        await asyncio.wait([renewal])  # unlike waiting for it, this raises nothing of its own and hides no cancellation
        if not renewal.cancelled():
            renewal.exception()


class StoryLedger:
    """The ledger of folds of a story in a store."""

    def __init__(self, store: Store, key: StoryKey, branch: str | None = None) -> None:
        """Fold a branch, the active one if None."""
        self.key = key
        self._branch = branch
        self.presences: Presences = find_known_reader(store, key).presences
        self._store = store
        self._holder = uuid4().hex
        self._renewed_until = ""
        """The time until which the lease is not asked for, since a write has just renewed it."""

    async def take_lease(self) -> bool:
        return time_at() < self._renewed_until or await self._store.write(self.key, self._renew_lease)

    def _renew_lease(self, tables: Tables) -> bool:
        return tables.stories.take_lease(self.key, LEASE, self._holder, time_at(), time_at(LEASE_S))

    async def _write(self, work: Callable[[Tables], T]) -> T:
        """Write, and renew the lease with it."""
        fresh_until = time_at(LEASE_S / 3)
        result, is_mine = await self._store.write(self.key, lambda tables: (work(tables), self._renew_lease(tables)))
        self._renewed_until = fresh_until if is_mine else ""
        return result

    async def give_lease(self) -> None:
        await self._store.write(self.key, lambda tables: tables.stories.give_lease(self.key, LEASE, self._holder))

    async def read(self, work: Callable[[Snapshot], T]) -> T:
        return await self._store.read(self.key.owner, lambda tables: work(tables.snapshot(self.key, self._branch)))

    async def close_chapter(self, boundary: Boundary) -> None:
        mark = _make_mark(0, boundary)
        await self._write(lambda tables: tables.marks.add(self.key, tables.branch(self.key, self._branch), mark, ()))

    async def keep(self, outcome: FoldOutcome) -> Sequence[Version]:
        def write(tables: Tables) -> Sequence[Version]:
            for attempt in outcome.attempts:
                tables.versions.commit(self.key, attempt)
            kept = tables.versions.commit_all(self.key, outcome.versions) if outcome.versions else []
            if kept and outcome.lost and kept[0].made.at != outcome.own.at:
                tables.versions.commit(self.key, outcome.lost)
            if _has_notes(kept):
                for version in find_outdated_states(tables.snapshot(self.key, self._branch), outcome.own.span.first):
                    tables.versions.set_status(self.key, version, Status.UNDONE, OUTDATED)
            return kept

        return await self._write(write)

    async def undo(self, versions: Sequence[int], reason: str) -> None:
        def write(tables: Tables) -> None:
            for version in versions:
                tables.versions.set_status(self.key, version, Status.UNDONE, reason)

        if versions:
            await self._write(write)


class PlannedLedger:
    """A story as it would be: reads go through to a store, marks and versions are kept here. With `anew`, what is there
    already counts as loose."""

    def __init__(self, store: Store, key: StoryKey, *, anew: bool = False) -> None:
        self.key = key
        self.presences: Presences = Presences()  # planned versions of several plans share their numbers
        self._store = store
        self._anew = anew
        self._marks: list[Mark] = []
        self._versions: list[Version] = []
        self._gone: set[int] = set()
        self._ids = 0

    @property
    def is_begun(self) -> bool:
        """Return whether anything has been folded."""
        return bool(self._versions)

    async def take_lease(self) -> bool:
        return True

    async def give_lease(self) -> None:
        return None

    async def read(self, work: Callable[[Snapshot], T]) -> T:
        def look(tables: Tables) -> T:
            snapshot = tables.snapshot(self.key)
            return work(with_planned(snapshot, self._versions, self._marks, gone=self._gone, loose=self._anew))

        return await self._store.read(self.key.owner, look)

    async def close_chapter(self, boundary: Boundary) -> None:
        self._marks.append(_make_mark(self._next_id(), boundary))

    async def keep(self, outcome: FoldOutcome) -> Sequence[Version]:
        kept = [self._commit(version) for version in outcome.versions]
        if _has_notes(kept):
            outdated = await self.read(lambda snapshot: find_outdated_states(snapshot, outcome.own.span.first))
            await self.undo(outdated, OUTDATED)
        return kept

    async def undo(self, versions: Sequence[int], reason: str) -> None:  # noqa: ARG002
        self._gone.update(versions)
        self._versions[:] = [version for version in self._versions if version.id not in versions]

    def _commit(self, version: NewVersion) -> Version:
        self._versions.append(Version(self._next_id(), replace(version, status=Status.COMMITTED), True))
        return self._versions[-1]

    def _next_id(self) -> int:
        self._ids -= 1  # no real mark or version has such an id
        return self._ids


def _make_mark(ident: int, boundary: Boundary) -> Mark:
    return Mark(
        ident, ident, MarkKind.CHAPTER, boundary.position, boundary.title, boundary.reason, time_at(), b""
    )  # fmt: skip


def _has_notes(kept: Sequence[Version]) -> bool:
    """Return whether there are notes among versions from which states are put together."""
    return any(version.made.kind in NOTES for version in kept)
