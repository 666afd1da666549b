"""The copy of a file as it was, kept beside it before all of it is changed."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

import apsw

OWN_MODE = 0o600
"""Stories are private: nobody else on the machine reads them, whatever the umask."""


def keep_copy(connection: apsw.Connection, copy: str) -> None:
    """Write what a connection reads to a new file, which is there whole and on disk or not at all."""
    partial = Path(f"{copy}.partial")
    partial.unlink(missing_ok=True)  # left by one that was interrupted
    create_file(str(partial))
    try:
        kept = apsw.Connection(str(partial))
        try:
            with kept.backup("main", connection, "main") as copying:
                copying.step()
            kept.pragma("journal_mode", "delete")  # one file, without a log beside it
        finally:
            kept.close()
        sync_file(partial)
        partial.replace(copy)
        if os.name == "posix":
            sync_file(partial.parent)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def find_copy_name(path: str, version: str) -> str:
    """Return a name that is free for the copy of a file as it was before a version."""
    names = (f"{path}.before-{version}{f'-{number}' if number > 1 else ''}" for number in count(1))
    return next(name for name in names if not os.path.lexists(name))


def sync_file(path: Path) -> None:
    """See to it that a file, or the names in a directory, are on the disk."""
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def create_file(path: str) -> None:
    """Make a file before SQLite would, which asks the umask who may read it. Files beside it get its mode."""
    try:
        os.close(os.open(path.encode(), os.O_CREAT | os.O_EXCL | os.O_RDWR, OWN_MODE))
    except (OSError, UnicodeEncodeError):
        return  # it is there, or cannot be made, and SQLite says why
