"""A disk that misbehaves: a test double for what lies below SQLite, for crash tests and benchmarks.

All that SQLite does to a database, its WAL and its journal passes through a `Disk`, which counts each *point* where
bytes change (`What`) and may act before and after it. `Disk` itself only counts; `SlowDisk`, `FailingDisk`,
`DeadlyDisk` and `RecordingDisk` each misbehave in one way. `disk_vfs.in_place` makes a disk the one that every
connection opened inside uses.

What must stay true: a disk that is not told to misbehave changes nothing, what it records is in the order in which it
happened, and its errors are those that SQLite gives on a real disk. The `-shm` file is mapped into memory and passes no
point; it is rebuilt after a crash, so nothing depends on it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import apsw

from tests.crash.power_loss import Acknowledged, Created, Deleted, Event, FolderSynced, Synced, Truncated, Written


class What(StrEnum):
    """What SQLite does to a file."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    DELETE = "delete"
    READ = "read"
    """Counted apart from the others: it changes nothing."""


class Of(StrEnum):
    """Which of the files it is."""

    DATABASE = "database"
    WAL = "wal"
    JOURNAL = "journal"


class When(StrEnum):
    """On which side of a point a process dies."""

    BEFORE = "before"
    AFTER = "after"
    TORN = "torn"
    """After half of a write."""


class Fault(StrEnum):
    """How a point fails."""

    FULL = "ENOSPC"
    BROKEN = "EIO"


@dataclass(frozen=True, slots=True)
class Point:
    """Something that SQLite does, where the disk may misbehave."""

    what: What
    of: Of
    path: str
    offset: int = 0
    data: bytes = b""
    size: int = 0
    """What a file is truncated to."""
    folder_too: bool = False
    """A sync or deletion after which the folder is synced as well."""
    first_bytes: Callable[[int], None] = lambda _: None
    """Does only the first so many bytes of a write."""
    number: int = 0
    """Counted from 1 as they are met, reads and the others each for themselves."""

    def __str__(self) -> str:
        return f"{self.what} {self.of}"


class Disk:
    """Counts, and does what it is told. `points` names those met so far, without reads."""

    def __init__(self) -> None:
        self.points: list[str] = []
        self.reads = 0
        self._lock = threading.Lock()

    def before(self, point: Point) -> None:
        """Called before each point. If it raises `Refused`, that happens instead."""

    def after(self, point: Point) -> None:
        """Called after each point that succeeded."""

    @contextmanager
    def doing(self, point: Point) -> Iterator[None]:
        """Around each point."""
        with self._lock:
            if point.what is What.READ:
                self.reads += 1
            else:
                self.points.append(str(point))
            point = replace(point, number=self.reads if point.what is What.READ else len(self.points))
        self.before(point)
        yield
        self.after(point)


class SlowDisk(Disk):
    """Every sync takes this long; other threads run meanwhile."""

    def __init__(self, sync_s: float) -> None:
        super().__init__()
        self._sync_s = sync_s

    def before(self, point: Point) -> None:
        if point.what is What.SYNC:
            time.sleep(self._sync_s)


class FailingDisk(Disk):
    """The point of that number fails: once, or with `lasting` like all behind it until `recover`. With `reads` it is
    reads that fail. A full disk refuses nothing that takes no space: then it is the next point that does."""

    def __init__(self, at: int, fault: Fault, *, lasting: bool = False, reads: bool = False) -> None:
        super().__init__()
        self._at, self._fault, self._lasting, self._reads = at, fault, lasting, reads
        self.failed: list[str] = []

    def fail_at(self, number: int) -> None:
        """Let another point fail."""
        self._at = number

    def recover(self) -> None:
        """From now on nothing fails."""
        self._at = -1

    def before(self, point: Point) -> None:
        if self._at < 0 or point.number < self._at or (point.what is What.READ) is not self._reads:
            return
        takes_space = point.what in (What.CREATE, What.WRITE, What.SYNC)
        if self._fault is Fault.FULL and not takes_space:
            return
        if not self._lasting:
            self._at = -1
        self.failed.append(str(point))
        if self._fault is Fault.FULL and point.what is What.WRITE:
            point.first_bytes(len(point.data) // 2)  # a disk is full in the middle of a write
        raise Refused(_code(self._fault, point.what))


class DeadlyDisk(Disk):
    """The process is killed at the point of that number. It says its last words first: which point it was."""

    def __init__(self, at: int, when: When, last_words: Callable[[Point], None] = lambda _: None) -> None:
        super().__init__()
        self._at, self._when, self._last_words = at, when, last_words

    def before(self, point: Point) -> None:
        if point.number == self._at and point.what is not What.READ and self._when is not When.AFTER:
            if self._when is When.TORN:
                point.first_bytes(len(point.data) // 2)
            self._die(point)

    def after(self, point: Point) -> None:
        if point.number == self._at and point.what is not What.READ and self._when is When.AFTER:
            self._die(point)

    def _die(self, point: Point) -> None:
        self._last_words(point)
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)  # the signal may take a moment; nothing may be done in it


class RecordingDisk(Disk):
    """Writes down all that changes, for `power_loss.state_after`, and between it what the caller was told."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Event] = []
        self._began: dict[int, int] = {}

    def acknowledge(self, what: Any) -> None:
        """Somebody was told that this is done."""
        self.log.append(Acknowledged(what))

    def before(self, point: Point) -> None:
        if point.what is What.SYNC:
            self._began[threading.get_ident()] = len(self.log)

    def after(self, point: Point) -> None:
        began = len(self.log)
        match point.what:
            case What.CREATE:
                self.log.append(Created(point.path))
            case What.WRITE:
                self.log.append(Written(point.path, point.offset, point.data))
            case What.TRUNCATE:
                self.log.append(Truncated(point.path, point.size))
            case What.SYNC:
                began = self._began[threading.get_ident()]  # what others wrote since need not be part of it
                self.log.append(Synced(point.path, began))
            case What.DELETE:
                self.log.append(Deleted(point.path))
                began = len(self.log)
            case What.READ:
                pass
        if point.folder_too:
            self.log.append(FolderSynced(began))


class Refused(Exception):
    """An operation that failed, with SQLite's number for it."""

    def __init__(self, code: int) -> None:
        super().__init__(apsw.mapping_extended_result_codes.get(code, code))
        self.code = code


def _code(fault: Fault, what: What) -> int:
    """What SQLite's own code says when the operating system refuses it."""
    if what is What.CREATE:
        return apsw.SQLITE_CANTOPEN
    return apsw.SQLITE_FULL if fault is Fault.FULL and what is What.WRITE else _CODES[what]


_CODES = {
    What.WRITE: apsw.SQLITE_IOERR_WRITE,
    What.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
    What.SYNC: apsw.SQLITE_IOERR_FSYNC,
    What.DELETE: apsw.SQLITE_IOERR_DELETE,
    What.READ: apsw.SQLITE_IOERR_READ,
}
