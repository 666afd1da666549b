"""Opening files: ours, empty, broken, another program's, from a newer version; and that what was written stays."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import pytest

from previously import BlockingMemory, Draft, Memory, StoreProblem, message
from previously.core.digests import span_key
from previously.core.marks import MarkKind
from previously.core.path import Put, Span, Splice
from previously.core.versions import Kind, NewVersion, Status, Version
from previously.storage.queries import load_migrations, load_queries, parse_queries
from previously.storage.sqlite.page_checksums import APPLICATION_ID, connect
from previously.storage.tables import path_writer
from previously.storage.tables.path_writer import PathWriter
from tests.contract.storage.verbs import SqliteVerbs


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place) as memory:
        memory.story("tale").add("user", "Hello.", name="Maya")
    with BlockingMemory(place) as memory:
        assert memory.story("tale", create=False).messages()[0].entry.message.text == "Hello."


def test_two_openings_of_one_file_see_each_others_messages(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place) as one, BlockingMemory(place) as other:
        for number in range(20):
            (one if number % 2 else other).story("tale").add("user", str(number))
        assert [item.entry.message.text for item in one.story("tale").messages()] == [str(n) for n in range(20)]


def test_every_acknowledged_write_is_on_disk(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    with BlockingMemory(place) as memory:
        story = memory.story("tale")
        connection = story._inner._access.store.database._writer._file._connection  # type: ignore[attr-defined]
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 2


def refused(place: Path, words: str) -> None:
    before = place.read_bytes() if place.is_file() else None
    with pytest.raises(StoreProblem, match=words):
        BlockingMemory(place)
    if before is not None:
        assert place.read_bytes() == before, "a file that is refused is left untouched"


def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    place = tmp_path / "other.db"
    connection = apsw.Connection(str(place))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    refused(place, "another program")


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    place = tmp_path / "letter.txt"
    place.write_text("Dear Odalys, " * 200)
    refused(place, "not a database")


def test_a_file_from_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    BlockingMemory(place).close()
    connection = connect(str(place))
    connection.execute("INSERT INTO migration VALUES ('9999_from_the_future')")
    connection.pragma("journal_mode", "delete")
    connection.close()
    refused(place, "newer version")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere" / "stories.db", "no folder")
    refused(tmp_path, "cannot be opened")


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    memory = BlockingMemory(tmp_path / "stories.db")
    story = memory.story("tale")
    runner = memory._runner
    runner.run(memory._inner.close())
    with pytest.raises(StoreProblem, match="closed"):
        story.add("user", "too late")
    runner.close()


def test_queries_are_named_once() -> None:
    assert parse_queries("-- name: one\nSELECT 1\n-- name: two\nSELECT 2\n") == {"one": "SELECT 1", "two": "SELECT 2"}
    for text in ("-- name: one\nSELECT 1\n-- name: one\nSELECT 2", "-- name: one\n\n"):
        with pytest.raises(ValueError, match="twice or has no statement"):
            parse_queries(text)


def test_every_query_asks_for_the_owner() -> None:
    for name, statement in load_queries("sqlite").items():
        if not name.startswith("last_"):
            assert "owner" in statement, name


def test_migrations_come_in_order() -> None:
    names = [name for name, _ in load_migrations("sqlite")]
    assert names == sorted(names)
    assert names[0] == "0001_initial"


def test_an_import_that_was_cut_off_leaves_nothing_to_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = [Draft(message("user", f"Line {number}.")) for number in range(5_000)]
    drafts[0] = Draft(message("user", "Line 0."), alternatives=(Draft(message("user", "Another line 0.")),))
    place = tmp_path / "stories.db"

    def power_cut(*_: object) -> None:
        raise apsw.IOError("cut off")

    with BlockingMemory(place) as memory:
        with monkeypatch.context() as patched:
            patched.setattr(PathWriter, "_publish", power_cut)
            with pytest.raises(StoreProblem):
                memory.story("tale").follow(drafts)
        assert memory.story("tale").messages() == []
    with BlockingMemory(place) as memory:
        story = memory.story("tale")
        story.follow(drafts)
        assert story.branch_info().messages == 5_000
        assert sorted(entry.message.text for entry in story.swipes(0)) == ["Another line 0.", "Line 0."]


async def test_a_file_of_the_second_version_is_brought_up_to_date(tmp_path: Path) -> None:
    place = str(tmp_path / "stories.db")
    connection = apsw.Connection(place)
    connection.execute("CREATE TABLE migration (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
    for name, statements in load_migrations("sqlite")[:2]:
        connection.execute(statements)
        connection.execute("INSERT INTO migration VALUES (?)", (name,))
    connection.pragma("application_id", APPLICATION_ID)
    connection.execute("""
        INSERT INTO story (id, owner, name, active, created_at) VALUES (1, 'me', 'tale', 1, '');
        INSERT INTO line (id, owner, story, fork) VALUES (1, 'me', 1, 0);
        INSERT INTO branch VALUES (1, 'me', 1, 'main', 0, 0, 1, '');
        INSERT INTO mark VALUES (4, 'me', 1, 1, 4, 'block', 3, 'By hand.', 'person', 'then');
        INSERT INTO mark VALUES (7, 'me', 1, 1, 2, 'chapter', 1, 'One', 'person', 'then');
        INSERT INTO version VALUES (3, 'me', 1, 'recap', '', 0, 1, 2, x'00', 0, 0, 'So it was.', '', 'committed',
                                    'model', 'due', 'then', 'm', 'h', 1, 2, 3, 1, '["a"]', '[]');
    """)
    connection.close()
    store = SqliteVerbs(place)
    info = await store.story("me", "tale")
    assert info is not None
    marks = await store.marks(info.key, "main")
    assert [(mark.id, mark.origin, mark.kind, mark.position, mark.text, mark.seen) for mark in marks] == [
        (7, 2, MarkKind.CHAPTER, 1, "One", b""),
        (4, 4, MarkKind.RECAP, 3, "By hand.", b""),
    ]
    (version,) = await store.versions(info.key)
    made = version.made
    assert (version.id, made.text, made.shed, made.anchor, made.commitments) == (3, "So it was.", ("a",), 0, ())
    assert await store.settings(info.key) == "{}"
    new = await store.add_mark(info.key, "main", MarkKind.PIN, 0, "x", made_by="person", at="now")
    assert new.id == 8
    await store.close()


async def test_memory_made_while_a_long_change_is_written_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit far back comes in several transactions; a fold is kept between two of them."""
    store = SqliteVerbs(str(tmp_path / "stories.db"))
    key = (await store.create_story("me", "tale", at="")).key
    pieces = tuple(Put(Draft(message("user", text))) for text in "abcdefghij")
    await store.apply(key, "main", [Splice(0, 0, pieces)], at="")
    await store.fork(key, "main", "alt", 10, at="")
    await store.apply(key, "main", [Splice(0, 1, ())], at="")
    span = Span(0, 5)
    read = span_key([item.entry.digest for item in await store.path(key, "alt", span.first, span.last)])
    new = NewVersion(Kind.RECAP, "", span, read, None, "x", "", Status.COMMITTED, "builtin", "", "")

    loop, folds = asyncio.get_running_loop(), list[Future[Version]]()

    def meanwhile(steps: Iterator[Any], count: int) -> Iterator[Any]:
        """Queue the fold behind the first stage of the edit."""
        if not folds:
            folds.append(asyncio.run_coroutine_threadsafe(store.commit(key, new), loop))
            while store.database._writer._queue.empty():
                time.sleep(0.001)
        return islice(steps, count)

    monkeypatch.setattr(path_writer, "ROWS_PER_STAGE", 1)
    monkeypatch.setattr(path_writer, "islice", meanwhile)
    await store.apply(key, "alt", [Splice(7, 1, ())], at="")
    (version,) = await store.versions(key)
    assert folds[0].done() and await store.cover(key, "alt") == [(0, 5, version.id)]
    await store.close()


async def test_a_swipe_that_is_the_chosen_message_is_not_added_twice_in_a_long_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("previously.storage.tables.path_writer.ROWS_PER_STAGE", 1)
    store = SqliteVerbs(str(tmp_path / "s.db"))
    key = (await store.create_story("me", "tale", at="")).key
    swiped = Draft(message("user", "one"), alternatives=(Draft(message("user", "two")), Draft(message("user", "one"))))
    script = [Splice(0, 0, (Put(swiped), Put(Draft(message("user", "next")))))]
    await store.apply(key, "main", script, at="")
    assert [item.entry.message.text for item in await store.siblings(key, "main", 0)] == ["one", "two"]
    await store.close()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who holds which lock")
async def test_a_store_keeps_its_locks_whatever_is_looked_at(tmp_path: Path) -> None:
    """A process that opens and closes a file by itself loses the locks that SQLite holds on it."""
    place = tmp_path / "stories.db"

    def find_locked() -> set[str]:
        held = {line.split()[5].rpartition(":")[2] for line in Path("/proc/locks").read_text().splitlines()}
        return {name for name in ("", "-shm") if str(Path(f"{place}{name}").stat().st_ino) in held}

    async with await Memory.open(place) as memory:
        await (await memory.story("tale")).add("user", "The lamp is lit.")
        async with await Memory.open(place) as beside:
            assert find_locked() == {"", "-shm"}
            assert (await beside.verify()).clean
            assert find_locked() == {"", "-shm"}
        assert (await memory.verify()).clean
        assert find_locked() == {"", "-shm"}
