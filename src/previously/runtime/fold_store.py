"""What folding asks of a store: the part of `storage.store.Store` that a rehearsal can stand in for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from previously.core.marks import Mark, MarkKind
from previously.core.paths import OnPath
from previously.core.versions import Kind, LiveVersion, NewVersion, Status, Version
from previously.storage.store import ALL_MARKS, BranchInfo, StoryKey


class FoldStore(Protocol):
    """Reads a path with its marks and versions; keeps new ones. Each verb is that of `Store`."""

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo: ...

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]: ...

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]: ...

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None: ...

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]: ...

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
    ) -> Mark: ...

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None: ...

    async def spans(
        self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False
    ) -> set[tuple[str, int, int]]: ...

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]: ...

    async def commit(self, key: StoryKey, version: NewVersion) -> Version: ...

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool: ...

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None: ...
