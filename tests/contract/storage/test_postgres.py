"""What only PostgreSQL has to show: walls between owners that hold without a query's help, several processes on one
story, and a server that goes away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

import psycopg
import pytest

from previously.core.digests import span_key
from previously.core.errors import HeadMoved, StoreProblem, UnknownBranch
from previously.core.marks import MarkKind
from previously.core.messages import Attributes, Draft, message
from previously.core.path import Put, Span, Splice
from previously.core.versions import Kind, NewVersion, Status
from previously.runtime.whole_stories import Backup, WholeStories
from previously.storage.postgres.transaction import PostgresSession
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.session import Row
from tests.contract.storage.letters import Letters
from tests.contract.storage.postgres_server import Server, database, shared_server
from tests.contract.storage.verbs import PostgresVerbs

TABLES = (
    "story branch entry node line path version cover mark move receipt lease backup "
    "recall_state recall_posting recall_fact recall_vector recall_speaker "
    "answer model_fact"
).split()
Opening = Callable[..., PostgresVerbs]


@pytest.fixture
def server() -> Server:
    return shared_server()


@pytest.fixture
async def opening(server: Server) -> AsyncIterator[Opening]:
    """Opens a store on one empty database, as often as asked: each stands for a process."""
    url, opened = server.emptied(), list[PostgresVerbs]()

    def another(connections: int = 8) -> PostgresVerbs:
        opened.append(PostgresVerbs(url, connections=connections))
        return opened[-1]

    yield another
    for store in opened:
        await store.close()


def put(*texts: str) -> tuple[Put, ...]:
    return tuple(Put(Draft(message("user", text, speaker="Ann"))) for text in texts)


async def add(store: PostgresVerbs, key: StoryKey, text: str, **options: Any) -> None:
    """At the end, wherever that is by then: read, write, and once more if the head has moved meanwhile."""
    while True:
        info = await store.branch(key)
        try:
            await store.apply(
                key, "main", [Splice(info.messages, 0, put(text))], at="", expected_head=info.head, **options
            )
            return
        except HeadMoved:
            continue


async def texts(store: PostgresVerbs, key: StoryKey) -> list[str]:
    return [item.entry.message.text for item in await store.path(key, "main", 0, 1_000_000)]


async def with_all_kinds_of_rows(store: PostgresVerbs, owner: str) -> StoryKey:
    key = (await store.create_story(owner, "tale", at="")).key
    await store.apply(key, "main", [Splice(0, 0, put(*"abcd"))], at="", receipt="r")
    await store.add_mark(key, "main", MarkKind.PIN, 1, "secret", made_by="person", at="")
    await commit(store, key)
    await store.index(key, Letters())
    await store.take_lease(key, "recap", "one", now="1", until="2")
    await store.keep_answer(key, bytes(32), "secret", model="m", at="")
    await store.set_model_fact(owner, "m", "secret", "")
    await WholeStories(store.database, owner, "here").note(Backup("b.db", "1", ()))
    return key


async def commit(store: PostgresVerbs, key: StoryKey) -> int:
    digests = [item.entry.digest for item in await store.path(key, "main", 0, 1)]
    new = NewVersion(
        Kind.RECAP, "", Span(0, 1), span_key(digests), None, "x", "", Status.COMMITTED, "builtin", "", ""
    )  # fmt: skip
    return (await store.commit(key, new)).id


async def asked(store: PostgresVerbs, owner: str, statement: str, how: str = "begin_writing") -> Any:
    """A statement through the store's own connection, as the store asks it, on behalf of an owner."""

    def ask(tables: Tables) -> Any:
        session = cast(PostgresSession, tables.session)
        with session._connection.pipeline() as pipeline:
            cursor = session._connection.execute(statement.encode())
            pipeline.sync()
        return cursor.fetchall() if cursor.description else cursor.rowcount

    return await store.database._do_in_thread(how, {"owner": owner, "story": 0}, ask)


async def test_a_query_that_forgets_the_owner_finds_nothing_of_another(opening: Opening) -> None:
    store = opening()
    mine, theirs = [await with_all_kinds_of_rows(store, owner) for owner in ("me", "they")]
    for table in TABLES:
        for owner in ("me", "they"):
            found = await asked(store, owner, f"SELECT DISTINCT owner FROM {table}")
            assert found == [(owner,)], table
        assert await asked(store, "nobody", f"SELECT * FROM {table}") == [], table
        assert await asked(store, "", f"SELECT * FROM {table}") == [], table
    assert await asked(store, "they", "UPDATE entry SET hidden = 1") == 4
    assert await asked(store, "they", "UPDATE story SET header = 'theirs'") == 1
    assert await asked(store, "they", "DELETE FROM mark") == 1
    assert not any(item.entry.attributes.hidden for item in await store.path(mine, "main", 0, 9))
    assert await store.header(mine) == "{}"
    assert len(await store.marks(mine, "main")) == 1
    assert await store.header(theirs) == "theirs"


async def test_nothing_can_be_slipped_to_another_owner(opening: Opening) -> None:
    store = opening()
    key = await with_all_kinds_of_rows(store, "me")
    for statement in (
        "INSERT INTO receipt (owner, story, key) VALUES ('me', 1, 'x')",
        "INSERT INTO lease VALUES ('me', 1, 'chapter', 'they', '9')",
        "INSERT INTO answer VALUES (99, 'me', 'x', 1, 'slipped in', 'm', '')",
        "INSERT INTO model_fact VALUES (99, 'me', 'm', 'slipped in', '')",
    ):
        with pytest.raises(StoreProblem, match="row-level security"):
            await asked(store, "they", statement)
    with pytest.raises(StoreProblem, match="row-level security"):
        await asked(store, "me", "UPDATE story SET owner = 'they'")
    other = StoryKey("they", key.story)
    with pytest.raises(KeyError):
        await store.take_lease(other, "recap", "two", now="1", until="2")
    assert not await store.take_lease(key, "recap", "two", now="1", until="2")


async def test_outside_a_transaction_of_an_owner_nothing_is_found(opening: Opening) -> None:
    store = opening()
    await with_all_kinds_of_rows(store, "me")
    with store.database._pool.connection() as connection:
        for table in TABLES:
            assert connection.execute(f"SELECT * FROM {table}".encode()).fetchall() == []
        role = connection.execute(
            "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert role == ("previously_app", False, False)


async def test_the_role_that_serves_people_cannot_destroy(opening: Opening) -> None:
    store = opening()
    await with_all_kinds_of_rows(store, "me")
    for statement in (
        "DELETE FROM entry",
        "DELETE FROM node",
        "DELETE FROM story",
        "DELETE FROM version",
        "DELETE FROM move",
        "UPDATE entry SET text = 'other words'",
        "UPDATE version SET text = 'other words'",
        "TRUNCATE entry",
        "DROP TABLE entry",
        "ALTER TABLE entry DISABLE ROW LEVEL SECURITY",
    ):
        with pytest.raises(StoreProblem, match=r"permission denied|must be owner"):
            await asked(store, "me", statement)


async def test_messages_added_by_several_processes_are_all_there(opening: Opening) -> None:
    stores = [opening() for _ in range(3)]
    key = (await stores[0].create_story("me", "tale", at="")).key
    await asyncio.gather(*(add(stores[n % 3], key, str(n)) for n in range(45)))
    path = await stores[0].path(key, "main", 0, 99)
    assert sorted(int(item.entry.message.text) for item in path) == list(range(45))
    assert [item.position for item in path] == list(range(45))
    moves = await stores[0].moves(key)
    assert [move.old_head for move in moves[1:]] == [move.new_head for move in moves[:-1]]


async def test_of_many_who_expect_the_same_head_one_wins(opening: Opening) -> None:
    stores = [opening(), opening()]
    key = (await stores[0].create_story("me", "tale", at="")).key
    script = [Splice(0, 0, put("first"))]
    tries = (stores[n % 2].apply(key, "main", script, at="", expected_head=0) for n in range(10))
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["BranchInfo"] + ["HeadMoved"] * 9
    assert await texts(stores[1], key) == ["first"]


async def test_a_receipt_is_honoured_once_by_all_processes(opening: Opening) -> None:
    stores = [opening(), opening()]
    key = (await stores[0].create_story("me", "tale", at="")).key
    script = [Splice(0, 0, put("once"))]
    await asyncio.gather(*(stores[n % 2].apply(key, "main", script, at="", receipt="r") for n in range(10)))
    assert await texts(stores[0], key) == ["once"]


async def test_what_is_made_at_once_is_made_once(opening: Opening) -> None:
    stores = [opening(), opening()]
    infos = await asyncio.gather(*(stores[n % 2].create_story("me", "tale", at="") for n in range(8)))
    (key,) = {info.key for info in infos}
    await stores[0].apply(key, "main", [Splice(0, 0, put(*"abc"))], at="")
    assert len(set(await asyncio.gather(*(commit(stores[n % 2], key) for n in range(8))))) == 1
    holders = await asyncio.gather(
        *(stores[n % 2].take_lease(key, "recap", str(n), now="1", until="2") for n in range(8))
    )
    assert holders.count(True) == 1


async def test_stories_written_at_once_share_no_ids(opening: Opening) -> None:
    stores = [opening(), opening()]
    keys = [(await stores[n % 2].create_story("me", str(n), at="")).key for n in range(6)]
    await asyncio.gather(
        *(stores[n % 2].apply(key, "main", [Splice(0, 0, put(*"abcdefgh"))], at="") for n, key in enumerate(keys))
    )
    items = [item for key in keys for item in await stores[0].path(key, "main", 0, 99)]
    assert len(items) == len({item.node for item in items}) == len({item.entry.id for item in items}) == 48


async def test_a_reader_sees_one_moment(opening: Opening) -> None:
    store, other = opening(), opening()
    key = (await store.create_story("me", "tale", at="")).key
    await store.apply(key, "main", [Splice(0, 0, put(*"abc"))], at="")
    loop = asyncio.get_running_loop()

    def read(tables: Tables) -> list[str]:
        found = tables.branch(key, "main")
        change = other.apply(key, "main", [Splice(0, 3, put("x"))], at="")
        asyncio.run_coroutine_threadsafe(change, loop).result()
        return [item.entry.message.text for item in tables.reader.span(key, found, 0, 9)]

    assert await store.database.reading("me", read) == ["a", "b", "c"]
    assert await texts(store, key) == ["x"]


async def test_connections_that_the_server_ended_are_replaced(opening: Opening, server: Server) -> None:
    store = opening()
    key = (await store.create_story("me", "tale", at="")).key
    for number in range(3):
        await asyncio.gather(*(store.branch(key) for _ in range(8)))
        server.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'previously'")
        await add(store, key, str(number))
    assert await texts(store, key) == ["0", "1", "2"]


@pytest.mark.parametrize("kept", [True, False])
async def test_a_connection_lost_while_committing_loses_and_doubles_nothing(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    store = opening(connections=1)
    key = (await store.create_story("me", "tale", at="")).key
    really, lost = psycopg.Connection[Row].execute, list[bytes]()

    def cut_off(connection: psycopg.Connection[Row], query: Any, *args: Any, **options: Any) -> Any:
        cut = query == b"COMMIT" and not lost
        if cut and not kept:
            lost.append(query)
            connection.close()
        done = really(connection, query, *args, **options)
        if cut:
            lost.append(query)
            connection.close()
            raise psycopg.OperationalError("the connection is lost")
        return done

    monkeypatch.setattr(psycopg.Connection, "execute", cut_off)
    info = await store.apply(key, "main", [Splice(0, 0, put("once"))], at="")
    assert lost == [b"COMMIT"]
    assert (info.messages, await texts(store, key)) == (1, ["once"])
    assert (await store.branch(key)).head == info.head
    assert len(await store.moves(key)) == 1


@pytest.mark.parametrize("kept", [True, False])
def test_whether_a_change_was_kept_is_known_only_when_it_has_ended(opening: Opening, kept: bool) -> None:
    database = opening(connections=2).database
    with ThreadPoolExecutor() as another, database._pool.connection() as one, database._pool.connection() as two:
        writing, asking = (PostgresSession(connection, database._queries, "writer") for connection in (one, two))
        with suppress(ZeroDivisionError), writing.begun("begin_creating", {"owner": "me", "name": "tale"}):
            answer = another.submit(asking.kept, writing.token)
            time.sleep(0.2)
            assert not answer.done()
            assert kept or 1 / 0
        assert answer.result() is kept


def test_writers_that_are_gone_leave_nothing_behind(opening: Opening, server: Server) -> None:
    name = database(server.emptied())
    rows = "('gone', 'x', now() - interval '2 days'), ('here', 'x', now())"
    server.admin(f"INSERT INTO previously.last_change VALUES {rows}", name)
    opening()
    assert server.admin("SELECT writer FROM previously.last_change", name) == [("here",)]


async def test_a_server_that_was_restarted_is_found_again(server: Server) -> None:
    url = server.fresh()
    store = PostgresVerbs(url)
    key = (await store.create_story("me", "tale", at="")).key
    await add(store, key, "before")
    for how in ("fast", "immediate"):
        await asyncio.to_thread(server.stop, how)
        adding = asyncio.create_task(add(store, key, how))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(server.start)
        await adding
    assert await texts(store, key) == ["before", "fast", "immediate"]
    await store.close()
    server.drop(url)


async def test_what_a_text_column_cannot_hold_changes_nothing(opening: Opening) -> None:
    store = opening()
    key = await with_all_kinds_of_rows(store, "me")
    with pytest.raises(StoreProblem, match="NUL"):
        await store.apply(key, "main", [Splice(4, 0, put("e", "a\x00b"))], at="")
    with pytest.raises(StoreProblem, match="NUL"):
        await store.add_mark(key, "main", MarkKind.PIN, 1, "a\x00b", made_by="person", at="")
    assert await store.story("me", "a\x00b") is None
    with pytest.raises(UnknownBranch):
        await store.switch(key, "a\x00b")
    assert await texts(store, key) == list("abcd")
    assert len(await store.marks(key, "main")) == 1
    await store.keep_header(key, '{"note": "a\\u0000b"}')
    assert await store.header(key) == '{"note": "a\\u0000b"}'


async def test_long_names_and_large_messages_are_kept(opening: Opening) -> None:
    store = opening()
    name = "e" + "\N{COMBINING ACUTE ACCENT}" * 100_000
    key = (await store.create_story("me", name, at="")).key
    assert (await store.create_story("me", name + "x", at="")).key != key
    large = "Zoë " * (4 * 1024 * 1024)
    draft = Draft(message("user", large, speaker=name), Attributes(source_id=name, extra={name: [1.5, None]}))
    for _ in range(2):
        await store.apply(key, "main", [Splice(0, 0, (Put(draft),))], at="", receipt=name)
    await store.fork(key, "main", name, 1, at="")
    (item,) = await store.path(key, name, 0, 9)
    assert item.entry.message == draft.message
    assert item.entry.attributes == draft.attributes
    found = await store.story("me", name)
    assert found is not None and found.key == key


async def test_a_closed_store_says_so(opening: Opening) -> None:
    store = opening()
    await store.close()
    await store.close()
    with pytest.raises(StoreProblem, match="closed"):
        await store.stories("me")


async def test_every_acknowledged_write_is_on_disk_whatever_the_servers_default(
    opening: Opening, server: Server
) -> None:
    store = opening()
    name = database(server.emptied())
    server.admin(f"ALTER DATABASE {name} SET synchronous_commit TO off")
    try:
        other = opening()
        assert await asked(other, "me", "SHOW synchronous_commit") == [("on",)]
    finally:
        server.admin(f"ALTER DATABASE {name} RESET synchronous_commit")
    assert await asked(store, "me", "SHOW synchronous_commit") == [("on",)]
