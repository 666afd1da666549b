"""The tree of a story as people see it: the ways it went, each with the words it begins with."""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.tree import find_stretches
from previously.storage.tables import Tables
from previously.story.access import StoryAccess
from previously.story.swipes import find_no_swipes

WORDS = 160
"""Characters of the words that a way begins with: one line on a wide screen."""


@dataclass(frozen=True, slots=True)
class StoryWay:
    """A stretch of a story without a choice."""

    id: int
    under: int | None
    """The way that it follows, by its id; None for the beginning."""
    first: int
    last: int
    """The positions of its first and last message."""
    swipe: int | None
    """Its number among the swipes at `first`, as `choose` takes it, where it can be chosen; else None."""
    speaker: str | None
    text: str
    """The words that it begins with."""
    branches: tuple[str, ...]
    """The branches that end with it."""
    on_path: bool
    """True if the active branch goes this way."""


class StoryTree:
    """Reads the tree of one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def tree(self) -> list[StoryWay]:
        """Return every way that the story went, each behind the one that it follows.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Is the ferry in?")
        ...     _ = story.add("assistant", "No.")
        ...     _ = story.regenerate("It is.")
        ...     [(way.first, way.text, way.branches, way.on_path) for way in story.tree()]
        [(0, 'Is the ferry in?', (), True), (1, 'No.', (), False), (1, 'It is.', ('main',), True)]
        """
        return await self._access.store.read(self._access.key.owner, self._read)

    def _read(self, tables: Tables) -> list[StoryWay]:
        key = self._access.key
        branches = tables.stories.branches(key)
        nodes = tables.reader.tree(key, WORDS)
        snapshot = tables.snapshot(key)
        ends = {branch.head for branch in branches}
        stretches = find_stretches(nodes, ends, find_no_swipes(tables, key, snapshot.head, nodes))
        chosen = {
            stretch.first.parent: stretch.first.role
            for stretch in stretches
            if snapshot.position_of(stretch.first.id) is not None
        }
        ways = []
        for stretch in stretches:
            first = stretch.first
            ways.append(
                StoryWay(
                    first.id,
                    stretch.under,
                    first.position,
                    stretch.last.position,
                    stretch.swipe if chosen.get(first.parent) == first.role else None,
                    first.speaker,
                    first.text,
                    tuple(branch.name for branch in branches if branch.head == stretch.last.id),
                    snapshot.position_of(first.id) is not None,
                )
            )
        return ways
