"""Watches of stories: they tell which one changed, by whomever.

Every second the stamps of an owner's stories are read, in one query, while somebody listens. What another process
wrote is seen like what this one wrote. An id is the number of a change that this process has seen; whoever comes back
with one hears of every story that changed since, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from previously.app import Memory
from previously.core.errors import PreviouslyError
from previously.server.api.fold_runs import FoldRun
from previously.server.api.responses import write_event
from previously.storage.store import StoryStamp

LOOK_S = 0.5
"""Seconds between two looks: a change is to be told within a second, and a look costs a millisecond or two."""

ALIVE_S = 15.0
"""Seconds after which a silent stream says that it is there: those on the way close what is silent for a minute."""

IDLE_S = 60.0
"""Seconds that an owner is watched after the last listener went: a browser that reconnects misses nothing."""


@dataclass
class Watch:
    """The changes of one owner's stories, as far as they were seen."""

    id: str = field(default_factory=lambda: token_hex(4))
    """Of this watch: an id of another one, or of another process, says nothing here."""
    number: int = 0
    stamps: dict[int, StoryStamp] = field(default_factory=dict)
    changed: dict[str, tuple[int, str, dict[str, Any]]] = field(default_factory=dict)
    """The last event of each story, with its number and its name."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    listeners: int = 0
    task: asyncio.Task[None] | None = None

    def tell(self, story: str, name: str, data: dict[str, Any]) -> None:
        """Keep an event, in place of the one before it, and wake who listens."""
        self.number += 1
        self.changed[story] = self.number, name, data
        self.news.set()
        self.news = asyncio.Event()

    def list_since(self, number: int) -> list[tuple[int, str, dict[str, Any]]]:
        return sorted((event for event in self.changed.values() if event[0] > number), key=lambda event: event[0])

    def note(self, stamps: list[StoryStamp]) -> None:
        """Compare the stories with what was seen last, and tell what is another."""
        now = {stamp.story: stamp for stamp in stamps}
        for story, before in self.stamps.items():
            if story not in now or now[story].name != before.name:
                self.tell(before.name, "gone", {"story": before.name})
        for story, stamp in now.items():
            known = self.stamps.get(story)
            if known != stamp:
                self.tell(stamp.name, "story", describe_change(known, stamp))
        self.stamps = now


def describe_change(before: StoryStamp | None, now: StoryStamp) -> dict[str, Any]:
    """Return what is another in a story."""
    parts = {"messages": "path", "memory": "memory", "settings": "settings"}
    what = [name for name, part in parts.items() if before is None or getattr(before, part) != getattr(now, part)]
    return {"story": now.name, "branch": now.branch, "head": now.head, "messages": now.messages, "what": what}


class Watches:
    """Watches the stories of those who listen."""

    def __init__(self) -> None:
        self._watches: dict[str, Watch] = {}

    async def listen(self, owner: str, memory: Memory, last_id: str) -> AsyncIterator[bytes]:
        """Yield events for one listener, from where they were."""
        watch = self._watches.setdefault(owner, Watch())
        watch.listeners += 1
        try:
            if watch.task is None or watch.task.done():
                await self._look(watch, memory, owner, first=not watch.stamps)
                watch.task = asyncio.create_task(self._keep_looking(watch, memory, owner))
            ident, _, number = last_id.partition("-")
            seen = int(number) if ident == watch.id and number.isdecimal() else watch.number
            if last_id and ident != watch.id:  # what was missed is not known: everything may have changed
                for stamp in watch.stamps.values():
                    yield write_event("story", describe_change(None, stamp), f"{watch.id}-{seen}")
            yield write_event("hello", {"id": f"{watch.id}-{seen}"}, f"{watch.id}-{seen}")
            while True:
                news = watch.news
                for number_now, name, data in watch.list_since(seen):
                    seen = number_now
                    yield write_event(name, data, f"{watch.id}-{seen}")
                try:
                    async with asyncio.timeout(ALIVE_S):
                        await news.wait()
                except TimeoutError:
                    yield b": alive\n\n"
        finally:
            watch.listeners -= 1

    def tell_fold(self, owner: str, story: str, run: FoldRun) -> None:
        """Tell those who listen how a fold goes on."""
        watch = self._watches.get(owner)
        if watch is not None:
            data = {"story": story, "id": run.id, "state": run.state, "done": run.done, "total": run.total}
            watch.tell(f"{story}\0fold", "fold", data)

    async def _keep_looking(self, watch: Watch, memory: Memory, owner: str) -> None:
        idle = 0.0
        while idle < IDLE_S or watch.listeners:  # somebody may have come during the last look
            await asyncio.sleep(LOOK_S)
            idle = 0.0 if watch.listeners else idle + LOOK_S
            await self._look(watch, memory, owner)
        self._watches.pop(owner, None)

    async def _look(self, watch: Watch, memory: Memory, owner: str, *, first: bool = False) -> None:
        try:
            stamps = await memory.store.read(owner, lambda tables: tables.stories.stamps(owner))
        except PreviouslyError:
            return  # the store is away; what changes meanwhile is seen when it is back
        if first:
            watch.stamps = {stamp.story: stamp for stamp in stamps}
        else:
            watch.note(stamps)

    async def close(self) -> None:
        for watch in self._watches.values():
            if watch.task is not None:
                watch.task.cancel()
