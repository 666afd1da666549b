"""The store's verbs on PostgreSQL.

Each verb says only whether it reads or writes and which table answers. A verb that writes is one transaction that holds
its story from the first statement on, and answers when it is on disk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from previously.core.align import Known
from previously.core.errors import HeadMoved
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft
from previously.core.paths import OnPath
from previously.core.scripts import Script
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version
from previously.storage.postgres.connections import Connections
from previously.storage.postgres.tables import Tables
from previously.storage.store import ALL_MARKS, BranchInfo, Move, StoryInfo, StoryKey

CONNECTIONS = 8
"""How many verbs of one process are under way at once; others wait."""


class PostgresStore:
    """Stories in one PostgreSQL database. Any number of processes may have it open."""

    def __init__(self, url: str, *, connections: int = CONNECTIONS) -> None:
        self._connections = Connections(url, connections)
        self._reading = self._connections.reading
        self._writing = self._connections.writing

    async def stories(self, owner: str) -> list[StoryInfo]:
        return await self._reading(owner, lambda tables: tables.stories.all(owner))

    async def story(self, owner: str, name: str) -> StoryInfo | None:
        return await self._reading(owner, lambda tables: tables.stories.named(owner, name))

    async def create_story(self, owner: str, name: str, *, at: str) -> StoryInfo:
        return await self._connections.creating(owner, name, lambda tables: tables.stories.create(owner, name, at))

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        return await self._reading(key.owner, lambda tables: tables.stories.branches(key))

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        return await self._reading(key.owner, lambda tables: tables.branch(key, name).info)

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        return await self._reading(
            key.owner, lambda tables: tables.reader.span(key, tables.branch(key, branch), first, last)
        )

    async def known(self, key: StoryKey, branch: str) -> list[Known]:
        return await self._reading(key.owner, lambda tables: tables.reader.known(key, tables.branch(key, branch)))

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        return await self._reading(
            key.owner, lambda tables: tables.reader.siblings(key, tables.branch(key, branch), position)
        )

    async def apply(
        self,
        key: StoryKey,
        branch: str,
        script: Script,
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        def write(tables: Tables) -> BranchInfo:
            found = tables.branch(key, branch)
            if receipt is not None and tables.stories.has_receipt(key, receipt):
                return found.info
            if expected_head is not None and expected_head != found.head:
                raise HeadMoved(f"Branch {branch!r} has moved on since it was read.")
            tables.writer.apply(key, found, script, at, receipt)
            return tables.branch(key, branch).info

        return await self._writing(key, write)

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

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        return await self._writing(key, lambda tables: tables.versions.commit(key, version))

    async def set_status(self, key: StoryKey, version: int, status: Status, *, reason: str) -> Version:
        return await self._writing(key, lambda tables: tables.versions.set_status(key, version, status, reason))

    async def loosen(self, key: StoryKey, versions: Sequence[int]) -> None:
        await self._writing(key, lambda tables: tables.versions.loosen(key, versions))

    async def versions(self, key: StoryKey) -> list[Version]:
        return await self._reading(key.owner, lambda tables: tables.versions.all(key))

    async def version(self, key: StoryKey, version: int) -> Version | None:
        return await self._reading(key.owner, lambda tables: tables.versions.find(key, version))

    async def newest_versions(
        self, key: StoryKey, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1
    ) -> list[Version]:
        return await self._reading(
            key.owner, lambda tables: tables.versions.newest(key, kind, scope, status, most, beyond)
        )

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        return await self._reading(
            key.owner,
            lambda tables: tables.versions.live(
                key, tables.branch(key, branch), kind, scope, firm=firm, through=through
            ),
        )

    async def live_each(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int]]
    ) -> list[LiveVersion | None]:
        def read(tables: Tables) -> list[LiveVersion | None]:
            found = tables.branch(key, branch)
            return [
                tables.versions.live(key, found, kind, scope, firm=False, through=through) for scope, through in asked
            ]

        return await self._reading(key.owner, read)

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

    async def close(self) -> None:
        await self._connections.close()
