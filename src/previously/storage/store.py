"""The contract of every store.

A store keeps stories, entries, nodes, branches and versions. It decides nothing about memory: it writes what it is
given, each verb in one atomic step, and answers what is on a path. What it promises:

- **Nothing is lost.** A script takes messages off a path, never out of the store.
- **The path of a branch** is the chain of nodes from its head to the root. Whatever a store keeps to answer faster
  must always equal that.
- **The cover of a branch** is what `core.cover.place` says of its path, its marks and the story's versions, always.
- **Owners are walls.** Every verb takes a `StoryKey` or an owner; nothing of another owner is ever found or changed.
- **A verb that raises has changed nothing.**

Times come from the caller. Verbs are async so that a store may wait for a disk, a group commit or a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from previously.core.align import Known
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft
from previously.core.paths import OnPath
from previously.core.scripts import Script
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Version

MAIN = "main"
"""The branch every story begins with."""

NO_NODE = 0
"""The head of an empty branch."""


@dataclass(frozen=True, slots=True)
class StoryKey:
    """Names one story of one owner."""

    owner: str
    story: int


@dataclass(frozen=True, slots=True)
class BranchInfo:
    """A branch as it is now."""

    name: str
    head: int
    """The node it ends in; `NO_NODE` when it is empty."""
    messages: int
    """How long its path is."""


@dataclass(frozen=True, slots=True)
class StoryInfo:
    """A story as it is now."""

    key: StoryKey
    name: str
    active: BranchInfo
    branches: int
    budget_tokens: int | None
    """The budget a view was last asked for, so that folding knows how much room there is."""


@dataclass(frozen=True, slots=True)
class Move:
    """A branch's head went from one node to another."""

    branch: str
    old_head: int
    new_head: int
    at: str


class Store(Protocol):
    """All that the engine asks of a place where stories live."""

    async def stories(self, owner: str) -> list[StoryInfo]:
        """The owner's stories by name."""

    async def story(self, owner: str, name: str) -> StoryInfo | None:
        """The story of that name, or None."""

    async def create_story(self, owner: str, name: str, *, at: str) -> StoryInfo:
        """A new story with an empty branch `main`; the one that exists, if it does."""

    async def branches(self, key: StoryKey) -> list[BranchInfo]:
        """Every branch, the oldest first."""

    async def branch(self, key: StoryKey, name: str | None = None) -> BranchInfo:
        """The branch of that name, or the active one; `UnknownBranch` if there is none."""

    async def path(self, key: StoryKey, branch: str, first: int, last: int) -> list[OnPath]:
        """What stands at positions first to last, both included, in order; positions off the path are left out."""

    async def known(self, key: StoryKey, branch: str) -> list[Known]:
        """The whole path as alignment needs it, in order."""

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        """Every entry that ever stood at that place after the same messages, the one on the path included, oldest
        first."""

    async def apply(
        self,
        key: StoryKey,
        branch: str,
        script: Script,
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        """Change the path of a branch. Alternatives of what is put become siblings.

        `HeadMoved` when `expected_head` is given and is not the head. A `receipt` seen before changes nothing and
        gives back the branch as it is.
        """

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        """Give entries new attributes; no node moves. Entries of other stories are left alone."""

    async def add_siblings(self, key: StoryKey, branch: str, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        """Add alternatives at positions of the path, those not there yet by digest; how many were added."""

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        """A new branch that holds the first `length` messages of another. `BadInput` if the name is taken."""

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        """Make a branch the active one."""

    async def marks(self, key: StoryKey, branch: str) -> list[Mark]:
        """The marks of a branch in path order; at one position those made earlier first."""

    async def add_mark(
        self, key: StoryKey, branch: str, kind: MarkKind, position: int, text: str, *, made_by: str, at: str
    ) -> Mark:
        """Put a mark at a position of the path. Applying a script moves marks along (`core.marks.moved`); a fork copies
        those that stand before it."""

    async def moves(self, key: StoryKey) -> list[Move]:
        """Every move of a head, the oldest first."""

    async def commit(self, key: StoryKey, version: NewVersion) -> Version:
        """Keep a version. If one of the same kind and scope that read the same, went on from the same and replaces
        the same is there already, that one is given back and the new one discarded; except that a committed version
        replaces a provisional one."""

    async def versions(self, key: StoryKey) -> list[Version]:
        """Every version, the oldest first."""

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False
    ) -> LiveVersion | None:
        """The version that reaches furthest among those valid on the path (with `firm`, of the firm ones); of equals
        the newest. None if none is."""

    async def cover(self, key: StoryKey, branch: str) -> list[tuple[int, int, int]]:
        """`(first, last, version)` of every version valid on the path, by last, then version."""

    async def spent(self, owner: str, since: str) -> Cost:
        """What the calls to models for this owner's folds have cost since that time, refused answers included."""

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        """Whether `holder` may do this work on the story: nobody else holds an unexpired lease. Taking it again
        extends it."""

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        """Give a lease back; no-op for one that is not held."""

    async def header(self, key: StoryKey) -> str:
        """What the source of the story says beside its messages, as JSON; `{}` if nothing was kept."""

    async def keep_header(self, key: StoryKey, header: str) -> None:
        """Keep that, in place of what was kept before."""

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        """Remember the budget a view was asked for."""

    async def close(self) -> None:
        """Give back what the store holds. Everything acknowledged stays."""
