"""The disk that misbehaves does it as a real one would, and only when told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from previously.storage.sqlite.page_checksums import connect
from tests.crash.disk import Disk, FailingDisk, Fault, RecordingDisk, SlowDisk
from tests.crash.disk_vfs import in_place
from tests.crash.power_loss import (
    SECTOR,
    Created,
    Deleted,
    Event,
    FolderSynced,
    Synced,
    Truncated,
    Written,
    state_after,
    without_syncs,
)

SEEDS = range(100)


@contextmanager
def connected(path: Path, disk: Disk) -> Iterator[apsw.Connection]:
    with in_place(disk):
        connection = apsw.Connection(str(path))
        try:
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "full")
            yield connection
        finally:
            connection.close()


def rows(connection: apsw.Connection) -> int:
    count: int = connection.execute("SELECT count(*) FROM t").get
    return count


def test_a_disk_that_is_told_nothing_only_counts(tmp_path: Path) -> None:
    connect(str(tmp_path / "other.db")).close()  # loads the one that checks pages
    before, disk = apsw.vfs_names(), Disk()
    with connected(tmp_path / "a.db", disk) as connection:
        connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        assert rows(connection) == 1
    assert apsw.vfs_names() == before
    assert {"create database", "write wal", "sync wal", "write database", "sync database"} < set(disk.points)
    assert disk.points[-1] == "delete wal"
    assert disk.reads > 0
    again = apsw.Connection(str(tmp_path / "a.db"))
    assert rows(again) == 1
    again.close()


def test_each_sync_of_a_slow_disk_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("tests.crash.disk.time.sleep", waited.append)
    disk = SlowDisk(0.005)
    with connected(tmp_path / "a.db", disk) as connection:
        connection.execute("CREATE TABLE t (x)")
    assert waited == [0.005] * sum(point.startswith("sync") for point in disk.points)


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize(("fault", "error"), [(Fault.FULL, apsw.FullError), (Fault.BROKEN, apsw.IOError)])
def test_a_failing_disk_fails_until_it_is_well(
    tmp_path: Path, fault: Fault, error: type[apsw.Error], lasting: bool
) -> None:
    disk = FailingDisk(10**9, fault, lasting=lasting)
    with connected(tmp_path / "a.db", disk) as connection:
        connection.execute("CREATE TABLE t (x)")
        disk.fail_at(len(disk.points) + 1)
        with pytest.raises(error):
            connection.execute("INSERT INTO t VALUES (1)")
        if lasting:
            with pytest.raises(error):
                connection.execute("INSERT INTO t VALUES (1)")
            disk.recover()
        connection.execute("INSERT INTO t VALUES (1)")
        assert rows(connection) == 1
    assert disk.failed == ["write wal"] * (2 if lasting else 1)


def test_a_failing_disk_can_fail_to_read(tmp_path: Path) -> None:
    with connected(tmp_path / "a.db", Disk()) as connection:
        connection.execute("CREATE TABLE t (x)")
    disk = FailingDisk(10**9, Fault.BROKEN, reads=True)
    with in_place(disk):
        connection = apsw.Connection(str(tmp_path / "a.db"))
        disk.fail_at(disk.reads + 1)
        with pytest.raises(apsw.IOError) as raised:
            rows(connection)
        assert getattr(raised.value, "extendedresult", None) == apsw.SQLITE_IOERR_READ
        assert rows(connection) == 0
        connection.close()


def test_what_sqlite_ignores_is_no_error(tmp_path: Path) -> None:
    """A checkpoint that fails behind a commit: the commit is kept, and nobody is told otherwise."""
    disk = FailingDisk(10**9, Fault.BROKEN)
    with connected(tmp_path / "a.db", disk) as connection:
        connection.wal_autocheckpoint(1)
        connection.execute("CREATE TABLE t (x)")
        before = len(disk.points)
        connection.execute("INSERT INTO t VALUES (1)")
        checkpoint = disk.points.index("write database", before) + 1 - before
        disk.fail_at(len(disk.points) + checkpoint)
        connection.execute("INSERT INTO t VALUES (2)")
        assert disk.failed == ["write database"]
        assert rows(connection) == 2


def test_all_that_was_recorded_is_what_is_on_disk(tmp_path: Path) -> None:
    disk = RecordingDisk()
    with connected(tmp_path / "a.db", disk) as connection:
        connection.execute("CREATE TABLE t (x)")
        for number in range(20):
            connection.execute("INSERT INTO t VALUES (?)", ("word" * number,))
        disk.acknowledge("twenty")
        whole = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")}
        assert state_after(disk.log, len(disk.log), 0) == whole
    closed = (tmp_path / "a.db").read_bytes()
    for seed in SEEDS:  # the WAL may still be there: that it was deleted was not synced
        assert state_after(disk.log, len(disk.log), seed)["a.db"] == closed


SYNCED: list[Event] = [Created("/f"), Written("/f", 0, b"old!"), Synced("/f", 2), FolderSynced(2)]


def contents(log: list[Event]) -> set[bytes | None]:
    return {state_after(log, len(log), seed).get("f") for seed in SEEDS}


def test_the_same_seed_gives_the_same_state() -> None:
    log: list[Event] = [*SYNCED, Written("/f", 0, b"new!"), Written("/f", 9, b"x" * 5_000)]
    assert [state_after(log, 6, seed) for seed in SEEDS] == [state_after(log, 6, seed) for seed in SEEDS]


def test_what_was_synced_stays_and_what_was_not_may_be_there() -> None:
    assert contents(SYNCED) == {b"old!"}
    assert contents([*SYNCED, Written("/f", 0, b"new!")]) == {b"old!", b"new!"}
    assert contents([*SYNCED, Truncated("/f", 2)]) == {b"old!", b"ol"}
    either_order = contents([*SYNCED, Written("/f", 0, b"1111"), Written("/f", 0, b"2222")])
    assert either_order == {b"old!", b"1111", b"2222"}


def test_a_write_may_be_torn_at_sectors() -> None:
    new = b"n" * SECTOR * 3
    found = contents([*SYNCED, Written("/f", 0, new)])
    torn = {one for one in found if one not in (b"old!", new)}
    assert torn
    for one in torn:
        assert one is not None
        for first in range(0, len(one), SECTOR):
            sector = one[first : first + SECTOR]
            assert sector == b"n" * len(sector) or b"n" not in sector


def test_files_come_and_go_for_certain_only_with_their_folder() -> None:
    created: list[Event] = [Created("/f"), Written("/f", 0, b"new!"), Synced("/f", 2)]
    assert contents(created) == {None, b"new!"}
    assert contents([*created, FolderSynced(3)]) == {b"new!"}
    assert contents([*SYNCED, Deleted("/f")]) == {None, b"old!"}
    assert contents([*SYNCED, Deleted("/f"), FolderSynced(5)]) == {None}
    again = contents([*SYNCED, Deleted("/f"), Created("/f"), Written("/f", 0, b"new!"), Synced("/f", 7)])
    assert again == {None, b"old!", b"new!"}


def test_a_sync_counts_only_for_what_was_written_before_it_began() -> None:
    log: list[Event] = [*SYNCED, Written("/f", 0, b"new!"), Synced("/f", 4)]
    assert contents(log) == {b"old!", b"new!"}
    log[-1] = Synced("/f", 5)
    assert contents(log) == {b"new!"}
    assert contents(without_syncs(log, "f")) > {b"new!"}
