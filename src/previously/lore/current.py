"""The current state: one value per thing and aspect, the newest in place of the older. A reduce over items of notes.

A thing is the same under its name and the aliases of its lore entry. Free words of a person have neither thing nor
aspect; they stand until a person ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from previously.core.note import Aspect, StateItem, render_state_line
from previously.core.scripts import casefold
from previously.lore.keywords import key_of
from previously.lore.merge import Entries, find_entry

MOST_HELD = 60
"""Values that are kept: four times what a view tells of a story of ordinary size."""

MOST_EARLIER = 100
"""Values that held before and are kept at hand; all of them stand in the notes."""

UNSEEN_AFTER = 120
"""Messages after which a place nobody spoke of again goes first: two folds of 60, the default."""

PERSON = "person"

Place = tuple[str, Aspect | None]
"""What a value is the value of; for free words, those words."""


@dataclass(frozen=True, slots=True)
class Held:
    """One value that holds now."""

    thing: str
    """Empty for free words of a person."""
    aspect: Aspect | None
    value: str
    position: int
    by: str = "model"
    lapsed: bool = False
    """Whether somebody's place was not said again of messages in which they were present: they may be anywhere."""

    @property
    def text(self) -> str:
        """Return it as a line."""
        return render_state_line(self.thing, self.aspect, self.value)


@dataclass(frozen=True, slots=True)
class Current:
    """All that holds now, in the order it came to be so, and what held before."""

    items: tuple[Held, ...] = ()
    earlier: tuple[Held, ...] = ()
    suggestions: tuple[Held, ...] = ()
    """What a model would put in place of what a person wrote."""

    @property
    def standing(self) -> tuple[Held, ...]:
        """Return what is known to hold: all but what has lapsed."""
        return tuple(one for one in self.items if not one.lapsed)


NO_STATE = Current()


def reduce_current(
    current: Current,
    items: Iterable[tuple[int, int, StateItem]],
    lore: Entries,
    by: str,
    present: Iterable[str] = (),
) -> Current:
    """Return the state after the items of one note, each with its index and position. `present` are those who were
    there: a place of theirs that the note does not say again has lapsed."""
    place_of = placing(lore)
    there = _Present(present, place_of)
    held = {place_of(one): replace(one, lapsed=one.lapsed or there.has(one)) for one in current.items}
    earlier = list(current.earlier)
    newest = 0
    for _, position, item in items:
        newest = max(newest, position)
        new = Held(item.thing, item.aspect, " ".join(item.value.split()), position, by)
        replaced = held.pop(place_of(new), None)
        if replaced is not None and casefold(replaced.value) != casefold(new.value):
            earlier.append(replaced)
        if new.value:
            held[place_of(new)] = new
    gone = _surplus(list(held.values()), newest)
    kept = tuple(one for one in held.values() if one not in gone)
    return replace(current, items=kept, earlier=tuple([*earlier, *gone][-MOST_EARLIER:]))


class _Present:
    """Who was there, as places are looked up: by what the lore calls them, or by words of the name."""

    def __init__(self, names: Iterable[str], place_of: Callable[[Held], Place]) -> None:
        listed = list(names)
        self._place_of = place_of
        self._places = {place_of(Held(name, Aspect.PLACE, "", 0)) for name in listed}
        self._words = [set(casefold(name).split()) for name in listed]

    def has(self, held: Held) -> bool:
        """Return whether a value is the place of one of them; what a person wrote never is."""
        if held.aspect is not Aspect.PLACE or held.by == PERSON:
            return False
        words = set(casefold(held.thing).split())
        return self._place_of(held) in self._places or any(one and one <= words for one in self._words)


def placing(lore: Entries) -> Callable[[Held], Place]:
    """Return what says of which thing and aspect a value is, with the names that the lore knows."""

    def place_of(held: Held) -> Place:
        if held.aspect is None:
            return casefold(held.value), None
        entry = find_entry(lore, held.thing)
        return (entry.key if entry else key_of(held.thing)), held.aspect

    return place_of


def _surplus(held: list[Held], newest: int) -> list[Held]:
    """Return what is too much: places that nobody spoke of for long first, then the oldest."""

    def worth(item: Held) -> tuple[bool, int]:
        lost = item.aspect is Aspect.PLACE and newest - item.position > UNSEEN_AFTER
        return not lost, item.position

    return sorted(held, key=worth)[: max(0, len(held) - MOST_HELD)]
