"""A whole story as lines of text: every message, swipe, branch, version, lock and attached book, and nothing else.

The first line says what it is, with the story's digest; each line after it is one canonical row (see `storage.copy`)
with the names of its columns. A file is taken in only if its rows have the digest of the first line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from previously.core.errors import BadInput
from previously.core.json_values import parse_object
from previously.storage.copy import CHUNK_ROWS
from previously.storage.layout import ATTACHED, TABLES, Table
from previously.storage.spool import Spool

MARK, NUMBER = "previously_story", 1
"""The key by which the first line is known, and the number of this layout. A change of it needs another number."""

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a row: a message has at most 16 MB, and its text may stand in a row twice, in escapes."""

_TABLES = {table.name.replace(" ", "_"): table for table in (*TABLES, ATTACHED)}


@dataclass(frozen=True, slots=True)
class StoryFile:
    """The first line of a file."""

    story: str
    messages: int
    digest: str
    counts: dict[str, int]


def is_story_file(path: Path) -> bool:
    """Return whether a file begins like one of these. One that cannot be read is none; its reader says why."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(f'{{"{MARK}"'.encode())
    except (OSError, ValueError):
        return False


def write_story_lines(story: str, messages: int, spool: Spool) -> Iterator[str]:
    """Yield the lines of a story that lies in a spool, each with its line end."""
    first = {MARK: NUMBER, "story": story, "messages": messages, "digest": spool.digest, "ids": spool.counts}
    yield _dump(first)
    for table, rows in spool.read():
        names = [column.name for column in table.columns]
        for row in rows:
            yield _dump({"table": table.name.replace(" ", "_"), **dict(zip(names, row, strict=True))})


def read_story_lines(path: Path, spool: Spool) -> StoryFile:
    """Read the file of a story into a spool; return what its first line says."""
    try:
        with path.open("rb") as file:
            about = _parse_first(path, file.readline(LONGEST_LINE))
            for table, rows in _group_rows(path, file):
                spool.write(table, rows)
    except OSError as error:
        raise BadInput(f"{path}: the file cannot be read ({(error.strerror or 'unknown reason').lower()}).") from None
    spool.counts = about.counts
    if spool.digest != about.digest:
        raise BadInput(
            f"{path}: the file is cut off, damaged or was changed: its rows do not have the digest it names."
        )
    return about


def _parse_first(path: Path, line: bytes) -> StoryFile:
    value = _parse(path, 1, line)
    if value.get(MARK) != NUMBER:
        raise BadInput(f"{path}: the file is of another version of Previously (layout {value.get(MARK)!r}).")
    story, messages, digest, counts = (value.get(key) for key in ("story", "messages", "digest", "ids"))
    if not isinstance(story, str) or not isinstance(messages, int) or not isinstance(digest, str):
        raise BadInput(f"{path}, line 1: story, messages and digest must be there.")
    if not isinstance(counts, dict) or not all(type(count) is int and 0 <= count < 2**40 for count in counts.values()):
        raise BadInput(f"{path}, line 1: ids must name a number for each table.")
    return StoryFile(story, messages, digest, counts)


def _group_rows(path: Path, file: BinaryIO) -> Iterator[tuple[Table, list[list[Any]]]]:
    """Yield the rows of a file, some at a time, each group of one table."""
    group: list[list[Any]] = []
    current: Table | None = None
    number = 1
    while line := file.readline(LONGEST_LINE):
        number += 1
        value = _parse(path, number, line)
        table = _TABLES.get(str(value.pop("table", "")))
        names = [column.name for column in table.columns] if table else []
        if table is None or list(value) != names:
            raise BadInput(f"{path}, line {number}: this is no row of a table that this version knows.")
        if current is not None and (table is not current or len(group) >= CHUNK_ROWS):
            yield current, group
            group = []
        current = table
        group.append(list(value.values()))
    if current is not None:
        yield current, group


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        return parse_object(line.decode())
    except UnicodeDecodeError:
        raise BadInput(f"{path}, line {number}: the line is not UTF-8.") from None
    except (BadInput, RecursionError) as error:
        raise BadInput(f"{path}, line {number}: {error}") from None


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
