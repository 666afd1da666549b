"""Pins: the messages that no fold touches.

They are system messages, messages of the user that hold injected rules (the text of an AGENTS.md or CLAUDE.md file, a
block of instructions), what the caller pins besides, and the newest request. Rules are known by their form, never by
what they say: a block stands at the beginning of a text, opened and closed by a tag, or under a heading that names the
file. A tool's output is never a rule, whatever it holds.

What must stay true: where a pin belongs to a unit, all of the unit is kept; of rules that were injected again word for
word the first copy is pinned, so that pins do not grow by repetition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.messages import Image, Message, Role, Text, ToolResult
from previously.folds.briefs.attached import REMINDER, RULES_HEADING, RULES_TAG, leading_blocks, own_words

_RULES_FILE = re.compile(r"\b(?:AGENTS|CLAUDE|GEMINI)(?:\.local)?\.md\b|^# claudeMd\b|\.cursorrules\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pins:
    """What stays as it is."""

    messages: tuple[int, ...]
    """Those that are pinned, in order."""
    held: frozenset[int]
    """Those, and what belongs to them: the call whose result came with the request."""
    request: int | None
    """The newest request."""


def find_pins(
    messages: Sequence[Message],
    units: Sequence[range],
    *,
    brief_at: int | None = None,
    extra: frozenset[int] = frozenset(),
) -> Pins:
    """The pins of a conversation. The earlier brief is none, whatever it says."""
    request = newest_request(messages, brief_at)
    found = {at for at in extra if 0 <= at < len(messages)}
    if request is not None:
        found.add(request)
    seen: set[Message] = set()
    for at, message in enumerate(messages):
        if message.role is Role.SYSTEM:
            found.add(at)
        elif holds_rules(message) and message not in seen:
            seen.add(message)
            found.add(at)
    found.discard(-1 if brief_at is None else brief_at)
    held = {at for unit in units if not found.isdisjoint(unit) for at in unit}
    held.discard(-1 if brief_at is None else brief_at)
    return Pins(tuple(sorted(found)), frozenset(held), request)


def newest_request(messages: Sequence[Message], brief_at: int | None = None) -> int | None:
    """Where the user asked for something last."""
    return next((at for at in reversed(range(len(messages))) if at != brief_at and is_request(messages[at])), None)


def is_request(message: Message) -> bool:
    """Whether the user says something in it: words or a picture besides results and what a client attached."""
    if message.role is not Role.USER:
        return False
    answers = any(isinstance(part, ToolResult) for part in message.parts)  # their pictures belong to the tool
    return any(
        bool(own_words(part.text)) if isinstance(part, Text) else isinstance(part, Image) and not answers
        for part in message.parts
    )


def holds_rules(message: Message) -> bool:
    """Whether a client put rules into it, as a block at the beginning of a text."""
    if message.role is not Role.USER or any(isinstance(part, ToolResult) for part in message.parts):
        return False
    return any(_begins_with_rules(part.text) for part in message.parts if isinstance(part, Text))


def _begins_with_rules(text: str) -> bool:
    if RULES_HEADING.match(text):
        return True
    return any(
        RULES_TAG.fullmatch(tag) or (tag == REMINDER and _RULES_FILE.search(inside))
        for tag, inside, _ in leading_blocks(text)
    )
