"""Kill -9 around the statements that change something on PostgreSQL, and crashes of the server itself.

Points are the statements of transactions that write, counted as psycopg sends them. A process can die before and after
each, and with a commit that was sent and never answered. A server dies while the store goes on: it must find it again,
ask what became of a commit, and bring the scenario to its end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from previously.core.errors import StoreProblem
from tests.contract.storage.postgres_server import Server, database, running_server
from tests.contract.storage.verbs import PostgresVerbs, VerbStore
from tests.crash.disk import When
from tests.crash.harness import Aftermath, Ended, Say, in_small_steps, in_two_sessions, isolated, look
from tests.crash.killing import Play, Tally, aftermath_of, killings
from tests.crash.oracle import Verdict, answers, judged
from tests.crash.scenario import Do, Story

CONNECTIONS = 3
HEAD_START_S = 0.5
"""After a restart others go on first: the numbers of transactions that were never kept are given again, to them."""

AtPoint = Callable[[int, When, str, Any], None]
"""Called with the number of a statement, before or after, its name and its cursor."""


def watch_statements(at_point: AtPoint) -> None:
    """From now on, in this process, be called around each statement of a transaction that writes."""
    numbers, lock, reading = iter(range(1, 1_000_000)), threading.Lock(), set[int]()

    def around(send: Callable[..., Any], cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        connection = id(cursor.connection)
        if text.startswith("BEGIN"):
            (reading.add if "READ ONLY" in text else reading.discard)(connection)
        if connection in reading or text.startswith("SET "):
            return send(cursor, query, *args, **options)
        with lock:
            number = next(numbers)
        name = text.split(None, 1)[0].lower()
        at_point(number, When.BEFORE, name, cursor)
        done = send(cursor, query, *args, **options)
        at_point(number, When.AFTER, name, cursor)
        return done

    for method in ("execute", "executemany"):
        send = getattr(psycopg.Cursor, method)

        def replaced(cursor: Any, *args: Any, send: Any = send, **options: Any) -> Any:
            return around(send, cursor, *args, **options)

        setattr(psycopg.Cursor, method, replaced)


def statements_of(play: Play, url: str) -> list[str]:
    """The names of the statements of a run in which nothing goes wrong. Those after which a commit is sent count as
    writes: they can be torn."""
    met: list[str] = []

    def note(_: int, when: When, name: str, __: Any) -> None:
        if when is When.BEFORE:
            met.append(f"write {name}" if name == "commit" else name)

    def work(_: Say) -> list[str]:
        watch_statements(note)
        _play_on(url, play)
        return met

    names: list[str] = isolated(work).result
    return names


def kill_once(play: Play, server: Server, at: int, when: When) -> tuple[str | None, int, Aftermath]:
    """Kill a process at a statement: where it was, None if it was not met; how many verbs were acknowledged; and what
    was found afterwards."""
    url = server.emptied()

    def live_and_die(say: Say) -> None:
        def perhaps_die(number: int, side: When, name: str, cursor: Any) -> None:
            if number != at or side is not (When.AFTER if when is When.AFTER else When.BEFORE):
                return
            if when is When.TORN and name == "commit":
                cursor.connection.pgconn.send_query(b"COMMIT")
                cursor.connection.pgconn.flush()
            say(["died", name])
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)

        watch_statements(perhaps_die)
        _play_on(url, play, say)

    died = isolated(live_and_die)
    acknowledged = play.acknowledged(died.said)
    _wait_until_left_alone(server, url)
    after = aftermath_of(died) or look_at(url, play, acknowledged)
    place = next((word[1] for word in died.said if word and word[0] == "died"), None)
    return place, sum(acknowledged), after


def look_at(url: str, play: Play, acknowledged: list[int]) -> Aftermath:
    """What is found in a database."""

    def work(_: Say) -> Any:
        opening = partial(PostgresVerbs, url, connections=CONNECTIONS)
        return asyncio.run(look(opening, play.stories, play.expected, acknowledged)).as_json()

    looked = isolated(work)
    if looked.ended is not Ended.WELL:
        return aftermath_of(looked) or Aftermath([("raw error", "the process that looked at it was killed")])
    return Aftermath.of(looked.result)


def kill_many(play: Play, server: Server, most: int, seed: int, replay: str, progress: Say) -> Tally:
    """Kill a process at so many statements."""
    tally = Tally()
    for done, (at, when) in enumerate(killings(statements_of(play, server.emptied()), most, seed)):
        progress(done)
        place, acknowledged, after = kill_once(play, server, at, when)
        if place is None and not after.problems:
            tally.missed += 1
        else:
            torn = when is When.TORN
            kind = f"{'sent' if torn and place == 'commit' else 'before' if torn else when} {place}"
            tally.add(kind, acknowledged, after, replay.format(at=at, when=when))
    return tally


@dataclass(frozen=True, slots=True)
class SafeServer:
    """A server that waits for its disk, and can be crashed."""

    server: Server

    def crash(self, how: str) -> None:
        """`immediate`: every process of it ends at once. `kill`: its first one is killed, the others notice."""
        if how == "immediate":
            self.server.stop("immediate")
        else:
            pid = int(Path(self.server.folder / "data" / "postmaster.pid").read_text().split()[0])
            os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        """Start it, as soon as what is left of the old one is gone."""
        for _ in range(100):
            with suppress(RuntimeError):
                self.server.start(safe=True)
                return
            time.sleep(0.1)
        raise AssertionError("the server does not start again")


@contextmanager
def safe_server() -> Iterator[SafeServer]:
    """A server of its own."""
    with running_server() as server:
        server.emptied()
        server.stop()
        server.start(safe=True)
        yield SafeServer(server)


def crash_server_once(play: Play, safe: SafeServer, at: int, how: str) -> tuple[str | None, int, list[str], Aftermath]:
    """Crash the server at a statement, start it again, and see how the store goes on: where it was, how many verbs were
    acknowledged, which raised on the way, and what was found afterwards."""
    url = safe.server.emptied()
    waiting, restarted = os.pipe()

    def live_on(say: Say) -> None:
        def perhaps_wait(number: int, when: When, name: str, _: Any) -> None:
            if number == at and when is When.BEFORE:
                say(["crash", name])
                os.read(waiting, 1)
                time.sleep(HEAD_START_S)

        watch_statements(perhaps_wait)
        _play_on(url, play, say, partial(_once_more, play, say))

    def heard(word: Any) -> None:
        if isinstance(word, list) and word[0] == "crash":
            safe.crash(how)
            safe.start()
            os.write(restarted, b"!")

    lived = isolated(live_on, heard)
    os.close(waiting)
    os.close(restarted)
    acknowledged = play.acknowledged(lived.said)
    after = aftermath_of(lived) or look_at(url, play, acknowledged)
    raised = [word[1] for word in lived.said if word and word[0] == "raised"]
    place = next((word[1] for word in lived.said if word and word[0] == "crash"), None)
    return place, sum(acknowledged), raised, after


def crash_server_often(play: Play, safe: SafeServer, most: int, seed: int, replay: str, progress: Say) -> Tally:
    """Crash a server at so many statements, in both ways."""
    tally = Tally()
    statements = len(statements_of(play, safe.server.emptied()))
    offset = Random(seed).random()
    for done in range(most):
        progress(done)
        at, how = int((done + offset) * statements / most) + 1, ("immediate", "kill")[done % 2]
        place, acknowledged, raised, after = crash_server_once(play, safe, at, how)
        tally.raised += len(raised)
        if place is None and not after.problems:
            tally.missed += 1
        else:
            tally.add(f"{how} before {place}", acknowledged, after, replay.format(at=at, how=how))
    return tally


async def _once_more(play: Play, say: Say, story: Story, store: VerbStore, verb: int) -> None:
    """A verb that may raise while the server is away, if it has changed nothing."""
    for _ in range(3):
        try:
            await story.do(store, verb)
            return
        except StoreProblem as problem:
            say(["raised", f"{story.verbs[verb].name}: {problem}"])
            one = judged(play.expected[play.stories.index(story)], await answers(store, story), verb)
            assert one.verdict is Verdict.AS_TOLD, f"{story.verbs[verb].name} raised and is {one.verdict} {one.where}"
    await story.do(store, verb)


def _play_on(url: str, play: Play, say: Say = lambda _: None, do: Do = Story.do) -> None:
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # that connections are lost is no news here
    with in_small_steps():
        asyncio.run(in_two_sessions(partial(_opened, url), play.stories, lambda *told: say(["told", *told]), do))


def _opened(url: str) -> PostgresVerbs:
    """The store, as soon as the server is there: to open it is no verb, and waits for nobody."""
    for _ in range(100):
        with suppress(StoreProblem):
            return PostgresVerbs(url, connections=CONNECTIONS)
        time.sleep(0.1)
    return PostgresVerbs(url, connections=CONNECTIONS)


def _wait_until_left_alone(server: Server, url: str) -> None:
    """Until the server has noticed that the dead are gone: up to then it may still carry out what they sent."""
    query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database(url)}' AND pid <> pg_backend_pid()"
    while server.admin(query) != [(0,)]:
        time.sleep(0.005)
