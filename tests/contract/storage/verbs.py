"""Stores that also answer single verbs, each a transaction of its own: short to write in tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, NoReturn, TypeVar

from previously.core.align import KnownEntry
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft
from previously.core.path import OnPath
from previously.core.snapshot import ALL_MARKS, KeptRecipe
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex
from previously.storage.postgres import PostgresStore
from previously.storage.sqlite import SqliteStore
from previously.storage.store import Store
from previously.storage.tables import Tables
from previously.storage.tables.books import Book, BookInfo
from previously.storage.tables.keys import NOBODY, AccessKey
from previously.storage.tables.records import BranchInfo, Move, StoryInfo, StoryKey, Traces
from previously.storage.tables.stories import Holding

T = TypeVar("T")


class VerbStore(Store):
    """A store that answers single verbs."""

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        return await self.write(key, lambda tables: tables.versions.commit(key, version))

    async def commit_all(self, key: StoryKey, versions: Sequence[NewVersion]) -> list[Version]:
        return await self.write(key, lambda tables: tables.versions.commit_all(key, versions))

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        return await self.write(key, lambda tables: tables.versions.set_status(key, version, status, reason))

    async def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        await self.write(key, lambda tables: tables.versions.loosen(key, versions))

    async def versions(self, key: StoryKey) -> list[Version]:
        return await self.read(key.owner, lambda tables: tables.versions.all(key))

    async def version(self, key: StoryKey, version: int) -> Version | None:
        return await self.read(key.owner, lambda tables: tables.versions.find(key, version))

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]:
        return await self.read(key.owner, lambda tables: tables.versions.newest(key, kind, scope, status, most, beyond))

    async def notes(self, key: StoryKey, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        return await self.read(key.owner, lambda tables: tables.versions.notes(key, kind, scope, firsts))

    async def answer(self, owner: str, request: bytes) -> str | None:
        return await self.read(owner, lambda tables: tables.answers.get(owner, request))

    async def keep_answer(
        self, key: StoryKey, request: bytes, text: str, *, model: str, at: str, node: int = 0, seen: bytes = b""
    ) -> None:
        await self.write(key, lambda tables: tables.answers.keep(key, request, text, model, at, node=node, seen=seen))

    async def model_fact(self, owner: str, model: str) -> str:
        return await self.read(owner, lambda tables: tables.answers.fact(owner, model))

    async def set_model_fact(self, owner: str, model: str, fact: str, at: str) -> None:
        nowhere = StoryKey(owner, 0)  # facts are of no story
        await self.write(nowhere, lambda tables: tables.answers.set_fact(owner, model, fact, at))

    async def keep_book(self, owner: str, name: str, body: str, *, at: str) -> None:
        await self.write(StoryKey(owner, 0), lambda tables: tables.books.keep(owner, Book(name, body, at)))

    async def book(self, owner: str, name: str) -> Book | None:
        return await self.read(owner, lambda tables: tables.books.get(owner, name))

    async def books(self, owner: str) -> list[BookInfo]:
        return await self.read(owner, lambda tables: tables.books.all(owner))

    async def attach_book(self, key: StoryKey, name: str) -> None:
        await self.write(key, lambda tables: tables.books.attach(key, name))

    async def detach_book(self, key: StoryKey, name: str) -> bool:
        return await self.write(key, lambda tables: tables.books.detach(key, name))

    async def attached(self, key: StoryKey) -> list[str]:
        return await self.read(key.owner, lambda tables: tables.books.attached(key))

    async def add_key(self, key: AccessKey) -> None:
        await self.write(StoryKey(NOBODY, 0), lambda tables: tables.keys.add(key))

    async def keys(self) -> list[AccessKey]:
        return await self.read(NOBODY, lambda tables: tables.keys.all())

    async def remove_key(self, name: str) -> AccessKey:
        return await self.write(StoryKey(NOBODY, 0), lambda tables: tables.keys.remove(name))

    async def owner_of(self, key_hash: bytes) -> str | None:
        return await self.read(NOBODY, lambda tables: tables.keys.owner_of(key_hash))

    async def recall(self, key: StoryKey, branch: str, work: Callable[[StoryIndex, PathEntries], T]) -> T:
        return await self.read(key.owner, lambda tables: work(*tables.recall(key, branch)))

    async def keep_recipe(self, key: StoryKey, recipe: KeptRecipe, seen: bytes) -> None:
        await self.write(key, lambda tables: tables.recipes.keep(key, recipe, seen))

    async def recipes(
        self, key: StoryKey, reader: str, asked: str | None, most: int, *, first: int = -1, last: int
    ) -> list[KeptRecipe]:
        return await self.read(key.owner, lambda tables: tables.recipes.of(key, reader, asked, most, first, last))

    async def usage(self, key: StoryKey) -> str:
        return await self.read(key.owner, lambda tables: tables.stories.kept(key, "usage"))

    async def keep_usage(self, key: StoryKey, usage: str) -> None:
        await self.write(key, lambda tables: tables.stories.keep(key, "usage", usage))

    async def last_changes(self, owner: str) -> dict[int, str]:
        return await self.read(owner, lambda tables: tables.stories.last_changes(owner))

    async def all_witnessed(self, key: StoryKey) -> bool:
        return await self.read(key.owner, lambda tables: tables.recipes.all_witnessed(key))

    async def holding(self, owner: str, match_keys: Collection[bytes]) -> list[Holding]:
        return await self.read(owner, lambda tables: tables.stories.holding(owner, match_keys))

    async def stories(self, owner: str) -> list[StoryInfo]:
        return await self.read(owner, lambda tables: tables.stories.all(owner))

    async def story(self, owner: str, name: str) -> StoryInfo | None:
        return await self.read(owner, lambda tables: tables.stories.named(owner, name))

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        return await self.read(key.owner, lambda tables: tables.stories.branches(key))

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        return await self.read(key.owner, lambda tables: tables.branch(key, name).info)

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        return await self.read(
            key.owner, lambda tables: tables.reader.span(key, tables.branch(key, branch), first, last)
        )

    async def known(self, key: StoryKey, branch: str) -> list[KnownEntry]:
        return await self.read(key.owner, lambda tables: tables.reader.known(key, tables.branch(key, branch)))

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        return await self.read(
            key.owner, lambda tables: tables.reader.siblings(key, tables.branch(key, branch), position)
        )

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        await self.write(key, lambda tables: tables.writer.set_attributes(key, changes))

    async def add_siblings(self, key: StoryKey, branch: str, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        return await self.write(
            key, lambda tables: tables.writer.add_siblings(key, tables.branch(key, branch).line, siblings)
        )

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        return await self.write(
            key, lambda tables: tables.writer.fork(key, tables.branch(key, source), name, length, at)
        )

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        return await self.write(key, lambda tables: tables.stories.switch(key, name))

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]:
        return await self.read(
            key.owner, lambda tables: tables.marks.of(key, tables.branch(key, branch).id, since, kinds)
        )

    async def newest_mark(self, key: StoryKey, branch: str, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        return await self.read(
            key.owner, lambda tables: tables.marks.newest(key, tables.branch(key, branch).id, kind, number)
        )

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
        of: int = 0,
        origin: int = 0,
        retires: Collection[int] = (),
    ) -> Mark:
        new = Mark(0, origin, kind, position, text, made_by, at, seen, of)
        return await self.write(key, lambda tables: tables.marks.add(key, tables.branch(key, branch), new, retires))

    async def take_back_mark(self, key: StoryKey, branch: str, mark: int) -> None:
        await self.write(key, lambda tables: tables.marks.take_back(key, tables.branch(key, branch), mark))

    async def moves(self, key: StoryKey) -> list[Move]:
        return await self.read(key.owner, lambda tables: tables.stories.moves(key))

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        (found,) = await self._live(key, branch, kind, [(scope, through)], firm=firm)
        return found

    async def live_each(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int]]
    ) -> list[LiveVersion | None]:
        return await self._live(key, branch, kind, asked, firm=False)

    async def _live(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int | None]], *, firm: bool
    ) -> list[LiveVersion | None]:
        return await self.read(
            key.owner, lambda tables: tables.versions.live(key, tables.branch(key, branch), kind, asked, firm=firm)
        )

    async def cover(
        self, key: StoryKey, branch: str, kind: Kind | None = None, *, firm: bool = False
    ) -> list[tuple[int, int, int]]:
        return await self.read(
            key.owner, lambda tables: tables.versions.cover(key, tables.branch(key, branch), kind, firm=firm)
        )

    async def spans(self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        return await self.read(
            key.owner, lambda tables: tables.versions.spans(key, tables.branch(key, branch), kind, firm=firm)
        )

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None:
        return await self.read(
            key.owner, lambda tables: tables.reader.position_of(key, tables.branch(key, branch), node)
        )

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        return await self.read(key.owner, lambda tables: tables.reader.leading_to(key, node, most))

    async def settings(self, key: StoryKey) -> str:
        return await self.read(key.owner, lambda tables: tables.stories.kept(key, "settings"))

    async def keep_settings(self, key: StoryKey, settings: str) -> None:
        await self.write(key, lambda tables: tables.stories.keep(key, "settings", settings))

    async def spent(self, owner: str, since: str) -> Cost:
        return await self.read(owner, lambda tables: tables.versions.spent(owner, since))

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        return await self.write(key, lambda tables: tables.stories.take_lease(key, work, holder, now, until))

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        await self.write(key, lambda tables: tables.stories.give_lease(key, work, holder))

    async def header(self, key: StoryKey) -> str:
        return await self.read(key.owner, lambda tables: tables.stories.kept(key, "header"))

    async def keep_header(self, key: StoryKey, header: str) -> None:
        await self.write(key, lambda tables: tables.stories.keep(key, "header", header))

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        await self.write(key, lambda tables: tables.stories.keep(key, "budget_tokens", budget_tokens))

    async def standing_at(self, key: StoryKey, branch: str, first: int, last: int) -> set[int]:
        return await self.read(
            key.owner, lambda tables: tables.forgetting.standing_at(key, tables.branch(key, branch), first, last)
        )

    async def traces(self, key: StoryKey, entries: Collection[int]) -> Traces:
        return await self.read(key.owner, lambda tables: tables.forgetting.traces(key, entries))

    async def entries_like(self, key: StoryKey, traces: Traces) -> tuple[set[int], bool]:
        return await self.read(key.owner, lambda tables: tables.forgetting.entries_like(key, traces))

    async def at_one_moment(self, owner: str, work: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        """Run verbs that read, all of one moment."""
        return await self.read(owner, lambda tables: _run_to_end(work(_StoreAtMoment(tables))))


class SqliteVerbs(VerbStore, SqliteStore):
    """A SQLite store that answers single verbs."""


class PostgresVerbs(VerbStore, PostgresStore):
    """A PostgreSQL store that answers single verbs."""


class _StoreAtMoment(VerbStore):
    """The verbs inside a transaction that reads: they answer at once, in the thread they are asked in."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def read(self, _owner: str, work: Callable[[Tables], T]) -> T:
        return work(self._tables)

    async def write(self, *_: object) -> NoReturn:
        raise RuntimeError("a moment is for reading")


def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError("only the store of the moment may be waited for")
