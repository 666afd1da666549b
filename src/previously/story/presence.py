"""Presence as people see it and correct it: who was there, and who leaves or enters.

A person's words follow the branch and can be undone. Who leaves or enters is said for all that is said from then on;
who was present at messages that are there is corrected in place of whatever was given or noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import Mark, MarkKind
from previously.core.messages import Draft
from previously.core.path import Span, find_position
from previously.core.presence import PresenceStretch
from previously.core.scripts import casefold
from previously.lore.hand_records import PersonRecord, render_record
from previously.lore.merge import CHARACTER
from previously.memory.attendance import COMINGS, Attendance, find_attendance, list_absent
from previously.memory.presence import HAND_MARKS, SAID_MARKS, place_corrections, render_correction
from previously.runtime.story_moment import StoryMoment
from previously.storage.store import BranchInfo
from previously.story.access import StoryAccess, StoryChange
from previously.text.likeness import find_alike

LONGEST_NAME = 100
"""Characters of a name: a longer one is a sentence."""


_Stand = tuple[int, tuple[Mark, ...]]
"""The end of a branch, and the marks that say who is there."""


@dataclass(frozen=True, slots=True)
class WitnessedDrafts:
    """Messages with their witnesses, before they are added."""

    drafts: list[Draft]
    before: BranchInfo
    then: tuple[tuple[Mark, ...], Attendance] | None = None
    """The marks by which somebody is there, and who is there when these have been added."""


class PresenceEdits:
    """The presence of people in one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access
        self._attending: tuple[_Stand | None, Attendance | None] = (None, None)
        """Who is there at the end of a branch: whoever goes on from there need not read the story again."""

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
        """From the next message on, somebody is there: again, or who was not in this scene.

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
        """Return who is there now: who was at the newest message, less who has left since, and who has entered.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     _ = story.add("user", "Good night.", name="Maya", witnesses=["Maya", "Wren"])
        ...     story.leave("Maya")
        ...     story.present()
        ['Wren']
        """
        return await self._access.read(_list_present)

    async def add_witnesses(self, drafts: Sequence[Draft]) -> WitnessedDrafts:
        """Return messages with those who are there as witnesses, where a person counts who is there."""

        def read(moment: StoryMoment) -> tuple[BranchInfo, _Stand, Attendance | None]:
            snapshot = moment.snapshot
            branch = BranchInfo(snapshot.branch, snapshot.head, snapshot.messages)
            marks = snapshot.marks(COMINGS | SAID_MARKS)
            stand = branch.head, tuple(marks)
            if not any(mark.kind in COMINGS for mark in marks):
                return branch, stand, None
            return branch, stand, self._attending[1] if self._attending[0] == stand else _find_attendance(moment)

        branch, stand, now = await self._access.read(read)
        if now is None:
            return WitnessedDrafts(list(drafts), branch)
        self._attending = stand, now
        witnessed, then = now.witness(drafts)
        return WitnessedDrafts(witnessed, branch, (stand[1], then))

    def meet(self, added: WitnessedDrafts, after: BranchInfo) -> None:
        """Learn that messages were added, and where the branch ends now."""
        if added.then:
            marks, attendance = added.then
            self._attending = (after.head, marks), attendance

    async def _say(self, kind: MarkKind, name: str) -> None:
        now = await self._access.read(_find_attendance)
        who = now.find_gone(_check_name(name))
        is_there = now.has(who)

        def change(change: StoryChange) -> None:
            has_left = casefold(who) in map(casefold, list_absent(change.snapshot.marks(COMINGS)))
            if kind is MarkKind.ENTERED and not has_left and is_there:
                raise BadInput(f"{who} is there already.")
            if kind is MarkKind.LEFT and has_left:
                raise BadInput(f"{who} has left already.")
            change.add_mark(kind, change.snapshot.messages - 1, who)

        await self._access.change(change)


def _check_name(name: str) -> str:
    who = " ".join(name.split())
    if not who or clean(who)[1] or len(who) > LONGEST_NAME:
        raise BadInput(f"Somebody who is there or not needs a name of 1 to {LONGEST_NAME} characters.")
    return who


def _find_attendance(moment: StoryMoment) -> Attendance:
    snapshot = moment.snapshot
    newest = snapshot.path(snapshot.messages - 1, snapshot.messages - 1) if snapshot.messages else []
    message = newest[0].entry.message if newest else None
    return find_attendance(moment.read_presence(), snapshot.marks(COMINGS), message)


def _list_present(moment: StoryMoment) -> list[str]:
    return sorted(moment.read_presence().show_names(_find_attendance(moment).names))


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
