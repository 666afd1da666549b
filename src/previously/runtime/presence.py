"""Who is there: set by hand, or in a game read from its prose, for all that is said from then on.

What must stay true: presence follows the branch, like everything a person says of a story; a message whose witnesses
are given keeps them; what is read from prose is only suggested, except in games.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Draft
from previously.core.people import People, characters, people_after
from previously.core.text import clean
from previously.core.witnessing import folded_name
from previously.folds.presence import Change, presence_after
from previously.runtime.handle import StoryHandle
from previously.runtime.times import time_at
from previously.storage.store import BranchInfo, Store

KINDS = frozenset({MarkKind.LEFT, MarkKind.ENTERED})

INFERRED = "read from the story"
"""Who says so, where nobody did."""

LONGEST_NAME = 100
LOOKED_AT = 20
"""How many of the newest messages suggestions are read from."""


class Presence(StoryHandle):
    """What a person says of who is there."""

    async def leave(self, name: str) -> None:
        """From the next message on, somebody is not there."""
        await self._say(MarkKind.LEFT, name)

    async def enter(self, name: str) -> None:
        """From the next message on, somebody is there again."""
        await self._say(MarkKind.ENTERED, name)

    async def absent(self) -> list[str]:
        """Who has left and not come back, in the order they left."""
        branch = await self.branch_info()
        return absent_of(await self._store.marks(self._key, branch.name, KINDS))

    async def suggested_presence(self) -> list[Change]:
        """Who seems to have left or come in by the newest messages, since anybody said where they are."""
        branch, marks = await self._store.at_one_moment(self._key.owner, self._marked)
        first = max(0, branch.messages - LOOKED_AT)
        path = await self._store.path(self._key, branch.name, first, branch.messages - 1) if branch.messages else []
        cast = characters(await self._people(branch))
        standing = there = frozenset(cast) - _spelt(absent_of(marks), cast)
        said = {folded_name(mark.text): mark.position for mark in marks}
        found: list[Change] = []
        for item in path:
            change = presence_after(there, cast, item.entry.message)
            told = frozenset(name for name in cast if said.get(folded_name(name), -1) >= item.position)
            change = _only(change, frozenset(cast) - told)
            found.append(change)
            there = (there | set(change.entered)) - set(change.left)
        return _unlike(found, there ^ standing)

    _met: tuple[int, People] = (0, {})
    """The people of the story up to a node: who goes on from there need not read it again."""

    async def _people(self, branch: BranchInfo) -> People:
        if branch.head and self._met[0] == branch.head:
            return self._met[1]
        known = await self._store.at_one_moment(
            self._key.owner, lambda store: self._knowing.known(store, self._key, branch, self._rules)
        )
        self._met = branch.head, known.state.people
        return known.state.people

    def _meet(self, before: int, after: BranchInfo, drafts: Sequence[Draft]) -> None:
        """Messages were added behind a node."""
        if self._met[0] == before:
            first = after.messages - len(drafts)
            self._met = after.head, people_after(self._met[1], enumerate((one.message for one in drafts), first))

    async def _with_witnesses(
        self, drafts: Sequence[Draft]
    ) -> tuple[list[Draft], list[tuple[int, Change]], BranchInfo]:
        """Messages with those who are there as witnesses, where some are not; in a game who came and went with each, by
        its place among them; and the branch before."""
        branch, marks = await self._store.at_one_moment(self._key.owner, self._marked)
        gone = set(absent_of(marks))
        infers = self._tuning.in_force.preset == "game"
        if not gone and not infers:
            return list(drafts), [], branch
        people = await self._people(branch)
        cast, players = characters(people), [one.name for one in people.values() if one.plays]
        gone = _spelt(gone, (*cast, *players))
        found: list[Draft] = []
        changes: list[tuple[int, Change]] = []
        for place, draft in enumerate(drafts):
            present = [name for name in (*cast, *players) if folded_name(name) not in map(folded_name, gone)]
            message = draft.message
            if gone and message.witnesses is None:
                message = replace(message, witnesses=tuple(sorted(present)))
            found.append(replace(draft, message=message))
            if infers:
                change = presence_after(frozenset(cast) - gone, cast, draft.message)
                gone = (gone - set(change.entered)) | set(change.left)
                changes += [] if change.is_nothing else [(place, change)]
        return found, changes, branch

    async def _marked(self, store: Store) -> tuple[BranchInfo, list[Mark]]:
        branch = await store.branch(self._key)
        return branch, await store.marks(self._key, branch.name, KINDS)

    async def _keep_presence(self, branch: BranchInfo, added: int, changes: Sequence[tuple[int, Change]]) -> None:
        """Keep who came and went with messages that were just added at the end of a branch."""
        for place, change in changes:
            position = branch.messages - added + place
            for kind, name in _said(change):
                await self._store.add_mark(
                    self._key, branch.name, kind, position, name, made_by=f"{INFERRED}: {change.why}", at=time_at()
                )

    async def _say(self, kind: MarkKind, name: str) -> None:
        who = " ".join(name.split())
        if not who or clean(who)[1] or len(who) > LONGEST_NAME:
            raise BadInput(f"Somebody who leaves or enters needs a name of 1 to {LONGEST_NAME} characters.")
        branch = await self.branch_info()
        has_left = folded_name(who) in map(folded_name, await self.absent())
        if kind is MarkKind.ENTERED and not has_left:
            raise BadInput(f"{who} has not left.")
        if kind is MarkKind.LEFT and has_left:
            raise BadInput(f"{who} has left already.")
        await self._add_mark(branch, kind, branch.messages - 1, who)


def _spelt(names: Iterable[str], known: Sequence[str]) -> set[str]:
    """Names as the story spells them, where it knows them."""
    spelling = {folded_name(name): name for name in known}
    return {spelling.get(folded_name(name), name) for name in names}


def _only(change: Change, names: frozenset[str]) -> Change:
    """What a change says of these people."""
    left = tuple(name for name in change.left if name in names)
    return replace(change, left=left, entered=tuple(name for name in change.entered if name in names))


def _unlike(changes: Sequence[Change], moved: frozenset[str]) -> list[Change]:
    """The newest word on each of those who are not where they were; of the others nothing."""
    found: list[Change] = []
    for change in reversed(changes):
        newest = _only(change, moved)
        moved -= {*newest.left, *newest.entered}
        found += [] if newest.is_nothing else [newest]
    return found[::-1]


def _said(change: Change) -> Iterator[tuple[MarkKind, str]]:
    yield from ((MarkKind.LEFT, name) for name in change.left)
    yield from ((MarkKind.ENTERED, name) for name in change.entered)


def absent_of(marks: Sequence[Mark]) -> list[str]:
    """Who is not there, by what was said of it, in order."""
    gone: dict[str, str] = {}
    for mark in marks:
        if mark.kind is MarkKind.LEFT:
            gone.setdefault(folded_name(mark.text), mark.text)
        else:
            gone.pop(folded_name(mark.text), None)
    return list(gone.values())
