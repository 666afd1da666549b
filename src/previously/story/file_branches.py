"""Branches that a file holds: made where they are new, and known again by the beginning that they share."""

from __future__ import annotations

from previously.runtime.clock import time_at
from previously.storage.tables import Tables
from previously.story.access import StoryAccess


async def make_branch(access: StoryAccess, name: str, *, beside: str, shared: int) -> None:
    """Make a branch of the first `shared` messages of another, if there is none of that name; the active branch stays
    active."""
    key = access.key

    def write(tables: Tables) -> None:
        if name not in [branch.name for branch in tables.stories.branches(key)]:
            tables.writer.fork(key, tables.branch(key, beside), name, shared, time_at())

    await access.store.write(key, write)


async def has_same_beginning(access: StoryAccess, name: str, beside: str, shared: int) -> bool:
    """Return whether two branches have their first messages in common, so many of them."""
    key = access.key

    def read(tables: Tables) -> bool:
        rows = [tables.branch(key, one) for one in (name, beside)]
        if any(row.messages < shared for row in rows):
            return False
        one, other = (tables.writer.before(key, row.line, shared) for row in rows)
        return one == other

    return await access.store.read(key.owner, read)
