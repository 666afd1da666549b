"""SQLite files as things that are made whole and passed on: a new store that is there complete or not at all, and a
copy to look into, so that a file which is only read stays as it is to the last byte."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import apsw

from previously.core.errors import BadInput, StoreProblem
from previously.storage.sqlite import SqliteStore
from previously.storage.sqlite.earlier_copy import OWN_MODE, sync_file
from previously.storage.sqlite.page_checksums import connect

BESIDE = ("-wal", "-shm", "-journal")
"""The endings of the files that SQLite keeps beside a database."""


@asynccontextmanager
async def open_new_store(path: Path) -> AsyncIterator[SqliteStore]:
    """A new store, to be filled in the block. Its file appears at `path` when the block ends well: one file, on disk.
    Otherwise there is nothing."""
    partial = path.with_name(f"{path.name}.partial")
    _check_free(path, partial)
    try:
        store = SqliteStore(str(partial))
        try:
            yield store
        finally:
            await store.close()
        await asyncio.to_thread(_publish, partial, path)
    except BaseException:
        _remove(partial)
        raise


@asynccontextmanager
async def open_copied_store(path: Path) -> AsyncIterator[SqliteStore]:
    """A copy of the store at `path`, of this version, gone after the block."""
    with tempfile.TemporaryDirectory(prefix="previously-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            await asyncio.to_thread(_copy, path, copy)
        except (apsw.Error, OSError) as error:
            raise StoreProblem(f"{path} cannot be read, or not be copied to {folder}: {error}.") from error
        try:
            store = SqliteStore(str(copy))
        except StoreProblem as problem:
            raise StoreProblem(str(problem).replace(str(copy), str(path))) from problem
        try:
            yield store
        finally:
            await store.close()


def _check_free(path: Path, partial: Path) -> None:
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder {path.parent}.")
    if path.exists():
        raise _refuse(path)
    if partial.exists():
        if _is_in_use(partial):
            raise BadInput(f"{partial} is being written by another process.")
        _remove(partial)  # what is left of one that was interrupted


def _is_in_use(path: Path) -> bool:
    """Return whether somebody has the database open: then it cannot go back to being one file."""
    try:
        connection = connect(str(path))
        try:
            return bool(connection.pragma("journal_mode", "delete") != "delete")
        finally:
            connection.close()
    except apsw.BusyError:
        return True
    except apsw.Error:
        return False


def _publish(partial: Path, path: Path) -> None:
    """Make one file of it, see that the disk has it, and give it its name."""
    try:
        connection = connect(str(partial))
        try:
            connection.pragma("synchronous", "full")
            connection.pragma("journal_mode", "delete")  # folds the WAL in
        finally:
            connection.close()
        sync_file(partial)
        _rename(partial, path)
        if os.name == "posix":
            sync_file(path.parent)
    except (apsw.Error, OSError) as error:
        raise StoreProblem(f"{path} cannot be written: {error}.") from error


def _rename(partial: Path, path: Path) -> None:
    try:
        os.link(partial, path)  # unlike a renaming, this never takes the place of another file
    except FileExistsError:
        raise _refuse(path) from None
    except OSError:  # a file system without links
        if path.exists():
            raise _refuse(path) from None
        partial.rename(path)
    else:
        partial.unlink()


def _refuse(path: Path) -> BadInput:
    return BadInput(f"{path} is there already, and no backup takes the place of another: choose another name.")


def _copy(path: Path, copy: Path) -> None:
    if not path.is_file():
        raise BadInput(f"There is no file {path}.")
    if not path.stat().st_size:
        raise StoreProblem(f"{path} is empty.")
    beside = path.with_name(f"{path.name}-wal")
    if not beside.exists() or not beside.stat().st_size:
        copy.touch(OWN_MODE)
        shutil.copyfile(path, copy)
        return
    # Part of it is in the WAL, and somebody may be writing to that.
    source, target = connect(str(path), apsw.SQLITE_OPEN_READONLY), connect(str(copy))
    try:
        with target.backup("main", source, "main") as copying:
            copying.step()
    finally:
        source.close()
        target.close()


def _remove(path: Path) -> None:
    for name in (path.name, *(f"{path.name}{ending}" for ending in BESIDE)):
        with suppress(OSError):
            path.with_name(name).unlink()
