"""The files of a story's directory on disk: read without following any link, written without losing anybody's words."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from previously.core.errors import BadInput
from previously.core.json_values import shown
from previously.formats.story_directory import IGNORE, PATHS, RECORD
from previously.formats.write_file import write_atomically

PARTS = ".previously", "chapters", "lore", "cast"
"""The directories inside it."""


def read_directory(folder: Path) -> dict[str, bytes]:
    """Return the files of a directory by their paths in it. Whatever else lies there is left alone."""
    name = shown(str(folder))
    try:
        if not folder.is_dir():
            reason = "this is a file, and no directory" if folder.exists() else "there is no such directory"
            raise BadInput(f"{name}: {reason}.")
        return {path: _read(folder / path, f"{name}/{path}") for path in sorted(_list_paths(folder, name))}
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "this is not a possible name").lower()
        raise BadInput(f"{name}: the directory cannot be read ({reason}).") from None


def write_directory(
    folder: Path, files: Mapping[str, bytes], *, seen: Mapping[str, bytes], gone: Sequence[str] = ()
) -> list[str]:
    """Bring a directory to these files; `seen` are those that it had. Return the files that somebody has changed since:
    they stay as they are. The record of what was exported comes last, so that who is interrupted can go on."""
    name = shown(str(folder))
    changed: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = dict.fromkeys(_list_paths(folder, name))
        for path in sorted(files, key=lambda path: path == RECORD):
            place = folder / path
            before = _read(place, f"{name}/{path}") if path in there else None
            if before == files[path]:
                continue
            if before != seen.get(path) and path not in (RECORD, IGNORE):
                changed.append(path)
                continue
            place.parent.mkdir(exist_ok=True)
            write_atomically(place, [files[path]])
        for path in gone:
            if path in there and _read(folder / path, f"{name}/{path}") == seen.get(path):
                (folder / path).unlink()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "this is not a possible name").lower()
        raise BadInput(f"{name}: the directory cannot be written ({reason}).") from None
    return changed


def _list_paths(folder: Path, name: str) -> Iterator[str]:
    """Yield the paths of the files that are there; a link in the place of a part is refused."""
    for part in ("", *PARTS):
        if part and (folder / part).is_symlink():
            raise BadInput(f"{name}/{part}: this is a link; only what is in the directory itself is used.")
        if not (folder / part).is_dir():
            continue
        for entry in os.scandir(folder / part):
            path = f"{part}/{entry.name}" if part else entry.name
            if PATHS.fullmatch(path) or path in (RECORD, IGNORE):
                yield path


def _read(path: Path, name: str) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise BadInput(f"{shown(name)}: this is no file of its own; only what is in the directory itself is used.")
    return path.read_bytes()
