"""Many writers, one wait for the disk: what is kept together, what fails alone, and who is answered when."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Generator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from previously.core.digests import span_key
from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Draft, message
from previously.core.path import Put, Span, Splice
from previously.core.versions import Kind, NewVersion, Status, Version
from previously.storage.sqlite.file import SqliteFile
from previously.storage.store import StoryKey
from previously.storage.tables import Tables, path_writer
from previously.storage.tables.cover import CoverTable
from tests.contract.storage.verbs import SqliteVerbs


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteVerbs]:
    opened = SqliteVerbs(str(tmp_path / "stories.db"))
    yield opened
    await opened.close()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the connection that writes was told to do, in order."""
    done: list[str] = []
    for name in ("begin", "commit", "rollback", "undo_piece"):
        kept = getattr(SqliteFile, name)

        def note(file: SqliteFile, name: str = name, kept: object = kept) -> None:
            done.append(name)
            kept(file)  # type: ignore[operator]

        monkeypatch.setattr(SqliteFile, name, note)
    return done


def put(text: str) -> list[Draft]:
    return [Draft(message("user", text))]


async def texts(store: SqliteVerbs, key: StoryKey) -> list[str]:
    return [item.entry.message.text for item in await store.path(key, "main", 0, 9_999)]


class Held:
    """Keeps the writer busy until it is let go, so that what comes meanwhile waits together."""

    def __init__(self, store: SqliteVerbs) -> None:
        self._go = threading.Event()
        self._waits = asyncio.ensure_future(store.database.writing(StoryKey("me", 0), lambda _: self._go.wait(20)))

    async def let_go(self, *waiting: asyncio.Future[Any]) -> None:
        await asyncio.sleep(0)  # each of them has queued its work by now
        self._go.set()
        await asyncio.gather(self._waits, *waiting, return_exceptions=True)


async def test_those_who_wait_together_are_kept_in_one_transaction(store: SqliteVerbs, told: list[str]) -> None:
    keys = [(await store.create_story("me", f"tale {number}", at="")).key for number in range(20)]
    held = Held(store)
    waiting = [asyncio.ensure_future(store.append(key, None, put("a"), at="")) for key in keys]
    told.clear()
    await held.let_go(*waiting)
    assert told.count("commit") <= 2, "the one who held it up, and all the others"
    assert [await texts(store, key) for key in keys] == [["a"]] * 20


async def test_what_fails_takes_nothing_of_the_others_along(store: SqliteVerbs) -> None:
    key = (await store.create_story("me", "tale", at="")).key
    held = Held(store)
    good = asyncio.ensure_future(store.append(key, None, put("a"), at=""))

    def half_done(tables: Tables) -> None:
        tables.stories.keep(key, "header", '{"half": 1}')
        raise BadInput("no")

    bad = asyncio.ensure_future(store.database.writing(key, half_done))
    later = asyncio.ensure_future(store.append(key, None, put("b"), at=""))
    await held.let_go(good, bad, later)
    assert isinstance(bad.exception(), BadInput)
    assert good.result().messages == 1 and later.result().messages == 2
    assert await texts(store, key) == ["a", "b"]
    assert await store.header(key) == "{}"


async def test_a_commit_that_fails_is_tried_for_each_alone(store: SqliteVerbs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message too large for what is left of the disk does not keep others from being kept."""
    key = (await store.create_story("me", "tale", at="")).key
    size = 0
    commit = SqliteFile.commit

    def full(file: SqliteFile) -> None:
        row = file._connection.execute("SELECT sum(length(text)) FROM entry").get
        if (row or 0) > size:
            raise apsw.FullError("database or disk is full")
        commit(file)

    size = 10
    monkeypatch.setattr(SqliteFile, "commit", full)
    held = Held(store)
    waiting = [asyncio.ensure_future(store.append(key, None, put(text), at="")) for text in ("abc", "x" * 99, "def")]
    await held.let_go(*waiting)
    assert [future.exception() is None for future in waiting] == [True, False, True]
    with pytest.raises(StoreProblem, match="full"):
        waiting[1].result()
    monkeypatch.undo()
    assert await texts(store, key) == ["abc", "def"]


async def test_a_transaction_that_sqlite_has_undone_is_tried_for_each_alone(store: SqliteVerbs) -> None:
    key = (await store.create_story("me", "tale", at="")).key
    held = Held(store)
    good = asyncio.ensure_future(store.append(key, None, put("a"), at=""))

    def ruin(tables: Tables) -> None:
        session = tables.session
        assert isinstance(session, SqliteFile)
        session.rollback()
        raise apsw.FullError("all of it is gone")

    bad = asyncio.ensure_future(store.database.writing(key, ruin))
    later = asyncio.ensure_future(store.append(key, None, put("b"), at=""))
    await held.let_go(good, bad, later)
    assert isinstance(bad.exception(), StoreProblem)
    assert await texts(store, key) == ["a", "b"], "those before and behind it are kept, once"


async def test_of_several_versions_that_fail_in_a_group_nothing_is_kept_and_of_others_all(
    store: SqliteVerbs, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails, and however late: the savepoint of a piece takes back the versions kept before."""
    key = (await store.create_story("me", "tale", at="")).key
    await store.append(key, None, put("a"), at="")
    (read,) = await store.path(key, "main", 0, 0)
    of = (Span(0, 0), span_key([read.entry.digest]), None, "x", "", Status.COMMITTED, "model", "", "")
    good = [NewVersion(Kind.RECAP, scope, *of) for scope in ("", "1")]
    bad = [NewVersion(Kind.CAST, scope, *of) for scope in ("@good", "@bad")]
    in_force = CoverTable.in_force

    def failing(table: CoverTable, key: StoryKey, versions: Sequence[Version]) -> None:
        in_force(table, key, versions)
        if any(version.made.scope == "@bad" for version in versions):
            raise apsw.ConstraintError("at the very end")

    monkeypatch.setattr(CoverTable, "in_force", failing)
    told.clear()
    held = Held(store)
    first = asyncio.ensure_future(store.commit_all(key, good[:1]))
    fails = asyncio.ensure_future(store.commit_all(key, bad))
    last = asyncio.ensure_future(store.commit_all(key, good[1:]))
    await held.let_go(first, fails, last)
    assert isinstance(fails.exception(), StoreProblem)
    assert told.count("begin") == 1 and told.count("undo_piece") == 1
    assert await store.versions(key) == first.result() + last.result()
    assert [version for _, _, version in await store.cover(key, "main")] == [first.result()[0].id]


async def test_others_write_between_the_stages_of_a_long_change(
    store: SqliteVerbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_writer, "ROWS_PER_STAGE", 2)
    long = (await store.create_story("me", "long", at="")).key
    short = (await store.create_story("me", "short", at="")).key
    pieces = tuple(Put(draft) for number in range(40) for draft in put(str(number)))
    seen: list[int] = []
    step = path_writer.PathWriter._write

    def noted(writer: object, key: StoryKey, *rest: object) -> None:
        seen.append(key.story)
        step(writer, key, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(path_writer.PathWriter, "_write", noted)
    held = Held(store)
    change = asyncio.ensure_future(store.apply(long, "main", [Splice(0, 0, pieces)], at=""))
    others = [asyncio.ensure_future(store.append(short, None, put(str(number)), at="")) for number in range(5)]
    await held.let_go(change, *others)
    assert len(await texts(store, long)) == 40 and len(await texts(store, short)) == 5
    last = max(index for index, story in enumerate(seen) if story == short.story)
    assert last < len(seen) - 10, "they did not wait for its end"


async def test_who_no_longer_waits_is_not_written(store: SqliteVerbs) -> None:
    key = (await store.create_story("me", "tale", at="")).key
    held = Held(store)
    gone = asyncio.ensure_future(store.append(key, None, put("gone"), at=""))
    stays = asyncio.ensure_future(store.append(key, None, put("stays"), at=""))
    await asyncio.sleep(0)
    gone.cancel()
    await held.let_go(gone, stays)
    assert await texts(store, key) == ["stays"]


async def test_closing_keeps_what_was_queued(tmp_path: Path) -> None:
    place = str(tmp_path / "stories.db")
    store = SqliteVerbs(place)
    key = (await store.create_story("me", "tale", at="")).key
    waiting = [asyncio.ensure_future(store.append(key, None, put(str(number)), at="")) for number in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*waiting)
    with pytest.raises(StoreProblem, match="closed"):
        await store.append(key, None, put("late"), at="")
    again = SqliteVerbs(place)
    assert await texts(again, key) == [str(number) for number in range(50)]
    await again.close()


async def test_a_reader_does_not_wait_for_a_writer(store: SqliteVerbs) -> None:
    key = (await store.create_story("me", "tale", at="")).key
    await store.append(key, None, put("a"), at="")
    held = Held(store)
    assert await texts(store, key) == ["a"], "answered while the writer is busy"
    await held.let_go()


async def test_a_reader_cannot_write(store: SqliteVerbs) -> None:
    key = (await store.create_story("me", "tale", at="")).key
    with pytest.raises(StoreProblem, match="readonly"):
        await store.database.reading("me", lambda tables: tables.stories.keep(key, "header", "{}"))


async def test_work_may_be_done_again_only_from_its_beginning(store: SqliteVerbs) -> None:
    """A stage that was kept is not repeated: if a later one fails with its group, the work fails."""
    runs: list[str] = []
    key = (await store.create_story("me", "tale", at="")).key

    def staged(tables: Tables) -> Generator[None, None, str]:
        runs.append("first")
        yield
        runs.append("second")
        session = tables.session
        assert isinstance(session, SqliteFile)
        session.rollback()
        raise apsw.FullError("gone")

    with pytest.raises(StoreProblem, match="gone"):
        await store.database.staging(key, staged)
    assert runs == ["first", "second"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_a_store_is_of_the_process_that_opened_it(store: SqliteVerbs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreProblem, match="another process"):
        await store.stories("me")
    monkeypatch.undo()
