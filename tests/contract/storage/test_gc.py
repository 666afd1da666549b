"""`gc`: what nothing needs goes, and no answer changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from previously.core.digests import span_key
from previously.core.errors import HeadMoved, StoreProblem
from previously.core.marks import MarkKind
from previously.core.messages import Draft, message
from previously.core.path import Put, Span, Splice, Splices
from previously.core.versions import Kind, NewVersion, Status
from previously.recall.outline import PathEntries
from previously.recall.search import StoryIndex, find
from previously.runtime.whole_stories import WholeStories
from previously.storage import gc
from previously.storage.findings import Collected, Garbage
from previously.storage.spool import Spool
from previously.storage.sqlite.file import SqliteFile
from previously.storage.store import StoryKey
from previously.storage.tables import Tables, make_tables, path_writer
from tests.contract.storage.letters import Letters
from tests.contract.storage.postgres_server import database, shared_server
from tests.contract.storage.rich_story import OWNER, write_stories
from tests.contract.storage.test_verify import LASTING
from tests.contract.storage.verbs import PostgresVerbs, SqliteVerbs, VerbStore
from tests.effort import cases
from tests.property.storage.test_stores_agree import NUMBERS, WORDS, Agreeing

EARLY, BEGUN, LATE = "2020", "2021", "2022"
NOTHING = Garbage()


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VerbStore]:
    """A store of tables, empty."""
    opened: VerbStore
    if request.param == "sqlite":
        opened = SqliteVerbs(str(tmp_path / "stories.db"))
    else:
        opened = PostgresVerbs(shared_server().emptied())
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def short_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_writer, "ROWS_PER_STAGE", 4)
    monkeypatch.setattr(gc, "ROWS_PER_STAGE", 3)
    monkeypatch.setattr(gc, "ROWS_READ_PER_STAGE", 5)


def put(*texts: str, other: Iterable[str] = ()) -> tuple[Put, ...]:
    others = tuple(Draft(message("user", text)) for text in other)
    return tuple(Put(Draft(message("user", text), alternatives=others)) for text in texts)


def many(count: int, word: str = "new") -> tuple[Put, ...]:
    return put(*(f"{word} {number}" for number in range(count)))


async def begun(store: VerbStore, script: Splices, stages: int, *, branch: str = "main", at: str = BEGUN) -> StoryKey:
    """A change of the story `tale` that is interrupted after so many stages, as if the process had been killed."""
    key = (await store.create_story("me", "tale", at="")).key

    def work(tables: Tables) -> Generator[None, None, None]:
        change = tables.writer.apply(key, tables.branch(key, branch), script, at, None)
        for _ in range(stages):
            next(change)
            yield

    await store.database.destroying(key, work)  # each stage is kept by itself, on every store
    return key


async def told(store: VerbStore, *texts: str) -> StoryKey:
    """The story `tale`, with these messages and something remembered of them."""
    key = (await store.create_story("me", "tale", at="")).key
    await store.apply(key, "main", [Splice(0, 0, put(*texts, other=["swipe"]))], at="")
    await store.add_mark(key, "main", MarkKind.CHAPTER, 1, "One", made_by="person", at="")
    read = await store.path(key, "main", 0, 2)
    new = NewVersion(
        Kind.RECAP, "", Span(0, 2), span_key(one.entry.digest for one in read), None, "x", "", Status.COMMITTED,
        "builtin", "", "", anchor=read[-1].node, reach=3,
    )  # fmt: skip
    await store.commit(key, new)
    await store.gc("me", before=LATE)
    return key


async def answers(store: VerbStore, owner: str = "me") -> list[Any]:
    """All that a store says of an owner's stories."""
    found: list[Any] = [await store.stories(owner)]
    for info in await store.stories(owner):
        key = info.key
        found += [await store.header(key), await store.settings(key), await store.moves(key)]
        versions = await store.versions(key)
        found.append(versions)
        for branch in await store.branches(key):
            path = await store.path(key, branch.name, 0, branch.messages)
            found += [branch, path, await store.known(key, branch.name), await store.marks(key, branch.name)]
            found += [await store.siblings(key, branch.name, position) for position in range(branch.messages)]
            found += [await store.cover(key, branch.name), await store.cover(key, branch.name, firm=True)]
            found += [await store.spans(key, branch.name, kind) for kind in Kind]
            for one in versions:
                found.append(await store.live(key, branch.name, one.made.kind, one.made.scope))
                found.append(await store.position_of(key, branch.name, one.made.anchor))
                found.append(await store.leading_to(key, one.made.anchor, 99))
        for move in await store.moves(key):
            found.append(await store.leading_to(key, move.old_head, 999))
    return found


async def counted(store: VerbStore, owner: str = "me") -> dict[str, int]:
    """How many rows each table has."""

    def count(tables: Tables) -> dict[str, int]:
        connection = cast(Any, tables.session)._connection
        named = "entry node line path cover version mark move lease".split()
        return {
            name: connection.execute(f"SELECT count(*) FROM {name} WHERE owner = '{owner}'").fetchone()[0]
            for name in named
        }

    return await store.database.reading(owner, count)


async def cleaned(store: VerbStore, *, before: str = LATE) -> Collected:
    """What was taken; no answer may change, and all is as it must be before and after."""
    seen, check = await answers(store), await store.verify("me", before=before)
    assert check.faults == ()
    taken = await store.gc("me", before=before)
    assert await answers(store) == seen
    again = await store.verify("me", before=before)
    assert (again.faults, again.garbage) == ((), NOTHING)
    as_told = Garbage(taken.lines, taken.nodes, taken.entries, taken.path_rows, taken.cover_rows, taken.leases)
    assert as_told == check.garbage, "verify says what gc takes"
    twice = await store.gc("me", before=before)
    assert (twice.lines, twice.nodes, twice.entries, twice.path_rows, twice.cover_rows) == (0, 0, 0, 0, 0)
    return taken


@pytest.mark.parametrize("stages", [1, 2, 3])
async def test_what_a_killed_import_left_behind_is_gone(store: VerbStore, stages: int) -> None:
    await told(store, *"abc")
    before = await counted(store)
    await begun(store, [Splice(3, 0, many(12))], stages)
    assert await counted(store) != before
    taken = await cleaned(store)
    assert await counted(store) == before
    assert (taken.lines, taken.nodes, taken.entries, taken.path_rows) == (1, stages * 4, stages * 4, stages * 4)


async def test_what_was_indexed_of_a_killed_import_is_gone_and_its_ids_are_indexed_again(store: VerbStore) -> None:
    key = await told(store, *"abcdef")
    await begun(store, [Splice(6, 0, many(9, "dead"))], 2)
    while await store.index(key, Letters(), most=4):
        pass
    await cleaned(store)
    await store.append(key, None, [Draft(message("user", f"living {number}")) for number in range(9)], at="")
    assert await store.index(key, Letters()) == 0

    def found(index: StoryIndex, path: PathEntries) -> list[int]:
        return [len(find(index, path, word, Letters()).hits[0].why.terms) for word in ("dead", "living")]

    assert await store.recall(key, "main", found) == [0, 1]
    assert (await store.verify("me", before=LATE)).faults == ()


async def test_the_first_import_of_a_story_and_its_swipes_are_gone(store: VerbStore) -> None:
    await store.create_story("me", "tale", at="")
    before = await counted(store)
    key = await begun(store, [Splice(0, 0, put("hail", "b", "c", "d", "e", "f", other=["hello", "well met"]))], 1)
    await cleaned(store)
    assert await counted(store) == before
    await store.apply(key, "main", [Splice(0, 0, put("hail"))], at="")
    assert len(await store.siblings(key, "main", 0)) == 1


async def test_what_a_killed_deep_edit_left_behind_is_gone(store: VerbStore) -> None:
    await told(store, *"abcdefghij")
    await store.fork(StoryKey("me", 1), "main", "aside", 5, at="")
    before = await counted(store)
    await begun(store, [Splice(1, 1, put("B"))], 2)
    await begun(store, [Splice(2, 1, put("C", "CC", "CCC"))], 1, branch="aside")
    await cleaned(store)
    assert await counted(store) == before


async def test_swipes_stay_and_those_of_a_dead_attempt_were_never_seen(store: VerbStore) -> None:
    key = await told(store, *"abcdefghij")
    await begun(store, [Splice(1, 1, put("B", other=["BB"]))], 1)
    for _ in range(2):
        seen = [item.entry.message.text for item in await store.siblings(key, "main", 1)]
        assert seen == ["b", "swipe"]
        await cleaned(store)


async def test_nodes_that_a_second_attempt_took_over_stay(store: VerbStore) -> None:
    key = await told(store, *"abcdefghij")
    deletion = [Splice(4, 1, ())]
    await begun(store, deletion, 1)
    await store.apply(key, "main", deletion, at=LATE)
    assert "f" in [item.entry.message.text for item in await store.siblings(key, "main", 4)]
    taken = await cleaned(store)
    assert (taken.lines, taken.nodes, taken.entries) == (1, 0, 0)
    await store.apply(key, "main", [Splice(0, 9, ())], at=LATE)  # only moves hold them now
    await cleaned(store)


async def test_nodes_that_two_dead_attempts_share_go_with_the_last(store: VerbStore) -> None:
    await told(store, *"abcdefghij")
    before = await counted(store)
    for stages in (1, 2, 1):
        await begun(store, [Splice(3, 1, ())], stages)
    seen = await answers(store)
    await store.gc("me", before=LATE)
    assert await counted(store) == before
    assert await answers(store) == seen
    assert (await store.verify("me", before=LATE)).faults == ()


async def test_two_dead_attempts_at_one_place_go_with_their_swipes(store: VerbStore) -> None:
    await store.create_story("me", "tale", at="")
    before = await counted(store)
    for word in ("hello", "well met"):
        await begun(store, [Splice(0, 0, put("hail", *"bcdef", other=[word]))], 1)
    await store.gc("me", before=LATE)
    assert await counted(store) == before


async def test_a_change_that_somebody_is_making_is_left_alone(store: VerbStore) -> None:
    await told(store, *"abc")
    await begun(store, [Splice(3, 0, many(12))], 2, at=BEGUN)
    before = await counted(store)
    taken = await cleaned(store, before=EARLY)
    assert taken.lines == 0
    assert await counted(store) == before


async def test_what_was_begun_before_times_were_kept_is_old(store: VerbStore) -> None:
    await told(store, *"abc")
    before = await counted(store)
    await begun(store, [Splice(3, 0, many(12))], 2, at=cast(Any, None))

    def forget_when(tables: Tables) -> Generator[None, None, None]:
        cast(Any, tables.session)._connection.execute("UPDATE line SET begun_at = NULL, published = 0 WHERE fork = 3")
        return
        yield

    await store.database.destroying(StoryKey("me", 1), forget_when)
    await store.gc("me", before=EARLY)
    assert await counted(store) == before


async def test_lines_that_no_branch_shows_go_and_those_leaned_on_stay(store: VerbStore) -> None:
    key = await told(store, *"abcdefghij")
    for number in range(4):
        await store.fork(key, "main", f"branch {number}", 8 - number, at="")
        await store.apply(key, f"branch {number}", [Splice(number, 1, put("x"))], at="")
        await store.apply(key, "main", [Splice(6 - number, 1, put("y"))], at="")
    taken = await cleaned(store)
    assert taken.lines > 0
    assert (taken.nodes, taken.entries) == (0, 0)


async def test_rows_behind_all_that_others_lean_on_go(store: VerbStore) -> None:
    key = await told(store, *"abcdefghij")
    await store.apply(key, "main", [Splice(4, 1, put("x"))], at="")
    taken = await cleaned(store)
    assert (taken.lines, taken.path_rows, taken.nodes) == (0, 6, 0)
    await store.fork(key, "main", "aside", 3, at="")
    await store.apply(key, "main", [Splice(1, 1, put("y"))], at="")
    taken = await cleaned(store)
    assert (taken.lines, taken.path_rows, taken.nodes) == (1, 7, 0), "aside needs three rows of the first line"
    await store.apply(key, "aside", [Splice(3, 0, put("z"))], at="")
    assert [item.entry.message.text for item in await store.path(key, "aside", 0, 9)] == [*"abcz"]


async def test_leases_that_ran_out_go(store: VerbStore) -> None:
    key = await told(store, *"abc")
    await store.take_lease(key, "one", "me", now="", until=EARLY)
    await store.take_lease(key, "two", "me", now="", until=BEGUN)
    await store.take_lease(key, "three", "me", now="", until=LATE)
    assert (await store.gc("me", before=BEGUN)).leases == 2
    assert not await store.take_lease(key, "three", "other", now=BEGUN, until=LATE)
    assert await store.take_lease(key, "one", "other", now=BEGUN, until=LATE)


async def test_an_interrupted_cleaning_changes_no_answer_and_the_next_one_ends_it(store: VerbStore) -> None:
    key = await told(store, *"abcdefghij")
    await store.fork(key, "main", "aside", 6, at="")
    await store.apply(key, "aside", [Splice(1, 1, put("x"))], at="")
    before: dict[str, int] = {}
    seen = await answers(store)
    for stages in range(1, 40, 5 if isinstance(store, PostgresVerbs) else 1):
        await begun(store, [Splice(10, 0, put(*"klmnopqrst", other=["swipe"]))], 2)
        await begun(store, [Splice(2, 1, put("C"))], 2)

        def some(tables: Tables, stages: int = stages) -> Generator[None, None, bool]:
            cleaning = gc.take_garbage(tables.session, key, LATE)
            for _ in range(stages):
                try:
                    next(cleaning)
                except StopIteration:
                    return True
                yield
            return False

        ended = await store.database.destroying(key, some)
        assert (await store.verify("me", before=LATE)).faults == ()
        assert await answers(store) == seen
        await store.gc("me", before=LATE)
        before = before or await counted(store)
        assert await counted(store) == before
        assert await answers(store) == seen
        if ended:
            return
    raise AssertionError("a cleaning ends")


async def test_a_story_whose_cleaning_was_interrupted_can_be_copied(store: VerbStore) -> None:
    """Swipes that were never seen are not seen in the copy, and its own cleaning takes them."""
    key = await told(store, *"abcdefghij")
    clean = await counted(store)
    await begun(store, [Splice(2, 1, put("C", *"defghij", other=["unseen"]))], 2)

    def set_aside(tables: Tables) -> Generator[None, None, None]:
        next(gc.take_garbage(tables.session, key, LATE))
        yield

    await store.database.destroying(key, set_aside)
    with Spool() as spool:
        read = await WholeStories(store.database, "me", "here").hand_over("tale", spool, lambda _: None)
        await WholeStories(store.database, "they", "there").take_in("tale", spool, lambda _: None)
    copied = await WholeStories(store.database, "they", "there").look("tale", lambda _: None)
    assert copied.digest == read.digest
    theirs = (await store.stories("they"))[0].key
    for owner, one in (("me", key), ("they", theirs)):
        assert [item.entry.message.text for item in await store.siblings(one, "main", 2)] == ["c", "swipe"]
        assert (await store.verify(owner, before=LATE)).faults == ()
        assert (await store.gc(owner, before=LATE)).lines == 1
        assert await counted(store, owner) == clean
    await store.fork(theirs, "main", "more", 3, at="")
    await store.apply(theirs, "more", [Splice(3, 0, put("x"))], at="")
    assert (await store.verify("they", before=LATE)).faults == ()


async def test_what_is_written_while_it_is_cleaned_is_kept(store: VerbStore) -> None:
    """Between two stages of a cleaning the change that died is made again and takes its nodes over."""
    for pause in range(1, 12):
        key = (await store.create_story("me", f"tale {pause}", at="")).key
        await store.apply(key, "main", [Splice(0, 0, put(*"abcdefghij"))], at="")

        def die(tables: Tables, key: StoryKey = key) -> Generator[None, None, None]:
            change = tables.writer.apply(key, tables.branch(key, "main"), [Splice(1, 1, ())], BEGUN, None)
            for _ in range(2):
                next(change)
                yield

        def clean(tables: Tables, key: StoryKey = key, pause: int = pause) -> Generator[None, None, None]:
            for stage, _ in enumerate(gc.take_garbage(tables.session, key, LATE)):
                if stage == pause:
                    yield from tables.writer.apply(key, tables.branch(key, "main"), [Splice(1, 1, ())], LATE, None)
                    yield from tables.writer.apply(key, tables.branch(key, "main"), [Splice(0, 9, ())], LATE, None)
                yield

        await store.database.destroying(key, die)
        await store.database.destroying(key, clean)
        assert (await store.verify("me", before=EARLY)).faults == ()


async def test_a_change_taken_for_dead_says_so_and_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "stories.db")
    store = SqliteVerbs(path)
    key = await told(store, *"abc")
    file = SqliteFile(path)
    tables = make_tables(file)
    change = tables.writer.apply(key, tables.branch(key, "main"), [Splice(3, 0, many(12))], BEGUN, None)
    for _ in range(2):
        with file.transaction():
            next(change)
    taken = await cleaned(store)
    assert taken.nodes == 8
    before = await counted(store)
    await begun(store, [Splice(3, 0, many(12, "other"))], 1)  # what is written next is not mistaken for it
    with pytest.raises(StoreProblem, match="cleaned away; make it again"), file.transaction():
        next(change)
    file.close()
    await cleaned(store)
    assert await counted(store) == before
    await store.apply(key, "main", [Splice(3, 0, many(12))], at=LATE)
    assert (await store.branch(key, "main")).messages == 15
    await store.close()


async def test_a_change_whose_branch_moved_on_while_its_lines_were_cleaned_says_so(tmp_path: Path) -> None:
    path = str(tmp_path / "stories.db")
    store = SqliteVerbs(path)
    key = await told(store, *"abcdefghij")
    file = SqliteFile(path)
    tables = make_tables(file)
    change = tables.writer.apply(key, tables.branch(key, "main"), [Splice(0, 1, put("A"))], LATE, None)
    with file.transaction():
        next(change)
    await store.apply(key, "main", [Splice(0, 1, put("B"))], at=LATE)
    taken = await cleaned(store, before=BEGUN)
    assert taken.lines >= 1, "the line that is still being read"
    seen = await answers(store)
    with pytest.raises(HeadMoved), file.transaction():
        for _ in change:
            pass
    file.close()
    assert await answers(store) == seen
    await store.close()


async def test_what_was_taken_is_not_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "stories.db"
    store = SqliteVerbs(str(path))
    await told(store, *"abc")
    await begun(store, [Splice(3, 0, put(*("a secret word" * 3 for _ in range(12))))], 3)
    assert b"secret" in path.read_bytes() + path.with_name("stories.db-wal").read_bytes()
    await store.gc("me", before=LATE)
    assert await store.database.clear_log()
    assert path.with_name("stories.db-wal").stat().st_size == 0
    assert b"secret" not in path.read_bytes()
    await store.close()


async def test_a_log_that_somebody_reads_cannot_be_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("previously.storage.sqlite.file.BUSY_GIVE_UP_S", 0.0)
    monkeypatch.setattr("previously.storage.sqlite.file.READER_WAIT_MS", 10)
    path = str(tmp_path / "stories.db")
    store = SqliteVerbs(path)
    await told(store, *"abc")
    reader = SqliteFile(path, reads_only=True)
    with reader.snapshot():
        reader.rows("check_stories", {"owner": "me"})
        await store.create_story("me", "more", at="")
        assert not await store.database.clear_log()
    assert await store.database.clear_log()
    reader.close()
    await store.close()


async def test_shrinking_gives_the_disk_its_bytes_back(tmp_path: Path) -> None:
    path = tmp_path / "stories.db"
    store = SqliteVerbs(str(path))
    await told(store, *"abc")
    await begun(store, [Splice(3, 0, put(*("long " * 2_000 for _ in range(60))))], 14)
    free = await store.gc("me", before=LATE)
    assert free.freed_bytes and free.freed_bytes > 100_000
    await store.database.clear_log()
    size = path.stat().st_size
    shrunk = await store.gc("me", before=LATE, shrink=True)
    assert shrunk.freed_bytes and shrunk.freed_bytes >= free.freed_bytes
    assert path.stat().st_size == size - shrunk.freed_bytes
    assert (await store.verify("me", before=LATE)).clean
    await store.close()


async def test_a_server_sees_to_its_own_space() -> None:
    store = PostgresVerbs(shared_server().emptied())
    await told(store, *"abc")
    assert (await store.gc("me", before=LATE, shrink=True)).freed_bytes is None
    assert not await store.database.clear_log()
    await store.close()


async def test_a_login_that_owns_nothing_cannot_clean() -> None:
    server = shared_server()
    url = server.emptied()
    store = PostgresVerbs(url)
    await told(store, *"abc")
    await begun(store, [Splice(3, 0, many(12))], 1)
    before = await counted(store)
    server.admin("CREATE ROLE plain LOGIN; GRANT previously_app TO plain")
    try:
        plain = PostgresVerbs(url.replace("postgres@", "plain@"))
        with pytest.raises(StoreProblem, match="may not destroy"):
            await plain.gc("me", before=LATE)
        assert (await plain.verify("me", before=LATE)).faults == ()
        await plain.close()
    finally:
        server.admin("DROP ROLE plain")
    assert await counted(store) == before
    await store.close()


async def test_who_owns_the_tables_and_is_no_superuser_destroys_only_rows_of_the_owner_named() -> None:
    server = shared_server()
    server.emptied()
    url = server.fresh(migrated=False)
    server.admin(f"CREATE ROLE warden LOGIN CREATEROLE; ALTER DATABASE {database(url)} OWNER TO warden")
    server.admin("GRANT previously_app TO warden WITH ADMIN OPTION")
    store = PostgresVerbs(url.replace("postgres@", "warden@"))
    await told(store, *"abc")
    theirs = (await store.create_story("they", "tale", at="")).key
    await store.apply(theirs, "main", [Splice(0, 0, put(*"xyz"))], at="")
    await begun(store, [Splice(3, 0, many(12))], 2)

    def greedy(tables: Tables) -> Generator[None, None, str]:
        connection = cast(Any, tables.session)._connection
        connection.execute("DELETE FROM entry")
        yield
        role: str = connection.execute("SELECT current_user").fetchone()[0]
        return role

    await cleaned(store)
    assert await store.database.destroying(StoryKey("me", 1), greedy) == "warden"
    assert (await counted(store))["entry"] == 0
    assert (await counted(store, "they"))["entry"] == 3
    await store.close()
    server.drop(url)
    server.admin("DROP OWNED BY warden; DROP ROLE warden")


async def test_all_that_people_and_folds_made_stays(tmp_path: Path) -> None:
    for place in (str(tmp_path / "rich.db"), shared_server().emptied()):
        await write_stories(place)
        store = SqliteVerbs(place) if place.endswith(".db") else PostgresVerbs(place)
        seen = await answers(store, OWNER)
        taken = await store.gc(OWNER, before=LATE)
        assert (taken.nodes, taken.entries, taken.leases) == (0, 0, 0)
        assert await answers(store, OWNER) == seen
        await store.close()


async def test_a_story_that_lost_its_path_is_left_for_verify(store: VerbStore) -> None:
    key = await told(store, *"abcdefghij")
    await store.apply(key, "main", [Splice(1, 1, put("x"))], at="")

    def lose(tables: Tables) -> Generator[None, None, None]:
        cast(Any, tables.session)._connection.execute("UPDATE branch SET line = 999")
        return
        yield

    await store.database.destroying(key, lose)
    before = await counted(store)
    with pytest.raises(StoreProblem, match="previously verify"):
        await store.gc("me", before=LATE)
    assert await counted(store) == before


async def test_a_stage_that_fails_keeps_what_was_done_before(store: VerbStore) -> None:
    key = await told(store, *"abc")

    def work(tables: Tables) -> Generator[None, None, None]:
        tables.session.run("set_header", {"story": key.story, "owner": "me", "header": '"kept"'})
        yield
        tables.session.run("set_header", {"story": key.story, "owner": "me", "header": '"undone"'})
        raise ValueError("no further")

    with pytest.raises(ValueError, match="no further"):
        await store.database.destroying(key, work)
    assert await store.header(key) == '"kept"'


class Cleaning(Agreeing):
    """Random verbs on a file that is cleaned between them: it goes on answering as the store without caches."""

    @rule(branch=NUMBERS, at=NUMBERS, remove=st.integers(0, 6), words=WORDS, stages=st.integers(1, 2))
    def a_change_dies(self, branch: int, at: int, remove: int, words: list[str], stages: int) -> None:
        """And is cleaned away, so that ids go on where they were."""
        name = self.name(branch)
        first = at % (self.length(name) + 1)
        script = [Splice(first, min(remove, self.length(name) - first), put(*words, *"abc"))]
        store = cast(SqliteVerbs, self.stores[1])

        def die(tables: Tables) -> Generator[None, None, None]:
            change = tables.writer.apply(self.key, tables.branch(self.key, name), script, BEGUN, None)
            for _ in range(stages):  # three words are two stages
                next(change)
                yield

        rows = path_writer.ROWS_PER_STAGE
        self.patched.setattr(path_writer, "ROWS_PER_STAGE", 2)
        self.runner.run(store.database.destroying(self.key, die))
        self.patched.setattr(path_writer, "ROWS_PER_STAGE", rows)
        self.clean()

    @precondition(lambda self: self.versions)
    @rule(number=NUMBERS, status=st.sampled_from(LASTING))
    def set_status(self, number: int, status: Status) -> None:
        version = self.versions[number % len(self.versions)]
        if version.made.status not in (Status.BY_HAND, Status.FORGOTTEN):
            self.both(lambda store: store.set_status(self.key, version.id, status, reason="so"))

    @rule()
    def clean(self) -> None:
        store = cast(SqliteVerbs, self.stores[1])
        self.runner.run(store.gc("me", before=LATE))

    def teardown(self) -> None:
        try:
            if hasattr(self, "stores"):
                self.clean()
                store = cast(SqliteVerbs, self.stores[1])
                seen = self.runner.run(store.verify("me", before=LATE))
                assert (seen.faults, seen.garbage) == ((), NOTHING)
        finally:
            super().teardown()


TestCleaning = Cleaning.TestCase
TestCleaning.settings = hypothesis_settings(
    max_examples=cases(40, soak=1_000), stateful_step_count=cases(40, quick=20, soak=60)
)
