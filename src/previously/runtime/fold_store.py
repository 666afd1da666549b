"""What folding and reading ask of a store: the parts of `storage.store.Store` that something else can stand in for, a
rehearsal or an earlier moment. Each verb is that of `Store`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import Kind, LiveVersion, NewVersion, Status, Version
from previously.storage.store import BranchInfo, StoryKey
from previously.storage.tables.books import BookReading

T = TypeVar("T")


class PathStore(Protocol):
    """Reads messages, and where texts of theirs belong."""

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]: ...

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None: ...

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]: ...

    async def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]: ...


class SnapshotStore(PathStore, Protocol):
    """Reads a path with its marks and the versions that are valid on it."""

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo: ...

    async def all_witnessed(self, key: StoryKey) -> bool: ...

    async def version(self, key: StoryKey, version: int) -> Version | None: ...

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]: ...

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None: ...


class MemoryStore(SnapshotStore, BookReading, Protocol):
    """Reads a path with what is remembered of it."""

    async def newest_mark(self, key: StoryKey, branch: str, kind: MarkKind, number: int) -> tuple[Mark | None, int]: ...

    async def live_each(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int]]
    ) -> list[LiveVersion | None]: ...


class FoldStore(SnapshotStore, Protocol):
    """Reads a path with its marks and versions; keeps new ones."""

    async def at_one_moment(self, owner: str, work: Callable[[FoldStore], Coroutine[Any, Any, T]]) -> T: ...

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]: ...

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

    async def spans(
        self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False
    ) -> set[tuple[str, int, int]]: ...

    async def cover(
        self, key: StoryKey, branch: str, kind: Kind | None = None, *, firm: bool = False
    ) -> list[tuple[int, int, int]]: ...

    async def commit(self, key: StoryKey, version: NewVersion) -> Version: ...

    async def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]: ...

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version: ...

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool: ...

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None: ...
