"""Reads of files: which lines of which file a call asks for, and which of them were read again later.

A call is a read where its name or its command says nothing else, and its file and lines stand in its arguments. Whoever
is in doubt takes it for no read: then it is an output like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from previously.core.messages import ToolCall
from previously.core.patterns import lazy_pattern

_READS = lazy_pattern(r"(?:read|view|open|cat|get|show)(?:_?file)?|str_replace_(?:based_edit_tool|editor)")
_PATH_KEYS = ("file_path", "filepath", "path", "filename", "target_file", "absolute_path", "file")
_COMMAND_KEYS = ("command", "cmd", "script")
_COMMAND = lazy_pattern(
    r"(?:cat|nl -ba) (?P<whole>'[^']+'|[^\s'\"|;&<>$*]+)"
    r"|sed -n '?(?P<first>\d{1,9}),(?P<last>\d{1,9})p'? (?P<part>'[^']+'|[^\s'\"|;&<>$*]+)"
)
_LONGEST_PATH = 240


@dataclass(frozen=True, slots=True)
class FileRead:
    """Some lines of a file."""

    path: str
    first: int = 1
    last: int | None = None
    """None = to its end."""
    by_command: bool = False
    """True if a shell was asked, which refuses nothing."""

    def covers(self, other: FileRead) -> bool:
        """Return whether this shows every line that the other shows."""
        ends = self.last is None or (other.last is not None and other.last <= self.last)
        return self.path == other.path and self.first <= other.first and ends

    def __str__(self) -> str:
        if self.last is not None:
            return f"{self.path}, lines {self.first} to {self.last}"
        return self.path if self.first == 1 else f"{self.path} from line {self.first} on"


def find_read(call: ToolCall) -> FileRead | None:
    """Return what a call reads of a file; None if it reads none, or more than one."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    command = next((given[key] for key in _COMMAND_KEYS if key in given), None)
    if command is not None and not (command == "view" and "path" in given):
        return _read_command(command)
    name = call.name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].lower()
    lower = {name.lower(): value for name, value in given.items()}  # opencode writes filePath
    path = next((lower[key] for key in _PATH_KEYS if isinstance(lower.get(key), str)), "").strip()
    if not _READS.fullmatch(name) or not path or len(path) > _LONGEST_PATH or "\n" in path:
        return None
    return FileRead(path, *_find_lines(given))


def find_repeated(reads: Iterable[tuple[tuple[int, int], FileRead]]) -> frozenset[tuple[int, int]]:
    """Return the places of reads, given in their order, all of whose lines a later one shows again."""
    repeated: set[tuple[int, int]] = set()
    later: dict[str, list[FileRead]] = {}
    for place, read in reversed(list(reads)):
        known = later.setdefault(read.path, [])
        if any(other.covers(read) for other in known):
            repeated.add(place)
        else:
            known.append(read)
    return frozenset(repeated)


def _read_command(command: object) -> FileRead | None:
    if isinstance(command, list) and len(command) == 3 and command[1] in ("-c", "-lc"):
        command = command[2]
    match = _COMMAND.fullmatch(command.strip()) if isinstance(command, str) else None
    if match is None:
        return None
    if match["whole"]:
        return FileRead(match["whole"].strip("'"), by_command=True)
    return FileRead(match["part"].strip("'"), int(match["first"]), int(match["last"]), by_command=True)


def _find_lines(given: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return the first and the last line that the arguments of a read ask for."""
    numbers = {name: value for name, value in given.items() if type(value) is int and value >= 0}
    spanned = given.get("view_range")
    if isinstance(spanned, list) and len(spanned) == 2 and all(type(line) is int for line in spanned):
        return max(1, spanned[0]), spanned[1] if spanned[1] > 0 else None
    for start, end in (("start_line", "end_line"), ("line_start", "line_end")):
        if start in numbers:
            return max(1, numbers[start]), numbers.get(end)
    first = max(1, numbers.get("offset", 1))
    return first, first + numbers["limit"] - 1 if numbers.get("limit") else None
