"""The tail: which of the newest messages are shown as they were said.

It is filled from the newest message backwards, whole messages only and without a gap. Once it has been shown it only
grows, so that what a model has read stays where it was; where there is no room for it and memory does not yet tell of
its front, whole turns are cut there, at least a quarter of it at a time, so that it can grow again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from previously.core.messages import ToolCall, ToolResult
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


def filled(items: Sequence[OnPath], room: int, counter: Counter) -> list[OnPath]:
    """The newest of these messages, as many as there is room for; the very newest in any case."""
    fitting = list(items[-1:])
    room -= cost(fitting, counter)
    for item in reversed(items[:-1]):
        room -= message_tokens(item.entry.message, counter)
        if room < 0:
            break
        fitting.append(item)
    return fitting[::-1]


def stepped(items: Sequence[OnPath], room: int, counter: Counter) -> list[OnPath]:
    """The messages of the newest whole turns that take three quarters of the room at most; where a single turn takes
    more, as many messages as there is room for."""
    begun = turn_starts([item.entry.message.role for item in items])
    for start in begun[1:]:
        if cost(items[start:], counter) <= room * 3 // 4:
            return list(items[start:])
    return filled(items, room, counter)


def whole_pairs(items: Sequence[OnPath]) -> list[OnPath]:
    """Without results whose call is not shown, and calls whose result is not: no model accepts half of a pair. The
    newest message may still wait for its results."""
    called, answered = _ids(items, ToolCall), _ids(items, ToolResult)
    whole = [item for item in items if called.issuperset(_ids([item], ToolResult))]
    return [item for item in whole if answered.issuperset(_ids([item], ToolCall)) or item is items[-1]]


def _ids(items: Iterable[OnPath], kind: type[ToolCall] | type[ToolResult]) -> set[str]:
    return {part.id for item in items for part in item.entry.message.parts if isinstance(part, kind)}
