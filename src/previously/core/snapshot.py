"""One branch of one story at one moment: plain synchronous reads.

Everything that decides about memory reads through a `Snapshot`: planning, views, searches. A store makes one inside a
transaction; `before` and `with_planned` make another of it without asking the store to change anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from previously.core.align import KnownEntry
from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath
from previously.core.versions import Kind, LiveVersion, Status, Version

ALL_MARKS = frozenset(MarkKind)


@dataclass(frozen=True, slots=True)
class KeptRecipe:
    """How a view was made. What its two texts say is the business of `view.recipe`."""

    reader: str
    """For whom."""
    asked: str
    """Under which terms: views of the same terms make up epochs."""
    node: int
    """The newest message of the path it was of,"""
    position: int
    """and where that stands."""
    before_tail: int
    """The node before its tail; 0 if the tail begins the story."""
    epoch: str
    body: str
    at: str


class Snapshot(Protocol):
    """Reads of one branch, all of one moment."""

    @property
    def branch(self) -> str:
        """The name of the branch."""

    @property
    def head(self) -> int:
        """The node it ends in; 0 when it is empty."""

    @property
    def messages(self) -> int:
        """How many messages stand on its path."""

    def path(self, first: int, last: int) -> list[OnPath]:
        """Return the messages at positions first to last, both included; positions off the path are left out."""

    def known(self) -> list[KnownEntry]:
        """Return the whole path as alignment needs it, in order."""

    def siblings(self, position: int) -> list[OnPath]:
        """Return every entry that ever stood at that place after the same messages, the oldest first."""

    def position_of(self, node: int) -> int | None:
        """Return the last position on the path of the entry of a node; None if it stands nowhere."""

    def leading_to(self, node: int, most: int) -> list[OnPath]:
        """Return the last messages, `most` at most, of the path that ends in a node, on this branch or none."""

    def marks(self, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1) -> list[Mark]:
        """Return the marks of these kinds from a position on, in path order; at one position the oldest first."""

    def newest_mark(self, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        """Return the last but `number` of the marks of a kind, and at how many messages such marks stand up to it."""

    def live(self, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None) -> LiveVersion | None:
        """Return the valid version that reaches furthest (with `through`, not beyond it); of equals the newest."""

    def live_each(self, kind: Kind, asked: Sequence[tuple[str, int]]) -> list[LiveVersion | None]:
        """Return `live` for several pairs of a scope and `through`, in their order."""

    def cover(self, kind: Kind | None = None, *, firm: bool = False) -> list[tuple[int, int, int]]:
        """Return `(first, last, version)` of every valid version, by last, then version."""

    def spans(self, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        """Return `(scope, first, last)` of every valid version of a kind."""

    def version(self, version: int) -> Version | None:
        """Return a version of the story; None if it has no such version."""

    def versions(self) -> list[Version]:
        """Return every version of the story, the oldest first."""

    def newest_versions(self, kind: Kind, scope: str, status: Status, most: int, *, beyond: int = -1) -> list[Version]:
        """Return the newest versions of a status that stand for more than `beyond` messages, the newest first."""

    def notes(self, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        """Return every version in force whose first message has one of these digests, the oldest first."""

    def recipes(self, reader: str, asked: str | None, most: int, *, first: int = -1, last: int) -> list[KeptRecipe]:
        """Return the recipes of a reader whose newest message stands at positions first to last: the furthest first,
        of those at one place the newest."""

    def all_witnessed(self) -> bool:
        """Return whether no message of the story says who witnessed it."""

    def attached(self) -> list[str]:
        """Return the names of the books that the story has attached, in the order they were."""

    def book(self, name: str) -> str | None:
        """Return the text (JSON) of the owner's book of that name; None if there is none."""
