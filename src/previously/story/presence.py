"""Presence as people see it and correct it: who was there, and who leaves or enters.

A person's words follow the branch and can be undone. Who leaves or enters is said for all that is said from then on;
who was present at messages that are there is corrected in place of whatever was given or noted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import MarkKind
from previously.core.messages import Draft
from previously.core.path import Span, find_position
from previously.core.people import NARRATORS, People, list_characters, update_people
from previously.core.presence import PresenceStretch
from previously.core.scripts import casefold
from previously.lore.hand_records import PersonRecord, render_record
from previously.lore.merge import CHARACTER
from previously.memory.presence import COMINGS, HAND_MARKS, list_absent, place_corrections, render_correction
from previously.runtime.story_moment import StoryMoment
from previously.storage.store import BranchInfo
from previously.story.access import StoryAccess, StoryChange
from previously.text.likeness import find_alike

LONGEST_NAME = 100
"""Characters of a name: a longer one is a sentence."""


class PresenceEdits:
    """The presence of people in one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access
        self._met: tuple[int, People] = (0, {})
        """The people of the story up to a node: who goes on from there need not read it again."""

    async def presence(self) -> list[PresenceStretch]:
        """Return who was present at each stretch of the active branch, and where that is known from."""
        return await self._access.read(lambda moment: moment.read_presence().stretches())

    async def set_presence(self, first: int, last: int, names: Sequence[str] | None) -> Span:
        """Say who was present at the messages from `first` to `last`: these and nobody else, None for everybody. It
        stands in place of whatever was given, noted or inferred. Whoever speaks a message knows it all the same."""

        def change(change: StoryChange) -> Span:
            span = _find_span(change.snapshot.messages, first, last)
            people = (
                None if names is None else list({casefold(name): name for name in map(_check_name, names)}.values())
            )
            text = render_correction(people, [item.entry.id for item in change.snapshot.path(span.first, span.last)])
            mark = change.add_mark(MarkKind.PRESENCE, span.first - 1, text)
            change.add_mark(MarkKind.PRESENCE_END, span.last, of=mark.origin)
            return span

        return await self._access.change(change)

    async def unset_presence(self, at: int) -> Span:
        """Take back what was said last of who was present at a message; the stretch it was said of."""

        def change(change: StoryChange) -> Span:
            snapshot = change.snapshot
            position = find_position(snapshot.messages, at)
            placed = place_corrections(snapshot, snapshot.marks(HAND_MARKS))
            meant = [(mark, span) for mark, span in placed if position in span]
            if not meant:
                raise BadInput(f"Nobody said by hand who was present at message {position}.")
            mark, span = meant[-1]
            change.add_mark(MarkKind.UNLOCKED, snapshot.messages - 1, instead_of=[mark])
            return span

        return await self._access.change(change)

    async def merge_cast(self, name: str, into: str) -> str:
        """Say that two names are one character's; return the one that they are known by. What either witnessed both
        did; their entries of lore become one."""

        def read(moment: StoryMoment) -> tuple[str, str]:
            names = _list_names(moment)
            return _find_name(names, name), _find_name(names, into)

        one, other = await self._access.read(read)
        if casefold(one) == casefold(other):
            raise BadInput(f"These are one character already: {one}.")
        record = render_record(PersonRecord(one, other))
        await self._access.change(lambda change: change.add_mark(MarkKind.PERSON, change.snapshot.messages - 1, record))
        return other

    async def leave(self, name: str) -> None:
        """From the next message on, somebody is not there.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Good night.", name="Maya")
        ...     story.leave("Maya")
        ...     story.absent()
        ['Maya']
        """
        await self._say(MarkKind.LEFT, name)

    async def enter(self, name: str) -> None:
        """From the next message on, somebody is there again.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Good night.", name="Maya")
        ...     story.leave("Maya")
        ...     story.enter("Maya")
        ...     story.absent()
        []
        """
        await self._say(MarkKind.ENTERED, name)

    async def absent(self) -> list[str]:
        """Return who has left and not come back, in the order they left."""
        return await self._access.read(lambda moment: list_absent(moment.snapshot.marks(COMINGS)))

    async def present(self) -> list[str]:
        """Return who is there now: who was at the newest message, or has come since. Once somebody has left, all others
        of the story are there, since what is said next is said before them.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Good night.", name="Maya", witnesses=["Maya", "Wren"])
        ...     story.leave("Maya")
        ...     story.present()
        ['Wren']
        """
        return await self._access.read(_list_present)

    async def add_witnesses(self, drafts: Sequence[Draft]) -> tuple[list[Draft], BranchInfo]:
        """Return messages with those who are there as witnesses, where some are not; and the branch before."""

        def read(moment: StoryMoment) -> tuple[BranchInfo, set[str], People]:
            snapshot = moment.snapshot
            branch = BranchInfo(snapshot.branch, snapshot.head, snapshot.messages)
            gone = {casefold(name) for name in list_absent(snapshot.marks(COMINGS))}
            if not gone:
                return branch, gone, {}
            is_met = branch.head and self._met[0] == branch.head
            return branch, gone, self._met[1] if is_met else _list_met(moment)

        branch, gone, people = await self._access.read(read)
        if not gone:
            return list(drafts), branch
        self._met = branch.head, people
        present = tuple(_leave_out(people, gone))
        return [_add_present(draft, present) for draft in drafts], branch

    def meet(self, before: int, after: BranchInfo, drafts: Sequence[Draft]) -> None:
        """Learn of messages that were added behind a node."""
        if self._met[0] == before:
            first = after.messages - len(drafts)
            people = update_people(self._met[1], enumerate((draft.message for draft in drafts), first))
            self._met = after.head, people

    async def _say(self, kind: MarkKind, name: str) -> None:
        who = _check_name(name)

        def change(change: StoryChange) -> None:
            absent = list_absent(change.snapshot.marks(COMINGS))
            has_left = casefold(who) in map(casefold, absent)
            if kind is MarkKind.ENTERED and not has_left:
                raise BadInput(f"{who} has not left.")
            if kind is MarkKind.LEFT and has_left:
                raise BadInput(f"{who} has left already.")
            change.add_mark(kind, change.snapshot.messages - 1, who)

        await self._access.change(change)


def _check_name(name: str) -> str:
    who = " ".join(name.split())
    if not who or clean(who)[1] or len(who) > LONGEST_NAME:
        raise BadInput(f"Somebody who is there or not needs a name of 1 to {LONGEST_NAME} characters.")
    return who


def _list_present(moment: StoryMoment) -> list[str]:
    marks = moment.snapshot.marks(COMINGS)
    gone = {casefold(name) for name in list_absent(marks)}
    newest = moment.read_presence().stretches()[-1:]
    if gone or not newest or newest[0].names is None:
        return _leave_out(_list_met(moment), gone)
    came = (mark.text for mark in marks if mark.kind is MarkKind.ENTERED and mark.position == newest[0].span.last)
    named = {casefold(name): name for name in (*came, *newest[0].names)}
    return sorted(name for key, name in named.items() if key not in NARRATORS)


def _leave_out(people: People, gone: Collection[str]) -> list[str]:
    """Return the people of a story but for those who are gone, by name."""
    players = [person.name for key, person in people.items() if person.plays and key not in NARRATORS]
    return sorted(name for name in (*list_characters(people), *players) if casefold(name) not in gone)


def _list_met(moment: StoryMoment) -> People:
    """Return the people of this very story: those of an earlier one are not there by themselves."""
    people = moment.read_known().state.people
    return {key: person for key, person in people.items() if person.last >= 0}


def _list_names(moment: StoryMoment) -> list[str]:
    """Return the names that somebody in the story has, each once."""
    state = moment.read_known().state
    noted = [name for stretch in moment.read_presence().stretches() for name in stretch.names or ()]
    described = [entry.name for entry in state.lore.values() if entry.type == CHARACTER]
    told = [learner.name for learner in state.learnt.values()]
    people = [person.name for person in state.people.values()]
    return list({casefold(name): name for name in (*described, *noted, *told, *people)}.values())


def _find_name(names: Sequence[str], wanted: str) -> str:
    alike = find_alike(_check_name(wanted), [[name] for name in names])
    if len(alike) > 1:
        raise BadInput(f"{wanted!r} could mean {len(alike)} characters: {', '.join(names[at] for at in alike)}.")
    if not alike:
        raise BadInput(f"There is no character {wanted!r} in this story; `cast list` shows those there are.")
    return names[alike[0]]


def _find_span(messages: int, first: int, last: int) -> Span:
    begin, end = find_position(messages, first), find_position(messages, last)
    if begin > end:
        raise BadInput(f"A stretch goes from its first message to its last: {begin} comes after {end}.")
    return Span(begin, end)


def _add_present(draft: Draft, present: tuple[str, ...]) -> Draft:
    """Return a message with its witnesses: those that are given, else those who are there."""
    message = draft.message
    return draft if message.witnesses is not None else replace(draft, message=replace(message, witnesses=present))
