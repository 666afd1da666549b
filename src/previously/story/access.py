"""The way to one story of a store: reads of one moment, and changes that are made whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeVar

from previously.core.continuation import LINK, Continuation, parse_continuation
from previously.core.errors import BadInput, HeadMoved
from previously.core.fold_rules import FoldRules
from previously.core.marks import Mark, MarkKind
from previously.core.snapshot import Snapshot
from previously.core.versions import Version
from previously.runtime.clock import time_at
from previously.runtime.story_moment import StoryMoment, find_known_reader
from previously.runtime.story_settings import StorySettings
from previously.storage.store import BranchInfo, Store, StoryInfo, StoryKey, StoryStamp
from previously.storage.tables import Tables

PERSON = "person"

MOST_SHARING = 8
"""Stories that are read for what a character learns elsewhere, the newest: each costs a look at its notes."""

T = TypeVar("T")

_EXPECTED: ContextVar[StoryStamp | None] = ContextVar("expected", default=None)
"""The stamp that a story must have for a change to be made."""


@dataclass(frozen=True, slots=True)
class StoryChange:
    """Reads and writes of one branch inside one transaction.

    It reads through the snapshot alone: what readers remember of a transaction that is taken back would be wrong.
    """

    tables: Tables
    key: StoryKey
    rules: FoldRules
    snapshot: Snapshot

    def add_mark(
        self,
        kind: MarkKind,
        position: int,
        text: str = "",
        *,
        seen: bytes = b"",
        of: int = 0,
        instead_of: Sequence[Mark] = (),
        made_by: str = PERSON,
    ) -> Mark:
        """Put a mark in place of others, a person's if nobody else is named. What begins behind one of them at the
        same place goes on."""
        same = [mark.origin for mark in instead_of if mark.kind is kind and mark.position == position]
        mark = Mark(0, same[-1] if same else 0, kind, position, text, made_by, time_at(), seen, of)
        branch = self.tables.branch(self.key, self.snapshot.branch)
        return self.tables.marks.add(self.key, branch, mark, [mark.id for mark in instead_of])

    def take_back_mark(self, mark: int) -> None:
        """Take a mark off the branch; what it retired is back."""
        self.tables.marks.take_back(self.key, self.tables.branch(self.key, self.snapshot.branch), mark)


class StoryAccess:
    """Knows where a story is and by which settings it is kept."""

    def __init__(self, store: Store, key: StoryKey, settings: StorySettings) -> None:
        self.store = store
        self.key = key
        self.settings = settings
        self._known_reader = find_known_reader(store, key)

    @property
    def rules(self) -> FoldRules:
        """The rules that memory is folded by."""
        return self.settings.in_force.fold_rules

    async def read(self, work: Callable[[StoryMoment], T]) -> T:
        """Run work that reads the active branch, all of one moment."""
        return await self.store.read(self.key.owner, lambda tables: work(self.make_moment(tables)))

    async def change(self, work: Callable[[StoryChange], T]) -> T:
        """Run work that changes the memory of the active branch, all of it or nothing. `HeadMoved` if the story is not
        as it is expected to be."""
        expected = _EXPECTED.get()

        def write(tables: Tables) -> T:
            if expected is not None and tables.stories.stamp(self.key) != expected:
                raise HeadMoved("Something else was done to this story meanwhile.")
            return work(StoryChange(tables, self.key, self.rules, tables.snapshot(self.key)))

        return await self.store.write(self.key, write)

    async def read_stamp(self) -> StoryStamp:
        """Return the stamp of the story as it is now."""
        return await self.store.read(self.key.owner, lambda tables: tables.stories.stamp(self.key))

    @contextmanager
    def expect(self, stamp: StoryStamp) -> Iterator[None]:
        """Let changes to memory be made only if the story still has this stamp."""
        token = _EXPECTED.set(stamp)
        try:
            yield
        finally:
            _EXPECTED.reset(token)

    async def read_branch(self, name: str | None = None) -> BranchInfo:
        """Return a branch as it is now, the active one if no name is given."""
        return await self.store.read(self.key.owner, lambda tables: tables.branch(self.key, name).info)

    def make_moment(self, tables: Tables) -> StoryMoment:
        """Return the active branch as these tables have it."""
        snapshot = tables.snapshot(self.key)
        return StoryMoment(
            snapshot,
            self.rules,
            self._known_reader,
            f"{self.key.owner}/{self.key.story}",
            partial(tables.recall, self.key),
            self.key,
            find_earlier=cache(partial(self._find_earlier, tables, snapshot, frozenset({self.key}))),
            read_header=partial(tables.stories.kept, self.key, "header"),
            list_sharing=partial(self._list_sharing, tables),
        )

    def _list_sharing(self, tables: Tables, book: str) -> list[StoryMoment]:
        """Return the other stories that have a book attached, the newest first."""
        others = tables.books.attached_to(self.key.owner, book) - {self.key.story}
        named = {info.key.story: info for info in tables.stories.all(self.key.owner) if info.key.story in others}
        newest = sorted(named, reverse=True)[:MOST_SHARING]
        return [self._make_moment_of(tables, named[story], tables.snapshot(named[story].key)) for story in newest]

    def _find_earlier(self, tables: Tables, snapshot: Snapshot, passed: frozenset[StoryKey]) -> StoryMoment | None:
        """Return the story that a branch continues, where it ended; None if there is none, or it is not here."""
        link = read_continuation(snapshot)
        info = tables.stories.known_by(self.key.owner, LINK, link.link) if link else None
        if link is None or info is None or info.key in passed:
            return None
        branches = tables.stories.branches(info.key)
        if not 0 <= link.branch < len(branches):
            return None
        branch = branches[link.branch].name
        earlier = tables.snapshot(info.key, branch)
        find_earlier = cache(partial(self._find_earlier, tables, earlier, passed | {info.key}))
        return replace(self._make_moment_of(tables, info, earlier), find_earlier=find_earlier)

    def _make_moment_of(self, tables: Tables, info: StoryInfo, snapshot: Snapshot) -> StoryMoment:
        """Return a branch of another story, as it is by itself."""
        return StoryMoment(
            snapshot,
            self.settings.of_story(tables.stories.kept(info.key, "settings")).in_force.fold_rules,
            find_known_reader(self.store, info.key),
            f"{info.key.owner}/{info.key.story}",
            partial(tables.recall, info.key, snapshot.branch),
            info.key,
            info.name,
        )


def read_continuation(snapshot: Snapshot) -> Continuation | None:
    """Return the link of a branch to the story it continues; None if it continues none."""
    marks = snapshot.marks({MarkKind.CONTINUES})
    return parse_continuation(marks[-1].text) if marks else None


def find_version(snapshot: Snapshot, version: int) -> Version:
    """Return a version of the story; `BadInput` if it has no such version."""
    found = snapshot.version(version)
    if found is None:
        raise BadInput(f"There is no version {version} in this story; `log` lists them.")
    return found
