"""The current state: one value per thing and aspect, the newest in place of the older. A reduce over items of notes.

A thing is the same under its name and the aliases of its lore entry. Free words of a person have neither thing nor
aspect; they stand until a person ends them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from previously.core.note import Aspect, StateItem, render_state_line
from previously.core.scripts import casefold
from previously.lore.keys import normalize_name
from previously.lore.merge import Entries, find_entry

MOST_VALUES = 60
"""Values that are kept: four times what a view tells of a story of ordinary size."""

MOST_EARLIER_VALUES = 100
"""Replaced values that are kept at hand, enough for the last few scenes; all of them stand in the notes."""

UNSEEN_AFTER = 120
"""Messages after which a place nobody spoke of again goes first: two folds of 60, the default."""

PERSON = "person"

StatePlace = tuple[str, Aspect | None]
"""The thing and the aspect that a value is of; for free words, those words."""


@dataclass(frozen=True, slots=True)
class StateValue:
    """One value that holds now."""

    thing: str
    """Empty for free words of a person."""
    aspect: Aspect | None
    value: str
    position: int
    by: str = "model"
    lapsed: bool = False
    """True for a place of somebody that was not said again though they were present: they may be anywhere."""

    @property
    def text(self) -> str:
        return render_state_line(self.thing, self.aspect, self.value)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """All that holds now, in the order it came to be so, and what held before."""

    items: tuple[StateValue, ...] = ()
    earlier: tuple[StateValue, ...] = ()
    suggestions: tuple[StateValue, ...] = ()
    """Values that a model would put in place of what a person wrote."""

    @property
    def standing(self) -> tuple[StateValue, ...]:
        """Return what is known to hold: all but what has lapsed."""
        return tuple(one for one in self.items if not one.lapsed)


NO_CURRENT_STATE = CurrentState()


def reduce_current_state(
    current: CurrentState,
    items: Iterable[tuple[int, int, StateItem]],
    lore: Entries,
    by: str,
    present: Iterable[str] = (),
) -> CurrentState:
    """Return the state after the items of one note, each with its index and position. `present` are those who were
    there: a place of theirs that the note does not say again has lapsed."""
    place_of = make_place_finder(lore)
    there = _Present(present, place_of)
    values = {place_of(value): replace(value, lapsed=value.lapsed or there.has(value)) for value in current.items}
    earlier = list(current.earlier)
    newest = 0
    for _, position, item in items:
        newest = max(newest, position)
        new = StateValue(item.thing, item.aspect, " ".join(item.value.split()), position, by)
        replaced = values.pop(place_of(new), None)
        if replaced is not None and casefold(replaced.value) != casefold(new.value):
            earlier.append(replaced)
        if new.value:
            values[place_of(new)] = new
    gone = _find_surplus(list(values.values()), newest)
    remaining = tuple(value for value in values.values() if value not in gone)
    return replace(current, items=remaining, earlier=tuple([*earlier, *gone][-MOST_EARLIER_VALUES:]))


class _Present:
    """The people who were there, as places are looked up: by what the lore calls them, or by words of the name."""

    def __init__(self, names: Iterable[str], place_of: Callable[[StateValue], StatePlace]) -> None:
        listed = list(names)
        self._place_of = place_of
        self._places = {place_of(StateValue(name, Aspect.PLACE, "", 0)) for name in listed}
        self._words = [set(casefold(name).split()) for name in listed]

    def has(self, value: StateValue) -> bool:
        """Return whether a value is the place of one of them; what a person wrote never is."""
        if value.aspect is not Aspect.PLACE or value.by == PERSON:
            return False
        words = set(casefold(value.thing).split())
        return self._place_of(value) in self._places or any(
            words_of_name and words_of_name <= words for words_of_name in self._words
        )


def make_place_finder(lore: Entries) -> Callable[[StateValue], StatePlace]:
    """Return a function that says of which thing and aspect a value is, by the names that the lore knows."""

    def place_of(value: StateValue) -> StatePlace:
        if value.aspect is None:
            return casefold(value.value), None
        entry = find_entry(lore, value.thing)
        return (entry.key if entry else normalize_name(value.thing)), value.aspect

    return place_of


def _find_surplus(values: list[StateValue], newest: int) -> list[StateValue]:
    """Return what is too much: places that nobody spoke of for long first, then the oldest."""

    def worth(item: StateValue) -> tuple[bool, int]:
        lost = item.aspect is Aspect.PLACE and newest - item.position > UNSEEN_AFTER
        return not lost, item.position

    return sorted(values, key=worth)[: max(0, len(values) - MOST_VALUES)]
