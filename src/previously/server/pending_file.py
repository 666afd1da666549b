"""A file of waiting turns: lines that are on disk when they were added, in a folder that several servers share.

The process that makes a file holds a lock on it for its life. A file whose lock is free was left by a process that
died: whoever gets the lock has the file. It holds whole lines, each with a checksum; what a write that failed has left
is cut off, and a line that was damaged harms no other. Files hold what users said: only their owner can read them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from previously.core.errors import StoreProblem

log: logging.Logger = logging.getLogger("previously.server")

SUFFIX, DAMAGED = ".jsonl", ".damaged"

_CHECKED = re.compile(rb"(.*\})#([0-9a-f]{8})", re.DOTALL)
"""A line and its checksum. Versions up to 0.1 wrote none."""

_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A request that waits, and the answer to it, as the lines of a file."""

    owner: str
    story: str | None
    request: bytes
    answer: bytes = b""

    @property
    def lines(self) -> bytes:
        return self.request + self.answer


class WaitingFile:
    """One file, locked by this process; without a path one in memory."""

    def __init__(self, handle: int | None, path: Path | None) -> None:
        self.path = path
        self.turns: dict[int, WaitingTurn] = {}
        self._done: set[int] = set()
        self.size: int = 0
        self._handle = handle

    def add(self, data: bytes, *, sync: bool = True) -> None:
        """Add whole lines. If that fails, none of them is there; an earlier failure is mended first."""
        if self._handle is not None:
            if os.fstat(self._handle).st_size != self.size:
                os.ftruncate(self._handle, self.size)
            try:
                os.lseek(self._handle, self.size, os.SEEK_SET)
                _write_all(self._handle, data)
                if sync:
                    os.fsync(self._handle)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, self.size)
                raise
        self.size += len(data)

    @property
    def is_gone(self) -> bool:
        """True if somebody deleted the file: nobody would find what is written to it."""
        return self._handle is not None and os.fstat(self._handle).st_nlink == 0

    def shrink(self) -> None:
        """Take the lines off that are done with: all of them if nothing waits any more, else the file is made anew. A
        crash on the way leaves both, and what is brought in twice changes nothing."""
        lines = b"".join(turn.lines for turn in list(self.turns.values()))
        if (lines or self.is_gone) and self._handle is not None and self.path is not None:
            fresh = make_file(self.path.parent)
            try:
                fresh.add(lines)
            except OSError:
                fresh.close()
                raise
            fresh.path, self.path = self.path, fresh.path
            fresh._handle, self._handle = self._handle, fresh._handle
            fresh.close()
        elif self._handle is not None:
            os.ftruncate(self._handle, 0)
        self.size = len(lines)

    def take(self) -> bool:
        """Lock the file and read what a process before this one left; False if another has it. Damaged lines are put
        aside first, so that nobody loses them."""
        assert self.path is not None, "only files are left behind"
        handle = os.open(self.path, os.O_RDWR | _BINARY)
        try:
            if _lock(handle) and _is_at(handle, self.path):
                self._load(handle, self.path)
                self._handle, handle = handle, -1
        finally:
            if handle >= 0:
                os.close(handle)
        return self._handle is not None

    def _load(self, handle: int, path: Path) -> None:
        self.size = os.fstat(handle).st_size
        os.lseek(handle, 0, os.SEEK_SET)
        content = b""
        while piece := os.read(handle, max(1, self.size - len(content))):
            content += piece
        damaged = b"".join(line + b"\n" for line in content.split(b"\n") if line and not self._take_line(line))
        if damaged:
            put_aside(path, damaged)

    def close(self) -> None:
        """Let go of the file, for whoever comes next; one in which nothing waits is removed."""
        if self._handle is None:
            return
        if not self.turns and self.path is not None and os.name == "posix":
            self.path.unlink(missing_ok=True)  # before the lock is free: nobody can have it meanwhile
        os.close(self._handle)
        self._handle = None
        if not self.turns and self.path is not None and os.name != "posix":
            with suppress(OSError):  # another process has it open
                self.path.unlink(missing_ok=True)

    def _take_line(self, line: bytes) -> bool:
        """Take up one line; False if it is damaged."""
        try:
            match read_line(line):
                case {"id": int() as number, "owner": str() as owner, "story": str() | None as story}:
                    self.turns[number] = WaitingTurn(owner, story, line + b"\n")
                case {"answers": int() as number, "replies": list()}:
                    if number not in self.turns:
                        return number in self._done  # else its request was damaged
                    self.turns[number] = replace(self.turns[number], answer=line + b"\n")
                case {"done": int() as number}:
                    self.turns.pop(number, None)
                    self._done.add(number)
                case _:
                    return False
        except (ValueError, RecursionError):
            return False
        return True


def make_line(fields: dict[str, Any]) -> bytes:
    """Return a line, with its checksum. It has an end on both sides: if one is damaged, it harms no other line."""
    text = json.dumps(fields, ensure_ascii=True).encode()
    return b"\n%s#%08x\n" % (text, crc32(text))


def read_line(line: bytes) -> Any:
    """Return what a line says; its checksum must be right."""
    line = line.strip(b"\n")
    if checked := _CHECKED.fullmatch(line):
        line = checked[1]
        if crc32(line) != int(checked[2], 16):
            raise ValueError("a line was damaged")
    return json.loads(line)


def make_file(folder: Path) -> WaitingFile:
    """Return a new file of this process; it is on disk, empty."""
    _make_folder(folder)
    while True:
        path = folder / f"{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        if _lock(handle) and _is_at(handle, path):
            _sync_folder(folder)
            return WaitingFile(handle, path)
        os.close(handle)  # somebody took it for one that was left behind


def take_left_file(folder: Path, unreadable: set[Path]) -> WaitingFile | None:
    """Return a file that a process left behind, read and locked, if there is one. Those that cannot be read now, or
    belong to another user, are `unreadable`, and said to be so once."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        file = WaitingFile(None, path)
        try:
            if file.take():
                return file
        except FileNotFoundError:
            continue  # another process was done with it
        except OSError as error:
            if path not in unreadable:
                log.warning("Waiting turns in %s cannot be read: %s", path.name, error.strerror)
            unreadable.add(path)
    return None


def take_spool(spool: Path, folder: Path) -> None:
    """Move the one file in which versions up to 0.1 kept waiting turns to those that were left behind."""
    try:
        if spool.is_file():
            _make_folder(folder)
            spool.chmod(0o600)
            spool.replace(folder / f"spool-{secrets.token_hex(4)}{SUFFIX}")
            _sync_folder(folder)
            _sync_folder(spool.parent)
    except FileNotFoundError:
        return  # another server was quicker
    except OSError as error:
        raise StoreProblem(f"{spool} cannot be moved to {folder}: {error.strerror}.") from error


def put_aside(path: Path, lines: bytes) -> None:
    """Keep lines that cannot be read beside their file, for a person to look at."""
    aside = path.with_name(path.name + DAMAGED)
    log.warning("Waiting turns cannot be read; they are kept in %s", aside.name)
    handle = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)
    try:
        if lines in os.read(handle, os.fstat(handle).st_size):
            return  # put there by a process that died before it was done
        _write_all(handle, lines)
        os.fsync(handle)
    finally:
        os.close(handle)
    _sync_folder(path.parent)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(folder.parent)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Bring to disk which files a folder has. (Windows does that by itself.)"""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 2**40
    """Far behind all lines: Windows lets nobody else read a byte that is locked."""

    def _lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        """Lock a file for as long as it is open; False if another process has it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
