"""The list of stories as people see it: each with its last words and with what its memory has cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from previously.core.path import OnPath
from previously.core.versions import Cost
from previously.storage.store import Store, StoryInfo
from previously.storage.tables import Tables


@dataclass(frozen=True, slots=True)
class StoryGlance:
    """A story as the list of all shows it."""

    info: StoryInfo
    last: OnPath | None
    """Its newest message."""
    memories: int
    """The number of versions that were made of it."""
    cost: Cost
    """Of all of them and of questions about it; only what a model was asked for counts."""


class StoryList:
    """The stories of one owner, a page at a time."""

    _store: Store
    _owner: str

    async def glance(self, *, after: str = "", most: int = 100) -> list[StoryGlance]:
        """Return the stories behind that name, by name.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     _ = memory.story("ferry").add("user", "Is the ferry in?")
        ...     [(glance.info.name, glance.last.entry.message.text) for glance in memory.glance()]
        [('ferry', 'Is the ferry in?')]
        """

        def read(tables: Tables) -> list[StoryGlance]:
            spent = tables.versions.spent_by_story(self._owner)
            infos = sorted(tables.stories.all(self._owner), key=lambda info: info.name)
            page = islice((info for info in infos if info.name > after), most)
            return [
                StoryGlance(info, _read_last(tables, info), *spent.get(info.key.story, (0, Cost()))) for info in page
            ]

        return await self._store.read(self._owner, read)


def _read_last(tables: Tables, info: StoryInfo) -> OnPath | None:
    length = info.active.messages
    return tables.snapshot(info.key).path(length - 1, length - 1)[0] if length else None
