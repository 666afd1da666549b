"""Checksums of the pages of a file, so that no bit that flips on a disk is ever read as part of a story.

SQLite's own extension `cksumvfs`, which apsw brings along, keeps eight bytes at the end of each page and compares them
whenever a page is read from the file or its log. A name among the migrations says that a file has them: then it is
damaged if it seems to have none, and versions that know nothing of them refuse it.
"""

from __future__ import annotations

import threading
from pathlib import Path

import apsw

from previously.core.errors import StoreProblem
from previously.storage.sqlite.earlier_copy import create_file, keep_copy
from previously.storage.sqlite.wal_frames import list_logged_pages
from previously.storage.tables.damage import Damaged

APPLICATION_ID = 0x50524556
"""Stands in the header of every file of ours ("PREV")."""

MIGRATION = "0013_page_checksums"
"""Stands among the migrations of a file whose pages have checksums."""

VFS = "cksmvfs"

RESERVED_BYTES = 8
"""The bytes of each page that the extension needs; any other number tells it that there are no checksums."""

MOST_REWRITTEN_BYTES = 1024 * 1024 * 1024
"""The largest file that is written anew, since all of it is held in memory meanwhile: far more than a person tells in a
life. A larger one has checksums once it is moved to a new file."""

_SIZE_AT, _RESERVED_AT = 16, 20
"""The places at which a file's first page says how large pages are, and how much of each is reserved."""

_loading = threading.Lock()


def connect(path: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """Return a connection that checks and writes checksums, to a file that is its user's alone if it is new."""
    _load()
    if flags & apsw.SQLITE_OPEN_CREATE:
        create_file(path)
    return apsw.Connection(path, flags=flags, vfs=VFS)


def has_checksums(connection: apsw.Connection) -> bool:
    """Return whether the pages of a file have checksums, or will have: it is empty, and they are asked for."""
    return connection.reserve_bytes() == RESERVED_BYTES


def add_checksums(connection: apsw.Connection) -> None:
    """Give checksums to the pages of a file that has none: at once if it is empty, else by writing it anew. It stays as
    it is if somebody else has it open, who may know nothing of checksums, if there is no room for that, or if it is too
    large."""
    pages, size = connection.pragma("page_count"), connection.pragma("page_size")
    if pages * size > MOST_REWRITTEN_BYTES:
        return
    connection.set_busy_handler(None)  # those who have it open will not let go for being waited for
    connection.reserve_bytes(reserve=RESERVED_BYTES)
    if not pages:
        return
    try:
        connection.pragma("journal_mode", "delete")  # only who has the file alone can leave the WAL
        # The extension writes checksums once it has seen the first page written, which says that there are any. A cache
        # that spills writes others before it; without, all are written in their order.
        connection.pragma("cache_spill", False)
        connection.execute("VACUUM")
    except apsw.Error:
        connection.reserve_bytes(reserve=0)
    finally:
        connection.pragma("cache_spill", True)


def accept_pages(path: str) -> str:
    """Give every page of a file the checksum of what it holds now, whoever wrote that; return where the file is kept as
    it was. `StoreProblem` if SQLite itself finds faults in it, or if somebody else has it open."""
    copy = f"{path}.before-mend"
    if Path(copy).exists():
        raise StoreProblem(f"{copy} is there from an earlier time: look whether you need it, then remove it.")
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.pragma("checksum_verification", False)
        if connection.pragma("application_id") != APPLICATION_ID or not has_checksums(connection):
            raise StoreProblem(f"{path} is no database of Previously whose pages have checksums.")
        if connection.pragma("integrity_check") != "ok":
            raise StoreProblem(f"SQLite itself finds faults in {path}: bring the stories back from a backup.")
        connection.pragma("journal_mode", "delete")  # only who has the file alone can leave the WAL
        keep_copy(connection, copy)
        connection.execute("VACUUM")
    except (apsw.Error, OSError) as error:
        Path(copy).unlink(missing_ok=True)  # the file is as it was
        raise StoreProblem(f"{path} cannot be mended: {error}.") from error
    finally:
        connection.close()
    return copy


def explain_error(error: apsw.Error, path: str) -> StoreProblem:
    """Return an error of SQLite as one of ours: damage is told from all else, so that it can be dealt with."""
    if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
        return Damaged(f"a page of {path}", "does not have its checksum, or another program wrote it")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return Damaged(path, f"cannot be read ({error})")
    return StoreProblem(f"The store could not do it: {error}.")


def find_damaged_pages(connection: apsw.Connection, path: str) -> list[str]:
    """Return a line for each page of a file that does not have its checksum. The connection does not check them.

    The file is read by way of SQLite: whoever opens and closes it by themselves drops the locks of this process.
    """
    file = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        if not file.xFileSize():
            return []
        start = file.xRead(_RESERVED_AT + 1, 0)
        size = int.from_bytes(start[_SIZE_AT : _SIZE_AT + 2])
        size = 65_536 if size == 1 else size
        if start[_RESERVED_AT] != RESERVED_BYTES:
            return []
        logged = list_logged_pages(connection, path)
        damaged = [
            number + 1
            for number in range(file.xFileSize() // size)
            if number + 1 not in logged
            # A page that is being written meanwhile is whole a moment later.
            and not any(_is_whole(connection, file.xRead(size, number * size)) for _ in range(3))
        ]
    finally:
        file.xClose()
    if not damaged:
        return []
    tables = _read_page_tables(connection)
    return [f"page {page} ({tables.get(page, 'free')}) does not have its checksum" for page in damaged]


def _is_whole(connection: apsw.Connection, page: bytes) -> bool:
    return bool(connection.execute("SELECT verify_checksum(?)", (page,)).get)


def _read_page_tables(connection: apsw.Connection) -> dict[int, str]:
    try:
        return {int(page): f"of {name}" for page, name in connection.execute("SELECT pageno, name FROM dbstat")}
    except apsw.Error:  # it is the structure of the tables that is damaged
        return {}


def _load() -> None:
    with _loading:
        if VFS in apsw.vfs_names():
            return
        default = apsw.vfs_names()[0]
        try:
            from apsw import sqlite_extra

            connection = apsw.Connection(":memory:")
            sqlite_extra.load(connection, "cksumvfs")
            connection.close()
        except Exception as error:
            reason = "This build of apsw has no `cksumvfs`: install apsw 3.51.3 or newer from its own wheel."
            raise StoreProblem(reason) from error
        apsw.set_default_vfs(default)  # other users of apsw in this process keep theirs
