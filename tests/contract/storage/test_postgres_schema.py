"""Opening a PostgreSQL database: empty, ours, another program's, from a newer version, by who may do what; and that its
schema and queries are those of SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import apsw
import pytest

from previously.core.errors import StoreProblem
from previously.storage.postgres import schema
from previously.storage.queries import load_migrations, load_queries
from tests.contract.storage.postgres_server import Server, database, shared_server
from tests.contract.storage.verbs import PostgresVerbs

ONLY_POSTGRES = {"settings_of_a_session", "begin_reading", "begin_writing", "begin_creating"} | {
    "last_change",
    "forget_old_writers",
    "begin_destroying",
    "may_destroy",
    "reserve_entry",
    "reserve_node",
}
ONLY_SQLITE = {"last_entry_id", "last_node_id", "note_copy"}
HASHES = {(table, "name_hash") for table in ("story", "branch", "recall_speaker", "book", "story_book")} | {
    ("receipt", "key_hash"),
    ("model_fact", "model_hash"),
}


@pytest.fixture(scope="module")
def server() -> Server:
    return shared_server()


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """The address of a database with nothing in it."""
    url = server.fresh(migrated=False)
    yield url
    server.drop(url)


def opened_and_closed(url: str) -> None:
    asyncio.run(PostgresVerbs(url, connections=2).close())


def all_of_it(server: Server, url: str) -> list[tuple[object, ...]]:
    """Every table and column, and which migrations were applied."""
    columns = "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE table_schema NOT IN "
    found = server.admin(f"{columns} ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3", database(url))
    if any(row[:2] == ("previously", "migration") for row in found):
        found += server.admin("SELECT name FROM previously.migration ORDER BY 1", database(url))
    return found


def refused(server: Server, url: str, words: str) -> None:
    before = all_of_it(server, url)
    with pytest.raises(StoreProblem, match=words):
        PostgresVerbs(url)
    assert all_of_it(server, url) == before, "a database that is refused is left untouched"


def test_an_empty_database_gets_the_schema_once(server: Server, empty: str) -> None:
    opened_and_closed(empty)
    before = all_of_it(server, empty)
    opened_and_closed(empty)
    assert all_of_it(server, empty) == before
    applied = server.admin("SELECT name FROM previously.migration ORDER BY name", database(empty))
    assert [name for (name,) in applied] == [name for name, _ in load_migrations("postgres")]


async def test_of_several_that_open_an_empty_database_at_once_one_migrates(empty: str) -> None:
    stores = await asyncio.gather(*(asyncio.to_thread(PostgresVerbs, empty, connections=1) for _ in range(5)))
    await asyncio.gather(*(store.create_story("me", "tale", at="") for store in stores))
    assert [info.name for info in await stores[0].stories("me")] == ["tale"]
    for store in stores:
        await store.close()


def test_a_database_from_a_newer_version_is_refused_untouched(server: Server, empty: str) -> None:
    opened_and_closed(empty)
    server.admin("INSERT INTO previously.migration VALUES ('9999_from_the_future')", database(empty))
    refused(server, empty, "newer version of Previously .9999_from_the_future")


def test_another_programs_schema_is_refused_untouched(server: Server, empty: str) -> None:
    server.admin("CREATE SCHEMA previously; CREATE TABLE previously.notes (text text)", database(empty))
    refused(server, empty, "another program")


def test_other_schemas_are_left_alone(server: Server, empty: str) -> None:
    server.admin("CREATE TABLE public.story (text text)", database(empty))
    opened_and_closed(empty)
    assert server.admin("SELECT count(*) FROM public.story", database(empty)) == [(0,)]


def test_a_database_of_another_encoding_is_refused(server: Server) -> None:
    server.admin("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    refused(server, server.url("latin"), "keeps text as LATIN1")
    server.admin("DROP DATABASE latin")


def test_a_migration_that_fails_leaves_nothing(server: Server, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrations = [*load_migrations("postgres"), ("0999_broken", "CREATE TABLE half (id bigint); SELECT 1 / 0")]
    with monkeypatch.context() as patched:
        patched.setattr(schema, "load_migrations", lambda _: migrations)
        refused(server, empty, "division by zero")
    opened_and_closed(empty)


def test_who_may_not_make_the_schema_may_use_it(server: Server, empty: str) -> None:
    server.admin("CREATE ROLE plain LOGIN; CREATE ROLE stranger LOGIN")
    try:
        url = empty.replace("postgres@", "plain@")
        refused(server, url, "permission denied")
        opened_and_closed(empty)
        server.admin("GRANT previously_app TO plain")
        opened_and_closed(url)
        with pytest.raises(StoreProblem):
            opened_and_closed(empty.replace("postgres@", "stranger@"))
    finally:
        server.admin("DROP ROLE plain; DROP ROLE stranger")


def test_an_owner_of_a_database_who_is_no_superuser_can_make_the_schema(server: Server, empty: str) -> None:
    server.emptied()  # the role of the store is there, from another database
    server.admin(f"CREATE ROLE keeper LOGIN CREATEROLE; ALTER DATABASE {database(empty)} OWNER TO keeper")
    server.admin("GRANT previously_app TO keeper WITH ADMIN OPTION")
    opened_and_closed(empty.replace("postgres@", "keeper@"))
    server.admin(f"ALTER DATABASE {database(empty)} OWNER TO postgres")
    server.admin("REASSIGN OWNED BY keeper TO postgres; DROP OWNED BY keeper", database(empty))
    server.admin("DROP ROLE keeper")


def test_what_cannot_be_reached_is_named_without_its_password() -> None:
    for url, words in (
        ("postgresql://me:hunter2@/tales?host=/nowhere", "'tales' on /nowhere cannot be opened"),
        ("postgresql://me:hunter2@host:port/tales", "cannot be opened|not the address"),
        ("postgresql://me:hunter2@/?nonsense=1", "not the address"),
    ):
        with pytest.raises(StoreProblem, match=words) as problem:
            PostgresVerbs(url)
        assert "hunter2" not in str(problem.value)


def test_tables_and_columns_are_those_of_sqlite(server: Server) -> None:
    connection = apsw.Connection(":memory:")
    for _, statements in load_migrations("sqlite"):
        connection.execute(statements)
    of_sqlite = set(
        connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
            "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
        )
    )
    of_postgres = set(
        server.admin(
            "SELECT table_name::text, column_name::text FROM information_schema.columns "
            "WHERE table_schema = 'previously' AND table_name NOT IN ('migration', 'last_change')",
            database(server.emptied()),
        )
    )
    assert of_postgres - HASHES == of_sqlite


def test_queries_are_those_of_sqlite_and_every_one_asks_for_the_owner() -> None:
    queries = load_queries("postgres")
    assert set(queries) - ONLY_POSTGRES == set(load_queries("sqlite")) - ONLY_SQLITE
    for name, statement in queries.items():
        if name not in ONLY_POSTGRES:
            assert "owner" in statement, name


def test_every_table_of_owners_has_row_level_security_forced(server: Server) -> None:
    tables = server.admin(
        "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class "
        "WHERE relnamespace = 'previously'::regnamespace AND relkind = 'r' "
        "AND relname NOT IN ('migration', 'last_change')",
        database(server.emptied()),
    )
    assert len(tables) == 25
    assert [name for name, enabled, forced in tables if not (enabled and forced)] == []
