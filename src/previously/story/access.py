"""The way to one story of a store: reads of one moment, and changes that are made whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind
from previously.core.snapshot import Snapshot
from previously.core.versions import Version
from previously.folds.recap import FoldRules
from previously.runtime.clock import time_at
from previously.runtime.story_moment import StoryMoment, find_known_reader
from previously.runtime.story_settings import StorySettings
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.storage.tables import Tables

PERSON = "person"

T = TypeVar("T")


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
        """Run work that changes the memory of the active branch, all of it or nothing."""

        def write(tables: Tables) -> T:
            return work(StoryChange(tables, self.key, self.rules, tables.snapshot(self.key)))

        return await self.store.write(self.key, write)

    async def read_branch(self, name: str | None = None) -> BranchInfo:
        """Return a branch as it is now, the active one if no name is given."""
        return await self.store.read(self.key.owner, lambda tables: tables.branch(self.key, name).info)

    def make_moment(self, tables: Tables) -> StoryMoment:
        """Return the active branch as these tables have it."""
        return StoryMoment(
            tables.snapshot(self.key),
            self.rules,
            self._known_reader,
            f"{self.key.owner}/{self.key.story}",
            partial(tables.recall, self.key),
        )


def find_version(snapshot: Snapshot, version: int) -> Version:
    """Return a version of the story; `BadInput` if it has no such version."""
    found = snapshot.version(version)
    if found is None:
        raise BadInput(f"There is no version {version} in this story; `log` lists them.")
    return found
