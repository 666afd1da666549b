"""Disks that are full or broken, and files that are damaged: `StoreProblem`, nothing changed, and all is well again
afterwards. A few here, every point in `python -m tests.crash`."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from previously import Memory
from previously.core.errors import StoreProblem
from previously.core.messages import Draft, message
from previously.core.path import Put, Splice
from previously.storage.sqlite.page_checksums import connect
from previously.storage.tables.path_writer import PathWriter
from tests.contract.storage.verbs import SqliteVerbs
from tests.crash.disk import Disk, Of, Point, Refused, What
from tests.crash.disk_vfs import in_place
from tests.crash.harness import verified
from tests.crash.oracle import answers
from tests.crash.scenario import play, scenario
from tests.crash.small_run import reported, small_run
from tests.effort import cases


@pytest.mark.slow(reason="plays whole scenarios in a process of its own")
def test_a_verb_that_the_disk_refused_has_changed_nothing() -> None:
    report = small_run(errors=6)
    found = report["crashes"]["failing disks"]
    assert found["crashes"] >= 3
    assert found["verbs_that_raised"] > 0


@pytest.mark.random
def test_a_flipped_bit_is_never_read_as_part_of_a_story() -> None:
    flips = cases(200, quick=8)  # two thousand in `make crash`
    report = reported(flips=flips)
    flipped, damaged = report["flipped_bits"], report["damaged_files"]
    assert flipped["flips"] == flips
    assert flipped["answers"]["refused"] > 0, "there were checksums, and they were looked at"
    assert flipped["answers"]["as before"] > flipped["answers"]["refused"], "what is not damaged can be read"
    assert damaged["damages"] >= flips // 4
    assert not flipped["faults"] + damaged["faults"], "\n".join(flipped["faults"] + damaged["faults"])


DAMAGES = {
    "a role that there is not": "UPDATE entry SET role = 'robot'",
    "words that are no text": "UPDATE entry SET text = CAST(x'ff' AS TEXT)",
    "attributes that are no JSON": "UPDATE entry SET extra = '{'",
    "a status that there is not": "UPDATE version SET status = 'odd'",
    "a kind of mark that there is not": "UPDATE mark SET kind = 'odd'",
    "a line without its parent": "UPDATE line SET parent = 9999 WHERE fork > 0",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_file_is_refused_with_a_clear_error(tmp_path: Path, damage: str) -> None:
    path, (story,) = tmp_path / "stories.db", scenario(1, 0)
    store = SqliteVerbs(str(path))
    await play(store, [story], lambda *_: None, start=[0])
    await store.close()
    connection = connect(str(path))
    connection.execute(damage)
    connection.close()
    store = SqliteVerbs(str(path))
    try:
        with pytest.raises(StoreProblem, match="damaged"):
            await answers(store, story)
        assert await verified(store, [story])
    finally:
        await store.close()


async def test_swipes_of_a_change_that_was_cut_off_are_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object) -> None:
        raise apsw.IOError("cut off")

    store = SqliteVerbs(str(tmp_path / "stories.db"))
    key = (await store.create_story("me", "tale", at="")).key
    await store.apply(key, "main", [Splice(0, 0, (Put(Draft(message("user", "old"))),))], at="")
    swiped = Draft(message("user", "new"), alternatives=(Draft(message("user", "swipe")),))
    monkeypatch.setattr("previously.storage.tables.path_writer.ROWS_PER_STAGE", 1)
    monkeypatch.setattr(PathWriter, "_publish", cut_off)
    with pytest.raises(StoreProblem):
        await store.apply(key, "main", [Splice(0, 1, (Put(swiped), Put(Draft(message("user", "more")))))], at="")
    seen = [item.entry.message.text for item in await store.siblings(key, "main", 0)]
    await store.close()
    assert seen == ["old"]


class UnsyncedLog(Disk):
    """A disk that takes all that is written to a log and cannot say that it has it."""

    fails = False

    def before(self, point: Point) -> None:
        if self.fails and (point.what, point.of) == (What.SYNC, Of.WAL):
            raise Refused(apsw.SQLITE_IOERR_FSYNC)


async def test_changes_that_failed_do_not_look_like_changes_behind_damage(tmp_path: Path) -> None:
    """Each leaves its end in the log, and a shorter one that follows leaves that of the one before."""
    place, left = tmp_path / "stories.db", tmp_path / "left.db"
    with in_place(disk := UnsyncedLog()):
        async with await Memory.open(place) as memory:
            story = await memory.story("tale")
            await story.add("user", "Before.")
            for count in (60, 40, 20):
                disk.fails = True
                with pytest.raises(StoreProblem):
                    await story.add_drafts([Draft(message("user", "It fails. " * 200))] * count)
                disk.fails = False
            await story.add("user", "After.")
            for suffix in ("", "-wal"):
                shutil.copy(f"{place}{suffix}", f"{left}{suffix}")  # as a kill leaves them
    async with await Memory.open(left) as memory:
        assert [item.entry.message.text for item in await (await memory.story("tale")).messages()] == [
            "Before.",
            "After.",
        ]
        assert (await memory.verify()).clean
