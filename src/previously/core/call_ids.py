"""Ids of calls, where those that came cannot be sent: none at all, or one for several calls.

Every result names its call afterwards; a message that needs nothing is the same object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.messages import Message, Part, ToolCall, ToolResult
from previously.core.pairing import units


def with_call_ids(messages: Sequence[Message], *, once: bool) -> list[Message]:
    """Return these messages, which must be mended, with an id for every call: no two that wait together have the same,
    and with `once` no two at all."""
    found: list[Message] = []
    used: set[str] = set()
    for unit in units(messages):
        used = used if once else set()
        waiting: dict[str, list[str]] = {}
        for at in unit:
            parts = tuple(_named(part, used, waiting) for part in messages[at].parts)
            found.append(messages[at] if parts == messages[at].parts else replace(messages[at], parts=parts))
    return found


def _named(part: Part, used: set[str], waiting: dict[str, list[str]]) -> Part:
    if isinstance(part, ToolCall):
        given, number = part.id or "call_1", 1
        while given in used:
            number += 1
            given = f"{part.id or 'call'}_{number}"
        used.add(given)
        waiting.setdefault(part.id, []).append(given)
        return replace(part, id=given)
    if isinstance(part, ToolResult) and waiting.get(part.id):
        return replace(part, id=waiting[part.id].pop(0))
    return part
