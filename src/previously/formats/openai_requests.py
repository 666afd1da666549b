"""Any messages as a list that OpenAI's chat API takes.

The API wants all calls that wait together in one message, and their results right behind it, each of text alone. What
must stay true: what nothing is wrong with is the same object as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from previously.core.messages import Message
from previously.core.pairing import add_call_ids, mend
from previously.formats.openai import to_openai

Raw = dict[str, Any]

PICTURE = "[a picture]"
"""What stands where a tool gave a picture, which no tool can give in this API."""


def to_chat(messages: Sequence[Message]) -> list[Raw]:
    """The messages of a request."""
    whole = add_call_ids(mend(messages).messages, once=False)
    return as_taken([raw for message in whole for raw in to_openai(message)])


def as_taken(raws: Sequence[Raw]) -> list[Raw]:
    """The list with calls that wait together in one message, and results of text alone."""
    found: list[Raw] = []
    for raw in raws:
        if raw.get("role") == "assistant" and found and found[-1].get("role") == "assistant" and _calls(found[-1]):
            found[-1] = _joined(found[-1], raw)
        elif raw.get("role") == "tool" and isinstance(raw.get("content"), list):
            found.append({**raw, "content": _text_of(raw["content"])})
        else:
            found.append(raw)
    return found


def _calls(raw: Raw) -> list[Any]:
    calls = raw.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _joined(first: Raw, second: Raw) -> Raw:
    contents = [one for one in (first.get("content"), second.get("content")) if one]
    content: Any = contents[0] if len(contents) == 1 else None
    if len(contents) == 2:
        both_text = isinstance(contents[0], str) and isinstance(contents[1], str)
        content = f"{contents[0]}\n\n{contents[1]}" if both_text else [part for one in contents for part in _parts(one)]
    return {**second, **first, "content": content, "tool_calls": [*_calls(first), *_calls(second)]}


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text_of(content: Sequence[Any]) -> str:
    told = (part.get("text", PICTURE) if isinstance(part, dict) else str(part) for part in content)
    return "\n\n".join(str(one) for one in told)
