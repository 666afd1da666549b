"""The canonical rows of one story on their way from one database to another, and their digest.

Owns the encoding that the digest is made of, so **changing it changes the digest of every story**: then the numbers in
the tags here must be raised, and what was noted of a backup is worth nothing any more.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from types import TracebackType
from typing import Any

from previously.core.digests import SIZE
from previously.storage.layout import ATTACHED, TABLES, Table

_BY_NAME = {table.name: table for table in (*TABLES, ATTACHED)}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Spool:
    """A file of canonical rows that is gone when it is closed. With `keeping=False` only the digest is worked out."""

    def __init__(self, *, keeping: bool = True) -> None:
        self._file = tempfile.TemporaryFile(prefix="previously-") if keeping else None  # noqa: SIM115
        self.begin()

    def begin(self) -> None:
        """Empty the spool and begin anew."""
        if self._file:
            self._file.seek(0)
            self._file.truncate()
        self.counts: dict[str, int] = {}
        """The number of ids that occur, by table."""
        self._rows = dict.fromkeys(_BY_NAME, 0)
        self._sums = dict.fromkeys(_BY_NAME, 0)
        self._hashes = {name: blake2b(digest_size=SIZE, person=b"prev.table.1") for name in _BY_NAME}

    def write(self, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Some more rows of a table. How rows are shared out among calls makes no difference."""
        if not rows:
            return
        encoded = _encode(rows).encode()
        self._rows[table.name] += len(rows)
        if table.is_ordered:
            self._hashes[table.name].update(_select_digested(table, rows, encoded)[1:-1] + b",")
        else:
            self._sums[table.name] += sum(_hash_row(row) for row in rows)
        if self._file:
            self._file.write(b"%s\t%s\n" % (table.name.encode(), encoded))

    def read(self) -> Iterator[tuple[Table, list[list[Any]]]]:
        """Yield the written rows, some at a time."""
        assert self._file, "nothing was kept"
        self._file.seek(0)
        for line in self._file:
            name, _, encoded = line.partition(b"\t")
            yield _BY_NAME[name.decode()], json.loads(encoded)

    @property
    def digest(self) -> str:
        """The digest of the story that was written."""
        whole = blake2b(digest_size=SIZE, person=b"prev.story.1")
        for name, rows in self._rows.items():
            if not _BY_NAME[name].is_digested or (_BY_NAME[name] is ATTACHED and not rows):
                continue  # most stories have no book, and many were backed up before there were any
            whole.update(f"{name} {rows} {self._hashes[name].hexdigest()} {self._sums[name]}\n".encode())
        return whole.hexdigest()

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()


def _select_digested(table: Table, rows: Sequence[Sequence[Any]], encoded: bytes) -> bytes:
    """The rows, encoded, without what is no part of the digest."""
    if all(column.is_digested and not column.came_later for column in table.columns):
        return encoded
    columns = [column for column in table.columns if column.is_digested]
    places = [table.columns.index(column) for column in columns]
    kept = [[row[place] for place in places] for row in rows]
    return _encode(
        [[value for value, of in zip(row, columns, strict=True) if value or not of.came_later] for row in kept]
    ).encode()


def _hash_row(row: Sequence[Any]) -> int:
    """A row as a number: the sum of such numbers does not depend on the order of the rows."""
    return int.from_bytes(blake2b(_encode(row).encode(), digest_size=SIZE, person=b"prev.row.1").digest(), "big")
