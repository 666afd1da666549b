"""The state of a story: lore, threads, how things stand, what players wish, who takes part. A reduce over notes.

Reading on from a state that was kept gives what reading all would have given, so a snapshot is a cache and nothing
more. It stays bounded: what was settled or replaced long ago is left to the notes, which hold it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from previously.core.json_values import make_plain, read_plain
from previously.core.messages import Message, Role
from previously.core.note import LearntItem, Note, PlayerItem, StateItem, ThreadItem, WishItem
from previously.core.people import People, Person
from previously.core.scripts import casefold
from previously.lore.current import NO_STATE, Current, reduce_current
from previously.lore.learnt import Learner, Learnt, reduce_learnt
from previously.lore.merge import Entries, merge
from previously.lore.players import Player, Players, reduce_players
from previously.lore.things import Key, LoreEntry
from previously.lore.threads import NO_THREADS, Threads, reduce_threads
from previously.lore.wishes import Wish, reduce_wishes

FORM = "3"
"""The form of a snapshot. One of another form is passed over and made anew."""

MOST_ENTRIES = 1_000
"""Entries that are kept at hand; of those retired, the ones described longest ago are left to the notes."""

Item = TypeVar("Item", ThreadItem, StateItem, WishItem, LearntItem, PlayerItem)


@dataclass(frozen=True, slots=True)
class State:
    """What follows from the notes on a path."""

    lore: Mapping[Key, LoreEntry] = field(default_factory=dict)
    threads: Threads = NO_THREADS
    current: Current = NO_STATE
    people: People = field(default_factory=dict)
    wishes: tuple[Wish, ...] = ()
    learnt: Learnt = field(default_factory=dict)
    players: Players = field(default_factory=dict)
    veiled: frozenset[Key] = frozenset()
    """Of somebody in particular: the names of things that were described in their absence. Never kept in a store."""

    @property
    def known(self) -> tuple[LoreEntry, ...]:
        """Return what is known by name and not retired; what was described last comes last."""
        return tuple(sorted((one for one in self.lore.values() if not one.retired), key=lambda one: one.touched))


EMPTY = State()


@dataclass(frozen=True, slots=True)
class Noted:
    """A note, and where its span stands."""

    note: Note
    key: bytes
    """The key of the span."""
    first: int
    last: int
    by: str = "model"
    messages: Sequence[Message] = ()
    """The messages of the span: a wish counts only where its message is a user's."""

    def placed(self, items: Sequence[Item]) -> Iterator[tuple[int, int, Item]]:
        """Yield items with their index and position. One without a message counts where the span ends; one whose
        message is not in the span comes from nowhere and is passed over."""
        for index, item in enumerate(items):
            if item.at is None:
                yield index, self.last, item
            elif 0 <= item.at <= self.last - self.first:
                yield index, self.first + item.at, item

    def is_users(self, offset: int) -> bool:
        """Return whether the message at an offset is a user's."""
        return 0 <= offset < len(self.messages) and self.messages[offset].role is Role.USER


def after(state: State, noted: Noted) -> State:
    """Return the state after one more note, which comes behind all before it."""
    note = noted.note
    if note.is_empty:
        return state
    length = noted.last - noted.first + 1
    described = [one for one in note.lore if all(0 <= offset < length for offset in one.at)]
    wishes = [one for one in noted.placed(note.wishes) if noted.is_users(one[2].at)]
    present = {name for one in note.present for name in one.names}
    lore = _kept(merge(state.lore, described, noted.last, noted.first)) if described else state.lore
    return replace(
        state,
        lore=lore,
        threads=reduce_threads(state.threads, noted.placed(note.threads), noted.key, noted.by),
        current=reduce_current(state.current, noted.placed(note.state), lore, noted.by, present),
        wishes=reduce_wishes(state.wishes, wishes, noted.key),
        learnt=reduce_learnt(state.learnt, noted.placed(note.learnt)),
        players=reduce_players(state.players, noted.placed(note.players)),
    )


def _kept(lore: Entries) -> Entries:
    if len(lore) <= MOST_ENTRIES:
        return lore
    oldest = sorted((one.touched, key) for key, one in lore.items() if one.retired)
    gone = {key for _, key in oldest[: len(lore) - MOST_ENTRIES]}
    return {key: one for key, one in lore.items() if key not in gone}


def state_text(state: State) -> str:
    """Return the state as canonical JSON."""
    plain = {
        "form": FORM,
        "lore": [make_plain(one) for one in state.lore.values()],
        "threads": make_plain(state.threads),
        "current": make_plain(state.current),
        "wishes": [make_plain(one) for one in state.wishes],
        "learnt": [make_plain(one) for one in state.learnt.values()],
        "players": [make_plain(one) for one in state.players.values()],
        "people": [make_plain(one) for one in state.people.values()],
        "names": list(state.people),
    }
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def state_of(text: str) -> State | None:
    """Return the state in a text that `state_text` wrote; None for one of another form."""
    try:
        plain = json.loads(text)
        if plain["form"] != FORM:
            return None
        entries = [read_plain(LoreEntry, one) for one in plain["lore"]]
        people = [read_plain(Person, one) for one in plain["people"]]
        return State(
            {one.key: one for one in entries},
            read_plain(Threads, plain["threads"]),
            read_plain(Current, plain["current"]),
            dict(zip(plain["names"], people, strict=True)),
            tuple(read_plain(Wish, one) for one in plain["wishes"]),
            {casefold(one.name): one for one in (read_plain(Learner, given) for given in plain["learnt"])},
            {casefold(one.name): one for one in (read_plain(Player, given) for given in plain["players"])},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
