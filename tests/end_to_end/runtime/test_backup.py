"""Backups, restoring and moving: that nothing is half, nothing overwritten, nothing damaged taken for whole."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from previously import BadInput, Memory, PreviouslyError, Settings, StoreProblem
from previously.core.digests import digest
from previously.core.errors import UnknownStory
from previously.core.messages import message
from previously.runtime.backup import Outcome
from previously.runtime.whole_stories import WholeStories
from previously.storage.queries import load_migrations
from previously.storage.spool import Spool
from previously.storage.sqlite.page_checksums import APPLICATION_ID, connect
from tests.contract.storage.postgres_server import shared_server
from tests.effort import cases, mark_slow

FLIPPED = cases(40, soak=2_000)
SMALL = Settings(tail_messages=3, fold_messages=6, recap_words=40, chapter_messages=0)


async def tell(memory: Memory, name: str, count: int = 12) -> None:
    story = await memory.story(name)
    for number in range(count):
        await story.add("user", f"{name}: on day {number} Ines owed Bram {number} crowns.", name="Ines")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    """Three stories: a folded one with two branches, a short one, and an empty one."""
    async with await Memory.open(tmp_path / "stories.db", settings=SMALL) as opened:
        await tell(opened, "harbour", 20)
        story = await opened.story("harbour")
        await story.close_chapter("One", 8)
        await story.fold()
        await story.branch("what if", at=10)
        await story.pin("The lamp is out.")
        await tell(opened, "mill", 3)
        await opened.story("nothing yet")
        yield opened


async def digests(memory: Memory) -> dict[str, str]:
    whole = memory._whole()
    return {info.name: (await whole.look(info.name, lambda _: None)).digest for info in await whole.all()}


def contents(folder: Path) -> dict[str, str]:
    """All files there, by name."""
    return {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A folder with nothing in it."""
    folder = tmp_path / "apart"
    folder.mkdir()
    return folder


async def test_a_backup_is_a_store_of_the_same_stories(memory: Memory, apart: Path) -> None:
    made = await memory.backup(apart / "b.db")
    assert made.path == str(apart / "b.db")
    assert {one.story: one.digest for one in made.stories} == await digests(memory)
    assert [one.messages for one in made.stories] == [20, 3, 0]
    assert list(contents(apart)) == ["b.db"], "one file, and nothing beside it"
    assert (apart / "b.db").read_bytes()[18:20] == b"\x01\x01", "it needs no log"
    async with await Memory.open(apart / "b.db", settings=SMALL) as copy:
        assert await digests(copy) == await digests(memory)
        ours, theirs = await memory.story("harbour"), await copy.story("harbour", create=False)
        assert (await theirs.view(900)).messages == (await ours.view(900)).messages
        assert [branch.name for branch in await theirs.branches()] == ["main", "what if"]
        assert (await theirs.fold()).folds == (await ours.fold()).folds == ()
        assert (await copy.verify()).clean
        assert await copy.backups() == [], "what it says of itself is no list of backups"
    (noted,) = await memory.backups()
    assert noted == made


async def test_every_book_comes_along_with_all_stories_and_none_with_one(memory: Memory, apart: Path) -> None:
    await memory.keep_book("places", [{"name": "Mill", "keywords": ["mill"], "content": "It burned down."}])
    await memory.backup(apart / "all.db")
    await memory.backup(apart / "one.db", stories=["harbour"])
    await memory.forget_book("places")
    await memory.restore(apart / "one.db")
    assert await memory.books() == []
    for _ in range(2):
        await memory.restore(apart / "all.db")
        assert [book.name for book in await memory.books()] == ["places"]
    async with await Memory.open(apart / "moved.db", settings=SMALL) as elsewhere:
        assert await elsewhere.books() == []
    await memory.move(apart / "moved.db")
    async with await Memory.open(apart / "moved.db", settings=SMALL) as elsewhere:
        assert [book.name for book in await elsewhere.books()] == ["places"]


async def test_names_of_backups(memory: Memory, apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(apart)
    first = await memory.backup()
    assert Path(first.path).parent == apart
    assert Path(first.path).name.startswith("previously-2")
    (apart / "in").mkdir()
    second = await memory.backup(apart / "in", stories=["mill"])
    assert Path(second.path).parent == apart / "in"
    assert [one.story for one in second.stories] == ["mill"]
    assert await memory.backups() == [first, second]


@pytest.mark.parametrize("name", ["b.db", "stories.db", "no/folder.db", "letter.txt", "b\udcff.db"])
async def test_nothing_is_ever_overwritten(memory: Memory, tmp_path: Path, name: str) -> None:
    await memory.backup(tmp_path / "b.db")
    (tmp_path / "letter.txt").write_text("Dear Odalys")
    await memory.stories()
    before, told = contents(tmp_path), list[int]()
    with pytest.raises(BadInput):
        await memory.backup(tmp_path / name, progress=lambda done, total: told.append(done))
    assert contents(tmp_path) == before
    assert told == [], "that is said before anything is copied"
    assert len(await memory.backups()) == 1


async def test_a_file_that_appears_meanwhile_is_not_overwritten(memory: Memory, apart: Path) -> None:
    def appear(done: int, total: int) -> None:
        (apart / "b.db").write_text("mine")

    with pytest.raises(BadInput, match="there already"):
        await memory.backup(apart / "b.db", progress=appear)
    assert (apart / "b.db").read_text() == "mine"
    assert list(contents(apart)) == ["b.db"]


async def test_what_cannot_be_backed_up(memory: Memory, apart: Path) -> None:
    with pytest.raises(UnknownStory):
        await memory.backup(apart / "b.db", stories=["mill", "nowhere"])
    async with await Memory.open(":memory:") as gone:
        await tell(gone, "tale", 1)
        for doing in (
            gone.backup(apart / "b.db"),
            gone.restore(apart / "b.db"),
            gone.move(apart / "b"),
        ):
            with pytest.raises(BadInput, match="gone with the process"):
                await doing
    async with await Memory.open(apart / "empty.db") as empty:
        with pytest.raises(BadInput, match="no stories"):
            await empty.backup(apart / "b.db")
    assert list(contents(apart)) == ["empty.db"]


async def test_progress_goes_up_to_its_end(memory: Memory, apart: Path) -> None:
    told: list[tuple[int, int]] = []
    await memory.backup(apart / "b.db", progress=lambda done, total: told.append((done, total)))
    await asyncio.sleep(0)
    assert told == sorted(told)
    assert told[-1] == (69, 69)


async def test_backups_of_stories_that_are_being_written_are_of_one_moment(memory: Memory, apart: Path) -> None:
    """Each message is one move of the head: a copy of two moments would have more of the one than of the other."""
    busy, done = [await memory.story(f"busy {number}") for number in range(3)], asyncio.Event()

    async def write() -> None:
        number = 0
        while not done.is_set():
            for story in busy:
                await story.add("user", f"{number}")
            number += 1

    async def back_up() -> None:
        for number in range(6):
            await memory.backup(apart / f"{number}.db")
        done.set()

    await asyncio.gather(write(), back_up())
    seen = set[int]()
    for number in range(6):
        async with await Memory.open(apart / f"{number}.db") as copy:
            for one in busy:
                story = await copy.story(one.name, create=False)
                texts = [item.entry.message.text for item in await story.messages()]
                assert texts == [str(index) for index in range(len(texts))]
                assert len(await story.moves()) == len(texts)
                seen.add(len(texts))
    assert len(seen) > 3, "they were being written"


async def test_restoring_leaves_the_backup_as_it_is(memory: Memory, apart: Path, tmp_path: Path) -> None:
    made = await memory.backup(apart / "b.db")
    before = contents(apart)
    async with await Memory.open(tmp_path / "new.db") as new:
        await tell(new, "mine", 2)
        restored = await new.restore(apart / "b.db")
        assert [(one.story, one.status) for one in restored.stories] == [
            ("harbour", Outcome.RESTORED), ("mill", Outcome.RESTORED), ("nothing yet", Outcome.RESTORED),
        ]  # fmt: skip
        assert (restored.source, restored.target) == (str(apart / "b.db"), str(tmp_path / "new.db"))
        assert (await digests(new)).items() >= {one.story: one.digest for one in made.stories}.items()
        again = await new.restore(apart / "b.db")
        assert {one.status for one in again.stories} == {Outcome.THERE}
        assert len(await new.stories()) == 4
    assert contents(apart) == before


async def test_a_name_that_is_taken_is_refused_before_anything_is_written(memory: Memory, apart: Path) -> None:
    await memory.backup(apart / "b.db")
    async with await Memory.open(apart / "new.db") as new:
        await tell(new, "nothing yet", 1)
        before = await digests(new)
        with pytest.raises(BadInput, match=r"another story named 'nothing yet'; nothing was written: .*--as"):
            await new.restore(apart / "b.db")
        assert await digests(new) == before
        one = await new.restore(apart / "b.db", stories=["nothing yet"], name="else")
        assert [(copied.story, copied.status) for copied in one.stories] == [("else", Outcome.RESTORED)]
        with pytest.raises(BadInput, match="one story only"):
            await new.restore(apart / "b.db", name="else")
        with pytest.raises(BadInput, match="needs a name"):
            await new.restore(apart / "b.db", stories=["mill"], name=" ")
        with pytest.raises(UnknownStory):
            await new.restore(apart / "b.db", stories=["nowhere"])
        await new.restore(apart / "b.db", replace=True)
        after = await digests(new)
    (aside,) = [name for name in after if name.startswith("nothing yet (until 20")]
    assert after[aside] == before["nothing yet"], "what had the name is all there"
    assert after.items() >= (await digests(memory)).items()


async def test_the_state_of_then_is_back_under_its_name(memory: Memory, apart: Path) -> None:
    await memory.backup(apart / "b.db")
    then = await digests(memory)
    await (await memory.story("mill")).delete(0)
    assert (await digests(memory))["mill"] != then["mill"]
    done = await memory.restore(apart / "b.db", replace=True)
    assert [one.status for one in done.stories] == [Outcome.THERE, Outcome.RESTORED, Outcome.THERE]
    assert (await digests(memory)).items() >= then.items()


def another_program(path: Path) -> None:
    connection = connect(str(path))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()


def newer(path: Path) -> None:
    asyncio.run(_made(path))
    connection = connect(str(path))
    connection.execute("INSERT INTO migration VALUES ('9999_from_the_future')")
    connection.close()


async def _made(path: Path) -> None:
    async with await Memory.open(path) as memory:
        await tell(memory, "tale", 1)


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "nothing": (lambda path: None, "There is no file"),
    "a folder": (lambda path: path.mkdir(), "There is no file"),
    "an empty file": (lambda path: path.touch(), "is empty"),
    "a letter": (lambda path: path.write_text("Dear Odalys, " * 500), "is not a database of Previously"),
    "another program's": (another_program, "is a database of another program"),
    "a newer version's": (newer, "was written by a newer version of Previously"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_backup_is_refused(what: str, tmp_path: Path, apart: Path) -> None:
    make, words = REFUSED[what]
    make(apart / "b.db")
    before = contents(apart)

    async def restore() -> None:
        async with await Memory.open(tmp_path / "new.db") as new:
            with pytest.raises(PreviouslyError, match=words) as refused:
                await new.restore(apart / "b.db")
            assert str(apart / "b.db") in str(refused.value), "it names the file, not a copy of it"
            assert await new.stories() == []

    asyncio.run(restore())
    assert contents(apart) == before


async def test_the_store_itself_is_no_backup(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the very store"):
        await memory.restore(tmp_path / "apart" / ".." / "stories.db")


async def test_a_damaged_backup_is_refused(memory: Memory, apart: Path) -> None:
    """A byte that flipped, anywhere in the file: it is refused with a sentence, or it was in no story."""
    await memory.backup(apart / "b.db")
    content = (apart / "b.db").read_bytes()
    words = [found.start() for found in re.finditer(rb"owed", content)][::6]
    refused = 0
    for place in [*range(20, len(content), len(content) // FLIPPED), *words]:
        flipped = content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :]
        refused += await restored(apart, flipped, await digests(memory))
    assert refused >= len(words) > 3


async def restored(folder: Path, content: bytes, expected: dict[str, str]) -> bool:
    """Whether a backup of these bytes is refused, and if not, that all of it is restored."""
    (folder / "damaged.db").write_bytes(content)
    try:
        async with await Memory.open(folder / "new.db") as new:
            try:
                await new.restore(folder / "damaged.db")
            except PreviouslyError:
                assert await new.stories() == []
                return True
            assert await digests(new) == expected
            return False
    finally:
        (folder / "new.db").unlink()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entry SET text = replace(text, 'owed', 'paid') WHERE id = 7",
        "UPDATE entry SET text = CAST(x'c328' AS TEXT) WHERE id = 7",
        "UPDATE version SET text = text || '.' WHERE id = (SELECT max(id) FROM version)",
        "DELETE FROM story WHERE name = 'mill'",
        "UPDATE backup SET stories = '[1]'",
    ],
)
async def test_a_backup_that_was_changed_is_refused(memory: Memory, apart: Path, tmp_path: Path, change: str) -> None:
    await memory.backup(apart / "b.db")
    connection = connect(str(apart / "b.db"))
    connection.execute(change)
    assert connection.changes() == 1
    connection.close()
    async with await Memory.open(tmp_path / "new.db") as new:
        with pytest.raises(StoreProblem, match="damaged"):
            await new.restore(apart / "b.db")
        assert await new.stories() == []


async def test_a_backup_cut_short_is_refused(memory: Memory, apart: Path) -> None:
    """Unless all that it lacks is what no story needs."""
    await memory.backup(apart / "b.db")
    content, expected = (apart / "b.db").read_bytes(), await digests(memory)
    for size in (50, 100, 4_096, 10_000, len(content) // 2):
        assert await restored(apart, content[:size], expected)
    for size in (len(content) - 8_192, len(content) - 4_096, len(content) - 1):
        await restored(apart, content[:size], expected)


async def test_a_store_that_was_never_a_backup_can_be_restored_from(memory: Memory, apart: Path) -> None:
    """Also one that somebody has open, with messages that are in its log only."""
    store = await Memory.open(apart / "live.db")
    await tell(store, "live", 5)
    assert (apart / "live.db-wal").stat().st_size
    done = await memory.restore(apart / "live.db")
    assert [(one.story, one.messages) for one in done.stories] == [("live", 5)]
    await tell(store, "live", 1)
    await store.close()


async def test_a_backup_of_an_older_version_is_brought_up_to_date_in_passing(memory: Memory, apart: Path) -> None:
    connection = connect(str(apart / "old.db"))
    connection.execute("CREATE TABLE migration (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
    for name, statements in load_migrations("sqlite")[:3]:
        connection.execute(statements)
        connection.execute("INSERT INTO migration VALUES (?)", (name,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(
        f"""
        INSERT INTO story (id, owner, name, active, created_at) VALUES (3, 'local', 'old', 4, 'then');
        INSERT INTO branch VALUES (4, 'local', 3, 'main', 6, 1, 5, 'then');
        INSERT INTO line VALUES (5, 'local', 3, NULL, 0, 1);
        INSERT INTO entry (id, owner, story, role, text, digest, match_key)
        VALUES (7, 'local', 3, 'user', 'Once.', x'{digest(message("user", "Once.")).hex()}', x'02');
        INSERT INTO node VALUES (6, 'local', 3, 0, 0, 7, x'03');
        INSERT INTO path VALUES ('local', 5, 0, 6, 7);
        """
    )
    connection.close()
    before = contents(apart)
    await memory.restore(apart / "old.db")
    story = await memory.story("old", create=False)
    assert [item.entry.message.text for item in await story.messages()] == ["Once."]
    await story.add("user", "Twice.")
    assert contents(apart) == before


async def test_moving_to_a_server_and_back(memory: Memory, tmp_path: Path) -> None:
    url = shared_server().emptied()
    expected = await digests(memory)
    told = await memory.move(url, stories=["mill"])
    assert [(one.story, one.status) for one in told.stories] == [("mill", Outcome.MOVED)]
    assert told.target.startswith("postgresql:///test_")
    assert "@" not in told.target
    everything = await memory.move(url)
    assert [one.status for one in everything.stories] == [Outcome.MOVED, Outcome.THERE, Outcome.MOVED]
    async with await Memory.open(url, settings=SMALL) as server, await Memory.open(url, owner="you") as other:
        assert await digests(server) == expected
        assert (await server.verify()).clean
        assert await other.stories() == []
        await tell(other, "harbour", 2)
        made = await other.backup(tmp_path / "yours.db")
        assert [(one.story, one.messages) for one in made.stories] == [("harbour", 2)]
        back = await server.move(tmp_path / "back.db")
        assert {one.status for one in back.stories} == {Outcome.MOVED}
        view = (await (await server.story("harbour")).view(900)).messages
    async with await Memory.open(tmp_path / "back.db", settings=SMALL) as back_again:
        assert await digests(back_again) == expected
        assert (await (await back_again.story("harbour")).view(900)).messages == view
    assert await digests(memory) == expected, "nothing was taken away"


async def test_a_story_that_is_written_to_while_it_is_moved_is_reported(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_in = WholeStories.take_in

    async def busy(self: WholeStories, name: str, *arguments: Any, **named: Any) -> None:
        await take_in(self, name, *arguments, **named)
        if name == "mill":
            await tell(memory, "mill", 1)

    monkeypatch.setattr(WholeStories, "take_in", busy)
    first = await memory.move(tmp_path / "new.db")
    assert [one.status for one in first.stories] == [Outcome.MOVED, Outcome.CHANGED, Outcome.MOVED]
    monkeypatch.undo()
    with pytest.raises(BadInput, match=r"another story named 'mill'; nothing was written: .*--replace"):
        await memory.move(tmp_path / "new.db")
    second = await memory.move(tmp_path / "new.db", replace=True)
    assert [one.status for one in second.stories] == [Outcome.THERE, Outcome.MOVED, Outcome.THERE]
    async with await Memory.open(tmp_path / "new.db") as new:
        found = await digests(new)
    assert found.items() >= (await digests(memory)).items()
    assert [one.digest for one in first.stories if one.story == "mill"] == [
        digest for name, digest in found.items() if name.startswith("mill (until ")
    ]


async def test_where_stories_cannot_be_moved_to(memory: Memory, tmp_path: Path) -> None:
    before = await digests(memory)
    for place, words in (
        (tmp_path / "stories.db", "to where they are"),
        (":memory:", "gone with the process"),
        ("redis://host/1", "no place for stories"),
    ):
        with pytest.raises(BadInput, match=words):
            await memory.move(place)
    with pytest.raises(PreviouslyError, match="no folder"):
        await memory.move(tmp_path / "no" / "such.db")
    assert await digests(memory) == before


@pytest.mark.parametrize("reading", [True, False])
async def test_a_copy_that_nobody_waits_for_any_more_stops(
    memory: Memory, apart: Path, monkeypatch: pytest.MonkeyPatch, reading: bool
) -> None:
    """The work is stopped in its thread, be it the one that reads or the one that writes; nothing of it is left, and
    the store goes on."""
    begun, released, seen = asyncio.Event(), threading.Event(), list[int]()
    loop, write = asyncio.get_running_loop(), Spool.write

    def slowly(self: Spool, *arguments: Any) -> None:
        write(self, *arguments)
        if (self._file is not None) is reading:
            seen.append(1)
            loop.call_soon_threadsafe(begun.set)
            released.wait()

    monkeypatch.setattr(Spool, "write", slowly)
    task = asyncio.create_task(memory.backup(apart / "b.db"))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    released.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert contents(apart) == {}
    await memory.close()  # which waits for what is under way
    assert len(seen) < 3
    monkeypatch.undo()
    async with await Memory.open(apart.parent / "stories.db") as again:
        await tell(again, "mill", 1)
        await again.backup(apart / "b.db")


async def test_no_room_for_the_spool(memory: Memory, apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Spool, "write", full)
        with pytest.raises(StoreProblem, match=r"temporary file .* No space left on device"):
            await memory.backup(apart / "b.db")
    assert contents(apart) == {}
    assert await memory.backups() == []


RUN = """
import asyncio, os, resource, signal, sys
from previously import Memory
from previously.storage import copy, spool
what, where, to, dies_at, most_bytes = sys.argv[1:]

def step(left=[int(dies_at)]):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

write, stored = spool.Spool.write, copy._restore_ids
spool.Spool.write = lambda *arguments: (step(), write(*arguments))[1]
copy._restore_ids = lambda *arguments: (step(), stored(*arguments))[1]

async def main():
    async with await Memory.open(where) as memory:
        if int(most_bytes):
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(most_bytes), -1))
        try:
            await getattr(memory, what)(to)
        except Exception as error:
            sys.exit(f"{type(error).__name__}: {error}")

asyncio.run(main())
"""


def run(what: str, where: object, to: object, dies_at: int = 0, most_bytes: int = 0) -> tuple[int, str]:
    """A process that copies; how it ended, and what it said. It may be killed at a point, or have a small disk."""
    command = [sys.executable, "-c", RUN, what, str(where), str(to), str(dies_at), str(most_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": "/tmp"})
    return done.returncode, done.stderr.strip()


@pytest.mark.parametrize("dies_at", [1, *mark_slow(40, 120, 180, reason="kills a process")])
async def test_a_backup_that_was_killed_is_not_there_and_can_be_made_again(
    memory: Memory, apart: Path, tmp_path: Path, dies_at: int
) -> None:
    assert run("backup", tmp_path / "stories.db", apart / "b.db", dies_at) == (-signal.SIGKILL, "")
    assert not (apart / "b.db").exists()
    assert await memory.backups() == []
    assert run("backup", tmp_path / "stories.db", apart / "b.db") == (0, "")
    assert list(contents(apart)) == ["b.db"], "what the first had left is gone too"
    async with await Memory.open(apart / "b.db") as copy:
        assert await digests(copy) == await digests(memory)


@pytest.mark.parametrize("target", ["sqlite", *mark_slow("postgres", reason="kills many processes")])
async def test_a_move_that_was_killed_goes_on_where_it_was(memory: Memory, tmp_path: Path, target: str) -> None:
    """However often, and wherever: each story is there whole or not at all."""
    to = str(tmp_path / "new.db") if target == "sqlite" else shared_server().emptied()
    expected = await digests(memory)
    there: list[int] = []
    for dies_at in (5, 100, 180, 220):
        code, _ = run("move", tmp_path / "stories.db", to, dies_at)
        async with await Memory.open(to) as new:
            found = await digests(new)
            assert found.items() <= expected.items()
            there.append(len(found))
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert there[0] == 0
    assert len(set(there)) > 1
    assert run("move", tmp_path / "stories.db", to) == (0, "")
    async with await Memory.open(to) as new:
        assert await digests(new) == expected


@pytest.mark.parametrize("share", [0.5, *mark_slow(0.02, 0.9, reason="starts a process")])
async def test_a_full_disk_leaves_no_backup(memory: Memory, apart: Path, tmp_path: Path, share: float) -> None:
    await tell(memory, "long", 300)
    await memory.backup(tmp_path / "whole.db")
    whole = os.stat(tmp_path / "whole.db").st_size  # noqa: PTH116
    code, said = run("backup", tmp_path / "stories.db", apart / "b.db", most_bytes=int(whole * share))
    assert code == 1
    assert said.startswith("StoreProblem: ")
    assert contents(apart) == {}
    assert len(await memory.backups()) == 1


async def test_two_backups_to_one_file_at_once(memory: Memory, apart: Path) -> None:
    other = await Memory.open(apart.parent / "stories.db")
    done = await asyncio.gather(memory.backup(apart / "b.db"), other.backup(apart / "b.db"), return_exceptions=True)
    await other.close()
    assert sorted(type(one).__name__ for one in done) == ["Backup", "BadInput"]
    assert list(contents(apart)) == ["b.db"]
    async with await Memory.open(apart / "b.db") as copy:
        assert await digests(copy) == await digests(memory)
