"""Looking after a database: checking all that an owner has in it, and taking away what no story needs.

Each story is read at one moment of its own, so that a check of many holds nobody up; each is cleaned in short
transactions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from previously.storage.damage import Damaged
from previously.storage.database import Database
from previously.storage.tables import Tables
from previously.storage.tables.checking import check_books, check_story, check_strays, story_rows
from previously.storage.tables.findings import MOST_FAULTS, Collected, Findings, Garbage, Told, Verified
from previously.storage.tables.garbage import has_garbage, old_leases, take_garbage, take_old_leases
from previously.storage.tables.records import StoryKey

T = TypeVar("T")


class _GivenUp(Exception):
    """Nobody waits for the check any more."""


async def verify(
    database: Database, owner: str, *, before: str, told: Told | None = None, most_faults: int = MOST_FAULTS
) -> Verified:
    """Check every hash and cache of the owner's stories, the owner's books, and the database itself. What was begun
    before that time and never finished counts as garbage."""
    stop = threading.Event()

    def tell(story: str, rows: int) -> None:
        if stop.is_set():
            raise _GivenUp
        if told:
            told(story, rows)

    async def read(work: Callable[[Tables], T]) -> T:
        try:
            return await database.reading(owner, work)
        except asyncio.CancelledError:
            stop.set()  # the thread that reads would go on to its end
            raise

    findings = Findings(most_faults, tell)
    for line in await database.damage():
        findings.fault("the file", line)
    await read(lambda tables: check_books(tables.session, owner, findings))
    stories = await read(lambda tables: [row.id for row in story_rows(tables.session, owner)])
    for story in stories:
        try:
            await read(lambda tables, story=story: check_story(tables.session, owner, story, before, findings))  # type: ignore[misc]
        except Damaged as damage:
            findings.fault("the rest of it was not looked at", f"{damage.what} {damage.why}")
    await read(lambda tables: check_strays(tables.session, owner, before, findings))
    return findings.verified(len(stories))


async def collect(database: Database, owner: str, *, before: str, shrink: bool = False) -> Collected:
    """Take away what no story of the owner needs: what was begun before that time and never finished, caches that no
    branch shows, and leases that had run out by then. With `shrink` the disk gets free bytes back."""
    space = await database.space()
    taken = Garbage()
    for key in await database.reading(owner, lambda tables: _to_clean(tables, owner, before)):
        taken += await database.destroying(key, lambda tables, key=key: take_garbage(tables.session, key, before))  # type: ignore[misc]
    if await database.reading(owner, lambda tables: old_leases(tables.session, owner, before).leases):
        nowhere = StoryKey(owner, 0)
        taken += await database.destroying(nowhere, lambda tables: take_old_leases(tables.session, owner, before))
    if shrink:
        await database.shrink()
    left = await database.space()
    freed = None
    if space is not None and left is not None:
        freed = space[0] - left[0] if shrink else left[1] - space[1]
    return Collected(**asdict(taken), freed_bytes=freed)


def _to_clean(tables: Tables, owner: str, before: str) -> list[StoryKey]:
    """The stories with something to take: the others are not written to."""
    tables.session.one("plan_for_copying", {})  # rows are read piece by piece here too
    keys = [StoryKey(owner, row.id) for row in story_rows(tables.session, owner)]
    return [key for key in keys if has_garbage(tables.session, key, before)]
