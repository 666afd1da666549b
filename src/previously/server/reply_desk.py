"""The desk at which replies are written: one at a time in each story, whoever watches.

A reply goes on when the browser that asked for it goes away; whoever comes back hears it from its beginning. A second
one in the same story is refused while the first is under way.
"""

from __future__ import annotations

import asyncio
import json
import logging
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from operator import itemgetter
from typing import Any

from previously.core.errors import PreviouslyError
from previously.server.background_folds import BackgroundFolds

log: logging.Logger = logging.getLogger("previously.server")

ALIVE_S = 15.0
"""Seconds between two signs of life: what stands between a browser and a server gives up after 30 or 60."""

MOST_DONE = 256
"""Runs that are over and still known, so that a request that is sent twice is answered twice and done once."""

END = frozenset({"done", "error"})
"""The events that a run ends with."""


SO_FAR = "words"
"""The event of a game that holds all that somebody has said so far."""


class Busy(PreviouslyError):
    """Somebody writes in this story already."""

    def __init__(self) -> None:
        super().__init__("The model is writing in this story already: wait for it, or stop it.")


class ReplyRun:
    """One reply, or one turn of a game, on its way: what has happened so far, for whoever listens."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.stop: asyncio.Event = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._events: list[tuple[int, str, dict[str, Any]]] = []
        """Events, each with its number; words that came since stand in place of those before them."""
        self._count = 0
        self._told = ""
        self._news = asyncio.Event()

    @property
    def is_over(self) -> bool:
        return bool(self._events) and self._events[-1][1] in END

    @property
    def has_failed(self) -> bool:
        """True if it ended with an error: what was asked for may be asked for again."""
        return bool(self._events) and self._events[-1][1] == "error"

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Tell an event to all who listen."""
        if self._events and self._events[-1][1] == name == SO_FAR and self._events[-1][2]["speaker"] == data["speaker"]:
            self._events.pop()
        self._count += 1
        self._events.append((self._count, name, data))
        self._news.set()
        self._news = asyncio.Event()

    def tell_words(self, words: str) -> None:
        """Tell the words of a reply as far as they have come: what is new of them, or all where they changed."""
        if words.startswith(self._told):
            if len(words) > len(self._told):
                self.tell("delta", {"text": words[len(self._told) :]})
        else:
            self.tell("replace", {"text": words})
        self._told = words

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield all events as a stream for browsers, until the run is over."""
        seen = 0
        while True:
            news = self._news
            while (at := bisect_right(self._events, seen, key=itemgetter(0))) < len(self._events):
                seen, name, data = self._events[at]
                yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
                if name in END:
                    return
            with suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_S):
                    await news.wait()
                continue
            yield b": alive\n\n"


Work = Callable[[ReplyRun], Awaitable[dict[str, Any]]]
"""Does what a run is for; what it returns is told with `done`."""


class ReplyDesk:
    """Keeps every reply that is being written, and those that ended lately."""

    def __init__(self, folds: BackgroundFolds | None = None) -> None:
        self._folds = folds
        self._runs: OrderedDict[tuple[str, str], ReplyRun] = OrderedDict()

    def find(self, owner: str, story: str) -> ReplyRun | None:
        """Return the run in a story that is under way, or the last one."""
        return self._runs.get((owner, story))

    def start(
        self, owner: str, story: str, key: str, model: str, work: Work, explain: Callable[[Exception], dict[str, Any]]
    ) -> ReplyRun:
        """Begin a run, or return the one of the same key unless it failed; `Busy` if another is under way. `explain`
        makes a problem of an error."""
        known = self.find(owner, story)
        if known is not None and key and known.key == key and not known.has_failed:
            return known
        if known is not None and not known.is_over:
            raise Busy
        run = self._runs[owner, story] = ReplyRun(key)
        self._runs.move_to_end((owner, story))
        for place in [place for place, old in self._runs.items() if old.is_over][: max(0, len(self._runs) - MOST_DONE)]:
            del self._runs[place]
        run.task = asyncio.create_task(self._perform(owner, story, model, run, work, explain))
        return run

    async def _perform(
        self,
        owner: str,
        story: str,
        model: str,
        run: ReplyRun,
        work: Work,
        explain: Callable[[Exception], dict[str, Any]],
    ) -> None:
        try:
            if self._folds is None:
                done = await work(run)
            else:
                with self._folds.pause_for(owner, model, None):
                    done = await work(run)
                self._folds.add_story(owner, story)
            run.tell("done", done)
        except asyncio.CancelledError:
            run.tell("error", {"status": 503, "code": "stopping", "detail": "The server is stopping."})
            raise
        except Exception as error:
            if not isinstance(error, PreviouslyError):
                log.error("A reply failed: %s", type(error).__name__, exc_info=error)
            run.tell("error", explain(error))

    async def close(self) -> None:
        """End what is under way: what came is kept."""
        tasks = [run.task for run in self._runs.values() if run.task and not run.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
