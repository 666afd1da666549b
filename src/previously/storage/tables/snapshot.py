"""A branch read through the tables of one transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from previously.core.align import KnownEntry
from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath
from previously.core.snapshot import ALL_MARKS, KeptRecipe
from previously.core.versions import Kind, LiveVersion, Status, Version
from previously.storage.tables.records import StoryKey

if TYPE_CHECKING:
    from previously.storage.tables import Tables


MOST_NEWEST = 512
"""Messages at the end of a path that are read once for all who ask: more than most views show."""


class StoredSnapshot:
    """A `core.snapshot.Snapshot` that asks the tables; it ends with its transaction."""

    def __init__(self, tables: Tables, key: StoryKey, branch: str | None = None) -> None:
        self.tables = tables
        self.key = key
        self._row = row = tables.stories.branch(key, branch)
        self.branch: str = row.name
        self.head: int = row.head
        self.messages: int = row.messages
        self._read: dict[int, OnPath] = {}
        """The newest messages, as far as they were read: what makes a view asks for them again and again."""

    def path(self, first: int, last: int) -> list[OnPath]:
        first, last = max(first, 0), min(last, self.messages - 1)
        if first < self.messages - MOST_NEWEST:
            return self.tables.reader.span(self.key, self._row, first, last)
        missing = [position for position in range(first, last + 1) if position not in self._read]
        if missing:
            items = self.tables.reader.span(self.key, self._row, missing[0], missing[-1])
            self._read.update((item.position, item) for item in items)
        return [self._read[position] for position in range(first, last + 1) if position in self._read]

    def known(self) -> list[KnownEntry]:
        return self.tables.reader.known(self.key, self._row)

    def siblings(self, position: int) -> list[OnPath]:
        return self.tables.reader.siblings(self.key, self._row, position)

    def position_of(self, node: int) -> int | None:
        return self.tables.reader.position_of(self.key, self._row, node)

    def leading_to(self, node: int, most: int) -> list[OnPath]:
        return self.tables.reader.leading_to(self.key, node, most)

    def marks(self, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1) -> list[Mark]:
        return self.tables.marks.of(self.key, self._row.id, since, kinds)

    def newest_mark(self, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        return self.tables.marks.newest(self.key, self._row.id, kind, number)

    def live(self, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None) -> LiveVersion | None:
        return self.tables.versions.live(self.key, self._row, kind, [(scope, through)], firm=firm)[0]

    def live_each(self, kind: Kind, asked: Sequence[tuple[str, int]]) -> list[LiveVersion | None]:
        return self.tables.versions.live(self.key, self._row, kind, asked, firm=False)

    def cover(self, kind: Kind | None = None, *, firm: bool = False) -> list[tuple[int, int, int]]:
        return self.tables.versions.cover(self.key, self._row, kind, firm=firm)

    def spans(self, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        return self.tables.versions.spans(self.key, self._row, kind, firm=firm)

    def version(self, version: int) -> Version | None:
        return self.tables.versions.find(self.key, version)

    def versions(self) -> list[Version]:
        return self.tables.versions.all(self.key)

    def newest_versions(self, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1) -> list[Version]:
        return self.tables.versions.newest(self.key, kind, scope, status, most, beyond)

    def notes(self, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        return self.tables.versions.notes(self.key, kind, scope, firsts)

    def recipes(self, reader: str, asked: str | None, most: int, *, first: int = -1, last: int) -> list[KeptRecipe]:
        return self.tables.recipes.of(self.key, reader, asked, most, first, last)

    def all_witnessed(self) -> bool:
        return self.tables.recipes.all_witnessed(self.key)

    def attached(self) -> list[str]:
        return self.tables.books.attached(self.key)

    def book(self, name: str) -> str | None:
        book = self.tables.books.get(self.key.owner, name)
        return book.body if book else None

    def book_times(self) -> dict[str, str]:
        return {book.name: book.at for book in self.tables.books.all(self.key.owner)}
