"""Records of stories and branches, as the tables give them to callers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

MAIN = "main"
"""The branch every story begins with."""


NO_NODE = 0
"""The head of an empty branch."""


@dataclass(frozen=True, slots=True)
class StoryKey:
    """Names one story of one owner."""

    owner: str
    story: int

    @property
    def values(self) -> dict[str, Any]:
        """The values that every query about a story asks for."""
        return {"story": self.story, "owner": self.owner}


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
class StoryStamp:
    """Numbers that are others after every change to a story."""

    story: int
    name: str
    branch: str
    head: int
    messages: int
    moves: int
    versions: int
    marks: int
    retired: int
    books: int
    settings: str

    @property
    def path(self) -> tuple[int | str, ...]:
        """Return the part that is of its messages."""
        return self.branch, self.head, self.messages, self.moves

    @property
    def memory(self) -> tuple[int, ...]:
        """Return the part that is of its memory, by folds and by hand."""
        return self.versions, self.marks, self.retired, self.books


@dataclass(frozen=True, slots=True)
class Move:
    """A branch's head went from one node to another."""

    branch: str
    old_head: int
    new_head: int
    at: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Counts of destroyed rows."""

    entries: int
    versions: int
    cleared: bool = True  # whether no log beside the tables holds it any more, as far as that is ours


Traces = Mapping[bytes, Collection[bytes]]
"""Digests of entries, each with the hashes of its nodes."""


NO_ENTRY = -1
"""Before the first entry of any story."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The progress of a story's index."""

    version: int
    """Of what is computed and how it is kept."""
    word_table: str = ""
    """Whose vectors are kept; empty = none."""
    through: int = NO_ENTRY
    """The last entry that is indexed."""
    vectors_through: int = NO_ENTRY
    """The last entry whose vector is kept, if it has one. A process that has no table of vectors lets it lag."""
    changes: int = 0
    """Grows whenever what is known of an entry changes."""
