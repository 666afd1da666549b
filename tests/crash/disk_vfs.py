"""The VFS that stands between SQLite and a `Disk`: it tells the disk of each point, and does nothing else.

Databases, WALs and journals pass through it; temporary files do not, since nothing of them outlives a process.

It is made of the same C structures as every VFS (sqlite.org/c3ref/vfs.html), a copy of the default one with a few
functions replaced, and not of apsw's classes. Those turn an error of a disk into a Python exception, which apsw raises
when SQLite's call ends, even where SQLite has dealt with the error and gone on: a commit whose checkpoint failed would
look like a commit that failed. Here an error is a number, as on a real disk.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_int64,
    c_void_p,
    cast,
    pointer,
    string_at,
)
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from previously.storage.sqlite.page_checksums import VFS, connect
from tests.crash.disk import Disk, Of, Point, Refused, What

_NUMBERS = count()
_KEPT: list[Any] = []
"""SQLite knows these by their address: they are never given back."""

_FLAGS = {
    apsw.SQLITE_OPEN_MAIN_DB: Of.DATABASE,
    apsw.SQLITE_OPEN_WAL: Of.WAL,
    apsw.SQLITE_OPEN_MAIN_JOURNAL: Of.JOURNAL,
}

_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_DELETE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_MOVE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)  # read, write
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(Structure):
    """sqlite3_vfs"""

    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", _OPEN),
        ("delete", _DELETE),
        ("others", c_void_p * 14),
    )


class _Methods(Structure):
    """sqlite3_io_methods"""

    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", _MOVE),
        ("write", _MOVE),
        ("truncate", _TRUNCATE),
        ("sync", _SYNC),
        ("others", c_void_p * 13),
    )


@contextmanager
def in_place(disk: Disk) -> Iterator[None]:
    """Every connection opened inside, and closed inside, is to this disk: those that check pages pass them on to it."""
    default = apsw.vfs_names()[0]
    between = _Between(disk)
    apsw.set_default_vfs(between.name)
    checking, below = _find_vfs(VFS), addressof(between.below)
    checking.data = addressof(between.vfs)
    try:
        yield
    finally:
        checking.data = below
        apsw.set_default_vfs(default)
        apsw.unregister_vfs(between.name)


class _Between:
    """A copy of the default VFS whose files tell a disk what is done to them."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.name = f"misbehaving-{next(_NUMBERS)}"
        self.below = _find_vfs("")
        self._files: dict[int, tuple[Of, str]] = {}
        self._methods: dict[int, _Methods] = {}
        """The replaced methods of a file by the address of its own."""
        self._to_sync: set[int] = set()
        """Files whose first sync syncs their folder too."""
        self.vfs = _Vfs.from_buffer_copy(self.below)
        self.vfs.name = self.name.encode()
        self.vfs.open, self.vfs.delete = _OPEN(_safe(self._open)), _DELETE(_safe(self._delete))
        self.below.next = addressof(self.vfs)  # now it can be found by its name, and registered by SQLite itself
        _KEPT.append(self)

    def _open(self, _: int, name: int | None, file: int, flags: int, out: int) -> int:
        of = next((of for flag, of in _FLAGS.items() if flags & flag), None)
        if name is None or of is None:
            return int(self.below.open(addressof(self.below), name, file, flags, out))
        path = string_at(name).decode()
        doing: AbstractContextManager[None] = nullcontext()
        if flags & apsw.SQLITE_OPEN_CREATE and not _is_there(Path(path), of):
            doing = self._disk.doing(Point(What.CREATE, of, path))
        with doing:
            _done(self.below.open(addressof(self.below), name, file, flags, out))
        self._files[file] = of, path
        if of is not Of.DATABASE:
            self._to_sync.add(file)  # so does SQLite's own code for Unix
        methods = cast(file, POINTER(POINTER(_Methods)))
        methods[0] = pointer(self._replaced(methods[0].contents))
        return 0

    def _replaced(self, own: _Methods) -> _Methods:
        methods = self._methods.get(addressof(own))
        if methods is None:
            methods = self._methods[addressof(own)] = _Methods.from_buffer_copy(own)
            methods.read = _MOVE(_safe(partial(self._read, own)))
            methods.write = _MOVE(_safe(partial(self._write, own)))
            methods.truncate = _TRUNCATE(_safe(partial(self._truncate, own)))
            methods.sync = _SYNC(_safe(partial(self._sync, own)))
        return methods

    def _delete(self, _: int, name: bytes, folder_too: int) -> int:
        path = name.decode()
        of = Of.WAL if path.endswith("-wal") else Of.JOURNAL
        with self._disk.doing(Point(What.DELETE, of, path, folder_too=bool(folder_too))):
            return _done(self.below.delete(addressof(self.below), name, folder_too))

    def _read(self, own: _Methods, file: int, data: int, size: int, offset: int) -> int:
        with self._disk.doing(Point(What.READ, *self._files[file], offset, size=size)):
            return int(own.read(file, data, size, offset))  # a short read is none of the disk's errors

    def _write(self, own: _Methods, file: int, data: int, size: int, offset: int) -> int:
        def first(most: int) -> None:
            own.write(file, data, most, offset)

        point = Point(What.WRITE, *self._files[file], offset, string_at(data, size), first_bytes=first)
        with self._disk.doing(point):
            return _done(own.write(file, data, size, offset))

    def _truncate(self, own: _Methods, file: int, size: int) -> int:
        with self._disk.doing(Point(What.TRUNCATE, *self._files[file], size=size)):
            return _done(own.truncate(file, size))

    def _sync(self, own: _Methods, file: int, flags: int) -> int:
        with self._disk.doing(Point(What.SYNC, *self._files[file], folder_too=file in self._to_sync)):
            _done(own.sync(file, flags))
        self._to_sync.discard(file)
        return 0


def _find_vfs(name: str) -> _Vfs:
    """The VFS of that name, or the default one."""
    if name == VFS:
        connect(":memory:", apsw.SQLITE_OPEN_READWRITE).close()  # loads it
    connection = apsw.Connection("", vfs=name or None)
    address = c_void_p()
    assert connection.file_control("main", apsw.SQLITE_FCNTL_VFS_POINTER, addressof(address))
    connection.close()
    found = cast(address, POINTER(_Vfs)).contents
    assert found.version >= 3, "SQLite 3.7.6 and newer"
    return found


def _is_there(path: Path, of: Of) -> bool:
    """Return whether a file was made before SQLite opens it. An empty database was made for it, to have its mode."""
    return path.exists() and (of is not Of.DATABASE or path.stat().st_size > 0)


def _done(code: int) -> int:
    if code:
        raise Refused(code)
    return code


def _safe(work: Callable[..., int]) -> Callable[..., int]:
    """Nothing is raised through C code: an error becomes its number."""

    def called(*args: Any) -> int:
        try:
            return work(*args)
        except Refused as refused:
            return refused.code
        except BaseException:
            traceback.print_exc()
            return apsw.SQLITE_INTERNAL

    return called
