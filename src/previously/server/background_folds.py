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

MOST_ASKING = 512
"""Stories of which is known that a fold waits; the next turn of a forgotten one finds it out again."""

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
        self._waiting: OrderedDict[tuple[str, str], str] = OrderedDict()
        """Each with who decides that it is folded, where that is not the story's setting."""
        self._asking: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Stories in which a fold is due and waits for a person."""
        self._last: dict[str, tuple[str, str | None]] = {}
        """For each owner the model that was last asked for and the key it was asked with; in this memory only."""
        self._open = 0
        self._free = asyncio.Event()
        self._free.set()
        self._work = asyncio.Event()
        self._folding: asyncio.Task[FoldReport] | None = None
        self._runner: asyncio.Task[None] | None = None
        self._looking = False
        self.given_up: int = 0

    @property
    def waiting(self) -> int:
        """The number of stories that are looked at, or wait for it."""
        return len(self._waiting) + self._looking

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

    def find_last(self, owner: str) -> tuple[str, str | None]:
        """Return the model that somebody asked for last, and the key they asked with; nothing if they never did."""
        return self._last.get(owner, ("", None))

    def add_story(self, owner: str, name: str, folding: str = "") -> None:
        """Look after a story in which something was said. `folding` holds in place of the story's setting."""
        allowed = self._waiting.get((owner, name)) == "automatic"  # a person said so, and it is not done yet
        self._waiting[owner, name] = folding or ("automatic" if allowed else "")
        self._work.set()

    def is_asking(self, owner: str, name: str) -> bool:
        """Return whether a fold of a story is due and waits for a person to say so."""
        return (owner, name) in self._asking

    def describe_folding(self, owner: str, story: Story) -> str:
        """Return the sentence for a person about what is not folded by itself; empty where all is."""
        if story.folding == "off":
            return "Folding is off in this story: what the client sends goes on as it came."
        if self.is_asking(owner, story.name):
            return "A fold is due and waits for you: say //fold in the chat."
        return ""

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
            (owner, name), folding = self._waiting.popitem(last=False)
            self._looking = True
            try:
                if not await self._fold(owner, name, folding):
                    self._waiting.setdefault((owner, name), folding)
            finally:
                self._looking = False

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

    async def _fold(self, owner: str, name: str, folding: str) -> bool:
        """Fold a story until nothing is due, where that is not left to a person; False if it was given up for a
        user."""
        model, key = self._last.get(owner, ("", None))
        try:
            story = await self._open_story(owner, name, model, key)
            folding = folding or story.folding
            if folding != "automatic":
                await self._ask(owner, story, is_off=folding == "off")
                return True
            self._asking.pop((owner, name), None)
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
                await _announce(story, report)
                if not report.folds:
                    return True
        except Exception as error:
            log.warning("A fold failed: %s", type(error).__name__)
            if self._on_failure:
                self._on_failure()
            asyncio.get_running_loop().call_later(RETRY_S, self.add_story, owner, name, folding)
            return True
        finally:
            self._folding = None

    async def _ask(self, owner: str, story: Story, *, is_off: bool) -> None:
        """Say once that a fold is due in a story in which a person decides."""
        if is_off or not (await story.plan(once=True)).folds:
            self._asking.pop((owner, story.name), None)
        elif not self.is_asking(owner, story.name):
            self._asking[owner, story.name] = None
            if len(self._asking) > MOST_ASKING:
                self._asking.popitem(last=False)
            log.info("Story %d: a fold is due and waits for //fold", (await story.info()).key.story)


async def _announce(story: Story, report: FoldReport) -> None:
    """Say in the log what was folded: an undo takes each of these back."""
    for fold in report.made:
        number = (await story.info()).key.story
        log.info("Story %d: folded %s (%s, %s)", number, fold.span, fold.kind.value, fold.made_by)


def _is_stopping() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
