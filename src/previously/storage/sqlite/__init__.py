"""The SQLite store: one file, WAL, every acknowledged write on disk; or the memory of this process.

Only `app` imports it.
"""

from previously.storage.sqlite.connections import SqliteDatabase
from previously.storage.sqlite.file import make_memory_uri
from previously.storage.store import Store

IN_MEMORY = ":memory:"
"""The place whose stories are gone with the process."""


class SqliteStore(Store):
    """Stories in one SQLite file, which several processes may have open, or in this process's memory (`:memory:`).

    A file of an earlier version is brought up to date. With `version`, it is kept as it was before that one."""

    database: SqliteDatabase

    def __init__(self, path: str, *, version: str = "") -> None:
        place = make_memory_uri() if path == IN_MEMORY else path
        super().__init__(SqliteDatabase(place, version=version))


__all__ = ["SqliteStore"]
