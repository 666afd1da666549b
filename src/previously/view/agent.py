"""A view for an agent at work: old tool outputs are notes, huge ones lose their middle, the newest request is shown.

Old outputs are mostly weight, so they give way before any message does, and before any model is asked to fold. What is
shown of a message depends on where it stands, on the epoch and on the budget alone, so that the front of the view stays
byte for byte the same while the epoch goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, ToolResult
from previously.core.pairing import (
    cap_outputs,
    find_answered_calls,
    find_repeated_reads,
    find_units,
    render_left_out,
    replace_outputs,
)
from previously.core.path import OnPath
from previously.core.tokens import Counter
from previously.view.tail import count_tokens

GROWTH_PERCENT = 10
"""The share of the budget that is left free when outputs give way, since the front of the view changes then: a dozen
steps of an agent in a window of 32,000. A fifth left a third of the window unused."""

LARGEST_PERCENT = 25
"""The share of the budget that the outputs of calls made together may take: four such turns fill a view."""

CHARACTERS_PER_TOKEN = 3
"""Fewer than prose has: outputs are full of paths, numbers and brackets."""

LEAST_CHARACTERS = 150
"""An output with less than this on either side of the gap would tell nothing."""

LEAST_TOKENS = 50
"""No note is written for a few words: it would be as long as they are."""

LEAST_CUT_TOKENS = 200
"""An output of which there is room for less than this becomes a note."""


@dataclass(frozen=True, slots=True)
class Trim:
    """The part of tool outputs that is shown, for as long as an epoch lasts."""

    whole_from: int = 0
    """Those before this position are notes."""
    most_characters: int = 0
    """The others have so many characters at most, those of calls made together altogether; 0 = as many as they have."""
    cut_from: int | None = None
    """Those from this position to `whole_from` are no notes: there was room for a part of them."""
    cut_characters: int = 0
    """The characters that those have together."""
    repeated: tuple[tuple[int, int], ...] = ()
    """Outputs, by position and place, that are notes wherever they stand: a later one shows the same lines of a
    file."""

    @property
    def noted_before(self) -> int:
        """The position before which outputs are notes."""
        return self.whole_from if self.cut_from is None else self.cut_from


WHOLE = Trim()
"""All of them, as they are."""


def plan_trim(budget_tokens: int) -> Trim:
    """Return the trim that takes out the middle of what would fill a view by itself."""
    return Trim(0, max(1, budget_tokens * LARGEST_PERCENT // 100 * CHARACTERS_PER_TOKEN))


@dataclass(frozen=True, slots=True)
class UnitCost:
    """Messages that belong together, and what they cost."""

    first: int
    """Their first position,"""
    last: int
    """and their last."""
    whole: int
    """The tokens with whole outputs,"""
    noted: int
    """and with notes in their place."""
    characters: int
    """Of their outputs."""


def fill_with_outputs(trim: Trim, needed: Sequence[UnitCost], older: Sequence[UnitCost], room: int) -> tuple[Trim, int]:
    """Return what is shown of outputs, and from which position on, so that the room is filled: with the newest outputs
    whole, then with older messages, then with a part of the next outputs. All of `needed` is shown, and has room with
    notes for its outputs; `older` is shown as far as there is room."""
    free = room - sum(unit.noted for unit in needed)
    whole_from = max((unit.last + 1 for unit in (*older, *needed)), default=0)
    first = needed[0].first if needed else whole_from
    for unit, besides in [*((unit, 0) for unit in reversed(needed)), *((unit, unit.noted) for unit in reversed(older))]:
        outputs = unit.whole - unit.noted
        if besides + outputs > free:
            shown = free - besides
            if not outputs or shown < LEAST_CUT_TOKENS:
                break
            part = unit.characters * shown // outputs
            return replace(trim, whole_from=whole_from, cut_from=unit.first, cut_characters=part), min(
                first, unit.first
            )
        free -= besides + outputs
        whole_from, first = unit.first, min(first, unit.first)
    return replace(trim, whole_from=whole_from), first


def find_repeated_outputs(items: Sequence[OnPath]) -> tuple[tuple[int, int], ...]:
    """Return the outputs that a later one shows again, but for the newest messages that belong together: they were just
    asked for."""
    messages = [item.entry.message for item in items]
    newest = find_units(messages)[-1].start if messages else 0
    places = sorted(place for place in find_repeated_reads(messages) if place[0] < newest)
    return tuple((items[at].position, place) for at, place in places)


def trim_outputs(items: Sequence[OnPath], trim: Trim, counter: Counter) -> list[OnPath]:
    """Return the messages, with as much of their outputs as is shown."""
    if trim == WHOLE:
        return list(items)
    messages = [item.entry.message for item in items]
    calls = find_answered_calls(messages)
    caps, repeated = _find_caps(items, trim), frozenset(trim.repeated)
    shown: list[OnPath] = []
    for at, item in enumerate(items):
        message = item.entry.message
        notes = {
            place: render_left_out(calls.get((at, place)), part, repeated=(item.position, place) in repeated)
            for place, part in enumerate(message.parts)
            if (item.position < trim.noted_before or (item.position, place) in repeated)
            and isinstance(part, ToolResult)
            and counter.tokens(part.text) >= LEAST_TOKENS
        }
        message = replace_outputs(message, notes)
        shown.append(_replace_message(item, cap_outputs(message, caps[at]) if trim.most_characters else message))
    return shown


def leave_out_outputs(message: Message) -> Message:
    """Return a message without the outputs that may become notes."""
    kept = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    return message if len(kept) == len(message.parts) else replace(message, parts=kept)


def list_costs(
    units: Sequence[Sequence[OnPath]], whole: Sequence[Sequence[OnPath]], counter: Counter
) -> list[UnitCost]:
    """Return what units cost as they are, with notes, and as `whole` has them."""
    by_position = {unit[0].position: unit for unit in whole}
    costs = []
    for unit in units:
        same = by_position.get(unit[0].position, unit)
        tokens = count_tokens(same, counter), count_tokens(unit, counter)
        costs.append(UnitCost(unit[0].position, unit[-1].position, *tokens, _count_output_characters(same)))
    return costs


def _count_output_characters(items: Iterable[OnPath]) -> int:
    parts = (part for item in items for part in item.entry.message.parts)
    return sum(len(part.text) for part in parts if isinstance(part, ToolResult))


def _find_caps(items: Sequence[OnPath], trim: Trim) -> list[int]:
    """Return how many characters an output of each message may have."""
    caps: list[int] = []
    messages = [item.entry.message for item in items]
    for unit in find_units(messages):
        outputs = sum(isinstance(part, ToolResult) for at in unit for part in messages[at].parts)
        is_cut = trim.noted_before <= items[unit.start].position < trim.whole_from
        most = trim.cut_characters if is_cut else trim.most_characters
        caps += [max(LEAST_CHARACTERS, most // max(1, outputs))] * len(unit)
    return caps


def _replace_message(item: OnPath, message: Message) -> OnPath:
    if message is item.entry.message:
        return item
    return replace(item, entry=replace(item.entry, message=message))
