"""The contract of every store.

A store keeps stories, entries, nodes, branches and versions. It decides nothing about memory: it writes what it is
given, each verb in one atomic step, and answers what is on a path. What it promises:

- **Nothing is lost.** A script takes messages off a path, never out of the store.
- **The path of a branch** is the chain of nodes from its head to the root. What is kept to answer faster equals that.
- **The cover of a branch** is what `core.cover.place` says of its path, its marks and the story's versions, always.
- **A note of a span** is covered nowhere: it is found by the first message it read; callers see where it stands.
- **Owners are walls.** Verbs about stories take a `StoryKey` or an owner; nothing of another's is found or changed.
- **A verb that raises has changed nothing.**

Times come from the caller. Verbs are async so that a store may wait for a disk, a group commit or a network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from previously.core.align import KnownEntry
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Attributes, Draft
from previously.core.path import OnPath, Splices
from previously.core.snapshot import ALL_MARKS
from previously.core.versions import Cost, Kind, LiveVersion
from previously.storage.answer_store import AnswerStore
from previously.storage.book_store import BookStore
from previously.storage.key_store import KeyStore
from previously.storage.recall_store import RecallStore
from previously.storage.recognition_store import RecognitionStore
from previously.storage.version_store import VersionStore
from previously.storage.view_store import ViewStore

if TYPE_CHECKING:
    from previously.storage.tables import Tables

T = TypeVar("T")
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


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was destroyed."""

    entries: int
    versions: int
    cleared: bool = True  # whether no log beside the tables holds it any more, as far as that is ours


Traces = Mapping[bytes, Collection[bytes]]
"""Digests of entries, each with the hashes of its nodes."""


class Store(AnswerStore, BookStore, KeyStore, RecallStore, RecognitionStore, VersionStore, ViewStore, Protocol):
    """All that the engine asks of a place where stories live."""

    async def at_one_moment(self, owner: str, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
        """Reads that belong together. `work` gets a store that answers as of one moment, and waits for nothing else."""

    async def read(self, owner: str, work: Callable[[Tables], T]) -> T:
        """Run work that reads, all of one moment. It may run in another thread, and may be run again: it has no effect
        but its result."""

    async def write(self, key: StoryKey, work: Callable[[Tables], T]) -> T:
        """Run work that writes to a story: all of it is on disk when this returns, or nothing ever was."""

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

    async def known(self, key: StoryKey, branch: str) -> list[KnownEntry]:
        """The whole path as alignment needs it, in order."""

    async def siblings(self, key: StoryKey, branch: str, position: int) -> list[OnPath]:
        """Every entry that ever stood at that place after the same messages, the one on the path included, oldest
        first."""

    async def apply(
        self,
        key: StoryKey,
        branch: str,
        script: Splices,
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        """Change the path of a branch. Alternatives of what is put become siblings.

        `HeadMoved` when `expected_head` is given and is not the head. A `receipt` seen before changes nothing and
        gives back the branch as it is.
        """

    async def append(
        self,
        key: StoryKey,
        branch: str | None,
        drafts: Sequence[Draft],
        *,
        at: str,
        expected_head: int | None = None,
        receipt: str | None = None,
    ) -> BranchInfo:
        """Put messages at the end of a branch (None = the active one), wherever that is by now; else as `apply`."""

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        """Give entries new attributes; no node moves. Entries of other stories are left alone."""

    async def add_siblings(self, key: StoryKey, branch: str, siblings: Sequence[tuple[int, Sequence[Draft]]]) -> int:
        """Add alternatives at positions of the path, those not there yet by digest; how many were added."""

    async def fork(self, key: StoryKey, source: str, name: str, length: int, *, at: str) -> BranchInfo:
        """A new branch that holds the first `length` messages of another. `BadInput` if the name is taken."""

    async def switch(self, key: StoryKey, name: str) -> BranchInfo:
        """Make a branch the active one."""

    async def marks(
        self, key: StoryKey, branch: str, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1
    ) -> list[Mark]:
        """The marks of a branch from a position on, of these kinds, in path order; at one position those made earlier
        first."""

    async def newest_mark(self, key: StoryKey, branch: str, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        """The last but `number` of the marks of a kind (0 = the last), and at how many messages such marks stand up to
        it; None and 0 if there are not that many."""

    async def add_mark(
        self,
        key: StoryKey,
        branch: str,
        kind: MarkKind,
        position: int,
        text: str,
        *,
        made_by: str,
        at: str,
        seen: bytes = b"",
        of: int = 0,
        origin: int = 0,
        retires: Collection[int] = (),
    ) -> Mark:
        """Put a mark at a position of the path, in place of those of the branch that it retires. With the `origin` of
        one of them it takes over its scope, and must stand where that does.

        Applying a script moves marks along (`core.marks.moved`), retired ones too; a fork copies those that stand
        before it, in the order they were made; what a mark behind the fork retired is back on the copy."""

    async def take_back_mark(self, key: StoryKey, branch: str, mark: int) -> None:
        """Take a mark off the branch for good; what it retired is back. Copies on other branches stay. Its scope is
        never given to another mark. `BadInput` if the branch has no such mark."""

    async def moves(self, key: StoryKey) -> list[Move]:
        """Every move of a head, the oldest first."""

    async def live(
        self, key: StoryKey, branch: str, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None
    ) -> LiveVersion | None:
        """The version that reaches furthest among those valid on the path (with `firm`, of the firm ones; with
        `through`, of those that end there or before); of equals the newest. None if none is."""

    async def live_each(
        self, key: StoryKey, branch: str, kind: Kind, asked: Sequence[tuple[str, int]]
    ) -> list[LiveVersion | None]:
        """`live` for several pairs of a scope and `through`, in their order, all of one moment."""

    async def cover(
        self, key: StoryKey, branch: str, kind: Kind | None = None, *, firm: bool = False
    ) -> list[tuple[int, int, int]]:
        """`(first, last, version)` of every version valid on the path (of that kind; with `firm`, of the firm ones),
        by last, then version."""

    async def spans(self, key: StoryKey, branch: str, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        """`(scope, first, last)` of every version of a kind valid on the path (with `firm`, of the firm ones)."""

    async def position_of(self, key: StoryKey, branch: str, node: int) -> int | None:
        """Where the entry of that node stands on the path now, the last place of several; None if nowhere."""

    async def leading_to(self, key: StoryKey, node: int, most: int) -> list[OnPath]:
        """The last messages, `most` at most, of the path that ends in a node, in order; on a branch or on none."""

    async def settings(self, key: StoryKey) -> str:
        """The story's own settings, as JSON; `{}` if none were kept."""

    async def keep_settings(self, key: StoryKey, settings: str) -> None:
        """Keep those, in place of what was kept before."""

    async def spent(self, owner: str, since: str) -> Cost:
        """What the calls to models for this owner's folds have cost since that time, refused answers included."""

    async def take_lease(self, key: StoryKey, work: str, holder: str, *, now: str, until: str) -> bool:
        """Whether `holder` may do this work: nobody else holds an unexpired lease. Taking it again extends it."""

    async def give_lease(self, key: StoryKey, work: str, holder: str) -> None:
        """Give a lease back; no-op for one that is not held."""

    async def header(self, key: StoryKey) -> str:
        """What the source of the story says beside its messages, as JSON; `{}` if nothing was kept."""

    async def keep_header(self, key: StoryKey, header: str) -> None:
        """Keep that, in place of what was kept before."""

    async def note_budget(self, key: StoryKey, budget_tokens: int) -> None:
        """Remember the budget a view was asked for."""

    async def standing_at(self, key: StoryKey, branch: str, first: int, last: int) -> set[int]:
        """The entries at these positions, their other wordings, and what else stood there and stands nowhere now."""

    async def traces(self, key: StoryKey, entries: Collection[int]) -> Traces:
        """By what these entries are known in a copy of the story."""

    async def entries_like(self, key: StoryKey, traces: Traces) -> tuple[set[int], bool]:
        """The entries that leave these traces: those in the same place, else the only one that says the same; and
        whether that is certain."""

    async def forget_entries(self, key: StoryKey, entries: Collection[int]) -> Forgotten:
        """Destroy what entries say, and every version made where they could be read. Both stay as rows without
        content, entries hidden; nodes are hashed anew. The story's answers of models go. What people wrote stays,
        without its key."""

    async def forget_story(self, key: StoryKey) -> bool:
        """Destroy a story with all that belongs to it, but no book; whether no log holds it any more."""

    async def close(self) -> None:
        """Give back what the store holds. Everything acknowledged stays."""
