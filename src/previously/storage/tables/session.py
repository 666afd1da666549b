"""The session that tables need: named queries inside a transaction that the caller has begun and will end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]

LOWEST = -(2**63)
"""The lowest number that a database takes: reading in the order of ids begins here."""


class Session(Protocol):
    """One connection inside one transaction. Used by one thread at a time."""

    def rows(self, name: str, values: Mapping[str, Any]) -> list[Row]:
        """All rows a query gives."""

    def one(self, name: str, values: Mapping[str, Any]) -> Row | None:
        """The first row a query gives."""

    def run(self, name: str, values: Mapping[str, Any] | Sequence[Any]) -> int:
        """Carry out one statement; the id of the row it inserted, where it inserted one."""

    def many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Carry out one statement for many rows."""

    def reserve(self, table: str, count: int) -> Sequence[int]:
        """Ids for new rows of a table, ascending; nobody else gets them if the transaction is kept."""
