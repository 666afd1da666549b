"""The SQLite store: one file, WAL, every acknowledged write on disk."""

from previously.storage.sqlite.database import SqliteDatabase
from previously.storage.table_store import TableStore


class SqliteStore(TableStore):
    """Stories in one SQLite file. Several processes may have it open."""

    database: SqliteDatabase

    def __init__(self, path: str) -> None:
        super().__init__(SqliteDatabase(path))


__all__ = ["SqliteStore"]
