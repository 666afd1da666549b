"""The thread that works on a file, so that the event loop never waits for a disk and one file has one writer per
process.

All that touches the file goes through here, one piece of work at a time; a piece that writes is one transaction and is
on disk when it is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import apsw

from previously.core.errors import StoreProblem
from previously.storage.sqlite.file import SqliteFile

P = ParamSpec("P")
T = TypeVar("T")


class Worker:
    """One thread and the file it has open."""

    def __init__(self, path: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="previously-sqlite")
        self._closed = False
        self.file: SqliteFile
        try:
            self.file = self._thread.submit(SqliteFile, path).result()
        except BaseException:
            self._thread.shutdown()
            raise

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Work that is a single query, or sees to its transactions itself."""
        try:
            future = self._thread.submit(work, *args, **kwargs)
        except RuntimeError:
            raise StoreProblem("The store is closed.") from None
        try:
            return await asyncio.wrap_future(future)
        except apsw.Error as error:
            raise StoreProblem(f"The store could not do it: {error}.") from error

    async def reading(self, work: Callable[[], T]) -> T:
        """Work that reads, all of one moment."""

        def read() -> T:
            with self.file.snapshot():
                return work()

        return await self.run(read)

    async def writing(self, work: Callable[[], T]) -> T:
        """Work that writes, in a transaction of its own."""

        def write() -> T:
            with self.file.transaction():
                return work()

        return await self.run(write)

    async def close(self) -> None:
        """Close the file and end the thread."""
        if not self._closed:
            self._closed = True
            await self.run(self.file.close)
            self._thread.shutdown()
