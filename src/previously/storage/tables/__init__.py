"""The tables of a story as one session sees them.

Only the named queries differ between databases: which rows stand for a path, a mark, or what is valid where is decided
by this code on each. All of it runs inside a transaction that a `Database` begins and ends. Other packages are handed
`Tables`; the modules of the tables are for `storage` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from previously.storage.tables.answers import AnswerTable
from previously.storage.tables.books import BookTable
from previously.storage.tables.cover import CoverTable
from previously.storage.tables.forget import MessageEraser
from previously.storage.tables.keys import KeyTable
from previously.storage.tables.marks import MarkTable
from previously.storage.tables.path_writer import PathWriter
from previously.storage.tables.paths import Lines, PathReader
from previously.storage.tables.recall_cache import KeptPaths
from previously.storage.tables.recipes import RecipeTable
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Session
from previously.storage.tables.snapshot import StoredSnapshot
from previously.storage.tables.stories import BranchRow, StoryTable
from previously.storage.tables.versions import VersionTable

if TYPE_CHECKING:
    from previously.recall.outline import PathEntries
    from previously.recall.search import StoryIndex
    from previously.recall.vectors import WordTable


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables, for work inside the transaction of their session."""

    session: Session
    stories: StoryTable
    marks: MarkTable
    versions: VersionTable
    reader: PathReader
    writer: PathWriter
    forgetting: MessageEraser
    recipes: RecipeTable
    keys: KeyTable
    books: BookTable
    answers: AnswerTable
    paths: KeptPaths

    def snapshot(self, key: StoryKey, branch: str | None = None) -> StoredSnapshot:
        """Return a branch as it is at this moment, the active one if no name is given."""
        return StoredSnapshot(self, key, branch)

    def recall(self, key: StoryKey, branch: str | None = None) -> tuple[StoryIndex, PathEntries]:
        """Return the story's index of what is said, and the path of a branch as the index knows it."""
        from previously.storage.tables.recall_index import open_story_index, read_path_entries

        path = read_path_entries(self.session, key, self.branch(key, branch), self.paths)
        return open_story_index(self.session, key, self.paths.indexes), path

    def index(self, key: StoryKey, table: WordTable | None, most: int) -> int:
        """Index entries of the story that are not indexed yet, in this transaction, `most` at most; return how many
        still wait. More than a few are for `Store.index`, which computes them while others write."""
        from previously.storage.tables.recall_index import keep_batch, read_batch

        while batch := read_batch(self.session, key, table, most):
            if keep_batch(self.session, key, batch):
                return batch.waiting
        return 0

    def branch(self, key: StoryKey, name: str | None) -> BranchRow:
        """The branch of that name, or the active one."""
        return self.stories.branch(key, name)


def make_tables(session: Session, paths: KeptPaths | None = None) -> Tables:
    """The tables, asked through this session."""
    lines, marks = Lines(session), MarkTable(session)
    cover = CoverTable(session, lines, marks)
    return Tables(
        session,
        StoryTable(session),
        marks,
        VersionTable(session, lines, cover, marks),
        PathReader(session, lines),
        PathWriter(session, lines, cover, marks),
        MessageEraser(session, lines, cover),
        RecipeTable(session),
        KeyTable(session),
        BookTable(session),
        AnswerTable(session),
        paths or KeptPaths(),
    )
