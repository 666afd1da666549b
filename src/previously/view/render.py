"""The last step of a view: its parts become messages.

All memory stands in messages that are there anyway, so that no message and no role is added: stable memory behind the
client's own words in the one system message, this turn's memory inside what the user said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from previously.core.messages import Message, Role, Text, ToolResult
from previously.core.tokens import Counter, message_tokens
from previously.view.view import ViewParts


class ViewPart(Enum):
    """The part of a view that a message comes from."""

    SYSTEM = auto()
    FRONT = auto()
    NOTE = auto()
    TAIL = auto()


@dataclass(frozen=True, slots=True)
class PlacedMessage:
    """A message of a view, and where it comes from."""

    message: Message
    part: ViewPart
    index: int = 0
    """Of the furniture's front, or of its notes; in the tail, the position on the path."""

    @property
    def position(self) -> int | None:
        """The position on the path; None for what is not the story."""
        return self.index if self.part is ViewPart.TAIL else None


def render_messages(parts: ViewParts) -> tuple[Message, ...]:
    return tuple(placed.message for placed in place_messages(parts))


def place_messages(parts: ViewParts) -> list[PlacedMessage]:
    """Return the messages of a view in order, each with the part it comes from. No note comes between a tool call and
    its results."""
    furniture, turn = parts.furniture, parts.turn_memory
    placed = [PlacedMessage(item.entry.message, ViewPart.TAIL, item.position) for item in parts.tail]
    if turn is not None:
        at = next(at for at, item in enumerate(placed) if item.index == turn.position)
        placed[at] = replace(placed[at], message=put_before(placed[at].message, turn.text))
    before: list[list[PlacedMessage]] = [[] for _ in range(len(placed) + 1)]
    for index, (depth, note) in sorted(enumerate(furniture.notes), key=lambda numbered: -numbered[1][0]):
        at = max(0, len(placed) - depth)
        while 0 < at < len(placed) and _is_result(placed[at].message):
            at -= 1
        before[at].append(PlacedMessage(note, ViewPart.NOTE, index))
    with_notes = [one for at, item in enumerate(placed) for one in (*before[at], item)] + before[-1]
    system_texts, examples = furniture.system_texts, furniture.examples
    front = [PlacedMessage(one, ViewPart.FRONT, len(system_texts) + at) for at, one in enumerate(examples)]
    system = make_system_message([*system_texts, *parts.opening, *parts.memory])
    return [*([PlacedMessage(system, ViewPart.SYSTEM)] if system else []), *front, *with_notes]


def make_system_message(texts: Sequence[str]) -> Message | None:
    return Message(Role.SYSTEM, (Text("\n\n".join(texts)),)) if texts else None


def count_system_tokens(texts: Sequence[str], counter: Counter) -> int:
    system = make_system_message(texts)
    return message_tokens(system, counter) if system else 0


def put_before(message: Message, text: str) -> Message:
    """Return a message with a text before its own words."""
    at, words = next((at, part) for at, part in enumerate(message.parts) if isinstance(part, Text))
    return replace(message, parts=(*message.parts[:at], Text(text + words.text), *message.parts[at + 1 :]))


def _is_result(message: Message) -> bool:
    return message.role is Role.TOOL or any(isinstance(part, ToolResult) for part in message.parts)
