"""The SQLite store: one file, WAL, every acknowledged write on disk. `store` is its public part."""

from previously.storage.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
