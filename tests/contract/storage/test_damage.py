"""Damage is an error for whoever reads what is damaged, says what it is, and keeps nothing else from being read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from previously import BadInput, Draft, Memory, StoreProblem, message
from previously.app import mend_file
from previously.storage.sqlite import earlier_copy, file, page_checksums, wal_frames
from previously.storage.sqlite.connections import SqliteDatabase
from previously.storage.tables import Tables
from tests.contract.storage.postgres_server import shared_server
from tests.crash.flipping_bits import FRAME_HEADER, PAGE, WAL_HEADER, find_last_change

SECTOR = 512
RESERVED_AT = 20
"""Where a file says how much of each page is reserved."""


def tell(number: int) -> str:
    return f"Message {number}: " + "the bell of the mill rings over the snow. " * 8


async def write_story(memory: Memory, name: str, messages: int) -> None:
    await (await memory.story(name)).add_drafts([Draft(message("user", tell(number))) for number in range(messages)])


def flip_in(path: Path, words: bytes) -> None:
    flip(path, path.read_bytes().index(words))


def read(path: Path) -> bytes:
    return path.read_bytes()


def read_mode(path: str) -> int:
    return Path(path).stat().st_mode & 0o777


def read_reserved(path: Path) -> int:
    return path.read_bytes()[RESERVED_AT]


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 4
    path.write_bytes(content)


@pytest.fixture
async def place(tmp_path: Path) -> Path:
    path = tmp_path / "stories.db"
    memory = await Memory.open(path)
    await write_story(memory, "tale", 200)
    await write_story(memory, "another", 3)
    await memory.close()
    return path


async def test_a_flipped_bit_in_a_message_is_named_and_the_rest_can_be_read(place: Path, tmp_path: Path) -> None:
    flip_in(place, b"Message 20: ")
    memory = await Memory.open(place)
    story = await memory.story("tale")
    with pytest.raises(
        StoreProblem, match=r"damaged: a page of .*stories\.db.*`previously verify`.*`previously restore`"
    ):
        await story.messages()
    assert [item.entry.message.text for item in await story.messages(150, 199)] == [tell(n) for n in range(150, 200)]
    assert len(await (await memory.story("another")).messages()) == 3
    await story.add("user", "It goes on.")
    for copy in (memory.backup, memory.move):
        with pytest.raises(StoreProblem, match=r"'tale' cannot be read.*damaged"):
            await copy(tmp_path / "all.db", stories=["tale"])
        assert [copied.story for copied in (await copy(tmp_path / f"{copy.__name__}.db", stories=["another"])).stories]
    faults = {fault.where: fault.reason for fault in (await memory.verify()).faults}
    assert faults.pop("the file").endswith("(of entry) does not have its checksum")
    assert set(faults) == {"story 'tale', entry 21"}
    await memory.close()


async def test_a_damaged_story_is_brought_back_from_a_backup(place: Path, tmp_path: Path) -> None:
    memory = await Memory.open(place)
    await memory.backup(tmp_path / "backup.db")
    await memory.close()
    flip_in(place, b"Message 20: ")
    memory = await Memory.open(place)
    with pytest.raises(BadInput, match="--replace"):
        await memory.restore(tmp_path / "backup.db", stories=["tale"])
    await memory.restore(tmp_path / "backup.db", stories=["tale"], replace=True)
    messages = await (await memory.story("tale")).messages()
    assert [item.entry.message.text for item in messages] == list(map(tell, range(200)))
    assert len(await memory.stories()) == 3, "the damaged one stands beside it"
    await memory.close()


async def test_words_that_were_changed_on_a_server_are_not_passed_on(tmp_path: Path) -> None:
    url = shared_server().emptied()
    memory = await Memory.open(url)
    await write_story(memory, "tale", 3)
    story = await memory.story("tale")
    assert len(await story.messages()) == 3, "what was read before is remembered, but not believed"
    with psycopg.connect(url, options="-c search_path=previously") as connection:
        connection.execute("UPDATE entry SET text = 'Massage 1' WHERE text LIKE 'Message 1%'")
    with pytest.raises(StoreProblem, match=r"entry .* does not have its digest"):
        await story.messages()
    with pytest.raises(StoreProblem, match=r"entry .* does not have its digest"):
        await memory.backup(tmp_path / "all.db")
    assert len(await story.messages(2, 2)) == 1
    await memory.close()


async def test_a_message_that_is_missing_on_a_path_is_damage(place: Path) -> None:
    with closing(page_checksums.connect(str(place))) as connection:
        connection.execute("DELETE FROM path WHERE depth > 20 AND line = (SELECT min(line) FROM path)")
    memory = await Memory.open(place)
    story = await memory.story("tale")
    with pytest.raises(StoreProblem, match="path of branch 'main' does not have each of messages"):
        await story.messages(-5)
    with pytest.raises(StoreProblem, match="damaged"):
        await story.view()
    await memory.close()


async def test_a_check_that_is_run_again_counts_what_it_finds_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await Memory.open(place)
    counted = (await memory.verify()).checked
    examine = SqliteDatabase.examining

    async def examine_twice(database: SqliteDatabase, owner: str, work: Callable[[Tables], Any]) -> Any:
        await examine(database, owner, work)  # as after a connection that broke at its end
        return await examine(database, owner, work)

    monkeypatch.setattr(SqliteDatabase, "examining", examine_twice)
    assert (await memory.verify()).checked == counted
    await memory.close()


async def test_a_file_that_lost_the_mark_of_its_checksums_is_refused(place: Path) -> None:
    flip(place, RESERVED_AT)
    with pytest.raises(StoreProblem, match="damaged"):
        await Memory.open(place)


async def test_an_older_file_larger_than_the_cache_has_checksums_on_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stories.db"
    monkeypatch.setattr(file, "WRITER_CACHE_KIB", 64)
    with monkeypatch.context() as older:
        older.setattr(file, "connect", apsw.Connection)
        older.setattr(file, "add_checksums", lambda _: None)
        async with await Memory.open(place) as memory:
            await write_story(memory, "tale", 2_000)
    assert place.stat().st_size > 8 * 64 * 1024
    for _ in range(2):
        async with await Memory.open(place) as memory:
            assert len(await (await memory.story("tale")).messages()) == 2_000
            assert (await memory.verify()).clean
    assert read_reserved(place) == page_checksums.RESERVED_BYTES


async def test_a_file_too_large_to_be_written_anew_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stories.db"
    monkeypatch.setattr(page_checksums, "MOST_REWRITTEN_BYTES", 4_096)
    with monkeypatch.context() as older:
        older.setattr(file, "connect", apsw.Connection)
        older.setattr(file, "add_checksums", lambda _: None)
        async with await Memory.open(place) as memory:
            await write_story(memory, "tale", 30)
    async with await Memory.open(place) as memory:
        assert len(await (await memory.story("tale")).messages()) == 30
        assert (await memory.verify()).clean
    assert read_reserved(place) == 0


async def test_an_older_file_gets_checksums_when_nobody_else_has_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stories.db"
    with monkeypatch.context() as older:
        older.setattr(file, "connect", apsw.Connection)
        older.setattr(file, "add_checksums", lambda _: None)
        memory = await Memory.open(place)
        await write_story(memory, "tale", 30)
        assert read_reserved(place) == 0
        beside = await Memory.open(place)  # leaves it as it is, though it could do better
        assert len(await (await beside.story("tale")).messages()) == 30
        await beside.close()
    beside = await Memory.open(place)
    await (await beside.story("tale")).add("user", "Beside.")
    await beside.close()
    await memory.close()
    assert read_reserved(place) == 0
    memory = await Memory.open(place)
    assert read_reserved(place) == page_checksums.RESERVED_BYTES
    assert len(await (await memory.story("tale")).messages()) == 31
    assert (await memory.verify()).clean
    await memory.close()
    flip_in(place, b"Message 20: ")
    memory = await Memory.open(place)
    with pytest.raises(StoreProblem, match="checksum"):
        await (await memory.story("tale")).messages()
    await memory.close()


async def test_a_wal_that_is_damaged_before_its_last_change_is_refused(place: Path, tmp_path: Path) -> None:
    memory = await Memory.open(place)
    story = await memory.story("another")
    for number in range(3):
        await story.add("user", f"Late {number}.")
    left = tmp_path / "left"
    shutil.copytree(tmp_path, left, ignore=shutil.ignore_patterns("left"))
    await memory.close()
    wal = left / "stories.db-wal"
    last = find_last_change(read(wal))
    for offset in (10, 32 + 100, last - 2_000):
        before = read(left / "stories.db")
        flip(wal, offset)
        with pytest.raises(StoreProblem, match=r"damaged: .*stories\.db-wal.*changes were written behind the damage"):
            await Memory.open(left / "stories.db")
        flip(wal, offset)
        assert read(left / "stories.db") == before
    flip(wal, last + 100)  # as if the power had gone
    memory = await Memory.open(left / "stories.db")
    assert (await (await memory.story("another")).messages())[-1].entry.message.text == "Late 1."
    await memory.close()


def find_damages(wal: bytes) -> list[bytes]:
    """Return logs with damage before their last change: each sector gone, and single bits where the structure lies."""
    last, step = find_last_change(wal), FRAME_HEADER + PAGE
    places = range(WAL_HEADER, last, step)
    ends = [place for place in places if wal[place + 4 : place + 8] != bytes(4)]
    spans = [(start, wal[start : start + SECTOR], bytes(SECTOR)) for start in range(0, last - SECTOR, SECTOR)]
    for at in (*range(WAL_HEADER), *(end + byte for end in ends for byte in range(FRAME_HEADER))):
        spans += [(at, wal[at : at + 1], bytes([wal[at] ^ 1 << bit])) for bit in range(0, 8, 3)]
    return [wal[:at] + new + wal[at + len(new) :] for at, old, new in spans if old != new]


async def test_damage_before_the_last_change_of_a_log_is_never_taken_for_a_crash(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes it for one forgets changes that were on disk."""
    monkeypatch.setattr(wal_frames, "PAUSE_S", 0)
    memory = await Memory.open(place)
    for number in range(3):
        await (await memory.story("another")).add("user", f"Late {number}.")
    wal, database = read(tmp_path / "stories.db-wal"), read(place)
    await memory.close()
    path = tmp_path / "left.db"
    log = path.with_name("left.db-wal")
    damages = find_damages(wal)
    for damaged in damages:
        path.write_bytes(database)
        log.write_bytes(damaged)
        with closing(page_checksums.connect(str(path))) as connection:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            assert connection.execute("SELECT count(*) FROM migration").get
            with pytest.raises(StoreProblem, match="changes were written behind the damage"):
                wal_frames.check_wal(connection, str(path))
        assert (read(path), read(log)) == (database, damaged), "it is left as it is"
        log.with_name("left.db-shm").unlink(missing_ok=True)
    assert len(damages) > 300


@pytest.mark.parametrize("part", [False, True], ids=["all", "part"])
async def test_verify_looks_at_a_page_as_soon_as_it_is_read_from_the_file(place: Path, part: bool) -> None:
    """Of a log that is in the file, all or in part, SQLite reads no more than what is not."""
    memory = await Memory.open(place)
    await write_story(memory, "late", 20)
    with (
        closing(page_checksums.connect(str(place))) as reader,
        closing(page_checksums.connect(str(place))) as other,
    ):
        reader.execute("BEGIN; SELECT count(*) FROM entry")
        await write_story(memory, "later", 3)
        if not part:
            reader.execute("COMMIT")
        assert other.execute("SELECT count(*) FROM entry").get
        logged, in_file = other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        assert in_file > 0 and (in_file < logged) is part
        start = read(place).rindex(b"Message 3: ")
        with place.open("r+b") as changed:
            changed.seek(start)
            changed.write(b"Massage")
        async with await Memory.open(place) as beside:
            with pytest.raises(StoreProblem, match="checksum"):
                await (await beside.story("late")).messages()
            assert len(await (await beside.story("later")).messages()) == 3
            assert "does not have its checksum" in str((await beside.verify()).faults)
    await memory.close()


async def test_a_log_that_was_being_begun_anew_is_not_damaged(place: Path, tmp_path: Path) -> None:
    """SQLite writes a new header over the old one once all changes are in the file. The power may go half way, and what
    SQLite writes after that has the salt of the old changes behind it."""
    memory = await Memory.open(place)
    story = await memory.story("another")
    for number in range(3):
        await story.add("user", f"Late {number}.")
    other = page_checksums.connect(str(place))
    other.pragma("journal_mode", "wal")
    logged, in_file = other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
    assert logged == in_file > 0
    left = tmp_path / "left"
    shutil.copytree(tmp_path, left, ignore=shutil.ignore_patterns("left"))
    other.close()
    await memory.close()
    old = read(left / "stories.db-wal")
    count, salt = (int.from_bytes(old[start : start + 4]) + 1 for start in (12, 16))
    new = old[:12] + count.to_bytes(4) + salt.to_bytes(4) + b"new salt and sum"[:12]
    for torn in (16, 18, 20, 22, 24, 28):
        shutil.copytree(left, tmp_path / f"torn {torn}")
        path = tmp_path / f"torn {torn}" / "stories.db"
        path.with_name("stories.db-wal").write_bytes(new[:torn] + old[torn:])
        for opened in range(2):
            async with await Memory.open(path) as memory:
                story = await memory.story("another")
                assert [item.entry.message.text for item in await story.messages()][-1 - opened] == "Late 2."
                await story.add("user", "Later still.")
                await memory.gc()  # looks at the log once more
                assert (await memory.verify()).clean


async def test_a_file_that_another_program_wrote_can_be_taken_as_it_is(place: Path, tmp_path: Path) -> None:
    memory = await Memory.open(place)
    await (await memory.story("tale")).add("user", "Late.")
    left = tmp_path / "left"
    shutil.copytree(tmp_path, left, ignore=shutil.ignore_patterns("left"))  # as a kill leaves it
    await memory.close()
    other = apsw.Connection(str(left / "stories.db"))  # which knows nothing of checksums, and brings the WAL in
    other.execute("BEGIN IMMEDIATE; ROLLBACK")
    other.close()
    with pytest.raises(StoreProblem, match="another program wrote it"):
        async with await Memory.open(left / "stories.db") as memory:
            await (await memory.story("tale")).messages()
    kept = mend_file(left / "stories.db")
    async with await Memory.open(left / "stories.db") as memory:
        assert [item.entry.message.text for item in await (await memory.story("tale")).messages()][-1] == "Late."
        assert (await memory.verify()).clean
    assert read_mode(kept) == earlier_copy.OWN_MODE
    with pytest.raises(StoreProblem, match="earlier time"):
        mend_file(left / "stories.db")


async def test_only_a_file_that_nobody_has_open_can_be_taken_as_it_is(place: Path) -> None:
    async with await Memory.open(place):
        with pytest.raises(StoreProblem, match="cannot be mended"):
            mend_file(place)
    with pytest.raises(BadInput, match="no SQLite file"):
        mend_file("postgresql://localhost/none")
    theirs = place.with_name("theirs.db")
    other = apsw.Connection(str(theirs))
    other.execute("CREATE TABLE t (x)")
    other.close()
    before = read(theirs)
    with pytest.raises(StoreProblem, match="no database of Previously"):
        mend_file(theirs)
    assert read(theirs) == before
    assert not [path for path in place.parent.iterdir() if path.name.endswith("before-mend")]
