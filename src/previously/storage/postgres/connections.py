"""The pool of connections and the threads that work with them, so that the event loop never waits for the server.

A piece of work is one transaction. It is done again, a few times at most, when the server went away or chose it as the
victim of a deadlock, but only if it is certain that nothing of it was kept: if the connection broke while committing,
the server is asked what became of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from secrets import token_hex
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg_pool import ConnectionPool

from previously.core.errors import StoreProblem
from previously.storage.postgres.schema import bring_up_to_date
from previously.storage.postgres.transaction import PostgresSession, prepare
from previously.storage.queries import load_all_queries
from previously.storage.store import StoryKey
from previously.storage.tables import Tables, make_tables
from previously.storage.tables.session import Row

T = TypeVar("T")

ATTEMPTS = 4
"""A deadlock or a lost connection is an accident once or twice; at the fourth time in a row it is none."""

CONNECT_S = 10
"""A server that takes longer to answer is down or behind a wrong address."""

WAIT_S = 30.0
"""A server that is restarted is back within seconds; after half a minute of waiting it is down."""

LIFETIME_S = 30.0
"""A connection keeps the plans of its queries: those made while a story was short are bad once it is long."""


class Connections:
    """Connections to one database, each used by one thread at a time."""

    def __init__(self, url: str, size: int) -> None:
        self._queries = {name: query.encode() for name, query in load_all_queries("postgres").items()}
        self._place, conninfo = _read_url(url)
        try:
            with psycopg.Connection[Row].connect(conninfo, autocommit=True) as connection:
                bring_up_to_date(connection)
                prepare(connection, self._queries)  # what a session needs is refused here, not at the first transaction
                connection.execute(self._queries["forget_old_writers"])
        except psycopg.Error as error:
            raise StoreProblem(f"{self._place} cannot be opened: {_quote_error(error)}.") from error
        except StoreProblem as problem:
            raise StoreProblem(f"{self._place} cannot be used. {problem}") from None
        self._pool = ConnectionPool[psycopg.Connection[Row]](
            conninfo,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=size,
            timeout=WAIT_S,
            max_lifetime=LIFETIME_S,
            configure=partial(prepare, queries=self._queries),
            open=True,
        )
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="previously-postgres")
        self._queues: WeakValueDictionary[StoryKey, asyncio.Lock] = WeakValueDictionary()
        self._name = token_hex(16)
        self._closed = False

    async def reading(self, owner: str, work: Callable[[Tables], T]) -> T:
        """Work that reads, all of one moment."""
        return await self._do_in_thread("begin_reading", {"owner": owner}, work)

    async def examining(self, owner: str, work: Callable[[Tables], T]) -> T:
        """Work that reads, all of one moment: what the server finds damaged it keeps to itself."""
        return await self.reading(owner, work)

    async def writing(self, key: StoryKey, work: Callable[[Tables], T]) -> T:
        """Work that writes to a story. Those of one process wait for each other here, not with a connection each."""
        queue = self._queues.setdefault(key, asyncio.Lock())
        async with queue:
            return await self._do_in_thread("begin_writing", {"owner": key.owner, "story": key.story}, work)

    async def staging(self, key: StoryKey, work: Callable[[Tables], Generator[None, None, T]]) -> T:
        """Work that may be long: here one change, however long, is one transaction."""
        return await self.writing(key, lambda tables: _run_to_end(work(tables)))

    async def destroying(self, key: StoryKey, work: Callable[[Tables], Generator[None, None, T]]) -> T:
        """Work that takes rows away for good, as the login itself: the role that serves people cannot. Each stage is a
        transaction."""
        values = {"owner": key.owner, "story": key.story}
        async with self._queues.setdefault(key, asyncio.Lock()):
            return await self._run_in_thread(partial(self._do_in_stages, "begin_destroying", values, work))

    async def creating(self, owner: str, name: str, work: Callable[[Tables], T]) -> T:
        """Work that makes a story of that name, unless there is one."""
        return await self._do_in_thread("begin_creating", {"owner": owner, "name": name}, work)

    async def clear_log(self) -> bool:
        """The server's log is not ours."""
        return False

    async def damage(self) -> list[str]:
        """The server's pages are not ours."""
        return []

    async def space(self) -> tuple[int, int] | None:
        """Return None: the server manages its own space."""
        return None

    async def shrink(self) -> None:
        """Do nothing: the server manages its own space."""

    async def close(self) -> None:
        """Let what is under way end, then close the connections."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._threads.shutdown)
            await asyncio.to_thread(self._pool.close)

    async def _do_in_thread(self, how: str, values: Mapping[str, Any], work: Callable[[Tables], T]) -> T:
        return await self._run_in_thread(partial(self._do, how, values, work))

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        try:
            future = self._threads.submit(work)
        except RuntimeError:
            raise StoreProblem("The store is closed.") from None
        try:
            return await asyncio.wrap_future(future)
        except psycopg.Error as error:
            raise StoreProblem(f"The store could not do it: {_quote_error(error)}.") from error

    def _do(self, how: str, values: Mapping[str, Any], work: Callable[[Tables], T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            connection = self._pool.getconn()
            session = self._open_session(connection)
            result: list[T] = []
            try:
                with session.begun(how, values):
                    result.append(work(make_tables(session)))
                return result[0]
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if not connection.closed and not isinstance(error, DeadlockDetected | SerializationFailure):
                    raise
                problem = error
            finally:
                self._pool.putconn(connection)
            if session.committing and session.token and self._was_kept(session.token):
                return result[0]
            if attempt == ATTEMPTS:
                raise problem
            self._pool.check()  # others of the pool have gone with the server: not one attempt for each
        raise AssertionError("the last attempt returns or raises")

    def _do_in_stages(
        self, how: str, values: Mapping[str, Any], work: Callable[[Tables], Generator[None, None, T]]
    ) -> T:
        """Each stage a transaction. None is done again: whoever asked begins anew, with what is left to do. If the
        connection broke while the last one was committed, the server is asked what became of it."""
        result: list[T] = []
        with self._pool.connection() as connection:
            session = self._open_session(connection)
            stages = work(make_tables(session))
            try:
                while not result:
                    with session.begun(how, values):
                        if session.one("may_destroy", {}) != (True,):
                            raise StoreProblem("This login may not destroy anything; the one that owns the tables may.")
                        try:
                            next(stages)
                        except StopIteration as end:
                            result.append(end.value)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                if not (result and session.committing and session.token and self._was_kept(session.token)):
                    raise
        return result[0]

    def _open_session(self, connection: psycopg.Connection[Row]) -> PostgresSession:
        """A connection in the hands of this thread, which is one writer whatever connections it is given."""
        return PostgresSession(connection, self._queries, f"{self._name} {threading.current_thread().name}")

    def _was_kept(self, token: str) -> bool:
        """Return whether this thread's last transaction, whose end nobody saw, was committed."""
        give_up = time.monotonic() + WAIT_S
        while time.monotonic() < give_up:
            try:
                self._pool.check()
                with self._pool.connection() as connection:
                    return self._open_session(connection).kept(token)
            except psycopg.OperationalError:
                continue  # the server is still away: waiting for a connection takes its time
        raise StoreProblem("The server went away while it kept a change, and cannot say whether it did.")


def _run_to_end(work: Generator[None, None, T]) -> T:
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def _read_url(url: str) -> tuple[str, str]:
    """Return the name of the database for messages, without its password, and the string to connect with: to a server
    that can write, since a replica may lag."""
    try:
        given = conninfo_to_dict(url)
        wanted: dict[str, Any] = {"connect_timeout": CONNECT_S, "application_name": "previously", **given}
        fixed = {"target_session_attrs": "read-write", "client_encoding": "UTF8"}
        conninfo = make_conninfo("", **{**wanted, **fixed})
    except psycopg.Error as error:
        raise StoreProblem(f"This is not the address of a PostgreSQL database: {_quote_error(error)}.") from None
    return f"Database {given.get('dbname', '')!r} on {given.get('host', 'this machine')}", conninfo


def _quote_error(error: psycopg.Error) -> str:
    """Return the server's message on one line."""
    said = error.diag.message_primary or str(error).strip() or type(error).__name__
    return " ".join(said.split()).rstrip(".")
