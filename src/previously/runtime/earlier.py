"""A story as it was when its path was shorter: what a view before a message is made of.

What must stay true: nothing of what stands later is seen, neither messages nor marks nor memory that reaches further.
Memory is that of now, as far as it is of the messages before: what has been folded better since is told better.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import Kind, LiveVersion
from previously.storage.store import BranchInfo, Store, StoryKey


class Earlier:
    """The reading side of a store, for one story, with only so many messages on its path."""

    def __init__(self, store: Store, messages: int) -> None:
        self._store = store
        self._messages = messages
        self.newest_versions = store.newest_versions
        self.notes = store.notes  # the caller looks for the runs they read on the path it sees
        self.all_witnessed, self.version = store.all_witnessed, store.version
        self.book, self.books, self.attached = store.book, store.books, store.attached  # of now, like all memory

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        found = await self._store.branch(key, name)
        return replace(found, messages=min(found.messages, self._messages))

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        return await self._store.path(key, branch, first, min(last, self._messages - 1))

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]:
        found = await self._store.marks(key, branch, kinds, since=since)
        return [mark for mark in found if mark.position < self._messages]

    async def newest_mark(self, key: StoryKey, branch: str, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        marks = await self.marks(key, branch, {kind})
        if len(marks) <= number:
            return None, 0
        found = marks[-1 - number]
        return found, len({mark.position for mark in marks if mark.position <= found.position})

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        return await self._store.live(key, branch, kind, scope, firm=firm, through=self._within(through))

    async def live_each(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int]]
    ) -> list[LiveVersion | None]:
        within = [(scope, self._within(through)) for scope, through in asked]
        return await self._store.live_each(key, branch, kind, within)

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None:
        found = await self._store.position_of(key, branch, node)
        return found if found is not None and found < self._messages else None

    def _within(self, through: int | None) -> int:
        return self._messages - 1 if through is None else min(through, self._messages - 1)
