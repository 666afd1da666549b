"""What a disk may hold after the power is cut: a pure function of what was done to it before.

The rules are the hardest that SQLite is made for. Bytes that were synced stay. Of what was written to a file since its
last sync any part may be there, whole or torn at sectors, in any order; the same for truncations. That a file was made
or deleted is certain once its folder was synced; before, it may or may not have happened. Memory is gone, so there is
no `-shm` file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from random import Random
from typing import Any

SECTOR = 512
"""The largest piece that a disk writes whole or not at all."""

SURVIVING = (0.0, 0.1, 0.5, 0.9, 1.0)
"""How likely an unsynced write is to be there: of some power cuts nothing, of others all."""


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes were written."""

    path: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    """A file was cut or extended to a size."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """All that the log says of a file before index `began` is on disk."""

    path: str
    began: int


@dataclass(frozen=True, slots=True)
class Created:
    """An empty file came to be."""

    path: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A file is gone."""

    path: str


@dataclass(frozen=True, slots=True)
class FolderSynced:
    """Which files there are is on disk, as far as the log says it before index `began`."""

    began: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Somebody was told that something is done: from here on it must never be lost."""

    what: Any


Event = Written | Truncated | Synced | Created | Deleted | FolderSynced | Acknowledged
Change = Written | Truncated


class _File:
    """A file whatever its name: what was done to it, in order, and how much of that is certain."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, Change]] = []
        self.certain = 0

    def content(self, chance: Random) -> bytes:
        """What may be in it."""
        content = bytearray()
        for index, change in self.changes:
            if index < self.certain:
                _do(content, change)
        surviving = chance.choice(SURVIVING)
        pending = [change for index, change in self.changes if index >= self.certain and chance.random() < surviving]
        if chance.random() < 0.5:
            chance.shuffle(pending)
        tearing = chance.choice((0.0, 0.3))
        for change in pending:
            if isinstance(change, Written) and chance.random() < tearing:
                for piece in _sectors(change):
                    if chance.random() < 0.5:
                        _do(content, piece)
            else:
                _do(content, change)
        return bytes(content)


def state_after(log: Sequence[Event], point: int, seed: object) -> dict[str, bytes]:
    """One of the states in which the files of a log may be found if the power is cut when the first `point` events
    have happened: content by file name. The seed picks which; the log begins before the first file was made."""
    chance = Random(f"{point} {seed}")
    folder: defaultdict[str, list[tuple[int, _File | None]]] = defaultdict(list)
    certain = 0
    for index, event in enumerate(log[:point]):
        match event:
            case Created(path):
                folder[path].append((index, _File()))
            case Deleted(path):
                folder[path].append((index, None))
            case Written(path) | Truncated(path):
                _open(folder[path]).changes.append((index, event))
            case Synced(path, began):
                file = _open(folder[path])
                file.certain = max(file.certain, began)
            case FolderSynced(began):
                certain = max(certain, began)
            case Acknowledged():
                pass
    found: dict[str, bytes] = {}
    for path, history in folder.items():
        sure = sum(index < certain for index, _ in history)
        reached = chance.randint(sure, len(history))
        there = history[reached - 1][1] if reached else None
        if there is not None:
            found[PurePath(path).name] = there.content(chance)
    return found


def without_syncs(log: Iterable[Event], suffix: str) -> list[Event]:
    """The log of a disk that says it has synced files of that suffix (`.db`, `-wal`) and has not. Where an event stands
    in the log stays the same."""
    return [Acknowledged(None) if isinstance(event, Synced) and event.path.endswith(suffix) else event for event in log]


def _open(history: list[tuple[int, _File | None]]) -> _File:
    file = history[-1][1] if history else None
    assert file is not None, "a log begins before the first file was made"
    return file


def _sectors(write: Written) -> Iterator[Written]:
    """A write in pieces, each within one sector of the file."""
    first = 0
    while first < len(write.data):
        end = min(len(write.data), first + SECTOR - (write.offset + first) % SECTOR)
        yield Written(write.path, write.offset + first, write.data[first:end])
        first = end


def _do(content: bytearray, change: Change) -> None:
    size = change.size if isinstance(change, Truncated) else change.offset + len(change.data)
    if len(content) < size:
        content.extend(bytes(size - len(content)))
    if isinstance(change, Truncated):
        del content[size:]
    else:
        content[change.offset : size] = change.data
