"""A look into a WAL for changes that SQLite leaves out, because the frame before them is damaged.

When SQLite opens a file it reads the WAL up to the first frame that does not have its checksum, and silently forgets
the rest. That is right for the last change: the power may have gone while it was written. It is wrong for those before
it, since each was on disk before the next one began.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import BinaryIO

import apsw

from previously.storage.tables.damage import Damaged

_HEADER, _FRAME_HEADER = 32, 24

LOOKS, PAUSE_S = 4, 0.05
"""Another process that writes meanwhile is found between two steps once, not four times with a pause in between."""

Sums = tuple[int, int]


def check_wal(connection: apsw.Connection, path: str) -> None:
    """Raise `Damaged` if SQLite leaves out changes of a file's WAL that were on disk.

    SQLite itself says how far it has read: to open its `-shm` here would drop the locks that this process has on it.
    """
    page_size = connection.pragma("page_size")
    for look in range(LOOKS):
        frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if frames < 0 or not _is_cut_short(Path(f"{path}-wal"), frames, page_size):
            return
        if look < LOOKS - 1:
            time.sleep(PAUSE_S)
    raise Damaged(f"{path}-wal", "cannot be read to its end, and changes were written behind the damage")


def list_logged_pages(connection: apsw.Connection, path: str) -> set[int]:
    """Return the pages that are read from a file's WAL: what the file itself has of them may be half written."""
    step = _FRAME_HEADER + connection.pragma("page_size")
    frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    pages = set()
    try:
        with Path(f"{path}-wal").open("rb") as file:
            for number in range(frames):
                file.seek(_HEADER + number * step)
                pages.add(int.from_bytes(file.read(4)))
    except OSError:
        pass  # there is none: all is read from the file
    return pages


def _is_cut_short(wal: Path, frames: int, page_size: int) -> bool:
    """Return whether there are changes behind so many frames, more than a loss of power leaves."""
    step = _FRAME_HEADER + page_size
    try:
        with wal.open("rb") as file:
            header = file.read(_HEADER)
            if len(header) < _HEADER:
                return False
            order = ">" if header[3] & 1 else "<"  # the last bit of the first word says so
            sums = _add_up(header[:24], order, (0, 0))
            if sums != struct.unpack(">2I", header[24:]):
                # SQLite reads nothing. The header was on disk before any change.
                return _count_commits(file, file.read(_FRAME_HEADER)[8:16], _HEADER, step) > 0
            if frames:
                file.seek(_HEADER + (frames - 1) * step)
                sums = struct.unpack(">2I", file.read(_FRAME_HEADER)[16:])
            start = _HEADER + frames * step
            if _has_whole_change(file, header[16:24], start, step, order, sums):
                return False  # the WAL was begun anew, or written on meanwhile: SQLite does not stop at damage
            commits = _count_commits(file, header[16:24], start, step)
    except (OSError, struct.error):
        return False  # it is gone by now, or shorter: whoever closed the file has brought it in
    return commits > 1  # each change was on disk before the next one: only the last may be torn


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


def _count_commits(file: BinaryIO, salt: bytes, start: int, step: int) -> int:
    """The frames from a place on that end a change and are of the same turn of the WAL."""
    commits = 0
    size = file.seek(0, os.SEEK_END)
    for place in range(start, size - step + 1, step):
        file.seek(place)
        frame = file.read(16)
        commits += frame[8:] == salt and frame[4:8] != bytes(4)
    return commits


def _add_up(words: bytes, order: str, sums: Sums) -> Sums:
    """Return the checksum of a WAL, going on from another."""
    first, second = sums
    for even, odd in struct.iter_unpack(f"{order}2I", words):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
