"""The PostgreSQL store: one database for many processes, every acknowledged write on disk. `store` is its front."""

from previously.storage.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
