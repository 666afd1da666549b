"""A whole story as lines of text: every message, swipe, branch, version, lock and attached book, and nothing else.

The first line says what it is, with the story's digest; each line after it is one canonical row (see `storage.copy`)
with the names of its columns. A file is taken in only if its rows have the digest of the first line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from previously.core.errors import BadInput
from previously.core.json_values import clean, parse_json, parse_object
from previously.storage.copy import CHUNK_ROWS
from previously.storage.layout import ATTACHED, TABLES, WITH_IDS, Column, Table
from previously.storage.spool import Spool

MARK, NUMBER = "previously_story", 1
"""The key by which the first line is known, and the number of this layout. A change of it needs another number."""

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a row: a message has at most 16 MB, and its text may stand in a row twice, in escapes."""

LARGEST = 2**63 - 1
"""The largest number that a database holds."""

LONGEST_TOLD = 60
"""Characters of a value that are told when it is refused: enough to find it, on one line."""

_JSON = {"header": (dict,), "settings": (dict,), "body": (dict, list)}
"""The columns whose text is read as JSON by those who do not expect it to be damaged, and what they hold."""

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


def read_first_line(path: Path) -> StoryFile:
    """Return what the first line of a story's file says; its rows are not looked at."""
    try:
        with path.open("rb") as file:
            return _parse_first(path, file.readline(LONGEST_LINE))
    except OSError as error:
        raise BadInput(f"{path}: the file cannot be read ({(error.strerror or 'unknown reason').lower()}).") from None


def read_story_lines(path: Path, spool: Spool) -> StoryFile:
    """Read the file of a story into a spool; return what its first line says."""
    seen = dict.fromkeys(WITH_IDS, 0)  # the highest
    try:
        with path.open("rb") as file:
            about = _parse_first(path, file.readline(LONGEST_LINE))
            for table, rows in _group_rows(path, file, about.counts):
                spool.write(table, rows)
                _count_ids(table, rows, seen)
    except OSError as error:
        raise BadInput(f"{path}: the file cannot be read ({(error.strerror or 'unknown reason').lower()}).") from None
    spool.counts = about.counts
    if seen != about.counts:  # as many are set aside in the database: no more than there are rows for
        raise BadInput(f"{path}, line 1: the ids are not as many as those in the rows.")
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


def _group_rows(path: Path, file: BinaryIO, counts: Mapping[str, int]) -> Iterator[tuple[Table, list[list[Any]]]]:
    """Yield the rows of a file, some at a time, each group of one table."""
    group: list[list[Any]] = []
    current: Table | None = None
    number, newest = 1, 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        value = _parse(path, number, line)
        table = _TABLES.get(str(value.pop("table", "")))
        names = [column.name for column in table.columns] if table else []
        if table is None or list(value) != names:
            raise BadInput(f"{path}, line {number}: this is no row of a table that this version knows.")
        odd = next((column for column in table.columns if not _is_fit(column, value[column.name], counts)), None)
        if odd is not None:
            raise BadInput(f"{path}, line {number}: {odd.name} cannot be {json.dumps(value[odd.name])[:LONGEST_TOLD]}.")
        if table.columns[0].name == "id" and table.name != "line":  # those have other ids while they are taken away
            if value["id"] <= (newest if table is current else 0):
                raise BadInput(f"{path}, line {number}: id {value['id']} is out of its order, or there twice.")
            newest = value["id"]
        if current is not None and (table is not current or len(group) >= CHUNK_ROWS):
            yield current, group
            group = []
        current = table
        group.append(list(value.values()))
    if current is not None:
        yield current, group


def _is_fit(column: Column, value: object, counts: Mapping[str, int]) -> bool:
    """Return whether a column can hold a value."""
    if value is None:
        return column.is_optional
    if column.is_scope and type(value) is int:
        return 0 <= value <= counts.get(column.ids_of, 0)
    if column.ids_of and not column.is_scope:
        return type(value) is int and abs(value) <= counts.get(column.ids_of, 0)
    if column.is_number:
        return type(value) is int and abs(value) <= LARGEST
    if not isinstance(value, str) or clean(value)[1]:
        return False
    if column.is_bytes:
        return len(value) % 2 == 0 and not value.strip("0123456789abcdef")
    return column.name not in _JSON or _is_json(value, _JSON[column.name])


def _is_json(text: str, kinds: tuple[type, ...]) -> bool:
    try:
        return type(parse_json(text, "text")) in kinds
    except (BadInput, RecursionError):
        return False


def _count_ids(table: Table, rows: Sequence[Sequence[Any]], seen: dict[str, int]) -> None:
    """Raise the highest ids that were seen, by table, to those of some more rows."""
    for place, column in enumerate(table.columns):
        if column.ids_of:
            ids = (abs(row[place]) for row in rows if type(row[place]) is int)
            seen[column.ids_of] = max(seen[column.ids_of], *ids, 0)


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        return parse_object(line.decode())
    except UnicodeDecodeError:
        raise BadInput(f"{path}, line {number}: the line is not UTF-8.") from None
    except (BadInput, RecursionError) as error:
        raise BadInput(f"{path}, line {number}: {error}") from None


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
