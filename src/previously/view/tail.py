"""The tail: which of the newest messages are shown as they were said.

It is filled from the newest message backwards, without a gap. A message that calls tools and the results right behind
it are one unit: no model accepts half of it, so it is shown or cut as a whole. Once it has been shown the tail only
grows, so that what a model has read stays where it was; where there is no room for it, whole turns are cut at its
front, at least a quarter of it at a time, so that it can grow again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from previously.core import pairing
from previously.core.messages import Image, Part, Role, Text, ToolCall, ToolResult
from previously.core.path import OnPath, find_turns
from previously.core.tokens import Counter, message_tokens


def count_tokens(items: Iterable[OnPath], counter: Counter) -> int:
    return sum(message_tokens(item.entry.message, counter) for item in items)


def take_newest_turns(items: Sequence[OnPath], turns: int) -> Sequence[OnPath]:
    """Return the messages of so many of the newest turns."""
    begun = find_turns([item.entry.message.role for item in items])
    return items[begun[-turns] :] if len(begun) >= turns else items


def group_units(items: Iterable[OnPath]) -> list[list[OnPath]]:
    """Return the messages, those that belong together as one: calls, and the results right behind that answer them.
    What is not whole is left out: results without their call, calls that were never answered; the newest may still
    be."""
    every = list(items)
    if all(map(_is_told, every)):
        return [[item] for item in every]  # a story without tools, as most are
    grouped = [every[unit.start : unit.stop] for unit in pairing.find_units([item.entry.message for item in every])]
    whole: list[list[OnPath]] = []
    for unit in grouped:
        if _is_whole(unit, newest=unit is grouped[-1]):
            whole.append(unit)
        else:
            whole += [[item] for item in unit if _says_something(item) and not _has_tools(item)]
    return whole


def fill_tail(whole: Sequence[Sequence[OnPath]], room: int, counter: Counter) -> list[OnPath]:
    """Return the messages of the newest units, as many as there is room for; the very newest in any case."""
    newest = list(whole[-1]) if whole else []
    return [*take_newest_units(whole[:-1], room - count_tokens(newest, counter), counter), *newest]


def take_newest_units(whole: Sequence[Sequence[OnPath]], room: int, counter: Counter) -> list[OnPath]:
    """Return the messages of the newest units, as many as there is room for; none is fine."""
    at = len(whole)
    while at and room >= (taken := count_tokens(whole[at - 1], counter)):
        room -= taken
        at -= 1
    return [item for unit in whole[at:] for item in unit]


def cut_whole_turns(whole: Sequence[Sequence[OnPath]], room: int, counter: Counter) -> list[OnPath]:
    """Return the messages of the newest whole turns that take three quarters of the room at most; where a single turn
    takes more, as many units as there is room for."""
    items = [item for unit in whole for item in unit]
    left = count_tokens(items, counter)
    at = 0
    between = set(accumulate(len(unit) for unit in whole))
    for start in find_turns([item.entry.message.role for item in items])[1:]:
        if start not in between:
            continue  # what a user says with the results of calls begins nothing
        left -= count_tokens(items[at:start], counter)
        at = start
        if left <= room * 3 // 4:
            return items[start:]
    return fill_tail(whole, room, counter)


def _is_told(item: OnPath) -> bool:
    """Return whether a message is a text and nothing else."""
    message = item.entry.message
    return len(message.parts) == 1 and type(message.parts[0]) is Text and message.role is not Role.TOOL


def _is_whole(unit: Sequence[OnPath], *, newest: bool) -> bool:
    """Return whether all that was called in it was answered in it; of the newest, some may still be."""
    if len(unit) == 1 and not _has_tools(unit[0]):
        return unit[0].entry.message.role is not Role.TOOL
    faults = len(pairing.find_unpaired([item.entry.message for item in unit]))
    waiting = sum(_count(item, ToolCall) for item in unit) - sum(_count(item, ToolResult) for item in unit)
    return faults == 0 or (newest and faults == waiting)


def _says_something(item: OnPath) -> bool:
    return item.entry.message.role is not Role.TOOL and bool(_count(item, Text, Image))


def _has_tools(item: OnPath) -> bool:
    parts = item.entry.message.parts
    return not (len(parts) == 1 and type(parts[0]) is Text) and any(
        isinstance(part, ToolCall | ToolResult) for part in parts
    )


def _count(item: OnPath, *kinds: type[Part]) -> int:
    return sum(isinstance(part, kinds) for part in item.entry.message.parts)
