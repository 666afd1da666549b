"""The state of a story, lore, threads and how things stand, as its notes have it.

A pure reduce over the notes of a path, from the newest snapshot on. For somebody in particular only items count whose
messages they witnessed. What is remembered of an earlier look changes nothing but time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from previously.core.fold_rules import FoldRules, Timeline
from previously.core.note import Note, parse_note
from previously.core.people import update_people
from previously.core.presence import Presence
from previously.core.versions import Kind
from previously.lore.reader_state import apply_note_for
from previously.lore.state import EMPTY_STATE, PlacedNote, State, apply_note, parse_state
from previously.memory.notes import Walk

if TYPE_CHECKING:
    from previously.folds.tiles import Tile

MOST_REMEMBERED = 128
"""States of earlier looks that are remembered: a few for each character and branch of a story."""

LOOKED_BACK = 8
"""Notes that may be new since a state that is remembered: there is a look after each fold, and a fold adds few."""

MOST_PARSED = 256
"""Notes that are kept parsed: those of a few stories behind their snapshots. Reading one takes a millisecond."""

Notes = tuple[tuple[int, int, bool], ...]
"""Notes, where each ends (the same note may stand elsewhere after an edit), and whether only its lore counts."""

Looked = tuple[int, str, Notes]
"""A snapshot, what counts, and the notes behind it."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Somebody in particular, and what they may know of."""

    name: str
    presence: Presence

    def knows(self, position: int) -> bool:
        """Return whether they may know of a message."""
        return self.presence.knows(self.name, position)

    def is_self(self, name: str) -> bool:
        return self.presence.names.same_person(self.name, name)

    def through(self, last: int) -> str:
        """Return what stands for them and for all they may know of up to a position."""
        return f"{self.presence.names.key(self.name)} {self.presence.digest(self.name, last)}"


class States:
    """States of earlier looks at one story, so that a look reads only what is new."""

    def __init__(self) -> None:
        self._known: OrderedDict[Looked, State] = OrderedDict()

    def reduce(
        self,
        seen: Walk,
        rules: FoldRules,
        *,
        through: int | None = None,
        witness: Witness | None = None,
        begun: State | None = None,
    ) -> State:
        """Return the state where a walk ends, or at an earlier position; what people wrote aside. With a `witness`, as
        they may know it: `begun` is then what they knew where the walk begins."""
        last = seen.first + len(seen.path) - 1 if through is None else through
        tiles = _list_counting(seen, last)
        librarian = rules.timeline is Timeline.LIBRARIAN
        notes = tuple(
            (tile.note.id, tile.span.last, _is_for_lore(seen, tile, librarian=librarian)) for tile in tiles if tile.note
        )
        snapshot = seen.base.version.id if seen.base else 0

        def looked(length: int) -> Looked:
            known = witness.through(notes[length - 1][1] if length else seen.first - 1) if witness else ""
            return snapshot, f"{rules.timeline.value} {known}", notes[:length]

        def begin() -> State:
            if begun is not None:
                return begun
            return (parse_state(seen.base.version.made.text) if seen.base else None) or EMPTY_STATE

        state, done = self._nearest(len(notes), looked, begin)
        for tile, (_, _, for_lore) in zip(tiles[done:], notes[done:], strict=True):
            noted = _read(seen, tile, for_lore=for_lore)
            state = (
                apply_note_for(state, noted, witness.knows, witness.is_self) if witness else apply_note(state, noted)
            )
        self.keep(looked(len(notes)), state)
        said = seen.path[: max(0, last + 1 - seen.first)]
        heard = ((item.position, item.entry.message) for item in said if not witness or witness.knows(item.position))
        return replace(state, people=update_people(state.people, heard))

    def _nearest(self, count: int, looked: Callable[[int], Looked], begin: Callable[[], State]) -> tuple[State, int]:
        """Return the state after most of so many notes that is remembered, and after how many."""
        lengths = range(count, max(0, count - LOOKED_BACK), -1)
        for length in (*lengths, 0):
            state = self._known.get(looked(length))
            if state is not None:
                return state, length
        begun = begin()
        self.keep(looked(0), begun)  # reading it once more would cost as much as many notes
        return begun, 0

    def find(self, looked: Looked) -> State | None:
        return self._known.get(looked)

    def keep(self, looked: Looked, state: State) -> None:
        self._known[looked] = state
        self._known.move_to_end(looked)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)


def read_notes(seen: Walk, rules: FoldRules) -> list[PlacedNote]:
    """Return the notes of a walk as the state takes them in, in path order."""
    librarian = rules.timeline is Timeline.LIBRARIAN
    tiles = _list_counting(seen, seen.first + len(seen.path) - 1)
    return [_read(seen, tile, for_lore=_is_for_lore(seen, tile, librarian=librarian)) for tile in tiles]


def _list_counting(seen: Walk, last: int) -> list[Tile]:
    """Return the noted tiles of a walk, in path order; of those that end together the fragment first."""
    tiles = [tile for tile in (*seen.fragments, *seen.scenes, *seen.updates) if tile.note and tile.span.last <= last]
    return sorted(tiles, key=lambda tile: (tile.span.last, len(tile.span)))


def _is_for_lore(seen: Walk, tile: Tile, *, librarian: bool) -> bool:
    """Return whether a note counts for its lore alone: a scene where other notes of the same messages say what it
    opened and changed."""
    if tile.note is None or tile.note.made.kind is not Kind.SCENE:
        return False
    first, last = tile.span.first, tile.span.last
    return librarian or any(update.span.first <= last and first <= update.span.last for update in seen.updates)


def _read(seen: Walk, tile: Tile, *, for_lore: bool) -> PlacedNote:
    """Return what a note says of its span."""
    assert tile.note is not None, "only noted tiles are read"
    made = tile.note.made
    messages = tuple(item.entry.message for item in seen.run(tile))
    note = _parse(made.kind, made.text)
    return PlacedNote(
        Note(lore=note.lore) if for_lore else note, made.key, tile.span.first, tile.span.last, made.made_by, messages
    )


@lru_cache(maxsize=MOST_PARSED)
def _parse(kind: Kind, text: str) -> Note:
    match kind:
        case Kind.ANALYSIS:
            from previously.folds.analysis import parse_analysis_note  # not for stories that have none

            return parse_analysis_note(text)
        case Kind.SCENE:
            from previously.folds.scene import parse_scene_note

            return parse_scene_note(text)
        case _:
            return parse_note(text)
