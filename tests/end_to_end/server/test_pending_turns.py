"""What waits on disk for a store that is slow or down."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from previously import Memory
from previously.core.errors import StoreProblem
from previously.core.messages import message
from previously.runtime.follow_client import ClientFollower
from previously.server.chat_request import ChatRequest, parse_chat_request
from previously.server.pending_file import take_spool
from previously.server.pending_turns import PendingTurn, PendingTurns
from previously.server.process import find_pending_folder
from previously.server.turn import ChatTurns
from previously.wire.reply import Reply

MUCH = 1_000_000


def asked(text: str = "Hello") -> ChatRequest:
    return parse_chat_request(json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode(), {})


async def read_all(pending: PendingTurns) -> list[PendingTurn]:
    turns = [await pending.read(key) for key in pending.list_keys()]
    return [turn for turn in turns if turn is not None]


async def texts_after_restart(folder: Path) -> list[str]:
    """What a new process finds."""
    pending = PendingTurns(folder, MUCH)
    turns = await read_all(pending)
    await pending.close()
    return [turn.request.client_list.body[0].message.text for turn in turns]


def own_file(folder: Path) -> Path:
    [path] = folder.glob("*.jsonl")
    return path


async def test_what_waits_is_there_after_a_restart_with_its_answer(tmp_path: Path) -> None:
    before = PendingTurns(tmp_path / "waiting", MUCH)
    first, second = await before.add("ann", asked("one \ud800")), await before.add("bob", asked("two"))
    assert first is not None and second is not None
    assert await before.keep_answer(second, [message("assistant", "Two, yes.")], partial=True)
    await before.close()
    turns = await read_all(PendingTurns(tmp_path / "waiting", MUCH))
    assert [(turn.owner, turn.request.client_list.body[0].message.text) for turn in turns] == [
        ("ann", "one \ufffd"),
        ("bob", "two"),
    ]
    assert [(tuple(reply.text for reply in turn.replies), turn.partial) for turn in turns] == [
        ((), False),
        (("Two, yes.",), True),
    ]


async def test_each_process_has_a_file_of_its_own_until_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    one, two = PendingTurns(folder, MUCH), PendingTurns(folder, MUCH)
    await one.add("ann", asked("one"))
    await two.add("bob", asked("two"))
    await two.take_over()
    assert (one.count, two.count, len(list(folder.iterdir()))) == (1, 1, 2)
    await one.close()
    await two.take_over()
    assert [turn.owner for turn in await read_all(two)] == ["ann", "bob"]
    for key in two.list_keys():
        await two.remove(key)
    assert two.count == 0
    assert own_file(folder).stat().st_size == 0
    await two.close()
    assert list(folder.iterdir()) == []


async def test_a_process_that_dies_while_it_brings_in_leaves_what_it_has_not_done(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    for name in ("one", "two", "three"):
        pending = PendingTurns(folder, MUCH)
        await pending.add("ann", asked(name))
        await pending.add("ann", asked(f"{name} more"))
        await pending.close()
    dying = PendingTurns(folder, MUCH)
    for key in dying.list_keys()[::2]:
        await dying.remove(key)
    await dying.close()
    assert sorted(await texts_after_restart(folder)) == ["one more", "three more", "two more"]


async def test_a_line_that_was_cut_off_is_put_aside_and_harms_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, MUCH)
    await pending.add("ann", asked("one"))
    await pending.close()
    path = own_file(folder)
    path.write_bytes(path.read_bytes() + b'{"id": 2, "owner": "bo')
    assert await texts_after_restart(folder) == ["one"]
    assert await texts_after_restart(folder) == ["one"]
    [aside] = folder.glob("*.damaged")
    assert aside.read_bytes() == b'{"id": 2, "owner": "bo\n'
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600


async def test_no_damage_reaches_another_line_or_is_taken_for_what_was_said(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, MUCH)
    for name in ("one", "two", "three"):
        await pending.add("ann", asked(name))
    await pending.close()
    whole = own_file(folder).read_bytes()
    middle = range(whole.index(b"\n") + 1, whole.index(b"\n", whole.index(b"\n") + 1) + 1)
    for at in range(middle.start - 1, middle.stop, 7):
        for old in folder.iterdir():
            old.unlink()
        damaged = bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]])
        (folder / "left.jsonl").write_bytes(damaged)
        texts = await texts_after_restart(folder)
        assert set(texts) <= {"one", "two", "three"}, at
        assert len(texts) >= 1 and texts[-1] == "three", at
        [aside] = folder.glob("*.damaged")
        assert aside.stat().st_size > 0


async def test_a_write_that_fails_takes_no_line_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, MUCH)
    assert await pending.add("ann", asked("one"))
    write, fails = os.write, True

    def write_half(handle: int, data: memoryview) -> int:
        if not fails:
            return write(handle, data)
        if len(data) > 40:
            return write(handle, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half)
        patch.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
        assert await pending.add("ann", asked("two " * 100)) is None
    fails = False
    assert await pending.add("ann", asked("three"))  # shorter than what was left of the other
    await pending.close()
    assert await texts_after_restart(folder) == ["one", "three"]
    assert not list(folder.glob("*.damaged"))


async def test_a_client_that_sends_only_what_is_new_does_not_overtake_what_waits() -> None:
    async def find_window(model: str, key: str | None) -> int | None:
        return None

    def say(text: str) -> ChatRequest:
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        return parse_chat_request(json.dumps(body).encode(), {"x-previously-story": "single"})

    async with await Memory.open(":memory:") as memory:
        pending = PendingTurns(None, MUCH)
        follower = ClientFollower(memory.store)
        turns = ChatTurns(lambda _: memory, follower, pending, deadline_s=60, window_of=find_window)
        await pending.add("local", say("one"))
        turn = await turns.begin("local", say("two"))
        assert turn.degraded and not turn.unsaved
        await turns.end(turn, Reply(), whole=True)
        await turns.catch_up()
        story = await memory.story("single")
        assert [item.entry.message.text for item in await story.messages()] == ["one", "two"]
        turn = await turns.begin("local", say("three"))
        assert not turn.degraded


async def test_a_sync_that_fails_is_no_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, MUCH)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
        assert await pending.add("ann", asked("one")) is None
        assert not await pending.has_room()
    assert await pending.has_room()
    assert await pending.add("ann", asked("two"))
    await pending.close()
    assert await texts_after_restart(folder) == ["two"]


async def test_lines_added_at_once_share_a_wait_and_one_too_large_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs, fsync = list[int](), os.fsync
    pending = PendingTurns(tmp_path / "waiting", 40_000)

    def count_sync(handle: int) -> None:
        syncs.append(handle)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", count_sync)
    keys = await asyncio.gather(*(pending.add("ann", asked(str(number))) for number in range(50)))
    assert None not in keys
    assert len(syncs) == 1
    sizes = [1, 40_000, 1]
    kept = await asyncio.gather(*(pending.add("ann", asked("x" * size)) for size in sizes))
    assert [key is not None for key in kept] == [True, False, True]
    await pending.close()
    assert len(await texts_after_restart(tmp_path / "waiting")) == 52


async def test_it_never_grows_beyond_its_bound_and_lines_that_are_done_take_no_room(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, 4_000)
    keys = [await pending.add("ann", asked(f"{number} " + "word " * 50)) for number in range(20)]
    assert None in keys and keys[0] is not None
    assert own_file(folder).stat().st_size <= 4_000
    for key in keys[1:]:
        if key is not None:
            await pending.remove(key)
    for number in range(20):  # one still waits, so that the file is never empty
        key = await pending.add("ann", asked(f"again {number} " + "word " * 50))
        assert key is not None
        await pending.remove(key)
    assert own_file(folder).stat().st_size <= 4_000
    await pending.close()
    [text] = await texts_after_restart(folder)
    assert text.startswith("0 word")


async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    folder.mkdir(mode=0o755)
    await PendingTurns(folder, MUCH).add("ann", asked())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(own_file(folder).stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "waiting").write_text("a file")
    with pytest.raises(StoreProblem, match="cannot be used for turns that wait"):
        PendingTurns(tmp_path / "waiting", MUCH)


async def test_a_file_that_cannot_be_read_holds_up_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, MUCH)
    await pending.add("ann", asked("one"))
    await pending.close()
    (folder / "0.jsonl").mkdir()  # it comes first, and whoever runs the tests may read every file
    after = PendingTurns(folder, MUCH)
    await after.take_over()
    assert after.count == 1
    assert caplog.text.count("cannot be read") == 1


async def test_the_file_of_an_earlier_version_is_taken_over_once(tmp_path: Path) -> None:
    spool, folder = tmp_path / "stories.db-spool.jsonl", tmp_path / "waiting"
    fields = {"id": 7, "owner": "ann", "dialect": "chat", "body": asked("old #1").body, "story": None, "named": False}
    lines = [fields | {"kind": "", "names": [None, None, []]}, {"answers": 7, "replies": [], "partial": False}]
    spool.write_text("".join(json.dumps(line) + "\n" for line in lines))
    take_spool(spool, folder)
    assert not spool.exists()
    take_spool(spool, folder)
    assert await texts_after_restart(folder) == ["old #1"]


def test_a_database_on_a_server_has_one_folder_whoever_uses_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("PGHOST", "PGPORT", "PGDATABASE"):
        monkeypatch.delenv(name, raising=False)
    ann = find_pending_folder("postgresql://ann:secret@db.example:5432/tales")
    assert ann == find_pending_folder("postgres://bob:word@db.example/tales?sslmode=require")
    others = ["postgresql://ann@db.example/other", "postgresql://ann@db.example:5433/tales", "postgresql:///tales"]
    folders = {find_pending_folder(other) for other in others}
    assert len(folders | {ann}) == 4
    assert ann is not None and "secret" not in ann.name and "ann" not in ann.name
    assert find_pending_folder(str(tmp_path / "stories.db")) == tmp_path / "stories.db-waiting"
    assert find_pending_folder(":memory:") is None


async def test_a_line_end_that_was_damaged_harms_no_line(tmp_path: Path) -> None:
    before = PendingTurns(tmp_path / "waiting", MUCH)
    for text in ("one", "two", "three"):
        await before.add("ann", asked(text))
    path = own_file(tmp_path / "waiting")
    await before.close()
    content = path.read_bytes()
    ends = [at for at, byte in enumerate(content) if byte == ord("\n")]
    for at in ends:
        path.write_bytes(content[:at] + b"\x0b" + content[at + 1 :])
        assert len(await texts_after_restart(tmp_path / "waiting")) >= 2, at


async def test_an_answer_whose_request_was_damaged_is_put_aside_too(tmp_path: Path) -> None:
    before = PendingTurns(tmp_path / "waiting", MUCH)
    key = await before.add("ann", asked("one"))
    assert key is not None
    assert await before.keep_answer(key, [message("assistant", "Yes, one.")], partial=False)
    path = own_file(tmp_path / "waiting")
    await before.close()
    path.write_bytes(path.read_bytes().replace(b"one", b"ONE", 1))
    assert await texts_after_restart(tmp_path / "waiting") == []
    assert b"Yes, one." in next((tmp_path / "waiting").glob("*.damaged")).read_bytes()


def test_whatever_name_leads_to_a_file_turns_wait_in_one_place(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "stories.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "stories.db")
    assert find_pending_folder(str(tmp_path / "link.db")) == find_pending_folder(str(tmp_path / "real" / "stories.db"))


@pytest.mark.skipif(os.name != "posix", reason="Windows deletes no file that is open")
async def test_a_folder_that_was_deleted_is_made_anew_with_all_that_waits(tmp_path: Path) -> None:
    folder = tmp_path / "waiting"
    pending = PendingTurns(folder, MUCH)
    await pending.add("ann", asked("one"))
    shutil.rmtree(folder)
    await pending.add("ann", asked("two"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await pending.close()
    assert await texts_after_restart(folder) == ["one", "two"]
    shutil.rmtree(folder)
    empty = PendingTurns(folder, MUCH)
    shutil.rmtree(folder)
    await empty.add("ann", asked("three"))
    await empty.close()
    assert await texts_after_restart(folder) == ["three"]
