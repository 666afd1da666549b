"""Places of entries in a view.

World Info names eight places of a prompt that another program builds. A view has two, since it adds no message and
keeps its front unchanged: what always holds stands in the stable memory, all else inside the newest user message. There
the entries stand as their places would follow one another: what was written for the front of a prompt first, what was
written for the end last, nearest to what the user said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from previously.lore.decisions import FiredEntry
from previously.lore.entry import NOTE_DEPTH, EntryPosition, KeyedEntry

_FRONT = (
    EntryPosition.BEFORE_CHARACTER,
    EntryPosition.AFTER_CHARACTER,
    EntryPosition.BEFORE_EXAMPLES,
    EntryPosition.AFTER_EXAMPLES,
    EntryPosition.OUTLET,
)
"""The places before the messages, in the order of a prompt. Where no prompt names an outlet, its entries stand behind
the rest of the front."""

_NOTES = {EntryPosition.NOTE_TOP: 0, EntryPosition.AT_DEPTH: 1, EntryPosition.NOTE_BOTTOM: 2}


def order_by_place(fired: Iterable[FiredEntry]) -> list[FiredEntry]:
    """Return the entries as they stand in the newest message; those of one place keep their order."""
    return sorted(fired, key=lambda one: _rank_place(one.entry))


def _rank_place(entry: KeyedEntry) -> tuple[int, ...]:
    if entry.position in _FRONT:
        return 0, _FRONT.index(entry.position)
    depth = entry.depth if entry.position is EntryPosition.AT_DEPTH else NOTE_DEPTH
    return 1, -max(depth, 0), _NOTES[entry.position]


def describe_place(entry: KeyedEntry, outlets: Collection[str] = ()) -> str:
    """Return where an entry stands once it fires, in words; `outlets` are those that the story's prompts name."""
    if entry.stands_always:
        return "stable memory"
    wished = {
        EntryPosition.BEFORE_CHARACTER: "",
        EntryPosition.AFTER_CHARACTER: "after the character",
        EntryPosition.NOTE_TOP: "above the author's note",
        EntryPosition.NOTE_BOTTOM: "below the author's note",
        EntryPosition.AT_DEPTH: f"at depth {entry.depth}" + (", without its role" if entry.role else ""),
        EntryPosition.BEFORE_EXAMPLES: "before the examples",
        EntryPosition.AFTER_EXAMPLES: "after the examples",
        EntryPosition.OUTLET: f'outlet "{entry.outlet}"',
    }[entry.position]
    if entry.is_in(outlets):
        return f'outlet "{entry.outlet}" of the prompt'
    return f"newest message, as {wished}" if wished else "newest message"
