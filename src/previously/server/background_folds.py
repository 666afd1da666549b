"""Folds beside the chat: when nobody waits for an answer, or nobody has to wait longer for it; one story at a time.

A user's request never waits for a fold. Where the upstream works on one request at a time, a fold that is under way is
given up when a user asks, and begun again later: nothing of it was kept, nothing is lost. With the built-in writer
nothing needs to be given up. Other stories wait in order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from previously.runtime.fold_report import FoldReport
from previously.server.upstream import Facts
from previously.story.story import Story

log: logging.Logger = logging.getLogger("previously.server")

PATIENCE_S = 5.0
"""Seconds that a story waits for a moment in which nobody waits for an answer: an agent at work asks again as soon as
it is answered, for hours."""

RETRY_S = 30.0
"""Seconds that a story rests whose fold failed: whatever was wrong, asking at once would find it again."""


class BackgroundFolds:
    """Folds what is due in the stories that were told of."""

    def __init__(
        self,
        open_story: Callable[[str, str, str, str | None], Awaitable[Story]],
        facts: Callable[[str], Facts],
        *,
        idle_s: float,
        yields: bool,
        on_report: Callable[[FoldReport], None] | None = None,
        on_failure: Callable[[], None] | None = None,
    ) -> None:
        """`open_story(owner, name, model, key)` gives a story with the writer to use; `yields`: folds use the upstream
        that answers the users."""
        self._open_story = open_story
        self._facts = facts
        self._idle_s = idle_s
        self._yields = yields
        self._on_report = on_report
        self._on_failure = on_failure
        self._waiting: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._last: dict[str, tuple[str, str | None]] = {}
        """For each owner the model that was last asked for and the key it was asked with; in this memory only."""
        self._open = 0
        self._free = asyncio.Event()
        self._free.set()
        self._work = asyncio.Event()
        self._folding: asyncio.Task[FoldReport] | None = None
        self._runner: asyncio.Task[None] | None = None
        self.given_up: int = 0

    @property
    def waiting(self) -> int:
        """The number of stories that wait to be looked at."""
        return len(self._waiting)

    @contextmanager
    def pause_for(self, owner: str, model: str, key: str | None) -> Iterator[None]:
        """Hold folds back: a user waits for an answer as long as the block lasts."""
        self._last[owner] = model, key
        self._open += 1
        self._free.clear()
        if self._yields and self._folding and not self._folding.done() and self._facts(model).is_single:
            self._folding.cancel()
            self.given_up += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._free.set()

    def add_story(self, owner: str, name: str) -> None:
        """Look after a story in which something was said."""
        self._waiting[owner, name] = None
        self._work.set()

    def start(self) -> None:
        """Begin to look after stories."""
        self._runner = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; what is under way is given up."""
        if self._runner:
            self._runner.cancel()
            with suppress(asyncio.CancelledError):
                await self._runner

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            await self._wait_until_idle()
            if not self._waiting:
                self._work.clear()
                continue
            owner, name = next(iter(self._waiting))
            del self._waiting[owner, name]
            if not await self._fold(owner, name):
                self._waiting.setdefault((owner, name))

    async def _wait_until_idle(self) -> None:
        """Wait until nobody has waited for an answer for a while; not for long where a fold holds up nobody."""
        end = time.monotonic() + PATIENCE_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._holds_up else max(0.0, end - time.monotonic())):
                    await self._free.wait()
            await asyncio.sleep(self._idle_s)
            if self._free.is_set() or (time.monotonic() >= end and not self._holds_up):
                return

    @property
    def _holds_up(self) -> bool:
        """True if a user may wait for a fold: both use an upstream that works on one request at a time."""
        return self._yields and any(self._facts(model).is_single for model, _ in self._last.values())

    async def _fold(self, owner: str, name: str) -> bool:
        """Fold a story until nothing is due; False if it was given up for a user."""
        model, key = self._last.get(owner, ("", None))
        try:
            story = await self._open_story(owner, name, model, key)
            while True:
                if self._yields and not self._free.is_set() and self._facts(model).is_single:
                    return False
                self._folding = asyncio.create_task(story.fold(once=True))
                try:
                    report = await self._folding
                except asyncio.CancelledError:
                    if self._folding.cancelled() and not _is_stopping():
                        return False
                    raise
                finally:
                    if not self._folding.done():
                        self._folding.cancel()
                if self._on_report:
                    self._on_report(report)
                if not report.folds:
                    return True
        except Exception as error:
            log.warning("A fold failed: %s", type(error).__name__)
            if self._on_failure:
                self._on_failure()
            asyncio.get_running_loop().call_later(RETRY_S, self.add_story, owner, name)
            return True
        finally:
            self._folding = None


def _is_stopping() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
