"""The schema on the server: that it is ours, not from a newer version, and brought up to date.

A database that is refused is left untouched. Migrations run in one transaction under a lock, so that of several
processes that start at once one migrates and the others find it done.
"""

from __future__ import annotations

from typing import LiteralString

import psycopg

from previously.core.errors import StoreProblem
from previously.storage.queries import load_migrations
from previously.storage.tables.session import Row

OLDEST_SERVER = 140_000
"""PostgreSQL 14; all that is older is out of support."""

MIGRATION_LOCK = 0x50524556
"""The advisory lock of whoever migrates ("PREV")."""


def bring_up_to_date(connection: psycopg.Connection[Row]) -> None:
    """Check the database and apply the migrations it lacks. The connection is in autocommit mode."""
    _check_server(connection)
    migrations = load_migrations("postgres")
    known = {name for name, _ in migrations}
    if _read_applied(connection, known) == known:
        return  # nothing to write: this login may have no right to
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        applied = _read_applied(connection, known)
        if applied is None:
            connection.execute("CREATE SCHEMA previously")
        connection.execute("SET LOCAL search_path TO previously, pg_temp")
        if applied is None:
            connection.execute('CREATE TABLE migration (name text COLLATE "C" PRIMARY KEY)')
        for name, statements in migrations:
            if name not in (applied or ()):
                connection.execute(statements.encode(), prepare=False)
                connection.execute("INSERT INTO migration VALUES (%s)", (name,))


def _check_server(connection: psycopg.Connection[Row]) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreProblem("The server is older than PostgreSQL 14.")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreProblem(f"The database keeps text as {encoding}; stories need one with UTF8.")


def _read_applied(connection: psycopg.Connection[Row], known: set[str]) -> set[str] | None:
    """The migrations the database has; None if nothing of ours is there. Refuses what another program or a newer
    version made."""
    if not _ask(connection, "SELECT 1 FROM pg_namespace WHERE nspname = 'previously'"):
        return None
    if not _ask(connection, "SELECT 1 FROM pg_tables WHERE schemaname = 'previously' AND tablename = 'migration'"):
        raise StoreProblem("The database has a schema named previously that is of another program.")
    applied = {str(name) for (name,) in _ask(connection, "SELECT name FROM previously.migration")}
    unknown = applied - known
    if unknown:
        raise StoreProblem(f"The database was written by a newer version of Previously ({max(unknown)}).")
    return applied


def _ask(connection: psycopg.Connection[Row], query: LiteralString) -> list[Row]:
    return connection.execute(query).fetchall()
