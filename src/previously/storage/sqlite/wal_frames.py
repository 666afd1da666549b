"""A look into a WAL for changes that SQLite leaves out, because the frame before them is damaged.

When SQLite opens a file it reads the WAL up to the first frame that does not have its checksum, and silently forgets
the rest. That is right for the last change: the power may have gone while it was written. It is wrong for those before
it, since each was on disk before the next one began.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO

import apsw

from previously.storage.tables.damage import Damaged

_HEADER, _FRAME_HEADER = 32, 24

_MAGIC = 0x377F0682
"""The first word of a WAL. Its last bit says in which order checksums take their bytes."""

LOOKS, PAUSE_S = 4, 0.05
"""Another process that writes meanwhile is found between two steps once, not four times with a pause in between."""

Sums = tuple[int, int]


class _Rest(Enum):
    """The part of a WAL that SQLite does not read."""

    NONE = auto()
    TORN = auto()
    """A change, or a header, that was not written to its end: a kill, a full disk or a loss of power leaves that."""
    CHANGES = auto()
    """Changes that were on disk."""


def check_wal(connection: apsw.Connection, path: str) -> None:
    """Raise `Damaged` if SQLite leaves out changes of a file's WAL that were on disk. The caller sets the connection's
    busy handler anew.

    SQLite itself says how far it has read: to open its `-shm` here would drop the locks that this process has on it.
    """
    page_size, reserved = connection.pragma("page_size"), connection.reserve_bytes()
    for look in range(LOOKS):
        frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        rest = _Rest.NONE if frames < 0 else _look_behind(Path(f"{path}-wal"), frames, page_size, reserved)
        if rest is _Rest.TORN:
            # SQLite writes over it, with the same salt: what is left of it would look like changes behind damage. Where
            # others are at it, nobody waits for them; where nothing can be written, the stories can still be read.
            connection.set_busy_handler(None)
            with suppress(apsw.BusyError, apsw.FullError, apsw.ReadOnlyError):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if rest is not _Rest.CHANGES:
            return
        if look < LOOKS - 1:
            time.sleep(PAUSE_S)
    raise Damaged(f"{path}-wal", "cannot be read to its end, and changes were written behind the damage")


def list_logged_pages(connection: apsw.Connection, path: str) -> set[int]:
    """Return the pages that are read from a file's WAL: what the file itself has of them may be half written."""
    step = _FRAME_HEADER + connection.pragma("page_size")
    frames, in_file = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    pages = set()
    try:
        with Path(f"{path}-wal").open("rb") as file:
            for number in range(in_file, frames):  # SQLite reads none of those before
                file.seek(_HEADER + number * step)
                pages.add(int.from_bytes(file.read(4)))
    except OSError:
        pass  # there is none: all is read from the file
    return pages


def _look_behind(wal: Path, frames: int, page_size: int, reserved: int) -> _Rest:
    """Return the kind of what stands behind so many frames."""
    step = _FRAME_HEADER + page_size
    try:
        with wal.open("rb") as file:
            header = file.read(_HEADER)
            if len(header) < _HEADER:
                return _Rest.NONE
            order = ">" if header[3] & 1 else "<"  # the last bit of the first word says so
            sums = _add_up(header[:24], order, (0, 0))
            if int.from_bytes(header[:4]) | 1 != _MAGIC | 1 or sums != struct.unpack(">2I", header[24:]):
                # SQLite reads nothing. The header was on disk before any change, so it is damaged, or half of a new
                # one was written over it. That happens only after all changes were brought into the file.
                torn = file.seek(0, os.SEEK_END) < _HEADER + step or _are_in_file(file, wal, page_size, reserved)
                return _Rest.TORN if torn else _Rest.CHANGES
            if frames:
                file.seek(_HEADER + (frames - 1) * step)
                sums = struct.unpack(">2I", file.read(_FRAME_HEADER)[16:])
            start = _HEADER + frames * step
            if _has_whole_change(file, header[16:24], start, step, order, sums):
                return _Rest.NONE  # the WAL was begun anew, or written on meanwhile: SQLite does not stop at damage
            return _judge_frames(file, header[16:24], start, step)
    except (OSError, struct.error):
        return _Rest.NONE  # it is gone by now, or shorter: whoever closed the file has brought it in


def _has_whole_change(file: BinaryIO, salt: bytes, start: int, step: int, order: str, sums: Sums) -> bool:
    """Return whether the frames from a place on are whole up to the end of a change, by SQLite's own rule."""
    file.seek(start)
    while len(frame := file.read(step)) == step and frame[8:16] == salt:
        sums = _add_up(frame[:8] + frame[_FRAME_HEADER:], order, sums)
        if sums != struct.unpack(">2I", frame[16:24]):
            return False
        if frame[4:8] != bytes(4):
            return True
    return False


def _judge_frames(file: BinaryIO, salt: bytes, start: int, step: int) -> _Rest:
    """Return the kind of the frames from a place on that are of the same turn of the WAL.

    Each change was on disk before the next one, so only the last may be torn. No change has a page twice, but for its
    last one: where that seems so, there are two, and the frame that ends the first is damaged.
    """
    pages, commits = list[bytes](), 0
    size = file.seek(0, os.SEEK_END)
    for place in range(start, size - step + 1, step):
        file.seek(place)
        frame = file.read(16)
        if frame[8:] != salt:
            continue
        if frame[4:8] != bytes(4):
            commits += 1
        elif not commits:
            pages.append(frame[:4])
    if commits > 1 or (commits and len(set(pages)) < len(pages)):
        return _Rest.CHANGES
    return _Rest.TORN if commits or pages else _Rest.NONE


def _are_in_file(file: BinaryIO, wal: Path, page_size: int, reserved: int) -> bool:
    """Return whether a WAL whose header cannot be read has changes, and the database all their pages.

    Reserved bytes are not compared: a page gets its checksum when it is written to the database.
    """
    newest, waiting, page_count = dict[int, bytes](), dict[int, bytes](), 0
    step, compared = _FRAME_HEADER + page_size, page_size - reserved
    file.seek(_HEADER)
    salt = file.read(_FRAME_HEADER)[8:16]
    file.seek(_HEADER)
    while len(frame := file.read(step)) == step and frame[8:16] == salt:
        waiting[int.from_bytes(frame[:4])] = frame[_FRAME_HEADER : _FRAME_HEADER + compared]
        if frame[4:8] != bytes(4):
            page_count = int.from_bytes(frame[4:8])
            newest.update(waiting)
            waiting.clear()
    # By way of SQLite: whoever opens and closes the file by themselves drops the locks of this process.
    path = str(wal).removesuffix("-wal")
    database = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        return bool(newest) and all(
            database.xRead(compared, (number - 1) * page_size) == page
            for number, page in newest.items()
            if number <= page_count
        )
    except apsw.Error:  # it is shorter than its changes
        return False
    finally:
        database.xClose()


def _add_up(words: bytes, order: str, sums: Sums) -> Sums:
    """Return the checksum of a WAL, going on from another."""
    first, second = sums
    for even, odd in struct.iter_unpack(f"{order}2I", words):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
