"""The store's verbs on a SQLite file.

One thread of its own does all the work, so that the event loop never waits for a disk and one file has one writer per
process. A verb that writes is one transaction (a long change: see `writing`) and answers when it is on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

import apsw

from previously.core.align import Known
from previously.core.errors import BadInput, HeadMoved, StoreProblem, UnknownBranch
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft
from previously.core.paths import OnPath
from previously.core.scripts import Script
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Version
from previously.storage.rows import attribute_columns, entry_of, known_of
from previously.storage.sqlite.cover import CoverTable
from previously.storage.sqlite.file import Row, SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.sqlite.versions import VersionTable
from previously.storage.sqlite.writing import BranchRow, PathWriter
from previously.storage.store import MAIN, NO_NODE, BranchInfo, Move, StoryInfo, StoryKey

P = ParamSpec("P")
T = TypeVar("T")


class SqliteStore:
    """Stories in one SQLite file."""

    def __init__(self, path: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="previously-sqlite")
        self._closed = False
        self._file: SqliteFile
        try:
            self._file = self._thread.submit(SqliteFile, path).result()
        except BaseException:
            self._thread.shutdown()
            raise
        self._lines = Lines(self._file)
        self._marks = MarkTable(self._file)
        self._cover = CoverTable(self._file, self._lines, self._marks)
        self._versions = VersionTable(self._file, self._lines, self._cover, self._marks)
        self._writer = PathWriter(self._file, self._lines, self._cover, self._marks)

    async def _on_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            future = self._thread.submit(work, *args, **kwargs)
        except RuntimeError:
            raise StoreProblem("The store is closed.") from None
        try:
            return await asyncio.wrap_future(future)
        except apsw.Error as error:
            raise StoreProblem(f"The store could not do it: {error}.") from error

    async def _reading(self, work: Callable[[], T]) -> T:
        """Work that reads, all of one moment."""

        def read() -> T:
            with self._file.snapshot():
                return work()

        return await self._on_thread(read)

    async def _writing(self, work: Callable[[], T]) -> T:
        """Work that writes, in a transaction of its own."""

        def write() -> T:
            with self._file.transaction():
                return work()

        return await self._on_thread(write)

    async def stories(self, owner: str) -> list[StoryInfo]:
        return await self._on_thread(
            lambda: [_story(owner, row) for row in self._file.rows("stories", {"owner": owner})]
        )

    async def story(self, owner: str, name: str) -> StoryInfo | None:
        return await self._on_thread(self._story, owner, name)

    async def create_story(self, owner: str, name: str, *, at: str) -> StoryInfo:
        def create() -> StoryInfo:
            with self._file.transaction():
                if self._story(owner, name) is None:
                    values: dict[str, Any] = {"owner": owner, "name": name, "at": at}
                    story = self._file.run("insert_story", values)
                    values |= {"story": story, "name": MAIN, "head": NO_NODE, "messages": 0}
                    line = self._file.run("insert_line", {**values, "parent": None, "fork": 0, "published": 1})
                    branch = self._file.run("insert_branch", {**values, "line": line})
                    self._file.run("set_active", {**values, "branch": branch})
                found = self._story(owner, name)
                assert found is not None
                return found

        return await self._on_thread(create)

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        return await self._on_thread(self._branches, key)

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        return _info(await self._on_thread(self._branch, key, name))

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        def read() -> list[OnPath]:
            found = self._branch(key, branch)
            span = max(first, 0), min(last, found.messages - 1)
            return [_on_path(row) for row in self._lines.rows(key, "path_span", found.line, *span)]

        return await self._reading(read)

    async def known(self, key: StoryKey, branch: str) -> list[Known]:
        def read() -> list[Known]:
            found = self._branch(key, branch)
            return [known_of(row) for row in self._lines.rows(key, "path_known", found.line, 0, found.messages - 1)]

        return await self._reading(read)

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        def read() -> list[OnPath]:
            with self._file.snapshot():
                _, _, parent = self._lines.node_at(key, self._branch(key, branch).line, position)
                values = {"story": key.story, "owner": key.owner, "parent": parent}
                return [_on_path(row) for row in self._file.rows("node_siblings", values)]

        return await self._on_thread(read)

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
        def write() -> BranchInfo:
            found = self._branch(key, branch)
            values = {"story": key.story, "owner": key.owner, "key": receipt}
            if receipt is not None and self._file.one("receipt", values) is not None:
                return _info(found)
            if expected_head is not None and expected_head != found.head:
                raise HeadMoved(f"Branch {branch!r} has moved on since it was read.")
            self._writer.apply(key, found, script, at, receipt)
            return _info(self._branch(key, branch))

        return await self._on_thread(write)

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        def write() -> None:
            with self._file.transaction():
                self._file.many(
                    "set_attributes",
                    ((*attribute_columns(new), entry, key.story, key.owner) for entry, new in changes),
                )

        await self._on_thread(write)

    async def add_siblings(self, key: StoryKey, branch: str, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        def write() -> int:
            with self._file.transaction():
                line = self._branch(key, branch).line
                added = 0
                for position, drafts in siblings:
                    parent, parent_hash = self._writer.before(key, line, position)
                    added += self._writer.add_alternatives(key, parent, position, parent_hash, drafts)
                return added

        return await self._on_thread(write)

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        def write() -> BranchInfo:
            with self._file.transaction():
                found = self._branch(key, source)
                if any(branch.name == name for branch in self._branches(key)):
                    raise BadInput(f"There is a branch named {name!r} already.")
                head, _ = self._writer.before(key, found.line, length)
                line = self._writer.new_line(key, found.line, length)
                values = {"owner": key.owner, "story": key.story, "name": name, "at": at}
                row = {**values, "head": head, "messages": length, "line": line}
                self._marks.copy(key, found.id, self._file.run("insert_branch", row), length)
            return BranchInfo(name, head, length)

        return await self._on_thread(write)

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        def write() -> BranchInfo:
            with self._file.transaction():
                found = self._branch(key, name)
                self._file.run("set_active", {"branch": found.id, "story": key.story, "owner": key.owner})
            return _info(found)

        return await self._on_thread(write)

    async def moves(self, key: StoryKey) -> list[Move]:
        return [Move(*row) for row in await self._on_thread(self._file.rows, "moves", _values(key))]

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        return await self._writing(lambda: self._versions.commit(key, version))

    async def versions(self, key: StoryKey) -> list[Version]:
        return await self._on_thread(self._versions.all, key)

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False
    ) -> LiveVersion | None:
        return await self._reading(lambda: self._versions.live(key, self._branch(key, branch), kind, scope, firm=firm))

    async def cover(self, key: StoryKey, branch: str) -> list[tuple[int, int, int]]:
        return await self._reading(lambda: self._versions.cover(key, self._branch(key, branch)))

    async def marks(self, key: StoryKey, branch: str) -> list[Mark]:
        return await self._reading(lambda: self._marks.of(key, self._branch(key, branch).id))

    async def add_mark(
        self, key: StoryKey, branch: str, kind: MarkKind, position: int, text: str, *, made_by: str, at: str
    ) -> Mark:
        new = Mark(0, 0, kind, position, text, made_by, at)
        return await self._writing(lambda: self._marks.add(key, self._branch(key, branch).id, new))

    async def spent(self, owner: str, since: str) -> Cost:
        return await self._on_thread(self._versions.spent, owner, since)

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        values = {**_values(key), "work": work, "holder": holder, "now": now, "until": until}

        def take() -> bool:
            self._file.run("take_lease", values)
            return self._file.one("lease", values) == (holder, until)

        return await self._writing(take)

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        values = {**_values(key), "work": work, "holder": holder}
        await self._writing(lambda: self._file.run("give_lease", values))

    async def header(self, key: StoryKey) -> str:
        row = await self._on_thread(self._file.one, "header", _values(key))
        return str(row[0]) if row else "{}"

    async def keep_header(self, key: StoryKey, header: str) -> None:
        await self._writing(lambda: self._file.run("set_header", {**_values(key), "header": header}))

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        values = {**_values(key), "budget_tokens": budget_tokens}
        await self._writing(lambda: self._file.run("set_budget", values))

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._on_thread(self._file.close)
            self._thread.shutdown()

    def _story(self, owner: str, name: str) -> StoryInfo | None:
        row = self._file.one("story_named", {"owner": owner, "name": name})
        return _story(owner, row) if row else None

    def _branches(self, key: StoryKey) -> list[BranchInfo]:
        return [BranchInfo(*row) for row in self._file.rows("branches", _values(key))]

    def _branch(self, key: StoryKey, name: str | None) -> BranchRow:
        if name is None:
            row = self._file.one("active_branch", _values(key))
        else:
            row = self._file.one("branch_named", {**_values(key), "name": name})
        if row is None:
            raise UnknownBranch(name or "", tuple(branch.name for branch in self._branches(key)))
        return BranchRow(*row)


def _values(key: StoryKey) -> dict[str, Any]:
    return {"story": key.story, "owner": key.owner}


def _story(owner: str, row: Row) -> StoryInfo:
    story, name, budget_tokens, branch, head, messages, branches = row
    return StoryInfo(StoryKey(owner, story), name, BranchInfo(branch, head, messages), branches, budget_tokens)


def _info(branch: BranchRow) -> BranchInfo:
    return BranchInfo(branch.name, branch.head, branch.messages)


def _on_path(row: Row) -> OnPath:
    return OnPath(row[0], row[1], row[2], entry_of(row[3:]))
