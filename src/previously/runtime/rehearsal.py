"""A rehearsal: folding as it would go, with nothing written.

The same loop runs on a store that keeps what it is given to itself, and a folder that writes nothing and takes texts to
be as long as they should be. So what `fold --plan` says is what `fold` does, as far as it can be known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import Kind, LiveVersion, NewVersion, Status, Version
from previously.runtime.fold_store import FoldStore
from previously.storage.store import BranchInfo, StoryKey

T = TypeVar("T")

PLANNED = "planned"


class RehearsalStore:
    """Reads through to a store; keeps marks and versions to itself. What is there already counts as loose where
    everything is to be made anew."""

    def __init__(self, store: FoldStore, *, anew: bool = False) -> None:
        self._store = store
        self._anew = anew
        self._marks: list[Mark] = []
        self._versions: list[Version] = []
        self._gone: set[int] = set()
        self._ids = 0

    @property
    def written(self) -> bool:
        """Whether anything has been folded."""
        return bool(self._versions)

    async def at_one_moment(self, owner: str, work: Callable[[FoldStore], Coroutine[Any, Any, T]]) -> T:
        return await self._store.at_one_moment(owner, lambda store: work(self._through(store)))

    def _through(self, store: FoldStore) -> RehearsalStore:
        """The same, what it keeps included, reading through to another store."""
        other = copy(self)
        other._store = store
        return other

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        return await self._store.branch(key, name)

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        return await self._store.path(key, branch, first, last)

    async def all_witnessed(self, key: StoryKey) -> bool:
        return await self._store.all_witnessed(key)

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        return await self._store.leading_to(key, node, most)

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None:
        return await self._store.position_of(key, branch, node)

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]:
        own = [mark for mark in self._marks if mark.kind in kinds and mark.position >= since]
        there = await self._store.marks(key, branch, kinds, since=since)
        return sorted([*there, *own], key=lambda mark: mark.position)

    async def add_mark(
        self,
        key: StoryKey,
        branch: str,
        kind: MarkKind,
        position: int,
        text: str,
        *,
        made_by: str,
        at: str,
        seen: bytes = b"",
    ) -> Mark:
        self._ids -= 1  # no real mark or version has such an id
        self._marks.append(Mark(self._ids, self._ids, kind, position, text, made_by, at, seen))
        return self._marks[-1]

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        own = [
            LiveVersion(version, version.made.span)
            for version in self._versions
            if (version.made.kind, version.made.scope) == (kind, scope)
            and (through is None or version.made.span.last <= through)
        ]
        hidden = self._anew and firm
        there = None if hidden else await self._store.live(key, branch, kind, scope, firm=firm, through=through)
        while there and there.version.id in self._gone:
            before = there.span.last - 1
            there = await self._store.live(key, branch, kind, scope, firm=firm, through=before)
        if there and self._anew:
            there = replace(there, version=replace(there.version, firm=False))
        return max([*own, *([there] if there else [])], key=lambda one: one.span.last, default=None)

    async def spans(self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        own = {
            (version.made.scope, version.made.span.first, version.made.span.last)
            for version in self._versions
            if version.made.kind is kind
        }
        return own if self._anew and firm else await self._store.spans(key, branch, kind, firm=firm) | own

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]:
        return await self._store.newest_versions(key, kind, scope, status, most, beyond=beyond)

    async def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        made = [one for one in self._versions if (one.made.kind, one.made.scope) == (kind, scope)]
        own = [one for one in made if one.made.first and one.made.first in firsts]
        there = [one for one in await self._store.notes(key, kind, scope, firsts) if one.id not in self._gone]
        return [*([replace(one, firm=False) for one in there] if self._anew else there), *own]

    async def cover(
        self, key: StoryKey, branch: str, kind: Kind | None = None, *, firm: bool = False
    ) -> list[tuple[int, int, int]]:
        own = [
            (one.made.span.first, one.made.span.last, one.id)
            for one in self._versions
            if kind is None or one.made.kind is kind
        ]
        there = [] if self._anew and firm else await self._store.cover(key, branch, kind, firm=firm)
        return [*(row for row in there if row[2] not in self._gone), *own]

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        """Take a version out of force, as far as the rehearsal is concerned."""
        self._gone.add(version)
        found = await self.version(key, version)
        self._versions[:] = [one for one in self._versions if one.id != version]
        assert found is not None, "only what was found is taken out of force"
        return found

    async def version(self, key: StoryKey, version: int) -> Version | None:
        own = next((one for one in self._versions if one.id == version), None)
        return own or await self._store.version(key, version)

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        self._ids -= 1
        self._versions.append(Version(self._ids, replace(version, status=Status.COMMITTED), True))
        return self._versions[-1]

    async def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]:
        return [await self.commit(key, version) for version in versions]

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        return True

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        return None
