"""The state of a story: lore, threads, how things stand, what players wish, who takes part. A reduce over notes.

Reading on from a state that was kept gives what reading all would have given, so a snapshot is a cache and nothing
more. It stays bounded: what was settled or replaced long ago is left to the notes, which hold it. The small lists are
reduced here: players (who writes for whom), learners (what characters were told without having been there, or keep from
others) and wishes (what players ask for about the telling, out of character, until a person withdraws it).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TypeVar

from previously.core.cast import Fact, cut_line, drop_repeats
from previously.core.json_values import make_plain, read_plain
from previously.core.messages import Message, Role
from previously.core.note import LearntItem, Note, PlayerItem, StateItem, ThreadItem, WishItem
from previously.core.people import People, Person
from previously.core.scripts import casefold
from previously.lore.current_state import NO_CURRENT_STATE, CurrentState, reduce_current_state
from previously.lore.entry import EntryKey, LoreEntry
from previously.lore.merge import Entries, merge_items
from previously.lore.threads import NO_THREADS, Threads, reduce_threads

MOST_PLAYERS = 40
"""Players that are kept, those named last: more than sit at any table."""


@dataclass(frozen=True, slots=True)
class Player:
    """A player, and the character they play since a message."""

    name: str
    character: str
    since: int

    @property
    def line(self) -> str:
        return f"{self.name} plays {self.character}"


Players = Mapping[str, Player]
"""By the player's name as it is compared."""


def reduce_players(players: Players, items: Iterable[tuple[int, int, PlayerItem]]) -> Players:
    """Return who plays whom after the items of one note, each with its index and position. A player who plays another
    character from now on plays the old one no more."""
    players_by_name = dict(players)
    for _, position, item in items:
        players_by_name.pop(casefold(item.player), None)
        players_by_name[casefold(item.player)] = Player(item.player.strip(), item.character.strip(), position)
    return dict(list(players_by_name.items())[-MOST_PLAYERS:])


TOLD = "told"
"""The source of what a note says that somebody was told; by whom stands in its words."""

MOST_LEARNT = 40
"""Facts that are kept of one character: four times what is told of them, so that old ones can be asked for."""

MOST_NAMES = 200
"""Characters of whom something is kept, those who learnt something last: as many as people are kept in mind."""


@dataclass(frozen=True, slots=True)
class Learner:
    """One character and what they learnt, the oldest first."""

    name: str
    """The name as it was first written."""
    facts: tuple[Fact, ...]


Learners = Mapping[str, Learner]
"""By the name as it is compared."""


def reduce_learnt(learnt: Learners, items: Iterable[tuple[int, int, LearntItem]]) -> Learners:
    """Return what everybody knows after the items of one note, each with its index and position. Of too many facts the
    oldest go."""
    learners = dict(learnt)
    for _, position, item in items:
        fact = Fact(cut_line(item.text), position, TOLD)
        for name in item.names:
            key = casefold(name)
            before = learners.pop(key, Learner(name.strip(), ()))
            learners[key] = Learner(before.name, drop_repeats([*before.facts, fact])[-MOST_LEARNT:])
    return dict(list(learners.items())[-MOST_NAMES:])


MOST_WISHES = 40
"""Wishes that are kept, the newest: far more than a table agrees on."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One wish."""

    id: str
    text: str
    position: int
    by: str = "model"
    """`person` where a person gave it its words."""


def make_wish_id(key: bytes, index: int) -> str:
    """Return the id of the wish that a note of the span with this key holds as its item number `index`."""
    state = blake2b(key, digest_size=8, person=b"prev.wish.1")
    state.update(index.to_bytes(4, "big"))
    return state.hexdigest()


def reduce_wishes(wishes: tuple[Wish, ...], items: Iterable[tuple[int, int, WishItem]], key: bytes) -> tuple[Wish, ...]:
    """Return the wishes after the items of one note, each with its index and position. One said again is there once."""
    kept = list(wishes)
    for index, position, item in items:
        text = " ".join(item.text.split())
        if text and all(casefold(one.text) != casefold(text) for one in kept):
            kept.append(Wish(make_wish_id(key, index), text, position))
    return tuple(kept[-MOST_WISHES:])


def find_wish(wishes: Iterable[Wish], ident: str, words: str) -> Wish | None:
    """Return the wish of that id, if it has those words, else the one that has them."""
    listed = list(wishes)
    worded = [wish for wish in listed if casefold(wish.text) == casefold(words)]
    return next((wish for wish in worded if wish.id == ident), worded[0] if worded else None)


FORM = "3"
"""The form of a snapshot. One of another form is passed over and made anew."""

MOST_ENTRIES = 1_000
"""Entries that are kept at hand, ten times those that are live; of those retired, the oldest are left to the notes."""

Item = TypeVar("Item", ThreadItem, StateItem, WishItem, LearntItem, PlayerItem)


@dataclass(frozen=True, slots=True)
class State:
    """All that follows from the notes on a path."""

    lore: Mapping[EntryKey, LoreEntry] = field(default_factory=dict)
    threads: Threads = NO_THREADS
    current: CurrentState = NO_CURRENT_STATE
    people: People = field(default_factory=dict)
    wishes: tuple[Wish, ...] = ()
    learnt: Learners = field(default_factory=dict)
    players: Players = field(default_factory=dict)
    veiled: frozenset[EntryKey] = frozenset()
    """Of somebody in particular: the names of things that were described in their absence. Never kept in a store."""

    @property
    def known(self) -> tuple[LoreEntry, ...]:
        """Return what is known by name and not retired; what was described last comes last."""
        return tuple(sorted((one for one in self.lore.values() if not one.retired), key=lambda one: one.touched))


EMPTY_STATE = State()


@dataclass(frozen=True, slots=True)
class PlacedNote:
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
        return 0 <= offset < len(self.messages) and self.messages[offset].role is Role.USER


def apply_note(state: State, noted: PlacedNote) -> State:
    """Return the state after one more note, which comes behind all before it."""
    note = noted.note
    if note.is_empty:
        return state
    length = noted.last - noted.first + 1
    described = [one for one in note.lore if all(0 <= offset < length for offset in one.at)]
    wishes = [one for one in noted.placed(note.wishes) if noted.is_users(one[2].at)]
    present = {name for one in note.present for name in one.names}
    lore = _drop_oldest(merge_items(state.lore, described, noted.last, noted.first)) if described else state.lore
    return replace(
        state,
        lore=lore,
        threads=reduce_threads(state.threads, noted.placed(note.threads), noted.key, noted.by),
        current=reduce_current_state(state.current, noted.placed(note.state), lore, noted.by, present),
        wishes=reduce_wishes(state.wishes, wishes, noted.key),
        learnt=reduce_learnt(state.learnt, noted.placed(note.learnt)),
        players=reduce_players(state.players, noted.placed(note.players)),
    )


def _drop_oldest(lore: Entries) -> Entries:
    if len(lore) <= MOST_ENTRIES:
        return lore
    oldest = sorted((one.touched, key) for key, one in lore.items() if one.retired)
    gone = {key for _, key in oldest[: len(lore) - MOST_ENTRIES]}
    return {key: one for key, one in lore.items() if key not in gone}


def render_state(state: State) -> str:
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


def parse_state(text: str) -> State | None:
    """Return the state in a text that `render_state` wrote; None for one of another form."""
    try:
        plain = json.loads(text)
        if plain["form"] != FORM:
            return None
        entries = [read_plain(LoreEntry, one) for one in plain["lore"]]
        people = [read_plain(Person, one) for one in plain["people"]]
        return State(
            {one.key: one for one in entries},
            read_plain(Threads, plain["threads"]),
            read_plain(CurrentState, plain["current"]),
            dict(zip(plain["names"], people, strict=True)),
            tuple(read_plain(Wish, one) for one in plain["wishes"]),
            {casefold(one.name): one for one in (read_plain(Learner, given) for given in plain["learnt"])},
            {casefold(one.name): one for one in (read_plain(Player, given) for given in plain["players"])},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
