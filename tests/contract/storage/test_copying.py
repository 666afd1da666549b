"""Copying whole stories: what the digest sees, what survives the way from one store to another, and that a copy is
there whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from previously.core.digests import span_key
from previously.core.errors import StoreProblem, UnknownStory
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft, Message, Role, Text, Thinking, message
from previously.core.path import Put, Reuse, Span, Splice
from previously.core.snapshot import KeptRecipe
from previously.core.versions import Cost, Kind, NewVersion, Status
from previously.runtime.whole_stories import NameTaken, Whole, WholeStories
from previously.storage import copy as copying
from previously.storage import layout
from previously.storage.postgres.transaction import prepare
from previously.storage.queries import load_all_queries, load_migrations
from previously.storage.spool import Spool
from previously.storage.sqlite.page_checksums import connect
from previously.storage.store import StoryKey
from previously.storage.tables import Tables
from tests.contract.storage.postgres_server import database, shared_server
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore

COLUMNS = [(table.name, column.name) for table in layout.TABLES if table.is_digested for column in table.columns] + [
    ("story", "name")
]
ODD = {
    "emoji": "👩‍🚀🧵🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "combining marks": "e\u0301 a\u0308\u0323 \u0e01\u0e33 \u05e9\u05c1\u05b8",
    "line ends": "a\r\nb\rc\nd\u2028e\x85f\x1f\x7f",
    "JSON": '{"a": "\\u0000", \\ "b"}\t',
    "long": "Ünï 漢字 🧵 " * 80_000,
    "empty": "",
}


def nothing(_: int) -> None:
    """A step that nobody watches."""


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[dict[str, VerbStore]]:
    """Two of each kind, empty; the two of PostgreSQL are one database."""
    url = shared_server().emptied()
    opened: dict[str, VerbStore] = {
        "sqlite": SqliteVerbs(str(tmp_path / "one.db")),
        "sqlite too": SqliteVerbs(str(tmp_path / "two.db")),
        "postgres": PostgresVerbs(url, connections=2),
        "postgres too": PostgresVerbs(url, connections=2),
    }
    yield opened
    for store in opened.values():
        await store.close()


def whole(store: VerbStore, owner: str = "me") -> WholeStories:
    return WholeStories(store.database, owner, "there")


async def copy(source: VerbStore, name: str, target: VerbStore, new: str, owner: str = "me", **options: Any) -> Whole:
    with Spool() as spool:
        read = await whole(source).hand_over(name, spool, nothing)
        await whole(target, owner).take_in(new, spool, nothing, **options)
    return read


async def digest(store: VerbStore, name: str, owner: str = "me") -> str:
    return (await whole(store, owner).look(name, nothing)).digest


def put(*texts: str) -> tuple[Put, ...]:
    return tuple(Put(Draft(message("user", text))) for text in texts)


async def commit(
    store: VerbStore, key: StoryKey, branch: str, span: Span, scope: str = "", kind: Kind = Kind.RECAP, **other: Any
) -> int:
    items = await store.path(key, branch, span.first, span.last)
    made: dict[str, Any] = {
        "before": None, "text": "Then.", "carry": "{}", "status": Status.COMMITTED, "made_by": "builtin",
        "reason": "due", "at": "now", "anchor": items[-1].node, "cost": Cost(1, 2, 3), "shed": ("Ines",),
        "first": items[0].entry.digest if scope == "*" else b"",
    } | other  # fmt: skip
    key_of = span_key([item.entry.digest for item in items])
    return (await store.commit(key, NewVersion(kind=kind, scope=scope, span=span, key=key_of, **made))).id


async def mark(store: VerbStore, key: StoryKey, branch: str, position: int, **options: Any) -> Mark:
    kind, text = MarkKind.CHAPTER, "A chapter"
    return await store.add_mark(key, branch, kind, position, text, made_by="person", at="now", seen=b"s", **options)


async def rich(store: VerbStore, owner: str = "me", name: str = "tale") -> StoryKey:
    """A story with rows of every kind in every state, and references to what is gone."""
    key = (await store.create_story(owner, name, at="then")).key
    drafts = [Draft(message("user", text), Attributes("at", f"id {text}", {"k": text})) for text in "abcdefgh"]
    spoken = Message(Role.ASSISTANT, (Thinking("hm"), Text("so")), "Ines", ("Bram",))
    script = [Splice(0, 0, (*map(Put, drafts), Put(Draft(spoken, alternatives=(drafts[0], drafts[1])))))]
    await store.apply(key, "main", script, at="1", receipt="one")
    first_node, first = await store.path(key, "main", 0, 1)
    edited = Put(Draft(message("user", "B")), replaces=first.entry.id)
    await store.apply(key, "main", [Splice(1, 1, (edited,))], at="2", receipt="")
    await store.apply(key, "main", [Splice(9, 0, put("i", "j"))], at="3", receipt="three")
    gone, stays = await mark(store, key, "main", 2), await mark(store, key, "main", 4)
    before = await commit(store, key, "main", Span(0, 2))
    await commit(store, key, "main", Span(3, 4), before=before, status=Status.PROVISIONAL)
    await commit(store, key, "main", Span(3, 4), before=before, status=Status.REFUSED, replaces=before)
    await commit(store, key, "main", Span(3, 5), scope=gone.scope)
    noted = await commit(store, key, "main", Span(4, 6), "*", Kind.SCENE)
    await commit(store, key, "main", Span(4, 6), "*", Kind.SCENE, replaces=noted, text="Again.")
    known = await commit(store, key, "main", Span(0, 3), "@Ines", Kind.CAST)
    await commit(store, key, "main", Span(4, 7), "@Ines", Kind.CAST, before=known)
    await store.fork(key, "main", "other", 7, at="4")
    await store.apply(key, "other", [Splice(5, 2, (Reuse(first.entry.id), *put("x")))], at="5")
    await commit(store, key, "other", Span(5, 6), scope=stays.scope)
    await store.take_back_mark(key, "main", gone.id)
    await mark(store, key, "main", 4, origin=stays.origin, of=gone.origin, retires=[stays.id])
    for kept in await store.marks(key, "other"):
        await store.take_back_mark(key, "other", kept.id)
    await mark(store, key, "other", 3, of=stays.origin)
    await store.switch(key, "other")
    await store.keep_header(key, '{"h": 1}')
    await store.keep_settings(key, '{"s": 1}')
    await store.note_budget(key, 800)
    for one in await store.path(key, "other", 3, 4):
        recipe = KeptRecipe(
            "chat", "800", one.node, one.position, first_node.node, "{}", f'{{"n": {one.position}}}', "6"
        )
        await store.keep_recipe(key, recipe, one.hash)
    return key


async def neighbours(store: VerbStore, name: str) -> None:
    """Other stories, of this owner and another, so that no id is the one it was elsewhere."""
    for owner in ("me", "you"):
        await rich(store, owner, name)


async def all_rows(store: VerbStore, owner: str) -> int:
    """How many rows an owner has, in whatever table, by the hand of the database."""

    def count(tables: Tables) -> int:
        session: Any = tables.session
        names = [table.name for table in layout.TABLES]
        rows = [session._connection.execute(f"SELECT count(*) FROM {name} WHERE owner = '{owner}'") for name in names]
        return sum(cursor.fetchone()[0] for cursor in rows)

    return await store.database.reading(owner, count)


@pytest.mark.parametrize("target", ["sqlite too", "postgres"])
async def test_how_views_were_made_comes_along(stores: dict[str, VerbStore], target: str) -> None:
    await neighbours(stores[target], "others")
    key = await rich(stores["sqlite"])
    await copy(stores["sqlite"], "tale", stores[target], "tale")
    found = await stores[target].story("me", "tale")
    assert found is not None
    for old, new in zip(
        await stores["sqlite"].recipes(key, "chat", "800", 9, last=99),
        await stores[target].recipes(found.key, "chat", "800", 9, last=99),
        strict=True,
    ):
        assert (old.body, old.epoch, old.position) == (new.body, new.epoch, new.position)
        (stands,) = await stores[target].path(found.key, "other", new.position, new.position)
        (front,) = await stores[target].path(found.key, "other", 0, 0)
        assert (new.node, new.before_tail) == (stands.node, front.node)


def test_the_layout_names_every_column_of_both_schemas() -> None:
    named = {(table.name, name) for table in layout.TABLES for name in table.names}
    named |= {("lease", name) for name in ("owner", "story", "work", "holder", "until")}
    named |= {(table, name) for table, columns in layout.NOT_COPIED.items() for name in columns}
    named |= {("book", name) for name in ("owner", "name", "body", "at")}
    named |= {("story_book", name) for name in ("owner", "story", "name", "position")}
    named |= {("backup", name) for name in ("owner", "path", "at", "stories")}
    named |= {("access_key", name) for name in ("name", "owner", "hash", "ending", "at")}
    connection = apsw.Connection(":memory:")
    for _, statements in load_migrations("sqlite"):
        connection.execute(statements)
    query = (
        "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
        "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'"
    )
    assert set(connection.execute(query)) == named
    connection.close()
    query = (
        "SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'previously'::regnamespace AND c.relkind = 'r' "
        "AND c.relname NOT IN ('migration', 'last_change') "
        "AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''"
    )
    assert set(shared_server().admin(query, database(shared_server().emptied()))) == named


def test_every_query_of_copying_that_reads_asks_for_the_owner() -> None:
    for backend in ("sqlite", "postgres"):
        for name, statement in layout.write_copy_queries(backend).items():
            if not name.startswith(("last_", "reserve_", "plan_")):
                assert "owner" in statement, name


def test_what_is_an_id_is_told_by_its_table() -> None:
    tables = {table.name: table for table in layout.TABLES}
    ids = {(table.name, column.name): column.ids_of for table in layout.TABLES for column in table.columns}
    assert ids["branch", "head"] == ids["move", "old_head"] == ids["version", "anchor"] == "node"
    assert ids["version", "scope"] == ids["cover", "scope"] == ids["mark", "retired_by"] == "mark"
    assert ids["mark", "after"] == ids["cover", "version"] == "version"
    assert all(not holds or holds in tables for holds in ids.values())


@pytest.mark.parametrize("source", ["sqlite", "postgres"])
@pytest.mark.parametrize("target", ["sqlite too", "postgres too"])
async def test_a_copy_has_the_digest_of_its_original(stores: dict[str, VerbStore], source: str, target: str) -> None:
    await neighbours(stores[source], "before")
    await rich(stores[source])
    await neighbours(stores[target], "before too")
    read = await copy(stores[source], "tale", stores[target], "copy")
    assert (read.story, read.messages) == ("tale", 7)
    assert await digest(stores[target], "copy") == read.digest == await digest(stores[source], "tale")
    assert read.digest == await digest(stores[source], "before"), "the same verbs make the same story"
    assert await all_rows(stores[target], "me") > await all_rows(stores[source], "you")


async def test_there_and_back_again(stores: dict[str, VerbStore]) -> None:
    key = await rich(stores["sqlite"])
    await copy(stores["sqlite"], "tale", stores["postgres"], "tale", owner="me")
    await neighbours(stores["sqlite too"], "before")
    await copy(stores["postgres"], "tale", stores["sqlite too"], "tale")
    assert await digest(stores["sqlite too"], "tale") == await digest(stores["sqlite"], "tale")
    found = await stores["sqlite too"].story("me", "tale")
    assert found is not None
    for store, story in ((stores["sqlite"], key), (stores["sqlite too"], found.key)):
        assert await store.header(story) == '{"h": 1}'
        assert await store.settings(story) == '{"s": 1}'
        texts = [item.entry.message.text for item in await store.path(story, "other", 0, 99)]
        assert texts == ["a", "B", "c", "d", "e", "b", "x"]
        assert [move.at for move in await store.moves(story)] == ["1", "2", "3", "5"]
        again = await store.apply(story, "main", [Splice(0, 0, put("again"))], at="6", receipt="")
        assert again.messages == 11, "its receipts are known"
    assert found.budget_tokens is None, "the budget of the last view is no part of a story"


async def test_owners_are_walls(stores: dict[str, VerbStore]) -> None:
    store = stores["postgres"]
    await asyncio.gather(*(rich(store, owner, f"{owner}'s") for owner in ("me", "you", "they")))
    assert await digest(store, "me's") == await digest(store, "you's", "you") == await digest(store, "they's", "they")
    for other in ("you's", "they's"):
        with pytest.raises(UnknownStory):
            await whole(store).look(other, nothing)
    rows = await all_rows(store, "they")
    await copy(store, "me's", stores["postgres too"], "a gift", owner="you")
    assert await digest(store, "a gift", "you") == await digest(store, "me's")
    assert await all_rows(store, "they") == rows
    assert [info.name for info in await store.stories("me")] == ["me's"]


@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
async def test_odd_text_survives(stores: dict[str, VerbStore], text: str) -> None:
    source = stores["sqlite"]
    key = (await source.create_story("me", f"tale {text[:20]}", at=text[:99])).key
    draft = Draft(message("user", text, speaker=text[:99]), Attributes(source_id=text, extra={text[:9]: text}))
    await source.apply(key, "main", [Splice(0, 0, (Put(draft),))], at="", receipt=text[:999])
    await mark(source, key, "main", 0)
    await commit(source, key, "main", Span(0, 0), scope="007", text=text, reason=text)
    name = f"tale {text[:20]}"
    await copy(source, name, stores["postgres"], name)
    await copy(stores["postgres"], name, stores["sqlite too"], name)
    assert await digest(stores["sqlite too"], name) == await digest(source, name)
    found = await stores["sqlite too"].story("me", name)
    assert found is not None
    (item,) = await stores["sqlite too"].path(found.key, "main", 0, 0)
    assert (item.entry.message, item.entry.attributes) == (draft.message, draft.attributes)
    (version,) = await stores["sqlite too"].versions(found.key)
    assert (version.made.text, version.made.scope) == (text, "007"), "a scope that is no mark's id is left alone"


async def test_rows_in_chunks_of_any_size_are_the_same_story(
    stores: dict[str, VerbStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    await rich(stores["sqlite"])
    key = (await stores["postgres"].create_story("me", "long", at="")).key
    for number in range(7):
        script = [Splice(number, 0, put("x" * 3_000 * (number % 3)))]
        await stores["postgres"].apply(key, "main", script, at="", receipt=f"{number}")
    expected = {("sqlite", "tale"), ("postgres", "long")}
    digests = {place: await digest(stores[place[0]], place[1]) for place in expected}
    for rows, size in ((1, 10**9), (2, 5_000), (3, 1), (1000, 4_000)):
        monkeypatch.setattr(copying, "CHUNK_ROWS", rows)
        monkeypatch.setattr(copying, "CHUNK_BYTES", size)
        for kind, name in expected:
            assert await digest(stores[kind], name) == digests[kind, name]
            await copy(stores[kind], name, stores["sqlite too"], f"{name} {rows}")


async def test_no_chunk_holds_more_text_than_it_may(
    stores: dict[str, VerbStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stores["sqlite"]
    key = (await store.create_story("me", "tale", at="")).key
    await store.apply(key, "main", [Splice(0, 0, put(*("x" * 4_000 for _ in range(20))))], at="")
    monkeypatch.setattr(copying, "CHUNK_BYTES", 10_000)
    written: list[int] = []
    monkeypatch.setattr(Spool, "write", lambda _, table, rows: written.append(len(str(list(rows)))))
    await digest(store, "tale")
    assert len(written) > 10
    assert max(written) < 12_000


def test_a_spool_that_is_begun_anew_has_forgotten_all() -> None:
    receipts, entries = (table for table in layout.TABLES if table.name in ("entry", "receipt"))
    with Spool() as spool, Spool() as other:
        spool.write(receipts, [["x" * 1_000]])
        spool.write(entries, [["x" * 1_000]])
        spool.begin()
        assert list(spool.read()) == []
        for one in (spool, other):
            one.write(receipts, [["a"], ["b"]])
        assert list(spool.read()) == [(receipts, [["a"], ["b"]])]
        assert spool.digest == other.digest


class Planted:
    """A file with one story, and a way to change a single value in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def change(self, table: str, column: str) -> None:
        """In the first row that says something there, otherwise in the first."""
        connection = connect(str(self.path))
        by = {"path": "line, depth", "cover": "line, last, version", "receipt": "key"}.get(table, "id")
        empty = f"{column} IS NULL OR {column} = x''"
        found = connection.execute(f"SELECT {by}, {column} FROM {table} ORDER BY {empty}, {by}")
        row: Any = found.fetchone()
        *key, value = row
        where = " AND ".join(f"{name} = ?" for name in by.split(", "))
        other = 3 - value if (table, column) == ("story", "active") else _other(value)
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (other, *key))
        connection.close()


def _other(value: Any) -> Any:
    match value:
        case bytes():
            return bytes([*value[:-1], value[-1] ^ 1])
        case str():
            return f"{value}7"
        case None:
            return "x"
        case _:
            return value + 100_000


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bytes, str]]:
    """A file with a rich story, and its digest."""
    path = tmp_path_factory.mktemp("told") / "stories.db"

    async def tell() -> str:
        store = SqliteVerbs(str(path))
        await rich(store)
        found = await digest(store, "tale")
        await store.close()
        return found

    found = asyncio.run(tell())
    yield path.read_bytes(), found


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=map(".".join, COLUMNS))
async def test_the_digest_sees_every_column(told: tuple[bytes, str], tmp_path: Path, table: str, column: str) -> None:
    content, before = told
    path = tmp_path / "stories.db"
    path.write_bytes(content)
    Planted(path).change(table, column)
    store = SqliteVerbs(str(path))
    if table == "entry" and column in ("role", "speaker", "text", "parts", "witnesses", "digest", "extra"):
        with pytest.raises(StoreProblem, match="damaged"):
            await digest(store, "tale")
        await store.close()
        return
    after = await digest(store, "tale7" if column == "name" and table == "story" else "tale")
    await store.close()
    assert (after == before) is ((table, column) == ("story", "name")), "a story may be given another name"


@pytest.mark.parametrize("table", [one.name for one in layout.TABLES if one.is_digested and one.name != "story"])
async def test_the_digest_sees_every_row(told: tuple[bytes, str], tmp_path: Path, table: str) -> None:
    content, before = told
    for given in ("owner", *(["story"] if table not in ("path", "cover") else [])):
        path = tmp_path / f"{given}.db"
        path.write_bytes(content)
        Planted(path).change(table, given)
        store = SqliteVerbs(str(path))
        assert await digest(store, "tale") != before, f"a row of another {given} is missing"
        await store.close()


@pytest.mark.parametrize("target", ["sqlite too", "postgres"])
async def test_what_goes_wrong_leaves_no_row(stores: dict[str, VerbStore], target: str) -> None:
    """At every step of reading, writing and reading again."""
    await rich(stores["sqlite"])
    for number in range(1_000):
        left = [number]

        def fail(_: int, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise ZeroDivisionError

        try:
            with Spool() as spool:
                await whole(stores["sqlite"]).hand_over("tale", spool, fail)
                await whole(stores[target]).take_in("copy", spool, fail)
            break
        except ZeroDivisionError:
            assert await all_rows(stores[target], "me") == 0
    assert number > 20
    assert await digest(stores[target], "copy") == await digest(stores["sqlite"], "tale")


@pytest.mark.parametrize("target", ["sqlite too", "postgres"])
async def test_a_copy_that_is_not_equal_is_undone(
    stores: dict[str, VerbStore], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rich(stores["sqlite"])
    stored = copying._restore_ids

    def wrong(column: layout.Column, values: Any, ids: copying.Ids) -> Any:
        found = list(stored(column, values, ids))
        return [f"{value}!" for value in found] if column.name == "source_id" else found

    with monkeypatch.context() as patched:
        patched.setattr(copying, "_restore_ids", wrong)
        with pytest.raises(StoreProblem, match=r"Story 'copy' cannot be written to there.*digest.*undone"):
            await copy(stores["sqlite"], "tale", stores[target], "copy")
    assert await all_rows(stores[target], "me") == 0
    await copy(stores["sqlite"], "tale", stores[target], "copy")


async def test_a_server_that_goes_away_meanwhile_has_it_written_once(stores: dict[str, VerbStore]) -> None:
    """The work is done again from the spool."""
    await rich(stores["sqlite"])
    steps: list[int] = []

    def cut(_: int) -> None:
        steps.append(1)
        if len(steps) == 5:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'previously'"
            shared_server().admin(others)

    with Spool() as spool:
        read = await whole(stores["sqlite"]).hand_over("tale", spool, nothing)
        await whole(stores["postgres"]).take_in("copy", spool, cut)
    assert len(steps) > 30, "it was begun twice"
    assert await digest(stores["postgres"], "copy") == read.digest
    assert [info.name for info in await stores["postgres"].stories("me")] == ["copy"]


@pytest.mark.parametrize("target", ["sqlite too", "postgres"])
async def test_the_scope_of_a_mark_that_is_gone_is_given_to_no_other(stores: dict[str, VerbStore], target: str) -> None:
    key = (await stores["sqlite"].create_story("me", "tale", at="")).key
    await stores["sqlite"].apply(key, "main", [Splice(0, 0, put(*"abcd"))], at="")
    gone = await mark(stores["sqlite"], key, "main", 1)
    await commit(stores["sqlite"], key, "main", Span(2, 3), scope=gone.scope)
    await stores["sqlite"].take_back_mark(key, "main", gone.id)
    await copy(stores["sqlite"], "tale", stores[target], "tale")
    found = await stores[target].story("me", "tale")
    assert found is not None
    (version,) = await stores[target].versions(found.key)
    assert await stores[target].marks(found.key, "main") == []
    new = await mark(stores[target], found.key, "main", 1)
    assert new.id > int(version.made.scope)
    assert await stores[target].cover(found.key, "main") == []


@pytest.mark.parametrize("target", ["sqlite too", "postgres"])
async def test_a_name_that_is_taken(stores: dict[str, VerbStore], target: str) -> None:
    await rich(stores["sqlite"])
    other = (await stores[target].create_story("me", "tale", at="")).key
    await stores[target].apply(other, "main", [Splice(0, 0, put("mine"))], at="")
    before = await digest(stores[target], "tale")
    rows = await all_rows(stores[target], "me")
    with pytest.raises(NameTaken):
        await copy(stores["sqlite"], "tale", stores[target], "tale")
    assert await all_rows(stores[target], "me") == rows
    await copy(stores["sqlite"], "tale", stores[target], "tale", aside="tale then")
    await copy(stores["sqlite"], "tale", stores[target], "tale", aside="tale then")
    assert await digest(stores[target], "tale") == await digest(stores["sqlite"], "tale")
    assert await digest(stores[target], "tale then") == before, "nothing of it is lost"
    names = [info.name for info in await stores[target].stories("me")]
    assert names == ["tale", "tale then", "tale then 2"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_of_many_that_copy_to_one_name_at_once_one_does(stores: dict[str, VerbStore], kind: str) -> None:
    await rich(stores["sqlite"])
    targets = [stores[kind], stores[f"{kind} too"] if kind == "postgres" else stores[kind]] * 3
    done = await asyncio.gather(
        *(copy(stores["sqlite"], "tale", target, "copy") for target in targets), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in done) == ["NameTaken"] * 5 + ["Whole"]
    assert await digest(stores[kind], "copy") == await digest(stores["sqlite"], "tale")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_is_being_imported_is_copied_as_far_as_it_got(stores: dict[str, VerbStore], kind: str) -> None:
    """A copy made in the middle of a long import shows the path of before."""
    store = stores[kind]
    key = (await store.create_story("me", "tale", at="")).key
    await store.apply(key, "main", [Splice(0, 0, put(*"abc"))], at="")
    seen: list[Whole] = []
    drafts = put(*(f"line {number}" for number in range(5_000)))

    async def look() -> None:
        while not seen or seen[-1].messages == 3:
            seen.append(await copy(store, "tale", stores["sqlite too"], f"copy {len(seen)}"))

    await asyncio.gather(look(), store.apply(key, "main", [Splice(3, 0, drafts)], at="now"))
    for number, one in enumerate(seen):
        found = await stores["sqlite too"].story("me", f"copy {number}")
        assert found is not None
        assert found.active.messages == one.messages in (3, 5_003)
        path = await stores["sqlite too"].path(found.key, "main", 0, 9_999)
        assert [item.entry.message.text for item in path[:3]] == ["a", "b", "c"]
        assert len(path) == one.messages


def test_no_query_reads_more_than_it_gives(tmp_path: Path) -> None:
    """Otherwise the time for a story grows with its square, or with everybody else's stories."""
    asked = {"story": 1, "owner": "me", "ids": "[1]", "from_0": 0, "from_1": 0, "most": 1, "line": 1}
    reading = [name for name in layout.write_copy_queries("sqlite") if name.startswith(("copy_", "ids_", "sizes_"))]
    reading = [name for name in reading if not name.startswith("copy_into_")]
    path = str(tmp_path / "stories.db")
    asyncio.run(SqliteVerbs(path).close())
    connection = connect(path)
    for name in reading:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {layout.write_copy_queries('sqlite')[name]}", asked)
        steps = [step for *_, step in plan if "json_each" not in step]
        assert [step for step in steps if "SCAN" in step] == [], name
        assert "branch" in name or not any("TEMP B-TREE" in step for step in steps), name
    connection.close()
    url = shared_server().emptied()
    with psycopg.connect(url, autocommit=True) as server:
        prepare(server, {name: text.encode() for name, text in load_all_queries("postgres").items()})
        with server.transaction():
            queries = layout.write_copy_queries("postgres")
            server.execute(queries["plan_for_copying"].encode())
            for name in reading:
                given = {**asked, "from_0": ""} if name == "copy_receipt" else asked
                plan_of = server.execute(b"EXPLAIN " + queries[name].encode(), given)
                told = "\n".join(line for (line,) in plan_of)
                assert "Bitmap" not in told, name
                assert "Seq Scan" not in told, name
                assert name.endswith(("branch", "line")) or "ids_" not in name or "Sort" not in told, f"{name}\n{told}"
