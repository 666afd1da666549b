"""The PostgreSQL store: one database for many processes, every acknowledged write on disk.

Only `app` imports it, when a server is named: it needs the extra `postgres`.
"""

from previously.storage.postgres.connections import Connections
from previously.storage.store import Store

CONNECTIONS = 8
"""Transactions of one process that are under way at once; others wait. A server takes 100 connections unless it is told
otherwise, and several processes share them."""


class PostgresStore(Store):
    """Stories in one PostgreSQL database. Any number of processes may have it open."""

    database: Connections

    def __init__(self, url: str, *, connections: int = CONNECTIONS) -> None:
        super().__init__(Connections(url, connections))


__all__ = ["CONNECTIONS", "PostgresStore"]
