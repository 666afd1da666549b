"""The lines of memory that say from which messages they come: threads, how things stand, lore, what somebody learnt.

Behind the newest snapshot of the state the notes themselves are read, so that what was replaced since still leads to
its message; before it, what the state still holds. What an earlier story left has no messages here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from previously.core.note import Note, NotedLine
from previously.lore.entry import LoreEntry
from previously.lore.state import PlacedNote, State


def list_state_lines(state: State, entries: Iterable[LoreEntry], until: int) -> Iterator[NotedLine]:
    """Yield the lines of a state whose messages stand before a position. `entries` are those that may be told."""
    for entry in entries:
        text = " ".join((entry.name, *entry.aliases, *entry.keywords, entry.content))
        yield from _place(text, entry.sources, until)
    for value in (*state.current.items, *state.current.earlier):
        yield from _place(f"{value.thing} {value.value}", (value.position,), until)
    for thread in state.threads.threads:
        yield from _place(thread.earlier[0] if thread.earlier else thread.text, (thread.opened,), until)
        if thread.settled is not None:
            yield from _place(f"{thread.text} {thread.outcome}", (thread.settled,), until)
    for learner in state.learnt.values():
        for fact in learner.facts:
            yield from _place(fact.text, (fact.since,), until)


def list_note_lines(noted: PlacedNote) -> Iterator[NotedLine]:
    """Yield the lines of a note that name their messages."""
    first, until = noted.first, noted.last + 1
    for text, offsets in _read_items(noted.note):
        yield from _place(text, [first + offset for offset in offsets if offset >= 0], until)


def _read_items(note: Note) -> Iterator[tuple[str, tuple[int, ...]]]:
    for thread in note.threads:
        if thread.at is not None:
            yield f"{thread.text} {thread.was}", (thread.at,)
    for value in note.state:
        if value.at is not None:
            yield f"{value.thing} {value.value}", (value.at,)
    for learnt in note.learnt:
        yield learnt.text, (learnt.at,)
    for lore in note.lore:
        yield " ".join((lore.name, *lore.keywords, lore.content)), lore.at


def _place(text: str, positions: Iterable[int], until: int) -> Iterator[NotedLine]:
    places = tuple(position for position in positions if 0 <= position < until)
    if places and text.strip():
        yield NotedLine(text, places)
