"""Who was and who is there, as people see it and say it.

What a person says follows the branch and can be undone. Who leaves or enters is said for all that is said from then on;
who was present at messages that are there is corrected in place of whatever was given or noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Draft
from previously.core.path import Span, find_position
from previously.core.people import People, list_characters, update_people
from previously.core.presence import PresenceStretch
from previously.core.scripts import casefold
from previously.runtime.handle import StoryHandle
from previously.runtime.read_presence import HAND_MARKS, correction_text, placed_corrections
from previously.storage.store import BranchInfo, Store

KINDS = frozenset({MarkKind.LEFT, MarkKind.ENTERED})

LONGEST_NAME = 100


class PresenceByHand(StoryHandle):
    """Who was present, and what a person says of it."""

    async def presence(self) -> list[PresenceStretch]:
        """Return who was present at each stretch of the active branch, and where that is known from."""

        async def read(store: Store) -> list[PresenceStretch]:
            found = await self._presence(store)
            return found.stretches()

        return await self._store.at_one_moment(self._key.owner, read)

    async def set_presence(self, first: int, last: int, names: Sequence[str] | None) -> Span:
        """Say who was present at the messages from `first` to `last`: these and nobody else, None for everybody. It
        stands in place of whatever was given, noted or inferred. Whoever speaks a message knows it all the same."""
        branch = await self.branch_info()
        span = _span(branch.messages, first, last)
        who = None if names is None else list({casefold(one): one for one in map(_name, names)}.values())
        run = await self._store.path(self._key, branch.name, span.first, span.last)
        text = correction_text(who, [item.entry.id for item in run])
        mark = await self._add_mark(branch, MarkKind.PRESENCE, span.first - 1, text)
        await self._add_mark(branch, MarkKind.PRESENCE_END, span.last, of=mark.origin)
        return span

    async def unset_presence(self, at: int) -> Span:
        """Take back what was said last of who was present at a message; the stretch it was said of."""

        async def read(store: Store) -> list[tuple[Mark, Span]]:
            branch = await store.branch(self._key)
            marks = await store.marks(self._key, branch.name, HAND_MARKS)
            return await placed_corrections(store, self._key, branch, marks)

        branch = await self.branch_info()
        position = find_position(branch.messages, at)
        said = await self._store.at_one_moment(self._key.owner, read)
        meant = [(mark, span) for mark, span in said if position in span]
        if not meant:
            raise BadInput(f"Nobody said by hand who was present at message {position}.")
        mark, span = meant[-1]
        await self._add_mark(branch, MarkKind.UNLOCKED, branch.messages - 1, instead_of=[mark])
        return span

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
            self._met = after.head, update_people(self._met[1], enumerate((one.message for one in drafts), first))

    async def _with_witnesses(self, drafts: Sequence[Draft]) -> tuple[list[Draft], BranchInfo]:
        """Messages with those who are there as witnesses, where some are not; and the branch before."""
        branch, marks = await self._store.at_one_moment(self._key.owner, self._marked)
        gone = {casefold(name) for name in absent_of(marks)}
        if not gone:
            return list(drafts), branch
        people = await self._people(branch)
        cast, players = list_characters(people), [one.name for one in people.values() if one.plays]
        present = tuple(sorted(name for name in (*cast, *players) if casefold(name) not in gone))
        return [_witnessed(draft, present) for draft in drafts], branch

    async def _marked(self, store: Store) -> tuple[BranchInfo, list[Mark]]:
        branch = await store.branch(self._key)
        return branch, await store.marks(self._key, branch.name, KINDS)

    async def _say(self, kind: MarkKind, name: str) -> None:
        who = _name(name)
        branch = await self.branch_info()
        has_left = casefold(who) in map(casefold, await self.absent())
        if kind is MarkKind.ENTERED and not has_left:
            raise BadInput(f"{who} has not left.")
        if kind is MarkKind.LEFT and has_left:
            raise BadInput(f"{who} has left already.")
        await self._add_mark(branch, kind, branch.messages - 1, who)


def _name(name: str) -> str:
    who = " ".join(name.split())
    if not who or clean(who)[1] or len(who) > LONGEST_NAME:
        raise BadInput(f"Somebody who is there or not needs a name of 1 to {LONGEST_NAME} characters.")
    return who


def _span(messages: int, first: int, last: int) -> Span:
    begin, end = find_position(messages, first), find_position(messages, last)
    if begin > end:
        raise BadInput(f"A stretch goes from its first message to its last: {begin} comes after {end}.")
    return Span(begin, end)


def _witnessed(draft: Draft, present: tuple[str, ...]) -> Draft:
    """A message with its witnesses: those that are given, else those who are there."""
    message = draft.message
    return draft if message.witnesses is not None else replace(draft, message=replace(message, witnesses=present))


def absent_of(marks: Sequence[Mark]) -> list[str]:
    """Who is not there, by what was said of it, in order."""
    gone: dict[str, str] = {}
    for mark in marks:
        if mark.kind is MarkKind.LEFT:
            gone.setdefault(casefold(mark.text), mark.text)
        else:
            gone.pop(casefold(mark.text), None)
    return list(gone.values())
