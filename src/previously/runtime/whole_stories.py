"""The stories of one owner as wholes: read into a spool, taken in from one, and the backups that were made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from previously.core.errors import BadInput, StoreProblem, UnknownStory
from previously.storage.copy import Step, read_story, write_story
from previously.storage.database import Database
from previously.storage.spool import Spool
from previously.storage.tables import Tables
from previously.storage.tables.books import Book
from previously.storage.tables.records import StoryInfo, StoryKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Whole:
    """A story as it was when it was read."""

    story: str
    messages: int
    """Of its active branch."""
    digest: str


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made."""

    path: str
    at: str
    stories: tuple[Whole, ...]


class NameTaken(BadInput):
    """There is a story of that name, and it is another one."""


class WholeStories:
    """The stories of one owner in one database. `place` is how errors call it."""

    def __init__(self, database: Database, owner: str, place: str) -> None:
        self._database = database
        self._owner = owner
        self.place = place

    async def all(self) -> list[StoryInfo]:
        """Every story, by name."""
        return await self._read(lambda tables: tables.stories.all(self._owner))

    async def look(self, name: str, step: Step) -> Whole:
        """A story's digest. `UnknownStory` if there is none of that name."""
        with Spool(keeping=False) as spool:
            return await self.hand_over(name, spool, step)

    async def hand_over(self, name: str, spool: Spool, step: Step) -> Whole:
        """Write a whole story into a spool."""

        def read(tables: Tables) -> Whole:
            info = tables.stories.named(self._owner, name)
            if info is None:
                raise UnknownStory(name)
            read_story(tables.session, info.key, spool, step)
            return Whole(name, info.active.messages, spool.digest)

        try:
            return await self._database.reading(self._owner, read)
        except StoreProblem as problem:
            raise StoreProblem(f"Story {name!r} cannot be read from {self.place}. {problem}") from problem

    async def take_in(self, name: str, spool: Spool, step: Step, *, aside: str = "") -> None:
        """The story in the spool, under that name. One that has the name is `NameTaken`, or with `aside` given that
        name, or one like it, in its place."""

        def write(tables: Tables) -> None:
            existing = tables.stories.named(self._owner, name)
            if existing is not None:
                if not aside:
                    raise NameTaken(f"There is a story named {name!r} in {self.place} by now.")
                self._rename(tables, existing.key, aside)
            (story,) = tables.session.reserve("story", 1)
            write_story(tables.session, StoryKey(self._owner, story), name, spool, step)

        try:
            await self._database.creating(self._owner, name, write)
        except StoreProblem as problem:
            raise StoreProblem(f"Story {name!r} cannot be written to {self.place}. {problem}") from problem

    def _rename(self, tables: Tables, key: StoryKey, wanted: str) -> None:
        free, number = wanted, 1
        while tables.stories.named(self._owner, free) is not None:
            number += 1
            free = f"{wanted} {number}"
        tables.session.run("rename_story", {"name": free, "story": key.story, "owner": self._owner})

    async def books(self) -> list[str]:
        """The names of the owner's books."""
        return [one.name for one in await self._read(lambda tables: tables.books.all(self._owner))]

    async def book(self, name: str) -> Book | None:
        """The book of that name, if it is still there."""
        return await self._read(lambda tables: tables.books.get(self._owner, name))

    async def take_in_book(self, book: Book) -> None:
        """Keep a book that may be attached to no story; where another has its name, under a name like it."""
        key = StoryKey(self._owner, 0)
        await self._database.writing(key, lambda tables: tables.books.take_in_beside(self._owner, book))

    async def backups(self) -> list[Backup]:
        """Return every backup that was noted, the oldest first."""
        rows = await self._read(lambda tables: tables.session.rows("backups", {"owner": self._owner}))
        try:
            return [Backup(path, at, tuple(Whole(**one) for one in json.loads(stories))) for path, at, stories in rows]
        except (TypeError, ValueError) as error:
            raise StoreProblem(f"{self.place} is damaged: what it notes of backups cannot be read.") from error

    async def note(self, backup: Backup) -> None:
        """Keep a note in the store that a backup was made."""
        await self._write_backup("insert_backup", backup)

    async def begun(self, name: str) -> str:
        """Return the time at which a story was begun: its copies have that in common, whatever they are called."""
        row = await self._read(lambda tables: tables.session.one("story_begun", {"owner": self._owner, "name": name}))
        if row is None:
            raise UnknownStory(name)
        return str(row[0])

    async def begun_at(self, at: str) -> list[tuple[StoryKey, str]]:
        """The stories that were begun at that time, by name."""
        rows = await self._read(lambda tables: tables.session.rows("stories_begun", {"owner": self._owner, "at": at}))
        return [(StoryKey(self._owner, story), name) for story, name in rows]

    async def note_again(self, backup: Backup) -> None:
        """Note the present content of a backup that was noted before."""
        await self._write_backup("update_backup", backup)

    async def _write_backup(self, query: str, backup: Backup) -> None:
        stories = json.dumps([asdict(story) for story in backup.stories], ensure_ascii=False)
        values = {"owner": self._owner, "path": backup.path, "at": backup.at, "stories": stories}
        await self._database.writing(StoryKey(self._owner, 0), lambda tables: tables.session.run(query, values))

    async def _read(self, question: Callable[[Tables], T]) -> T:
        try:
            return await self._database.reading(self._owner, question)
        except StoreProblem as problem:
            raise StoreProblem(f"{self.place} cannot be read. {problem}") from problem

    async def damage(self) -> Sequence[str]:
        """Return the faults that the database finds in itself."""
        return await self._database.damage()
