"""Furniture: what a client sends that is not the story, and where it stands in a view.

Its first system messages come before everything in the one system message; the rest of its front follows that message;
notes stand so many messages from the end. What must stay true: it is never cut, and no note comes between a tool call
and its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from previously.core.messages import Message, Role, ToolResult
from previously.core.tokens import Counter, message_tokens


@dataclass(frozen=True, slots=True)
class Furniture:
    """What belongs to the client."""

    front: tuple[Message, ...] = ()
    """Before the story: system prompts, then examples."""
    notes: tuple[tuple[int, Message], ...] = ()
    """Each with its depth: how many messages of the story come after it."""
    tools: str = ""
    """The schemas of its tools as they are sent. They stand in no message, and cost what they cost."""

    @property
    def system_texts(self) -> list[str]:
        """What the system message begins with."""
        return [message.text for message in self._leading()]

    @property
    def examples(self) -> tuple[Message, ...]:
        """What stands between the system message and the story."""
        return self.front[len(self._leading()) :]

    def tokens(self, counter: Counter) -> int:
        """What all of it costs but for what the system message holds."""
        apart = [*self.examples, *(note for _, note in self.notes)]
        return sum(message_tokens(message, counter) for message in apart) + counter.tokens(self.tools)

    def around(self, system: Message | None, tail: Sequence[Message]) -> tuple[Message, ...]:
        """The system message and the tail with all that stands between and behind them."""
        placed = list(tail)
        for depth, note in sorted(self.notes, key=lambda placed_note: placed_note[0]):
            at = max(0, len(placed) - depth)
            while 0 < at < len(placed) and _is_result(placed[at]):
                at -= 1
            placed.insert(at, note)
        return (*((system,) if system else ()), *self.examples, *placed)

    def _leading(self) -> list[Message]:
        return list(takewhile(lambda message: message.role is Role.SYSTEM, self.front))


NO_FURNITURE = Furniture()


def _is_result(message: Message) -> bool:
    return message.role is Role.TOOL or any(isinstance(part, ToolResult) for part in message.parts)
