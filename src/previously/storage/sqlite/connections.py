"""A SQLite file as a database of tables: one writer thread per process, a few readers, nobody waits for another's disk.

Several processes may have the file open; SQLite's own lock keeps their writers apart, WAL lets readers read meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import apsw

from previously.core.errors import StoreProblem
from previously.storage.sqlite.file import IN_MEMORY_URI, SqliteFile
from previously.storage.sqlite.page_checksums import explain_error
from previously.storage.sqlite.writer import MOST_IN_GROUP, Writer
from previously.storage.tables import Tables, make_tables
from previously.storage.tables.records import StoryKey

T = TypeVar("T")

READERS = 4
"""Threads that read at once. They share one interpreter: more of them would wait for it, each with its own cache."""


class SqliteDatabase:
    """One file, open in one process."""

    def __init__(self, path: str, *, most_in_group: int = MOST_IN_GROUP, version: str = "") -> None:
        self._path = path
        self._is_in_memory = path.startswith(IN_MEMORY_URI)
        self._process = os.getpid()
        self._writer = Writer(SqliteFile(path, version=version), most_in_group)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="previously-reader")
        self._own = threading.local()
        self._files: list[SqliteFile] = []
        self._closed = False

    async def reading(self, _owner: str, work: Callable[[Tables], T]) -> T:
        """Work that reads, all of one moment. In memory there is no WAL, and readers and writers would lock each other
        out: there the writer reads too."""
        if self._is_in_memory:
            return await self._write(lambda tables: _stage_once(work, tables))
        self._check_open()

        def read() -> T:
            file, tables = self._open_reader()
            with file.snapshot():
                return work(tables)

        return await self._run_in_thread(read)

    async def examining(self, _owner: str, work: Callable[[Tables], T]) -> T:
        """Work that reads, all of one moment, also what is on damaged pages."""
        if self._is_in_memory:
            return await self.reading(_owner, work)

        def read(file: SqliteFile) -> T:
            with file.snapshot():
                return work(make_tables(file))

        return await self._run_apart(read, checks_pages=False)

    async def writing(self, _key: StoryKey, work: Callable[[Tables], T]) -> T:
        """Work that writes: on disk when this returns."""
        return await self._write(lambda tables: _stage_once(work, tables))

    async def staging(self, _key: StoryKey, work: Callable[[Tables], Generator[None, None, T]]) -> T:
        """Work that may be long: each stage is kept by itself, and others write in between."""
        return await self._write(work)

    async def destroying(self, _key: StoryKey, work: Callable[[Tables], Generator[None, None, T]]) -> T:
        """Work that takes rows away for good, each stage kept by itself; the writer overwrites what it deletes."""
        return await self._write(work)

    async def creating(self, _owner: str, _name: str, work: Callable[[Tables], T]) -> T:
        """Work that makes a story: here like any other, since there is one writer at a time."""
        return await self._write(lambda tables: _stage_once(work, tables))

    async def clear_log(self) -> bool:
        """Bring the WAL into the file and empty it; False if somebody reads what it was before, for too long."""
        return await self._run_apart(SqliteFile.empty_wal)

    async def damage(self) -> list[str]:
        """Return the faults that SQLite finds in the file."""
        return await self._run_apart(SqliteFile.damage, checks_pages=False)

    async def space(self) -> tuple[int, int] | None:
        """Bytes of the file, and how many of them are free; None in memory, which takes none of a disk."""
        if self._is_in_memory:
            return None
        return await self._run_apart(SqliteFile.space)

    async def shrink(self) -> None:
        """Write the file anew without its free bytes."""
        await self._run_apart(SqliteFile.shrink)

    async def close(self) -> None:
        """Let what is under way end, then close every connection."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    async def _write(self, begin: Callable[[Tables], Generator[None, None, T]]) -> T:
        self._check_open()
        result: T = await self._writer.take(begin)
        return result

    async def _run_apart(self, work: Callable[[SqliteFile], T], *, checks_pages: bool = True) -> T:
        """Work on the file as a whole, by a connection of its own, in no transaction."""
        self._check_open()

        def do() -> T:
            file = SqliteFile(self._path, reads_only=not checks_pages, checks_pages=checks_pages)
            try:
                return work(file)
            finally:
                file.close()

        return await self._run_in_thread(do)

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.wrap_future(self._readers.submit(work))
        except apsw.Error as error:
            raise explain_error(error, self._path) from error

    def _open_reader(self) -> tuple[SqliteFile, Tables]:
        """This thread's own connection."""
        own: Any = self._own
        if not hasattr(own, "file"):
            own.file = SqliteFile(self._path, reads_only=True)
            own.tables = make_tables(own.file)
            self._files.append(own.file)
        return own.file, own.tables

    def _check_open(self) -> None:
        if self._closed:
            raise StoreProblem("The store is closed.")
        if os.getpid() != self._process:
            raise StoreProblem("The store was opened by another process; open it again in this one.")

    def _close(self) -> None:
        self._readers.shutdown()
        for file in self._files:
            file.close()
        self._writer.close()  # last: SQLite tidies up behind the last connection, and this one may write


def _stage_once(work: Callable[[Tables], T], tables: Tables) -> Generator[None, None, T]:
    return work(tables)
    yield
