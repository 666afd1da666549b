"""The tables of a story as one session sees them. Only the queries below differ between the databases: which rows stand
for a path, a mark or what is valid where is decided by the same code on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from previously.storage.postgres.session import PostgresSession
from previously.storage.postgres.writing import PostgresPathWriter
from previously.storage.sqlite.cover import CoverTable
from previously.storage.sqlite.file import SqliteFile
from previously.storage.sqlite.lines import Lines
from previously.storage.sqlite.marks import MarkTable
from previously.storage.sqlite.reading import PathReader
from previously.storage.sqlite.stories import BranchRow, StoryTable
from previously.storage.sqlite.versions import VersionTable
from previously.storage.store import StoryKey


@dataclass(frozen=True, slots=True)
class Tables:
    """All that a verb works with, inside the transaction of its session."""

    stories: StoryTable
    marks: MarkTable
    versions: VersionTable
    reader: PathReader
    writer: PostgresPathWriter

    def branch(self, key: StoryKey, name: str | None) -> BranchRow:
        """The branch of that name, or the active one."""
        return self.stories.branch(key, name)


def tables_of(session: PostgresSession) -> Tables:
    """The tables, asked through this session."""
    file = cast(SqliteFile, session)  # the methods the tables call are the same: rows, one, run, many, transaction
    lines, marks = Lines(file), MarkTable(file)
    cover = CoverTable(file, lines, marks)
    return Tables(
        StoryTable(file),
        marks,
        VersionTable(file, lines, cover, marks),
        PathReader(file, lines),
        PostgresPathWriter(session, lines, cover, marks),
    )
