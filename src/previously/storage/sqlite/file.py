"""Opening a SQLite file, and asking it named queries.

Owns the connection's settings, the check that a file is ours and not from a newer version, and migrations. A file
that is refused is left untouched; one of an earlier version is kept as it was, beside what becomes of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import addressof, c_int
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from previously.core.errors import StoreProblem
from previously.storage.queries import load_all_queries, load_migrations
from previously.storage.sqlite.earlier_copy import find_copy_name, keep_copy
from previously.storage.sqlite.page_checksums import (
    APPLICATION_ID,
    MIGRATION,
    add_checksums,
    connect,
    explain_error,
    find_damaged_pages,
    has_checksums,
)
from previously.storage.sqlite.wal_frames import check_wal
from previously.storage.tables.damage import Damaged
from previously.storage.tables.session import Row

SOUND_SQLITE = 3_051_003
"""Earlier releases can corrupt a database when a WAL file is reset while another process reads it."""

BUSY_WAIT_S = 0.0015
"""Short beside the 25 ms that another process writes at a time, and long enough not to keep a core busy."""

BUSY_GIVE_UP_S = 30.0
"""Other processes hold the write lock for milliseconds; half a minute of waiting means that something hangs."""

READER_WAIT_MS = 2_000
"""Ordinary reads end well within it. A reader of an older moment that takes longer may take minutes: the caller is told
that the log cannot be emptied now."""

WRITER_CACHE_KIB, READER_CACHE_KIB = 16_000, 4_000
"""One writer and `READERS` readers take 32 MB together, whatever the file's size."""

SYNCHRONOUS = "full"
"""With less, what was acknowledged can be lost with the power (`docs/durability.md`)."""


IN_MEMORY_URI = "file:/previously-"
"""The beginning of the names of databases in memory, which all connections of this process share and which go with the
last of them."""

_URI_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI

_names = count(1)


def make_memory_uri() -> str:
    """Return the name of a new database in the memory of this process."""
    return f"{IN_MEMORY_URI}{next(_names)}?vfs=memdb"


class SqliteFile:
    """A connection to one file and the named queries asked of it. Used by one thread at a time."""

    def __init__(self, path: str, *, reads_only: bool = False, checks_pages: bool = True, version: str = "") -> None:
        if apsw.SQLITE_VERSION_NUMBER < SOUND_SQLITE:
            raise StoreProblem(f"SQLite {apsw.sqlite_lib_version()} can lose data; install apsw 3.51.3 or newer.")
        self._queries = load_all_queries("sqlite")
        self._path, self._reads_only, self._checks_pages = path, reads_only, checks_pages
        self._version = version
        self._is_file = not path.startswith(IN_MEMORY_URI)
        self.reopen()

    def reopen(self) -> None:
        """A connection without a past. What the one before had not kept is undone."""
        path = self._path
        self._connection = _connect(path)
        try:
            self._connection.set_busy_handler(_wait_for_others)
            # One plan per query: otherwise many are planned anew for each value asked with, at ten times the cost.
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            if not self._checks_pages:
                self._connection.pragma("checksum_verification", False)
            _check_ours(self._connection, path)
            self._connection.pragma("cache_size", -READER_CACHE_KIB if self._reads_only else -WRITER_CACHE_KIB)
            if self._reads_only:
                self._connection.pragma("query_only", True)
                return
            if self._is_file:
                check_wal(self._connection, path)
                self._connection.set_busy_handler(_wait_for_others)
                if not self._connection.pragma("page_count"):
                    add_checksums(self._connection)
            self._bring_up_to_date()
            if self._is_file and not has_checksums(self._connection):
                # Only now: an earlier version still reads a file whose migrations failed, and would spoil checksums.
                add_checksums(self._connection)
                self._bring_up_to_date()
        except apsw.NotADBError:
            self._leave()
            raise StoreProblem(f"{path} is not a database of Previously, or its beginning is damaged.") from None
        except apsw.Error as error:
            self._leave()
            problem = explain_error(error, path)
            raise (
                problem if isinstance(problem, Damaged) else StoreProblem(f"{path} cannot be used: {error}.")
            ) from error
        except StoreProblem:
            self._leave()
            raise

    def _leave(self) -> None:
        """Close a file that is refused, and leave it as it is: its WAL is not brought in."""
        self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

    def explain(self, error: Exception) -> Exception:
        """Return an error of SQLite as one of ours, and any other as it is."""
        return explain_error(error, self._path) if isinstance(error, apsw.Error) else error

    def rows(self, name: str, values: Mapping[str, Any]) -> list[Row]:
        """All rows a query gives."""
        try:
            return list(self._connection.execute(self._queries[name], values))
        except UnicodeDecodeError as error:
            raise Damaged("a text", f"cannot be read ({error})") from error

    def one(self, name: str, values: Mapping[str, Any]) -> Row | None:
        """The first row a query gives."""
        try:
            return self._connection.execute(self._queries[name], values).fetchone()
        except UnicodeDecodeError as error:
            raise Damaged("a text", f"cannot be read ({error})") from error

    def run(self, name: str, values: Mapping[str, Any] | Sequence[Any]) -> int:
        """Carry out one statement; the id of the row it inserted last."""
        self._connection.execute(self._queries[name], values)
        return self._connection.last_insert_rowid()

    def many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out one statement for many rows."""
        self._connection.executemany(self._queries[name], rows)

    def reserve(self, table: str, count: int) -> Sequence[int]:
        """Ids for new rows: there is one writer at a time, so they are those after the last."""
        if not count:
            return ()
        last = self.one(f"last_{table}_id", {})
        assert last is not None, "a maximum is always there"
        return range(last[0] + 1, last[0] + 1 + count)

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction was begun and neither kept nor undone."""
        return self._connection.in_transaction

    def begin(self) -> None:
        """Begin a transaction that writes; waits for other processes. `StoreProblem` if the file is not where it was:
        nobody would find what is written to it."""
        if self._is_file and _has_moved(self._connection):
            raise StoreProblem(f"{self._path} was moved or deleted while it was open; put it back, or start anew.")
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep it: on disk when this returns."""
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, unless SQLite has done so already."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def begin_piece(self) -> None:
        """Begin a part of the transaction that can be undone by itself."""
        self._connection.execute("SAVEPOINT piece")

    def keep_piece(self) -> None:
        """Make it one with the transaction."""
        self._connection.execute("RELEASE piece")

    def undo_piece(self) -> None:
        """Undo the piece, and nothing else of the transaction."""
        self._connection.execute("ROLLBACK TO piece")
        self._connection.execute("RELEASE piece")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is on disk when it ends well, and undone when it does not."""
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # an error of the disk ends it
                self._connection.execute("COMMIT")

    def empty_wal(self) -> bool:
        """Bring the WAL into the file and truncate it; False if readers of an older moment did not let it."""
        self._connection.set_busy_timeout(READER_WAIT_MS)
        busy, _, _ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        return not busy

    def renew_log(self) -> None:
        """Begin the WAL anew where readers let it: else a change that failed, and whose end is in the WAL all the same,
        could look like one that stands behind damage."""
        if self._is_file:
            self.empty_wal()
            self._connection.set_busy_handler(_wait_for_others)

    def damage(self) -> list[str]:
        """Return the faults that SQLite finds, a line each, and the pages that do not have their checksum."""
        try:
            faults = [str(line) for (line,) in self._connection.execute("PRAGMA integrity_check")]
        except apsw.Error as error:
            faults = [str(error)]
        pages = find_damaged_pages(self._connection, self._path) if self._is_file else []
        return pages + ([] if faults == ["ok"] else faults)

    def space(self) -> tuple[int, int]:
        """Bytes of all pages, and of the free ones."""
        size = self._connection.pragma("page_size")
        return self._connection.pragma("page_count") * size, self._connection.pragma("freelist_count") * size

    def shrink(self) -> None:
        """Write the file anew without its free pages, and give the disk back what the WAL took for that."""
        self._connection.execute("VACUUM")
        self.empty_wal()

    def close(self) -> None:
        self._connection.close()

    def _bring_up_to_date(self) -> None:
        self._connection.set_busy_handler(_wait_for_others)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", SYNCHRONOUS)
        self._connection.pragma("secure_delete", True)  # what is deleted is overwritten
        if self._connection.pragma("application_id") == APPLICATION_ID and not self._find_lacking():
            return  # nothing to write: a reader may have no right to
        copy = ""
        try:
            with self.transaction():
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID"
                )
                lacking = self._find_lacking()
                is_old = len(lacking) < len(load_migrations("sqlite")) and list(lacking) != [MIGRATION]
                if is_old and self._is_file and self._version:
                    copy = self._copy_as_it_is()
                for name, statements in lacking.items():
                    self._connection.execute(statements)
                    self._connection.execute("INSERT INTO migration VALUES (?)", (name,))
                if copy:
                    self.run("note_copy", {"path": str(Path(copy).absolute())})
                if self._connection.pragma("application_id") != APPLICATION_ID:
                    self._connection.pragma("application_id", APPLICATION_ID)
        except BaseException:
            if copy:
                Path(copy).unlink(missing_ok=True)  # the file is as it was
            raise
        if copy:
            _tell(f"{self._path} was made by an earlier version and is up to date now; it is kept as it was in {copy}.")

    def _find_lacking(self) -> dict[str, str]:
        """The migrations that are to be applied, by name, in their order."""
        applied = _read_applied(self._connection)
        return {
            name: statements
            for name, statements in load_migrations("sqlite")
            if name not in applied and self._can_apply(name)
        }

    def _copy_as_it_is(self) -> str:
        """Keep the file as it was before the transaction that is begun, and return where."""
        copy = find_copy_name(self._path, self._version)
        try:
            reader = connect(self._path, apsw.SQLITE_OPEN_READONLY)
            try:
                keep_copy(reader, copy)
            finally:
                reader.close()
        except (apsw.Error, OSError) as error:
            raise StoreProblem(
                f"{self._path} was made by an earlier version and cannot be brought up to date, since the copy that is "
                f"kept of it before, {copy}, cannot be written: {error}."
            ) from error
        return copy

    def _can_apply(self, migration: str) -> bool:
        return migration != MIGRATION or not self._is_file or has_checksums(self._connection)


def _connect(path: str) -> apsw.Connection:
    if path.startswith(IN_MEMORY_URI):
        return apsw.Connection(path, flags=_URI_FLAGS)
    parent = Path(path).parent
    if not parent.is_dir():
        raise StoreProblem(f"{path} cannot be opened: there is no folder {parent}.")
    try:
        return connect(path)
    except apsw.Error as error:
        raise StoreProblem(f"{path} cannot be opened: {error}.") from error


def _check_ours(connection: apsw.Connection, path: str) -> None:
    """Refuse, before anything is written, what another program or a newer version made; an empty file becomes ours."""
    if connection.pragma("application_id") != APPLICATION_ID:
        if connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreProblem(f"{path} is a database of another program.")
        return
    applied = _read_applied(connection)
    unknown = applied - {name for name, _ in load_migrations("sqlite")}
    if unknown:
        raise StoreProblem(f"{path} was written by a newer version of Previously ({max(unknown)}).")
    if MIGRATION in applied and not path.startswith(IN_MEMORY_URI) and not has_checksums(connection):
        raise Damaged(path, "does not say that its pages have checksums")


def _has_moved(connection: apsw.Connection) -> bool:
    moved = c_int()
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, addressof(moved))
    return bool(moved)


def _read_applied(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM migration")}


def _tell(sentence: str) -> None:
    """Say something of a store that was opened: without a log to write to, Python prints it to stderr."""
    from logging import getLogger  # next to nobody needs it

    getLogger("previously.storage").warning("".join(char if char.isprintable() else "�" for char in sentence))


def _wait_for_others(tries: int) -> bool:
    if tries * BUSY_WAIT_S > BUSY_GIVE_UP_S:
        return False
    time.sleep(BUSY_WAIT_S)
    return True
