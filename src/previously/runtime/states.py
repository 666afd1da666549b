"""The state of a story, lore, threads and how things stand, as its notes have it.

A pure reduce over the notes of a path, from the newest snapshot on. What must stay true: for somebody in particular
only notes count whose messages they have all witnessed; what is remembered of an earlier look changes nothing but time.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from previously.core.note import Note, note_of
from previously.core.people import people_after
from previously.core.versions import Kind, NewVersion
from previously.core.witnessing import knows_of
from previously.folds.analysis_answer import analysis_note
from previously.folds.recap import FoldRules, Timeline
from previously.folds.scene_shape import scene_note
from previously.folds.tiling import Tile
from previously.lore.state import EMPTY, Noted, State, after, state_of
from previously.runtime.noted import Walk, witnessed

MOST_REMEMBERED = 128
"""How many states of earlier looks are remembered."""

LOOKED_BACK = 8
"""How many notes may be new since a state that is remembered."""

Notes = tuple[tuple[int, int, bool], ...]
"""Notes, where each ends (the same note may stand elsewhere after an edit), and whether only its lore counts."""

Looked = tuple[int, str, Notes]
"""A snapshot, what counts, and the notes behind it."""


class States:
    """States of earlier looks, so that a look reads only what is new. Version ids tell stories of one store apart."""

    def __init__(self) -> None:
        self._known: OrderedDict[Looked, State] = OrderedDict()

    def after(self, seen: Walk, rules: FoldRules, reader: str = "", *, through: int | None = None) -> State:
        """The state where a walk ends, or at an earlier position, as a reader may know it; what people wrote aside."""
        last = seen.first + len(seen.path) - 1 if through is None else through
        tiles = _counting(seen, reader, last)
        librarian = rules.timeline is Timeline.LIBRARIAN
        notes = tuple(
            (tile.note.id, tile.span.last, _is_for_lore(seen, tile, librarian=librarian)) for tile in tiles if tile.note
        )
        snapshot = seen.snapshot.version.id if seen.snapshot else 0
        state, done = self._nearest(seen, snapshot, rules.timeline.value, notes)
        for tile, (_, _, for_lore) in zip(tiles[done:], notes[done:], strict=True):
            state = after(state, _read(seen, tile, for_lore=for_lore))
        self._keep((snapshot, rules.timeline.value, notes), state)
        said = seen.path[: max(0, last + 1 - seen.first)]
        heard = ((item.position, item.entry.message) for item in said if knows_of(reader, item.entry.message))
        return replace(state, people=people_after(state.people, heard))

    def _nearest(self, seen: Walk, snapshot: int, timeline: str, notes: Notes) -> tuple[State, int]:
        """The state after most of these notes that is remembered, and after how many."""
        lengths = range(len(notes), max(0, len(notes) - LOOKED_BACK), -1)
        for length in (*lengths, 0):
            state = self._known.get((snapshot, timeline, notes[:length]))
            if state is not None:
                return state, length
        begun = (state_of(seen.snapshot.version.made.text) if seen.snapshot else None) or EMPTY
        self._keep((snapshot, timeline, ()), begun)  # reading it once more would cost as much as many notes
        return begun, 0

    def _keep(self, looked: Looked, state: State) -> None:
        self._known[looked] = state
        self._known.move_to_end(looked)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)


def _counting(seen: Walk, reader: str, last: int) -> list[Tile]:
    """The noted tiles of a walk that a reader may know of, in path order; of those that end together the fragment
    first."""
    tiles = [tile for tile in (*seen.fragments, *seen.scenes, *seen.updates) if tile.note and tile.span.last <= last]
    known = [tile for tile in tiles if not reader or (_is_apart(tile) and witnessed(seen.run(tile), reader))]
    return sorted(known, key=lambda tile: (tile.span.last, len(tile.span)))


def _is_apart(tile: Tile) -> bool:
    """Return whether a note was made from its span alone. An update is told of all before it, so where not everyone
    witnessed everything its note is for nobody in particular."""
    return tile.note is not None and tile.note.made.kind is not Kind.NOTE


def _is_for_lore(seen: Walk, tile: Tile, *, librarian: bool) -> bool:
    """Return whether a note counts for its lore alone: a scene where other notes of the same messages say what it
    opened and changed."""
    if tile.note is None or tile.note.made.kind is not Kind.SCENE:
        return False
    first, last = tile.span.first, tile.span.last
    return librarian or any(one.span.first <= last and first <= one.span.last for one in seen.updates)


def _read(seen: Walk, tile: Tile, *, for_lore: bool) -> Noted:
    """Return what a note says of its span."""
    assert tile.note is not None, "only noted tiles are read"
    made = tile.note.made
    messages = tuple(item.entry.message for item in seen.run(tile))
    note = _note(made)
    return Noted(
        Note(lore=note.lore) if for_lore else note, made.key, tile.span.first, tile.span.last, made.made_by, messages
    )


def _note(made: NewVersion) -> Note:
    match made.kind:
        case Kind.ANALYSIS:
            return analysis_note(made.text)
        case Kind.SCENE:
            return scene_note(made.text)
        case _:
            return note_of(made.text)
