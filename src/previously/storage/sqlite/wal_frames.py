"""A look into a WAL for changes that SQLite leaves out, because the frame before them is damaged.

When SQLite opens a file it reads the WAL up to the first frame that does not have its checksum, and silently forgets
the rest. That is right for the last change: the power may have gone while it was written. It is wrong for those before
it, since each was on disk before the next one began.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import BinaryIO, Literal

from previously.storage.tables.damage import Damaged

_HEADER, _FRAME_HEADER = 32, 24
_SHM_HEADER = 48

LOOKS, PAUSE_S = 4, 0.05
"""Another process that writes meanwhile is found between two steps once, not four times with a pause in between."""


def check_wal(path: str, page_size: int) -> None:
    """Raise `Damaged` if SQLite leaves out changes of a file's WAL that were on disk. Called when it has read it."""
    for look in range(LOOKS):
        if not _is_cut_short(Path(f"{path}-wal"), Path(f"{path}-shm"), page_size):
            return
        if look < LOOKS - 1:
            time.sleep(PAUSE_S)
    raise Damaged(f"{path}-wal", "cannot be read to its end, and changes were written behind the damage")


def _is_cut_short(wal: Path, shm: Path, page_size: int) -> bool:
    """Return whether there are changes behind the end that SQLite found, more than a loss of power leaves."""
    try:
        with wal.open("rb") as file:
            header = file.read(_HEADER)
            first = file.read(_FRAME_HEADER)
            index = shm.read_bytes()[:_SHM_HEADER]
            if len(first) < _FRAME_HEADER or len(index) < _SHM_HEADER:
                return False
            is_header_whole = _sum_header(header[:24]) == header[24:]
            salt = header[16:24] if is_header_whole else first[8:16]
            if is_header_whole and index[32:40] != salt:
                return False  # the WAL was begun anew, or will be: what it holds is in the file
            last = int.from_bytes(index[16:20], sys.byteorder) if is_header_whole else 0
            commits = _count_commits(file, salt, _HEADER + last * (_FRAME_HEADER + page_size), page_size)
    except OSError:
        return False  # it is gone by now: whoever closed the file has brought it in
    # The header is on disk before any change, each change before the next one: only the last may be torn.
    return commits > (1 if is_header_whole else 0)


def _count_commits(file: BinaryIO, salt: bytes, start: int, page_size: int) -> int:
    """The frames from a place on that end a change and are of the same turn of the WAL."""
    commits, step = 0, _FRAME_HEADER + page_size
    size = file.seek(0, os.SEEK_END)
    for place in range(start, size - step + 1, step):
        file.seek(place)
        frame = file.read(16)
        commits += frame[8:] == salt and frame[4:8] != bytes(4)
    return commits


def _sum_header(words: bytes) -> bytes:
    """The checksum of a WAL's header, by SQLite's own rule."""
    order: Literal["big", "little"] = "big" if words[3] & 1 else "little"  # the last bit of the first word says so
    first = second = 0
    for start in range(0, len(words), 8):
        first = (first + int.from_bytes(words[start : start + 4], order) + second) % 2**32
        second = (second + int.from_bytes(words[start + 4 : start + 8], order) + first) % 2**32
    return first.to_bytes(4) + second.to_bytes(4)
