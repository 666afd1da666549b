"""The database that a store of tables needs: it runs work on the tables inside transactions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol, TypeVar

from previously.storage.tables import Tables, make_tables
from previously.storage.tables.recall_cache import KeptPaths
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Row, Session

T = TypeVar("T")


class Database(Protocol):
    """Runs work on the tables inside transactions. Work may be run again if it is certain that nothing of it was kept,
    so it has no effect but on the tables."""

    async def reading(self, owner: str, work: Callable[[Tables], T], /) -> T:
        """Work that reads, all of one moment."""

    async def examining(self, owner: str, work: Callable[[Tables], T], /) -> T:
        """Work that reads, all of one moment, also what the database itself knows to be damaged."""

    async def writing(self, key: StoryKey, work: Callable[[Tables], T], /) -> T:
        """Work that writes to a story: all of it is on disk when this returns, or nothing ever was."""

    async def staging(self, key: StoryKey, work: Callable[[Tables], Generator[None, None, T]], /) -> T:
        """Work that may be long; what it has done at each `yield` may be kept."""

    async def destroying(self, key: StoryKey, work: Callable[[Tables], Generator[None, None, T]], /) -> T:
        """Work that takes rows of a story away for good, as whoever may do that; `StoreProblem` if nobody here may.
        Each `yield` ends a transaction: what was done by then stays done even if the rest fails, so the work is such
        that it can be left off there and begun anew."""

    async def creating(self, owner: str, name: str, work: Callable[[Tables], T], /) -> T:
        """Work that makes a story of that name, unless there is one."""

    async def clear_log(self) -> bool:
        """Leave nothing of what was destroyed in a log beside the tables; whether that is certain. False where the log
        is not ours, or where others read it."""

    async def damage(self) -> list[str]:
        """Return the faults in the way the database keeps its tables. Empty where that is the server's own business."""

    async def space(self) -> tuple[int, int] | None:
        """Return the bytes that the tables of all owners take, and how many of these are free; None where a server sees
        to it, or where there is no disk."""

    async def shrink(self) -> None:
        """Give free bytes back to the disk, where that is ours to do. Others who write wait meanwhile."""

    async def close(self) -> None:
        """Let what is under way end, then give everything back."""


def make_moment(tables: Tables, paths: KeptPaths) -> Tables:
    """Return the same tables for reads of one moment, which ask nothing twice."""
    return make_tables(_Asked(tables.session), paths)


class _Asked:
    """A session that asks nothing twice: at one moment a question has one answer."""

    def __init__(self, session: Session) -> None:
        self._answers: dict[tuple[Any, ...], Row | None] = {}
        self._session = session
        self.rows, self.run, self.many, self.reserve = session.rows, session.run, session.many, session.reserve

    def one(self, name: str, values: Mapping[str, Any]) -> Row | None:
        asked = (name, *values.values())
        if asked not in self._answers:
            self._answers[asked] = self._session.one(name, values)
        return self._answers[asked]
