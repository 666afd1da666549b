"""The state of a story: its lore, its threads, how things stand, and who takes part. A reduce over notes.

What must stay true: reading on from a state that was kept gives what reading all would have given; so a snapshot is a
cache and nothing more. It stays bounded: what was settled or replaced long ago is left to the notes, which hold it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from previously.core.lore import Scene
from previously.core.messages import Message
from previously.core.people import People, Person
from previously.core.plain import from_plain, to_plain
from previously.core.signals import NO_SIGNALS, Signals
from previously.lore.current import NO_STATE, Current, changes_of, reduce_current
from previously.lore.merging import reduce_lore
from previously.lore.snapshot import entry_json, entry_of
from previously.lore.things import Key, LoreEntry
from previously.lore.thread_operations import operations_of
from previously.lore.threads import NO_THREADS, PERSON, Threads, reduce_threads

MOST_ENTRIES = 1_000
"""How many entries are kept at hand; of those retired, the ones described longest ago are left to the scenes."""

MOST_SUPERSEDED = 12
"""How many earlier statements are kept with an entry."""

MOST_SETTLED = 100
"""How many settled threads are kept, and how many things that held before."""

MOST_OPEN = 200
"""How many open threads are kept, those touched last, and how many things that hold; what people said always is."""


@dataclass(frozen=True, slots=True)
class State:
    """What follows from the notes on a path."""

    lore: Mapping[Key, LoreEntry] = field(default_factory=dict)
    threads: Threads = NO_THREADS
    current: Current = NO_STATE
    people: People = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What is known by name, each with its type; what was described last comes last."""
        known = sorted(self.lore.values(), key=lambda one: one.touched)
        return tuple(f"{one.name} ({one.type})" for one in known if not one.retired)


EMPTY = State()


@dataclass(frozen=True, slots=True)
class Noted:
    """What was noted of a span that ends at a position."""

    position: int
    scene: Scene | None = None
    """Whose entries go into the lore; None for a note that holds none."""
    signals: Signals = NO_SIGNALS
    messages: Sequence[Message] = ()
    """What was read, in which quotes are looked for."""
    mentions: tuple[str, ...] = ()
    by: str = "model"


def after(state: State, noted: Noted) -> State:
    """The state after one more note, which comes behind all before it."""
    lore = reduce_lore(state.lore, noted.scene, noted.position) if noted.scene else state.lore
    threads, current = state.threads, state.current
    if not noted.signals.is_empty or noted.messages:
        operations = operations_of(noted.signals, noted.position, noted.messages, names=noted.mentions, by=noted.by)
        threads = reduce_threads(threads, operations)
        current = reduce_current(current, changes_of(noted.signals, noted.position, noted.by))
    return replace(state, lore=_kept_lore(lore), threads=_kept_threads(threads), current=_kept_current(current))


def _kept_lore(lore: Mapping[Key, LoreEntry]) -> Mapping[Key, LoreEntry]:
    trimmed = {
        key: replace(one, superseded=one.superseded[-MOST_SUPERSEDED:])
        if len(one.superseded) > MOST_SUPERSEDED
        else one
        for key, one in lore.items()
    }
    if len(trimmed) <= MOST_ENTRIES:
        return trimmed
    oldest = sorted((one.touched, key) for key, one in trimmed.items() if one.retired and not one.locked)
    for _, key in oldest[: len(trimmed) - MOST_ENTRIES]:
        del trimmed[key]
    return trimmed


def _kept_threads(threads: Threads) -> Threads:
    settled = [one for one in threads.threads if one.resolved is not None]
    still_open = [one for one in threads.threads if one.resolved is None and one.by != PERSON]
    gone = {one.id for one in sorted(settled, key=lambda one: (one.resolved or 0, one.id))[:-MOST_SETTLED]}
    gone |= {one.id for one in sorted(still_open, key=lambda one: (one.touched, one.id))[:-MOST_OPEN]}
    return replace(threads, threads=tuple(one for one in threads.threads if one.id not in gone)) if gone else threads


def _kept_current(current: Current) -> Current:
    held = [one for one in current.items if one.by != PERSON]
    gone = held[:-MOST_OPEN]  # they stand in the order they came to be
    items = tuple(one for one in current.items if one not in gone) if gone else current.items
    return replace(current, items=items, earlier=(*current.earlier, *gone)[-MOST_SETTLED:])


def state_text(state: State) -> str:
    """The state as canonical JSON."""
    plain = {
        "lore": [entry_json(one) for one in state.lore.values()],
        "threads": to_plain(state.threads),
        "current": to_plain(state.current),
        "people": [to_plain(one) for one in state.people.values()],
        "names": list(state.people),
    }
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def state_of(text: str) -> State:
    """The state in a text that `state_text` wrote."""
    plain = json.loads(text)
    entries = [entry_of(one) for one in plain["lore"]]
    people = [from_plain(Person, one) for one in plain["people"]]
    return State(
        {one.key: one for one in entries},
        from_plain(Threads, plain["threads"]),
        from_plain(Current, plain["current"]),
        dict(zip(plain["names"], people, strict=True)),
    )
