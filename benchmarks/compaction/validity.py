"""Whether the usual APIs would take a conversation: what they refuse, written down as checks of its own.

What must stay true: it does not use the code that folds or writes conversations, only `unpaired` as a second opinion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from previously.core.messages import Image, Message, Role, Text, ToolCall, ToolResult
from previously.core.pairing import find_unpaired


def openai_faults(messages: Sequence[Message]) -> list[str]:
    """What OpenAI's chat API refuses: calls without results right behind them, results without a call."""
    return list(_pairing(messages))


def anthropic_faults(messages: Sequence[Message]) -> list[str]:
    """What Anthropic's API refuses: the same, a first message that is not the user's, and empty content."""
    return [*_pairing(messages), *_shape(messages)]


def faults(messages: Sequence[Message]) -> list[str]:
    """All that one of them refuses, and what `unpaired` says besides."""
    found = anthropic_faults(messages)
    return found or find_unpaired(messages)


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        for result in results:
            if result.id in waiting:
                waiting.discard(result.id)
            else:
                yield f"message {number}: a result without its call"
        if waiting and not results:
            yield f"message {number}: {len(waiting)} calls before it have no result"
            waiting.clear()
        waiting |= {call.id for call in calls}
    if waiting:
        yield f"the end: {len(waiting)} calls have no result"


def _shape(messages: Sequence[Message]) -> Iterator[str]:
    said = [one for one in messages if one.role is not Role.SYSTEM]
    if not said:
        yield "there is no message"
    elif said[0].role is not Role.USER:
        yield f"the first message is the {said[0].role.value}'s"
    for number, message in enumerate(messages):
        if not any(isinstance(one, ToolCall | ToolResult | Image) or _says(one) for one in message.parts):
            yield f"message {number} is empty"


def _says(part: object) -> bool:
    return isinstance(part, Text) and bool(part.text.strip())
