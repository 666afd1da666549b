"""Named queries on one PostgreSQL connection, and the transactions they are asked in.

A session is of one owner at a time: every transaction says whose stories it is about, for row-level security, and works
as a role that cannot step around it. Outside a transaction nothing is found. One that writes holds its story's row
from its first statement on, so that all that is written to one story, by whichever process, comes one after another.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from secrets import token_hex
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from previously.storage.tables.session import Row

MOST_AT_ONCE = 10_000
"""Ids that are reserved with one question: their list takes less than 100 kB, and a story of a million messages needs a
hundred questions."""


def prepare(connection: psycopg.Connection[Row], queries: Mapping[str, bytes]) -> None:
    """Make a new connection one that a session can use."""
    connection.adapters.register_dumper(int, Int8Dumper)  # one type whatever the value: one plan per query
    connection.execute(queries["settings_of_a_session"], prepare=False)


class PostgresSession:
    """A connection in autocommit mode and the named queries asked of it. Used by one thread at a time."""

    def __init__(self, connection: psycopg.Connection[Row], queries: Mapping[str, bytes], writer: str) -> None:
        self._connection = connection
        self._queries = queries
        self._writer = writer
        self.token: str = ""
        """Names the transaction that writes, in the row of its writer."""
        self.committing: bool = False
        """The server was asked to commit, so that it may have done so even if it never answered."""

    def rows(self, name: str, values: Mapping[str, Any]) -> list[Row]:
        """All rows a query gives. No row holds a text with NUL in it: the server has none."""
        if any(isinstance(value, str) and "\x00" in value for value in values.values()):
            return []
        return self._connection.execute(self._queries[name], values).fetchall()

    def one(self, name: str, values: Mapping[str, Any]) -> Row | None:
        """The first row a query gives."""
        rows = self.rows(name, values)
        return rows[0] if rows else None

    def run(self, name: str, values: Mapping[str, Any] | Sequence[Any]) -> int:
        """Carry out one statement; the id of the row it inserted, if it says one."""
        cursor = self._connection.execute(self._queries[name], values)
        if b"RETURNING" not in self._queries[name]:
            return 0  # without waiting for its end: if it fails, so does the next question, and the transaction
        row = cursor.fetchone()
        return int(row[0]) if row else 0

    def many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out one statement for many rows, in a pipeline: nothing waits for an answer in between."""
        listed = list(rows)
        if listed:
            with self._connection.cursor() as cursor:
                cursor.executemany(self._queries[name], listed)

    def reserve(self, table: str, count: int) -> Sequence[int]:
        """Ids for new rows, ascending; nobody else gets them."""
        ids = array("q")
        while len(ids) < count:
            some = min(count - len(ids), MOST_AT_ONCE)
            ids.extend(ident for (ident,) in self.rows(f"reserve_{table}", {"count": some}))
        return ids

    @contextmanager
    def begun(self, how: str, values: Mapping[str, Any]) -> Iterator[None]:
        """A transaction begun by a query of that name; committed when the work ends well, otherwise undone. Statements
        of one that writes go in a pipeline: only what is asked for is waited for."""
        reading = how == "begin_reading"
        self.token, self.committing = "" if reading else token_hex(16), False
        try:
            with psycopg.ClientCursor(self._connection) as cursor:
                cursor.execute(self._queries[how], {**values, "writer": self._writer, "token": self.token})
            with nullcontext() if reading else self._connection.pipeline():
                yield
            self.committing = True
            ended = self._connection.execute(b"COMMIT", prepare=False).statusmessage
            assert ended == "COMMIT", "what failed was raised before"
            self.committing = False
        except BaseException:
            self._undo()
            raise

    def kept(self, token: str) -> bool:
        """Return whether the last transaction of this writer was committed. Waits for it to end."""
        return self.one("last_change", {"writer": self._writer}) == (token,)

    def _undo(self) -> None:
        if self._connection.closed:
            return
        if self._connection.info.transaction_status is TransactionStatus.ACTIVE:
            self._connection.close()  # in the middle of something: nothing can be asked of it any more
        elif self._connection.info.transaction_status is not TransactionStatus.IDLE:
            self._connection.execute(b"ROLLBACK", prepare=False)
