"""One branch of one story at one moment: plain synchronous reads.

Everything that decides about memory reads through a `Snapshot`: planning, views, searches. A store makes one inside a
transaction; `before` and `with_planned` make another of it without asking the store to change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from previously.core.align import KnownEntry
from previously.core.errors import StoreProblem
from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath
from previously.core.versions import Kind, LiveVersion, Status, Version

ALL_MARKS = frozenset(MarkKind)


@dataclass(frozen=True, slots=True)
class KeptRecipe:
    """The recipe of a view. What its two texts say is the business of `view.recipe`."""

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
        """Return the name of the branch."""

    @property
    def head(self) -> int:
        """Return the node it ends in; 0 when it is empty."""

    @property
    def messages(self) -> int:
        """Return the number of messages on its path."""

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
        """Return the recipes of a reader whose newest message stands at positions first to last: the furthest first, of
        those at one place the newest."""

    def all_witnessed(self) -> bool:
        """Return whether no message of the story says who witnessed it."""

    def attached(self) -> list[str]:
        """Return the names of the books that the story has attached, in the order they were."""

    def book(self, name: str) -> str | None:
        """Return the text (JSON) of the owner's book of that name; None if there is none."""

    def book_times(self) -> dict[str, str]:
        """Return when each of the owner's books was kept, by name."""


def before(snapshot: Snapshot, length: int) -> Snapshot:
    """Return a branch as it was when its path had so many messages: neither messages nor marks that stand later are
    seen, nor memory that reaches further. Other memory is that of now: what was folded better since is told better."""
    return _Before(snapshot, min(length, snapshot.messages))


class _Before:
    def __init__(self, snapshot: Snapshot, length: int) -> None:
        self._snapshot = snapshot
        self.branch, self.messages = snapshot.branch, length
        self.leading_to, self.siblings = snapshot.leading_to, snapshot.siblings
        self.version, self.versions, self.newest_versions = (
            snapshot.version, snapshot.versions, snapshot.newest_versions,
        )  # fmt: skip
        self.notes = snapshot.notes  # the caller looks for the runs they read on the path it sees
        self.all_witnessed = snapshot.all_witnessed
        self.attached, self.book, self.book_times = snapshot.attached, snapshot.book, snapshot.book_times

    @property
    def head(self) -> int:
        newest = self.path(self.messages - 1, self.messages - 1)
        return newest[0].node if newest else 0

    def path(self, first: int, last: int) -> list[OnPath]:
        return self._snapshot.path(first, min(last, self.messages - 1))

    def known(self) -> list[KnownEntry]:
        return self._snapshot.known()[: self.messages]

    def position_of(self, node: int) -> int | None:
        position = self._snapshot.position_of(node)
        return position if position is not None and position < self.messages else None

    def marks(self, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1) -> list[Mark]:
        return [mark for mark in self._snapshot.marks(kinds, since=since) if mark.position < self.messages]

    def newest_mark(self, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        return _find_mark_back(self.marks({kind}), number)

    def live(self, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None) -> LiveVersion | None:
        return self._snapshot.live(kind, scope, firm=firm, through=self._within(through))

    def live_each(self, kind: Kind, asked: Sequence[tuple[str, int]]) -> list[LiveVersion | None]:
        return self._snapshot.live_each(kind, [(scope, self._within(through)) for scope, through in asked])

    def cover(self, kind: Kind | None = None, *, firm: bool = False) -> list[tuple[int, int, int]]:
        return [row for row in self._snapshot.cover(kind, firm=firm) if row[1] < self.messages]

    def spans(self, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        return {row for row in self._snapshot.spans(kind, firm=firm) if row[2] < self.messages}

    def recipes(self, reader: str, asked: str | None, most: int, *, first: int = -1, last: int) -> list[KeptRecipe]:
        return self._snapshot.recipes(reader, asked, most, first=first, last=self._within(last))

    def _within(self, through: int | None) -> int:
        return self.messages - 1 if through is None else min(through, self.messages - 1)


def with_planned(
    snapshot: Snapshot,
    versions: Sequence[Version],
    marks: Sequence[Mark],
    *,
    gone: Collection[int] = (),
    loose: bool = False,
) -> Snapshot:
    """Return a branch as it would be with these versions and marks, and without those that are gone. With `loose`, what
    is there already is taken to be firm no more."""
    return _Planned(snapshot, versions, marks, gone, loose=loose)


class _Planned:
    def __init__(
        self,
        snapshot: Snapshot,
        versions: Sequence[Version],
        marks: Sequence[Mark],
        gone: Collection[int],
        *,
        loose: bool,
    ) -> None:
        self._snapshot = snapshot
        self._versions, self._marks, self._gone, self._loose = versions, marks, gone, loose
        self.branch, self.head, self.messages = snapshot.branch, snapshot.head, snapshot.messages
        self.path, self.known, self.siblings = snapshot.path, snapshot.known, snapshot.siblings
        self.position_of, self.leading_to = snapshot.position_of, snapshot.leading_to
        self.newest_versions = snapshot.newest_versions  # none is planned that waits, or was refused
        self.recipes, self.all_witnessed = snapshot.recipes, snapshot.all_witnessed
        self.attached, self.book, self.book_times = snapshot.attached, snapshot.book, snapshot.book_times

    def marks(self, kinds: Collection[MarkKind] = ALL_MARKS, *, since: int = -1) -> list[Mark]:
        own = [mark for mark in self._marks if mark.kind in kinds and mark.position >= since]
        return sorted([*self._snapshot.marks(kinds, since=since), *own], key=lambda mark: mark.position)

    def newest_mark(self, kind: MarkKind, number: int) -> tuple[Mark | None, int]:
        return _find_mark_back(self.marks({kind}), number)

    def live(self, kind: Kind, scope: str, *, firm: bool = False, through: int | None = None) -> LiveVersion | None:
        own = [
            LiveVersion(version, version.made.span)
            for version in self._versions
            if (version.made.kind, version.made.scope) == (kind, scope)
            and (through is None or version.made.span.last <= through)
        ]
        hidden = self._loose and firm
        there = None if hidden else self._snapshot.live(kind, scope, firm=firm, through=through)
        while there and there.version.id in self._gone:
            there = self._snapshot.live(kind, scope, firm=firm, through=there.span.last - 1)
        if there:
            there = replace(there, version=self._loosened(there.version))
        return max([*own, *([there] if there else [])], key=lambda version: version.span.last, default=None)

    def live_each(self, kind: Kind, asked: Sequence[tuple[str, int]]) -> list[LiveVersion | None]:
        return [self.live(kind, scope, through=through) for scope, through in asked]

    def cover(self, kind: Kind | None = None, *, firm: bool = False) -> list[tuple[int, int, int]]:
        own = [
            (version.made.span.first, version.made.span.last, version.id)
            for version in self._versions
            if kind is None or version.made.kind is kind
        ]
        there = [] if self._loose and firm else self._snapshot.cover(kind, firm=firm)
        return [*(row for row in there if row[2] not in self._gone), *own]

    def spans(self, kind: Kind, *, firm: bool = False) -> set[tuple[str, int, int]]:
        own = {
            (version.made.scope, version.made.span.first, version.made.span.last)
            for version in self._versions
            if version.made.kind is kind
        }
        return own if self._loose and firm else self._snapshot.spans(kind, firm=firm) | own

    def version(self, version: int) -> Version | None:
        own = next((planned for planned in self._versions if planned.id == version), None)
        return own or self._snapshot.version(version)

    def versions(self) -> list[Version]:
        return [*self._snapshot.versions(), *self._versions]

    def notes(self, kind: Kind, scope: str, firsts: Sequence[bytes]) -> list[Version]:
        own = [
            version
            for version in self._versions
            if (version.made.kind, version.made.scope) == (kind, scope)
            and version.made.first
            and version.made.first in firsts
        ]
        there = self._snapshot.notes(kind, scope, firsts)
        return [*(self._loosened(version) for version in there if version.id not in self._gone), *own]

    def _loosened(self, version: Version) -> Version:
        return replace(version, firm=False) if self._loose else version


def _find_mark_back(marks: Sequence[Mark], number: int) -> tuple[Mark | None, int]:
    if len(marks) <= number:
        return None, 0
    mark = marks[-1 - number]
    return mark, len({other.position for other in marks if other.position <= mark.position})


READ_AHEAD = 64
"""Messages that are read at a time where it is not known how many will be needed: about those of a usual fold."""


def read_run(snapshot: Snapshot, first: int, last: int) -> list[OnPath]:
    """Return a run of the path, whole; a store that has lost part of it is a `StoreProblem`."""
    run = snapshot.path(first, last)
    if len(run) != last - first + 1:
        raise StoreProblem(f"Branch {snapshot.branch!r} has lost part of its path: `previously verify` says more.")
    return run


def read_newest(
    snapshot: Snapshot, first: int, budget_tokens: int, cost: Callable[[OnPath], int], most: int
) -> list[OnPath]:
    """Return the newest messages from `first` on, as far back as a budget can reach in which each costs so much, but no
    more than about `most`."""
    newest: list[OnPath] = []
    tokens, end = 0, snapshot.messages
    while end > first and tokens <= budget_tokens and len(newest) < most:
        batch = snapshot.path(max(first, end - READ_AHEAD), end - 1)
        tokens += sum(map(cost, batch))
        newest[:0] = batch
        end = batch[0].position
    return newest
