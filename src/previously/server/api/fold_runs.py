"""Runs of folds that somebody asked for: one for each story at a time, with its progress and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from previously.core.errors import PreviouslyError
from previously.runtime.fold_loop import Progress
from previously.runtime.fold_report import FoldReport
from previously.server.api.problems import Problem

MOST_KEPT = 200
"""Runs that are remembered once they are over: more stories than anybody folds in a day."""


@dataclass
class FoldRun:
    """One fold that was started over the API."""

    id: int
    state: str = "running"
    done: int = 0
    total: int = 0
    report: FoldReport | None = None
    cause: str | None = None
    """The sentence that says why it failed."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def tell(self) -> None:
        """Wake everybody who follows this run."""
        self.changed.set()
        self.changed = asyncio.Event()


class FoldRuns:
    """The runs of one server."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], FoldRun] = {}
        self._ids = count(1)
        self.listeners: list[Callable[[str, str, FoldRun], None]] = []
        """Called with owner, story and run whenever one goes on."""

    def find(self, owner: str, story: str) -> FoldRun | None:
        return self._runs.get((owner, story))

    def start(self, owner: str, story: str, fold: Callable[[Progress], Awaitable[FoldReport]]) -> FoldRun:
        """Begin a run; `Problem` 409 while there is one."""
        before = self.find(owner, story)
        if before is not None and before.state == "running":
            raise Problem(409, "busy", f"{story} is being folded already.", id=before.id)
        run = FoldRun(next(self._ids))
        self._runs.pop((owner, story), None)
        self._runs[owner, story] = run
        while len(self._runs) > MOST_KEPT:
            self._runs.pop(next(iter(self._runs)))

        def tell() -> None:
            run.tell()
            for hear in self.listeners:
                hear(owner, story, run)

        def progress(done: int, total: int) -> None:
            run.done, run.total = done, total
            tell()

        async def work() -> None:
            try:
                run.report = await fold(progress)
                run.state = "done"
            except asyncio.CancelledError:
                run.state = "cancelled"
            except Exception as error:
                run.state = "failed"
                is_ours = isinstance(error, PreviouslyError)
                run.cause = str(error) if is_ours else f"Something went wrong here ({type(error).__name__})."
            finally:
                tell()

        run.task = asyncio.create_task(work())
        return run

    async def cancel(self, owner: str, story: str) -> FoldRun | None:
        """Stop a run; what it has folded stays."""
        run = self.find(owner, story)
        if run is not None and run.task is not None and run.state == "running":
            run.task.cancel()
            await asyncio.wait([run.task])
        return run

    async def follow(self, run: FoldRun) -> AsyncIterator[dict[str, Any]]:
        """Yield the progress of a run until it is over."""
        while run.state == "running":
            changed = run.changed
            yield {"done": run.done, "total": run.total}
            await changed.wait()

    async def close(self) -> None:
        for run in self._runs.values():
            if run.task is not None and not run.task.done():
                run.task.cancel()
                await asyncio.wait([run.task])
