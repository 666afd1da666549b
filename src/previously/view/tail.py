"""The tail: which of the newest messages are shown as they were said.

It is filled from the newest message backwards, without a gap. A message that calls tools and the results right behind
it are one unit: no model accepts half of it, so it is shown or cut as a whole. Once it has been shown the tail only
grows, so that what a model has read stays where it was; where there is no room for it, whole turns are cut at its
front, at least a quarter of it at a time, so that it can grow again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from previously.core import pairing
from previously.core.messages import Message, Role, ToolCall, ToolResult
from previously.core.paths import OnPath
from previously.core.spans import turn_starts
from previously.core.tokens import Counter, message_tokens


def cost(items: Iterable[OnPath], counter: Counter) -> int:
    """What these messages cost."""
    return sum(message_tokens(item.entry.message, counter) for item in items)


def newest_turns(items: Sequence[OnPath], turns: int) -> Sequence[OnPath]:
    """The messages of so many of the newest turns."""
    begun = turn_starts([item.entry.message.role for item in items])
    return items[begun[-turns] :] if len(begun) >= turns else items


def units(items: Iterable[OnPath]) -> list[list[OnPath]]:
    """The messages, those that belong together as one: calls, and the results that answer them. What is not whole is
    left out: results without their call, calls that were never answered; the newest may still be."""
    listed = list(items)
    messages = [item.entry.message for item in listed]
    found = pairing.units(messages)
    whole: list[list[OnPath]] = []
    for unit in found:
        run = messages[unit.start : unit.stop]
        plain = len(run) == 1 and not _is_part_of_a_call(run[0])
        if plain or not pairing.unpaired(run) or (unit is found[-1] and _waits(run)):
            whole.append(listed[unit.start : unit.stop])
        else:  # what others said in between is whole by itself
            whole += [[listed[at]] for at in unit if not _is_part_of_a_call(messages[at])]
    return whole


def _waits(run: Sequence[Message]) -> bool:
    """Whether results are still to come, and nothing else is wrong."""
    alone = all(message.role in (Role.ASSISTANT, Role.TOOL) for message in run)
    return alone and not pairing.mended(run).orphans


def _is_part_of_a_call(message: Message) -> bool:
    return any(type(part) in (ToolCall, ToolResult) for part in message.parts)


def filled(whole: Sequence[Sequence[OnPath]], room: int, counter: Counter) -> list[OnPath]:
    """The newest units, as many as there is room for; the very newest in any case."""
    fitting = [list(whole[-1])] if whole else []
    room -= sum(cost(unit, counter) for unit in fitting)
    for unit in reversed(whole[:-1]):
        room -= cost(unit, counter)
        if room < 0:
            break
        fitting.append(list(unit))
    return [item for unit in reversed(fitting) for item in unit]


def stepped(whole: Sequence[Sequence[OnPath]], room: int, counter: Counter) -> list[OnPath]:
    """The messages of the newest whole turns that take three quarters of the room at most; where a single turn takes
    more, as many units as there is room for."""
    items = [item for unit in whole for item in unit]
    left = cost(items, counter)
    at = 0
    for start in turn_starts([item.entry.message.role for item in items])[1:]:
        left -= cost(items[at:start], counter)
        at = start
        if left <= room * 3 // 4:
            return items[start:]
    return filled(whole, room, counter)
