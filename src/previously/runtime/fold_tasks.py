"""Folds in the background of a program: one task for each story, none of which is left behind.

A fold that is given up loses nothing: what it had not kept is due again. An error ends the task of its story, is logged
at once, and is raised where the program waits for its folds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from previously.core.errors import PreviouslyError
from previously.storage.store import StoryKey

log: logging.Logger = logging.getLogger("previously")


class FoldTasks:
    """The folds that are under way."""

    def __init__(self) -> None:
        self._tasks: dict[StoryKey, asyncio.Task[None]] = {}
        self._again: set[StoryKey] = set()
        self._errors: list[Exception] = []
        self._is_closed = False

    def start(self, key: StoryKey, fold: Callable[[], Awaitable[object]]) -> None:
        """Fold a story soon; if that is under way, once more afterwards, for what came in meanwhile."""
        if self._is_closed:
            raise PreviouslyError("These stories are closed: open them again.")
        under_way = self._tasks.get(key)
        if under_way and not under_way.done():
            self._again.add(key)
            return
        task = self._tasks[key] = asyncio.create_task(self._run(key, fold), name=f"previously fold {key.story}")
        task.add_done_callback(lambda done: self._remove(key, done))

    async def wait(self) -> None:
        """Wait until nothing is under way. If a fold failed, raise its error."""
        while self._tasks:
            await asyncio.wait(set(self._tasks.values()))
        errors, self._errors = self._errors, []
        if errors:
            if len(errors) > 1:
                errors[0].add_note(f"So many more folds failed in the background: {len(errors) - 1}.")
            raise errors[0]

    async def close(self) -> None:
        """Give up what is under way, and begin nothing more."""
        self._is_closed = True
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, key: StoryKey, fold: Callable[[], Awaitable[object]]) -> None:
        try:
            while True:
                self._again.discard(key)
                await fold()
                if key not in self._again:
                    return
        except Exception as error:
            log.warning("A fold in the background failed: %s", error)
            self._errors.append(error)

    def _remove(self, key: StoryKey, task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]
