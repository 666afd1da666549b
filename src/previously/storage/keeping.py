"""Looking after a database: checking all that an owner has in it, and taking away what no story needs.

Each story is read at one moment of its own, so that a check of many holds nobody up; each is cleaned in short
transactions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from previously.storage.damage import Damaged
from previously.storage.database import Database
from previously.storage.tables import Tables
from previously.storage.tables.checking import check_books, check_story, check_strays
from previously.storage.tables.findings import MOST_FAULTS, Findings, Told, Verified
from previously.storage.tables.stories import story_rows

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
