"""The store's verbs on the tables of a database.

Each verb says only whether it reads or writes and which table answers. A verb that writes answers when it is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from previously.core.align import KnownEntry
from previously.core.errors import HeadMoved
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft
from previously.core.path import OnPath, Put, Splice, Splices
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import Cost, Kind, LiveVersion
from previously.storage import keeping
from previously.storage.database import Database, Moment, at_a_moment, to_its_end
from previously.storage.store import BranchInfo, Forgotten, Move, Store, StoryInfo, StoryKey, Traces
from previously.storage.table_answers import TableAnswers
from previously.storage.table_books import TableBooks
from previously.storage.table_keys import TableKeys
from previously.storage.table_recall import TableRecall
from previously.storage.table_versions import TableVersions
from previously.storage.table_views import TableViews
from previously.storage.tables import Tables
from previously.storage.tables.findings import Collected, Told, Verified
from previously.storage.tables.kept_paths import KeptPaths
from previously.storage.tables.stories import BranchRow

T = TypeVar("T")


class TableStore(TableAnswers, TableBooks, TableKeys, TableRecall, TableVersions, TableViews):
    """Stories in the tables of one database."""

    def __init__(self, database: Database, paths: KeptPaths | None = None) -> None:
        self.database = database
        self.paths = paths or KeptPaths()
        self._reading = database.reading
        self._writing = database.writing

    async def at_one_moment(self, owner: str, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
        return await self._reading(owner, lambda tables: to_its_end(work(TableStore(Moment(tables), self.paths))))

    async def read(self, owner: str, work: Callable[[Tables], T]) -> T:
        return await self._reading(owner, lambda tables: work(at_a_moment(tables, self.paths)))

    async def write(self, key: StoryKey, work: Callable[[Tables], T]) -> T:
        return await self._writing(key, work)

    async def create_story(self, owner: str, name: str, *, at: str) -> StoryInfo:
        return await self.database.creating(owner, name, lambda tables: tables.stories.create(owner, name, at))

    async def apply(
        self,
        key: StoryKey,
        branch: str,
        script: Splices,
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        return await self._changed(key, branch, lambda _: script, at, expected_head, receipt)

    async def append(
        self,
        key: StoryKey,
        branch: str | None,
        drafts: Sequence[Draft],
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        pieces = tuple(map(Put, drafts))
        return await self._changed(
            key, branch, lambda found: [Splice(found.messages, 0, pieces)], at, expected_head, receipt
        )

    async def _changed(
        self,
        key: StoryKey,
        branch: str | None,
        script: Callable[[BranchRow], Splices],
        at: str,
        expected_head: int | None,
        receipt: str | None,
    ) -> BranchInfo:
        def write(tables: Tables) -> Generator[None, None, BranchInfo]:
            found = tables.branch(key, branch)
            if receipt is not None and tables.stories.has_receipt(key, receipt):
                return found.info
            if expected_head is not None and expected_head != found.head:
                raise HeadMoved(f"Branch {found.name!r} has moved on since it was read.")
            return (yield from tables.writer.apply(key, found, script(found), at, receipt))

        return await self.database.staging(key, write)

    async def stories(self, owner: str) -> list[StoryInfo]:
        return await self._reading(owner, lambda tables: tables.stories.all(owner))

    async def story(self, owner: str, name: str) -> StoryInfo | None:
        return await self._reading(owner, lambda tables: tables.stories.named(owner, name))

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        return await self._reading(key.owner, lambda tables: tables.stories.branches(key))

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        return await self._reading(key.owner, lambda tables: tables.branch(key, name).info)

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        return await self._reading(
            key.owner, lambda tables: tables.reader.span(key, tables.branch(key, branch), first, last)
        )

    async def known(self, key: StoryKey, branch: str) -> list[KnownEntry]:
        return await self._reading(key.owner, lambda tables: tables.reader.known(key, tables.branch(key, branch)))

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        return await self._reading(
            key.owner, lambda tables: tables.reader.siblings(key, tables.branch(key, branch), position)
        )

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        await self._writing(key, lambda tables: tables.writer.set_attributes(key, changes))

    async def add_siblings(self, key: StoryKey, branch: str, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        return await self._writing(
            key, lambda tables: tables.writer.add_siblings(key, tables.branch(key, branch).line, siblings)
        )

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        return await self._writing(
            key, lambda tables: tables.writer.fork(key, tables.branch(key, source), name, length, at)
        )

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        return await self._writing(key, lambda tables: tables.stories.switch(key, name))

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]:
        return await self._reading(
            key.owner, lambda tables: tables.marks.of(key, tables.branch(key, branch).id, since, kinds)
        )

    async def newest_mark(self, key: StoryKey, branch: str, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        return await self._reading(
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
        return await self._writing(key, lambda tables: tables.marks.add(key, tables.branch(key, branch), new, retires))

    async def take_back_mark(self, key: StoryKey, branch: str, mark: int) -> None:
        await self._writing(key, lambda tables: tables.marks.take_back(key, tables.branch(key, branch), mark))

    async def moves(self, key: StoryKey) -> list[Move]:
        return await self._reading(key.owner, lambda tables: tables.stories.moves(key))

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
        return await self._reading(
            key.owner, lambda tables: tables.versions.live(key, tables.branch(key, branch), kind, asked, firm=firm)
        )

    async def cover(
        self, key: StoryKey, branch: str, kind: Kind | None = None, *, firm: bool = False
    ) -> list[tuple[int, int, int]]:
        return await self._reading(
            key.owner, lambda tables: tables.versions.cover(key, tables.branch(key, branch), kind, firm=firm)
        )

    async def spans(self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        return await self._reading(
            key.owner, lambda tables: tables.versions.spans(key, tables.branch(key, branch), kind, firm=firm)
        )

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None:
        return await self._reading(
            key.owner, lambda tables: tables.reader.position_of(key, tables.branch(key, branch), node)
        )

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        return await self._reading(key.owner, lambda tables: tables.reader.leading_to(key, node, most))

    async def settings(self, key: StoryKey) -> str:
        return await self._reading(key.owner, lambda tables: tables.stories.kept(key, "settings"))

    async def keep_settings(self, key: StoryKey, settings: str) -> None:
        await self._writing(key, lambda tables: tables.stories.keep(key, "settings", settings))

    async def spent(self, owner: str, since: str) -> Cost:
        return await self._reading(owner, lambda tables: tables.versions.spent(owner, since))

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        return await self._writing(key, lambda tables: tables.stories.take_lease(key, work, holder, now, until))

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        await self._writing(key, lambda tables: tables.stories.give_lease(key, work, holder))

    async def header(self, key: StoryKey) -> str:
        return await self._reading(key.owner, lambda tables: tables.stories.kept(key, "header"))

    async def keep_header(self, key: StoryKey, header: str) -> None:
        await self._writing(key, lambda tables: tables.stories.keep(key, "header", header))

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        await self._writing(key, lambda tables: tables.stories.keep(key, "budget_tokens", budget_tokens))

    async def verify(self, owner: str, *, before: str, told: Told | None = None) -> Verified:
        """Check every hash and cache of the owner's stories. What was begun before that time and never finished counts
        as garbage."""
        return await keeping.verify(self.database, owner, before=before, told=told)

    async def gc(self, owner: str, *, before: str, shrink: bool = False) -> Collected:
        """Take away what no story of the owner needs, as far as it was begun before that time; with `shrink`, give
        the disk its free bytes back, while others wait."""
        return await keeping.collect(self.database, owner, before=before, shrink=shrink)

    async def standing_at(self, key: StoryKey, branch: str, first: int, last: int) -> set[int]:
        return await self._reading(
            key.owner, lambda tables: tables.forgetting.standing_at(key, tables.branch(key, branch), first, last)
        )

    async def traces(self, key: StoryKey, entries: Collection[int]) -> Traces:
        return await self._reading(key.owner, lambda tables: tables.forgetting.traces(key, entries))

    async def entries_like(self, key: StoryKey, traces: Traces) -> tuple[set[int], bool]:
        return await self._reading(key.owner, lambda tables: tables.forgetting.entries_like(key, traces))

    async def forget_entries(self, key: StoryKey, entries: Collection[int]) -> Forgotten:
        done, cleared = await self._destroying(key, lambda tables: tables.forgetting.entries(key, entries))
        return replace(done, cleared=cleared)

    async def forget_story(self, key: StoryKey) -> bool:
        _, cleared = await self._destroying(key, lambda tables: tables.forgetting.story(key))
        self.paths.forget(key)
        return cleared

    async def _destroying(self, key: StoryKey, work: Callable[[Tables], T]) -> tuple[T, bool]:
        def at_once(tables: Tables) -> Generator[None, None, T]:
            return work(tables)
            yield

        result = await self.database.destroying(key, at_once)
        return result, await self.database.clear_log() or await self.database.space() is None

    async def close(self) -> None:
        await self.database.close()
