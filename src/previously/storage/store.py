"""A store of stories: what waits for a disk or a server.

A store keeps stories, entries, nodes, branches and versions in the tables of one database. It decides nothing about
memory. It promises:

- **Nothing is lost.** A script takes messages off a path, never out of the store.
- **The path of a branch** is the chain of nodes from its head to the root. What is kept to answer faster equals that.
- **The cover of a branch** is what `core.cover.place` says of its path, its marks and the story's versions, always.
- **A note of a span** is covered nowhere: it is found by the first message it read; callers see where it stands.
- **Owners are walls.** Work about stories takes a `StoryKey` or an owner; nothing of another's is found or changed.
- **Work that raises has changed nothing.**

Times come from the caller.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Draft
from previously.core.path import Put, Splice, Splices
from previously.storage.database import Database, make_moment
from previously.storage.tables import Tables
from previously.storage.tables.damage import Damaged
from previously.storage.tables.index_state import MOST_AT_ONCE
from previously.storage.tables.recall_cache import KeptPaths
from previously.storage.tables.records import (
    MAIN,
    NO_NODE,
    BranchInfo,
    Forgotten,
    Move,
    StoryInfo,
    StoryKey,
    StoryStamp,
    Traces,
)
from previously.storage.tables.session import Session
from previously.storage.tables.stories import BranchRow, read_story_rows

if TYPE_CHECKING:
    from previously.recall.vectors import WordTable
    from previously.storage.findings import Collected, Findings, Told, Verified

__all__ = [
    "MAIN",
    "NO_NODE",
    "BranchInfo",
    "Damaged",
    "Forgotten",
    "Move",
    "Store",
    "StoryInfo",
    "StoryKey",
    "StoryStamp",
    "Traces",
]

T = TypeVar("T")


class Store:
    """Stories in the tables of one database."""

    def __init__(self, database: Database, paths: KeptPaths | None = None) -> None:
        self.database = database
        self.paths: KeptPaths = paths or KeptPaths()

    async def read(self, owner: str, work: Callable[[Tables], T]) -> T:
        """Run work that reads, all of one moment. It may run in another thread, and may be run again: it has no effect
        but its result."""
        return await self.database.reading(owner, lambda tables: work(make_moment(tables, self.paths)))

    async def write(self, key: StoryKey, work: Callable[[Tables], T]) -> T:
        """Run work that writes to a story: all of it is on disk when this returns, or nothing ever was."""
        return await self.database.writing(key, work)

    async def create_story(self, owner: str, name: str, *, at: str) -> StoryInfo:
        """Return a new story with an empty branch `main`, or the one of that name."""
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
        also: Callable[[Tables], object] | None = None,
    ) -> BranchInfo:
        """Change the path of a branch. Alternatives of what is put become siblings. `also` is done with the change, or
        not at all.

        `HeadMoved` when `expected_head` is given and is not the head. A `receipt` seen before changes nothing and
        gives back the branch as it is. A long change is kept in stages; readers see all of it or nothing."""
        return await self._change(key, branch, lambda _: script, at, expected_head, receipt, also)

    async def append(
        self,
        key: StoryKey,
        branch: str | None,
        drafts: Sequence[Draft],
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
        also: Callable[[Tables], object] | None = None,
    ) -> BranchInfo:
        """Put messages at the end of a branch (None = the active one), wherever that is by now; else as `apply`."""
        pieces = tuple(map(Put, drafts))
        return await self._change(
            key, branch, lambda row: [Splice(row.messages, 0, pieces)], at, expected_head, receipt, also
        )

    async def extend(
        self,
        key: StoryKey,
        branch: str,
        drafts: Callable[[], Iterator[Draft]],
        *,
        at: str,
        expected_head: int,
        also: Callable[[Tables], object],
    ) -> BranchInfo:
        """Put messages at the end of a branch as they are read, however many: never more than a stage of them is held.
        `drafts` begins to read them, again if it must. Readers see all of them or nothing; if reading fails, what was
        written so far is taken away again."""

        def write(tables: Tables) -> Generator[None, None, BranchInfo]:
            row = tables.branch(key, branch)
            if expected_head != row.head:
                raise HeadMoved(f"Branch {row.name!r} has moved on since it was read.")
            changed = yield from tables.writer.extend(key, row, drafts(), at)
            also(tables)
            return changed

        try:
            return await self.database.staging(key, write)
        except BadInput:
            from previously.storage.gc import has_garbage, take_garbage

            before = f"{at}~"  # behind the time at which it was begun
            if await self.database.reading(key.owner, lambda tables: has_garbage(tables.session, key, before)):
                await self.database.destroying(key, lambda tables: take_garbage(tables.session, key, before))
            raise

    async def _change(
        self,
        key: StoryKey,
        branch: str | None,
        script: Callable[[BranchRow], Splices],
        at: str,
        expected_head: int | None,
        receipt: str | None,
        also: Callable[[Tables], object] | None,
    ) -> BranchInfo:
        def write(tables: Tables) -> Generator[None, None, BranchInfo]:
            row = tables.branch(key, branch)
            if receipt is not None and tables.stories.has_receipt(key, receipt):
                return row.info
            if expected_head is not None and expected_head != row.head:
                raise HeadMoved(f"Branch {row.name!r} has moved on since it was read.")
            changed = yield from tables.writer.apply(key, row, script(row), at, receipt)
            if also:
                also(tables)
            return changed

        return await self.database.staging(key, write)

    async def verify(self, owner: str, *, before: str, told: Told | None = None) -> Verified:
        """Check every hash and cache of the owner's stories. What was begun before that time and never finished counts
        as garbage."""
        from previously.storage.findings import MOST_FAULTS, Findings

        stop = threading.Event()

        def tell(story: str, rows: int) -> None:
            if stop.is_set():
                raise _GivenUp
            if told:
                told(story, rows)

        findings = Findings(MOST_FAULTS, tell)
        for line in await self.database.damage():
            findings.fault("the file", line)
        try:
            return await self._check(owner, before, findings)
        except asyncio.CancelledError:
            stop.set()  # the thread that reads would go on to its end
            raise

    async def _check(self, owner: str, before: str, findings: Findings) -> Verified:
        from previously.storage.verify import check_books, check_story, check_strays

        read = self.database.examining

        async def look(check: Callable[[Session, Findings], None]) -> None:
            def find(tables: Tables) -> Findings:
                part = findings.begin_part()  # anew each time it is run
                try:
                    check(tables.session, part)
                except Damaged as damage:
                    part.fault("the rest of it was not looked at", f"{damage.what} {damage.why}")
                return part

            findings.join(await read(owner, find))

        await look(lambda session, part: check_books(session, owner, part))
        stories = await read(owner, lambda tables: [row.id for row in read_story_rows(tables.session, owner)])
        for story in stories:
            await look(partial(check_story, owner=owner, story=story, before=before))
        await look(lambda session, part: check_strays(session, owner, before, part))
        return findings.verified(len(stories))

    async def gc(self, owner: str, *, before: str, shrink: bool = False) -> Collected:
        """Take away what no story of the owner needs, as far as it was begun before that time; with `shrink`, give
        the disk its free bytes back, while others wait."""
        from previously.storage.findings import Collected, Garbage
        from previously.storage.gc import count_old_leases, find_stories_to_clean, take_garbage, take_old_leases

        space, taken, nowhere = await self.database.space(), Garbage(), StoryKey(owner, 0)
        for key in await self.database.reading(owner, lambda tables: find_stories_to_clean(tables, owner, before)):
            take = partial(take_garbage, key=key, before=before)
            taken += await self.database.destroying(key, lambda tables, take=take: take(tables.session))  # type: ignore[misc]
        if await self.database.reading(owner, lambda tables: count_old_leases(tables.session, owner, before).leases):
            taken += await self.database.destroying(
                nowhere, lambda tables: take_old_leases(tables.session, owner, before)
            )
        if shrink:
            await self.database.shrink()
        left, freed = await self.database.space(), None
        if space is not None and left is not None:
            freed = space[0] - left[0] if shrink else left[1] - space[1]
        return Collected(**asdict(taken), freed_bytes=freed)

    async def forget_entries(self, key: StoryKey, entries: Collection[int]) -> Forgotten:
        """Destroy what entries say, and every version made where they could be read. Both stay as rows without
        content, entries hidden; nodes are hashed anew. The story's answers of models go. What people wrote stays,
        without its key."""
        done, cleared = await self._destroy(key, lambda tables: tables.forgetting.entries(key, entries))
        return replace(done, cleared=cleared)

    async def forget_story(self, key: StoryKey) -> bool:
        """Destroy a story with all that belongs to it, but no book; return whether no log holds it any more."""
        _, cleared = await self._destroy(key, lambda tables: tables.forgetting.story(key))
        self.paths.forget(key)
        return cleared

    async def _destroy(self, key: StoryKey, work: Callable[[Tables], T]) -> tuple[T, bool]:
        def at_once(tables: Tables) -> Generator[None, None, T]:
            return work(tables)
            yield

        result = await self.database.destroying(key, at_once)
        return result, await self.database.clear_log() or await self.database.space() is None

    async def close(self) -> None:
        """Give back what the store holds. Everything acknowledged stays."""
        await self.database.close()

    async def index(self, key: StoryKey, table: WordTable | None, *, most: int = MOST_AT_ONCE) -> int:
        """Index entries of the story that are not indexed yet, on whatever branch, the oldest first, `most` at most.
        Return how many still wait, counted up to `MOST_WAITING`. Without a table entries get no vectors; they get them
        when it is called with one."""
        from previously.storage.tables.recall_index import keep_batch, read_batch

        while True:
            batch = await self.database.reading(key.owner, lambda tables: read_batch(tables.session, key, table, most))
            if batch is None:
                return 0
            made = batch
            if await self.database.writing(key, lambda tables, made=made: keep_batch(tables.session, key, made)):  # type: ignore[misc]
                return made.waiting

    async def forget_book(self, owner: str, name: str) -> bool:
        """Destroy a book and detach it from every story; return whether there was one."""

        def forget(tables: Tables) -> Generator[None, None, bool]:
            return tables.books.forget(owner, name)
            yield

        done = await self.database.destroying(StoryKey(owner, 0), forget)
        await self.database.clear_log()
        return done


class _GivenUp(Exception):
    """Nobody waits for the check any more."""
