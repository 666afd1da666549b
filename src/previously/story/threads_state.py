"""Threads, how things stand, wishes and people, as their users see and change them.

A person's words follow the branch and can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from previously.core.errors import BadInput
from previously.core.json_values import clean
from previously.core.marks import MarkKind
from previously.core.note import parse_state_line, render_state_line
from previously.core.people import Person
from previously.lore.current_state import StateValue
from previously.lore.hand_records import HandRecord, StateRecord, ThreadAction, ThreadRecord, WishRecord, render_record
from previously.lore.state import Player, State, Wish
from previously.lore.threads import Thread, ThreadStatus, find_status, rank_threads
from previously.runtime.story_moment import StoryMoment
from previously.story.access import StoryAccess, StoryChange
from previously.text.likeness import find_alike

LONGEST_SAID = 500
"""Characters of a line that a person writes: it stands in every view."""

NEVER_DORMANT = 100_000
"""Messages after which a thread sleeps where the settings do not say: more than any story has."""

MOST_MEANT = 5
"""Things that words could mean that are named: more would not be read."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadListing:
    """A thread and how it stands."""

    thread: Thread
    status: ThreadStatus
    suggestions: tuple[str, ...] = ()
    """Notes made since of a thread that a person wrote."""
    number: int = 0
    """Its place among all threads of the branch, in the order they were opened, from 1."""


class ThreadsState:
    """The threads, the state and the wishes of one story."""

    def __init__(self, access: StoryAccess) -> None:
        self._access = access

    async def threads(self, *, everything: bool = False) -> list[ThreadListing]:
        """Return what is open, what matters most first; with `everything`, also what sleeps and what is settled.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     story.open_thread("Wren promised to tune the piano", due="by Friday")
        ...     [listing.thread.text for listing in story.threads()]
        ['Wren promised to tune the piano']
        """

        def read(moment: StoryMoment) -> list[ThreadListing]:
            kept = moment.read_known().state.threads
            now, asleep = moment.snapshot.messages, moment.rules.dormant_messages or NEVER_DORMANT
            settled = [thread for thread in kept.threads if thread.settled is not None]
            numbers = {thread.id: number for number, thread in enumerate(kept.threads, 1)}
            return [
                ThreadListing(
                    thread,
                    find_status(thread, now, asleep),
                    tuple(said.text for said in kept.suggestions if said.thread == thread.id),
                    numbers[thread.id],
                )
                for thread in (*rank_threads(kept.threads, now, asleep), *settled)
            ]

        listings = await self._access.read(read)
        return [listing for listing in listings if everything or listing.status is ThreadStatus.OPEN]

    async def open_thread(self, text: str, due: str = "", owner: str = "") -> None:
        """Say that something is open: a promise, a debt, a question; by when, and whose it is."""
        date, whose = (_check_words(given) if given.strip() else "" for given in (due, owner))
        await self._record(
            MarkKind.THREAD, ThreadRecord(ThreadAction.OPEN, _check_words(text), date, owner=whose or None)
        )

    async def resolve_thread(self, text: str) -> Thread:
        """Say that it is settled, by its words or some of them, its number or its id."""
        thread = await self._find_thread(text, "open")
        await self._record(MarkKind.THREAD, ThreadRecord(ThreadAction.RESOLVE, thread.text, id=thread.id))
        return await self._read_again(thread)

    async def reword_thread(self, text: str, words: str) -> Thread:
        """Give an open thread other words, which no model changes."""
        return await self.edit_thread(text, words)

    async def edit_thread(self, text: str, words: str = "", *, due: str = "", owner: str | None = None) -> Thread:
        """Correct an open thread: its words, its date, its owner (an empty one is nobody's). What is not given stays,
        and no model changes what is."""
        thread = await self._find_thread(text, "open")
        date, whose = (_check_words(given) if given and given.strip() else "" for given in (due, owner))
        record = ThreadRecord(
            ThreadAction.REWORD, _check_words(words) if words.strip() else thread.text, date, thread.id, thread.text,
            None if owner is None else whose,
        )  # fmt: skip
        await self._record(MarkKind.THREAD, record)
        return await self._read_again(thread)

    async def remove_thread(self, text: str) -> Thread:
        """Show a thread no more, open or settled, as if nobody had opened it."""
        thread = await self._find_thread(text)
        record = ThreadRecord(ThreadAction.REMOVE, thread.text, id=thread.id, was=thread.text)
        await self._record(MarkKind.THREAD, record)
        return thread

    async def merge_threads(self, text: str, into: str) -> Thread:
        """Say that two threads are one, under the words of the second."""
        thread, other = await self._find_thread(text), await self._find_thread(into)
        if thread.id == other.id:
            raise BadInput(f"These are one thread already: {thread.text!r}.")
        record = ThreadRecord(
            ThreadAction.MERGE, thread.text, id=thread.id, was=thread.text, into=other.id, into_was=other.text
        )
        await self._record(MarkKind.THREAD, record)
        return await self._read_again(other)

    async def reopen_thread(self, text: str) -> Thread:
        """Say that a settled thread is open all the same.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     story.open_thread("Wren owes Odalys forty crowns")
        ...     _ = story.resolve_thread("forty crowns")
        ...     story.reopen_thread("forty crowns").settled is None
        True
        """
        thread = await self._find_thread(text, "settled")
        await self._record(MarkKind.THREAD, ThreadRecord(ThreadAction.OPEN, thread.text, id=thread.id))
        return await self._read_again(thread)

    async def state(self) -> list[StateValue]:
        """Return how things stand, a value for each thing and aspect; the newest last.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     story.hold("Wren / place: the ferry")
        ...     [value.text for value in story.state()]
        ['Wren / place: the ferry']
        """
        return list((await self._read_state()).current.standing)

    async def hold(self, text: str) -> None:
        """Say how something stands: `Thing / aspect: value`, or in free words. No model changes it.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     story = memory.story("ferry")
        ...     story.hold("It is raining.")
        ...     [value.text for value in story.state()]
        ['It is raining.']
        """
        await self._record(MarkKind.HELD, StateRecord(_check_words(text)))

    async def end_held(self, text: str) -> StateValue:
        """Say that something holds no more, by its line or a part of it."""
        value = await self._find_held(text)
        await self._record(MarkKind.HELD, StateRecord(value.text, ended=True))
        return value

    async def reword_held(self, text: str, words: str) -> StateValue:
        """Say how something stands instead of one of its lines, named by its number or some of its words; return what
        stood there."""
        value = await self._find_held(text)
        said = _check_words(words)
        if value.aspect is not None and parse_state_line(said) is None:
            said = render_state_line(value.thing, value.aspect, said)
        await self._record(MarkKind.HELD, StateRecord(said, instead_of=value.text))
        return value

    async def _find_held(self, text: str) -> StateValue:
        lines = [((str(number),), value.text, value) for number, value in enumerate(await self.state(), 1)]
        return find_meant(text, lines, "line of the state", "state list")

    async def wishes(self) -> list[Wish]:
        """Return what the players asked for about the telling, the oldest first."""
        return list((await self._read_state()).wishes)

    async def reword_wish(self, text: str, words: str) -> Wish:
        """Give a wish other words."""
        wish = await self._find_wish(text)
        reworded = _check_words(words)
        await self._record(MarkKind.WISH, WishRecord(wish.id, wish.text, reworded))
        return next((other for other in await self.wishes() if other.text == reworded), wish)

    async def withdraw_wish(self, text: str) -> Wish:
        """Take a wish back, by its words or some of them, its number or its id."""
        wish = await self._find_wish(text)
        await self._record(MarkKind.WISH, WishRecord(wish.id, wish.text))
        return wish

    async def players(self) -> list[Player]:
        """Return who plays whom, where a character's name is not the player's own."""
        return list((await self._read_state()).players.values())

    async def people(self) -> list[Person]:
        """Return everyone who takes part, as far as messages say: those who speak, play or were there, by name."""
        return sorted((await self._read_state()).people.values(), key=lambda person: person.name)

    async def _find_thread(self, text: str, how: str = "") -> Thread:
        """Return the one thread that stands like this and has this number or id, these words or some of them."""
        threads = (await self._read_state()).threads.threads
        listed = [
            (str(number), thread)
            for number, thread in enumerate(threads, 1)
            if not how or (thread.settled is None) == (how == "open")
        ]
        things = [((number, thread.id), thread.text, thread) for number, thread in listed]
        return find_meant(text, things, f"{how} thread".strip(), "threads list")

    async def _read_again(self, thread: Thread) -> Thread:
        """Return a thread as it stands now."""
        threads = (await self._read_state()).threads.threads
        return next((other for other in threads if other.id == thread.id), thread)

    async def _find_wish(self, text: str) -> Wish:
        listed = enumerate(await self.wishes(), 1)
        return find_meant(text, [((str(at), wish.id), wish.text, wish) for at, wish in listed], "wish", "wishes list")

    async def _read_state(self) -> State:
        return await self._access.read(lambda moment: moment.read_known().state)

    async def _record(self, kind: MarkKind, record: HandRecord) -> None:
        def change(change: StoryChange) -> None:
            change.add_mark(kind, change.snapshot.messages - 1, render_record(record))

        await self._access.change(change)


def find_meant(
    text: str, listed: Sequence[tuple[Sequence[str], str, T]], what: str, command: str, *, named: bool = False
) -> T:
    """Return the one of these, each with its ids and words, that a text names: by an id, by its words, or by words
    that are like them. `named` says that the words are names."""
    wanted = _check_words(text)
    exact = [at for at, (_, words, _) in enumerate(listed) if words == wanted]
    exact = exact or [at for at, (idents, _, _) in enumerate(listed) if wanted in idents]
    meant = exact or find_alike(wanted, [[words] for _, words, _ in listed])
    if len(meant) > 1:
        shown = "; ".join(_show_meant(listed[at][0][0], listed[at][1]) for at in meant[:MOST_MEANT])
        raise BadInput(f"{wanted!r} could mean {len(meant)} things: {shown}.")
    if not meant:
        verb = "is called" if named else "says"
        raise BadInput(f"No {what} {verb} {wanted!r}; `{command}` shows those there are.")
    return listed[meant[0]][2]


def _show_meant(ident: str, words: str) -> str:
    return repr(words) if ident == words else f"{ident} {words!r}"


def _check_words(text: str) -> str:
    words = " ".join(clean(text)[0].split())
    if not words or len(words) > LONGEST_SAID:
        raise BadInput(f"Say it in 1 to {LONGEST_SAID} characters.")
    return words
