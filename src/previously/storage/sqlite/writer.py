"""The one thread of a process that writes to a file, and group commit.

Work of many callers that waits at the same time is kept in one transaction: one wait for the disk for all of them. Each
job has a savepoint, so that one that fails takes nothing along. Nobody is answered before the disk has it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from queue import Empty, SimpleQueue
from typing import Any

import apsw

from previously.storage.sqlite.file import SqliteFile
from previously.storage.tables import Tables, make_tables

GROUP_S = 0.025
"""A transaction takes in work for so long: together with the work it is at by then, it stays well below 50 ms."""

MOST_IN_GROUP = 1_000
"""`GROUP_S` is over before so many jobs are done; the benchmark of durability gives 1, to compare."""

Staged = Callable[[Tables], Generator[None, None, Any]]


class WriterJob:
    """Work of one caller, in one stage or more, and the future that waits for it."""

    __slots__ = ("_begin", "_stages", "ended", "error", "future", "kept_stages", "loop", "result")

    def __init__(self, begin: Staged) -> None:
        self._begin = begin
        self._stages: Generator[None, None, Any] | None = None
        self.kept_stages: int = 0
        self.ended: bool = False
        self.result: Any = None
        self.error: Exception | None = None
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def advance(self, tables: Tables) -> None:
        """Run the next stage of the change."""
        if self._stages is None:
            self._stages = self._begin(tables)
        try:
            next(self._stages)
        except StopIteration as end:
            self.result, self.ended = end.value, True

    def fail(self, error: Exception) -> None:
        """There will be no other stage."""
        self.error, self.ended = error, True

    def from_its_beginning(self) -> bool:
        """Forget what was done and not kept; whether all of it can be done again."""
        self._stages, self.result, self.error, self.ended = None, None, None, False
        return self.kept_stages == 0

    def settle(self) -> None:
        """Answer the caller, if it still waits. Called by its event loop."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Owns the connection that writes, and its thread."""

    def __init__(self, file: SqliteFile, most_in_group: int = MOST_IN_GROUP) -> None:
        self._file = file
        self._tables = make_tables(file)
        self._most = most_in_group
        self._queue: SimpleQueue[WriterJob | None] = SimpleQueue()
        self._is_usable = True
        """The connection can begin a transaction, as far as anybody knows."""
        self._has_failed = False
        """A transaction failed, and the WAL may hold some of it."""
        self._last_group = 1
        self._last_commit_s = 0.0
        self._thread = threading.Thread(target=self._run, name="previously-writer", daemon=True)
        self._thread.start()

    def take(self, begin: Staged) -> asyncio.Future[Any]:
        """Queue work. The future is done when it is on disk, or when nothing of its last stage ever will be."""
        job = WriterJob(begin)
        self._queue.put(job)
        return job.future

    def close(self) -> None:
        """Do what is queued, then close the connection."""
        self._queue.put(None)
        self._thread.join()
        self._file.close()

    def _run(self) -> None:
        while True:
            job = self._queue.get()
            if job is not None:
                self._keep_together(job, self._most)
            elif self._queue.empty():
                return
            else:
                self._queue.put(None)  # close behind what is still queued

    def _keep_together(self, first: WriterJob, most: int) -> None:
        """One transaction with this job and those that wait behind it."""
        group: list[WriterJob] = []
        now = time.monotonic()
        until, patience = now + GROUP_S, now + self._last_commit_s / 2
        job: WriterJob | None = first
        try:
            if not self._is_usable:
                self._file.reopen()
                self._is_usable = True
            if self._has_failed:
                self._file.renew_log()
                self._has_failed = False
            self._file.begin()
            while job is not None:
                group.append(job)
                self._attempt(job)
                job = self._take_another(until, patience, len(group)) if len(group) < most else None
            began = time.monotonic()
            self._file.commit()
            self._last_group, self._last_commit_s = len(group), time.monotonic() - began
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._has_failed |= bool(group)
            self._give_up()
            self._keep_apart(group or [first], error)
            return
        for done in group:
            if not done.ended:
                done.kept_stages += 1
                self._queue.put(done)  # its next stage, behind what others want
        _settle(done for done in group if done.ended)

    def _give_up(self) -> None:
        """Undo the transaction. Where even that fails, a new connection has none: whoever writes next makes it."""
        try:
            self._file.rollback()
        except apsw.Error:
            self._is_usable = False

    def _attempt(self, job: WriterJob) -> None:
        if job.future.cancelled():
            job.ended = True  # nobody waits for it any more
            return
        self._file.begin_piece()
        try:
            job.advance(self._tables)
        except Exception as error:
            if not self._file.in_transaction:
                raise  # SQLite has undone all of it, what others did included
            self._file.undo_piece()
            job.fail(self._file.explain(error))
        else:
            self._file.keep_piece()

    def _take_another(self, until: float, patience: float, taken: int) -> WriterJob | None:
        """The next job for this transaction. Those answered a moment ago are likely to be back at once: to wait for
        them, for less than the disk takes, is cheaper than to wait for the disk once more."""
        now = time.monotonic()
        if now > until:
            return None
        try:
            if taken < self._last_group and now < patience:
                job = self._queue.get(timeout=patience - now)
            else:
                job = self._queue.get_nowait()
        except Empty:
            return None
        if job is None:
            self._queue.put(None)
        return job

    def _keep_apart(self, group: list[WriterJob], error: Exception) -> None:
        """A transaction failed as a whole: what is to blame fails alone, the others are kept."""
        for job in group:
            if job.from_its_beginning() and len(group) > 1:
                self._keep_together(job, 1)
            else:
                job.fail(self._file.explain(error))
                _settle([job])


def _settle(jobs: Iterable[WriterJob]) -> None:
    """Answer the callers, those of one event loop in one go."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[WriterJob]] = defaultdict(list)
    for job in jobs:
        by_loop[job.loop].append(job)
    for loop, settled in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle_all, settled)
        except RuntimeError:
            continue  # the loop is closed: nobody waits


def _settle_all(jobs: list[WriterJob]) -> None:
    for job in jobs:
        job.settle()
