"""A view for an agent at work: old tool outputs are notes, huge ones lose their middle, the newest request is shown.

Old outputs are mostly weight, so they give way before any message does, and before any model is asked to fold. What is
shown of a message depends on where it stands, on the epoch and on the budget alone, so that the front of the view stays
byte for byte the same while the epoch goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Message, ToolResult
from previously.core.pairing import cap_outputs, find_answered_calls, find_units, render_left_out, replace_outputs
from previously.core.path import OnPath
from previously.core.tokens import Counter

KEEP_PERCENT = 40
"""The share of the budget that the newest outputs may take and stay whole: an agent works on what it has just read."""

FREED_PERCENT = 10
"""The share of the budget that must be gained before any output becomes a note, since the front of the view changes
then."""

LARGEST_PERCENT = 25
"""The share of the budget that the outputs of calls made together may take: four such turns fill a view."""

CHARACTERS_PER_TOKEN = 3
"""Fewer than prose has: outputs are full of paths, numbers and brackets."""

LEAST_CHARACTERS = 150
"""An output with less than this on either side of the gap would tell nothing."""

LEAST_TOKENS = 50
"""No note is written for a few words: it would be as long as they are."""


@dataclass(frozen=True, slots=True)
class Trim:
    """The part of tool outputs that is shown, for as long as an epoch lasts."""

    whole_from: int = 0
    """Those before this position are notes."""
    most_characters: int = 0
    """The others have so many characters at most, those of calls made together altogether; 0 = as many as they have."""


WHOLE = Trim()
"""All of them, as they are."""


def plan_trim(budget_tokens: int) -> Trim:
    """Return the trim that takes out the middle of what would fill a view by itself."""
    return Trim(0, max(1, budget_tokens * LARGEST_PERCENT // 100 * CHARACTERS_PER_TOKEN))


def trim_more(items: Sequence[OnPath], trim: Trim, budget_tokens: int, counter: Counter) -> Trim:
    """Return the same with the older outputs as notes; unchanged where that would not gain enough."""
    room, gained, start = budget_tokens * KEEP_PERCENT // 100, 0, 0
    for item in reversed(items):
        outputs = [part for part in item.entry.message.parts if isinstance(part, ToolResult)]
        tokens = sum(counter.tokens(part.text) for part in outputs)
        room -= tokens
        if room < 0 and tokens >= LEAST_TOKENS and item is not items[-1]:
            start = start or item.position + 1
            gained += tokens - sum(counter.tokens(render_left_out("a tool", part)) for part in outputs)
    enough = gained >= budget_tokens * FREED_PERCENT // 100
    return replace(trim, whole_from=start) if enough and start > trim.whole_from else trim


def trim_outputs(items: Sequence[OnPath], trim: Trim, counter: Counter) -> list[OnPath]:
    """Return the messages, with as much of their outputs as is shown."""
    if trim == WHOLE:
        return list(items)
    messages = [item.entry.message for item in items]
    names = {place: call.name for place, call in find_answered_calls(messages).items()}
    caps = _find_caps(messages, trim.most_characters)
    shown: list[OnPath] = []
    for at, item in enumerate(items):
        message = item.entry.message
        notes = {
            place: render_left_out(names.get((at, place), ""), part)
            for place, part in enumerate(message.parts)
            if item.position < trim.whole_from
            and isinstance(part, ToolResult)
            and counter.tokens(part.text) >= LEAST_TOKENS
        }
        message = replace_outputs(message, notes)
        shown.append(_replace_message(item, cap_outputs(message, caps[at]) if trim.most_characters else message))
    return shown


def _find_caps(messages: Sequence[Message], most_characters: int) -> list[int]:
    """Return how many characters an output of each message may have."""
    caps: list[int] = []
    for unit in find_units(messages):
        outputs = sum(isinstance(part, ToolResult) for at in unit for part in messages[at].parts)
        caps += [max(LEAST_CHARACTERS, most_characters // max(1, outputs))] * len(unit)
    return caps


def _replace_message(item: OnPath, message: Message) -> OnPath:
    if message is item.entry.message:
        return item
    return replace(item, entry=replace(item.entry, message=message))
