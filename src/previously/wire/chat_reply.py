"""Replies of OpenAI's chat completions, read and written: one object, or the chunks of a stream.

Pure and total: `ChatEvents` takes any JSON object. Servers agree on little, so the message is looked for where clients
look: in the delta, else in a whole message, else in the text of the older completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from previously.wire.reply import (
    CallDelta,
    ChoiceEnded,
    ChoiceStarted,
    ModelNamed,
    ReasoningDelta,
    RefusalDelta,
    ReplyEvent,
    ReplyFailed,
    TextDelta,
    UsageReported,
)

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Servers that send two of them send the same words twice, so the first one counts."""


class ChatEvents:
    """The objects of `/v1/chat/completions` as events."""

    def is_part(self, value: dict[str, Any]) -> bool:
        return "choices" in value or "error" in value

    def finish_arguments(self, arguments: str) -> str:
        return arguments

    def parse(self, value: dict[str, Any]) -> list[ReplyEvent]:
        events: list[ReplyEvent] = []
        choices = value.get("choices")
        if type(choices) is list:
            for position, choice in enumerate(choices):
                if type(choice) is dict:
                    events += _parse_choice(choice, position)
        if error := value.get("error"):
            events.append(ReplyFailed(error))
        elif value.get("object") == "error":
            events.append(ReplyFailed(value))
        elif choices is None and (detail := value.get("detail")):
            events.append(ReplyFailed(detail))
        if type(usage := value.get("usage")) is dict:
            events.append(UsageReported(usage))
        if type(model := value.get("model")) is str:
            events.append(ModelNamed(model))
        return events


def _parse_choice(choice: dict[str, Any], position: int) -> list[ReplyEvent]:
    index = choice.get("index")
    index = index if type(index) is int and index >= 0 else position
    delta = choice.get("delta")
    events = _parse_message(index, delta) if type(delta) is dict else []
    if not events:
        if type(message := choice.get("message")) is dict:
            events = _parse_message(index, message)
        elif type(text := choice.get("text")) is str:
            events.append(TextDelta(index, text))
    if not events:
        events.append(ChoiceStarted(index))
    if type(reason := choice.get("finish_reason")) is str and reason:
        events.append(ChoiceEnded(index, reason))
    if error := choice.get("error"):
        events.append(ReplyFailed(error))
    return events


def _parse_message(index: int, fields: dict[str, Any]) -> list[ReplyEvent]:
    """Parse a delta or a message; nothing where it says nothing."""
    events: list[ReplyEvent] = []
    content = fields.get("content")
    thinking = ""
    if type(content) is str:
        events.append(TextDelta(index, content))
    elif content is not None and (read := read_content(content)):
        text, thinking = read
        events.append(TextDelta(index, text))
    beside = (thought for name in _REASONING_FIELDS if type(thought := fields.get(name)) is str and thought)
    if reasoning := "\n".join(part for part in (next(beside, ""), thinking) if part):
        events.append(ReasoningDelta(index, reasoning))
    if type(refusal := fields.get("refusal")) is str and refusal:
        events.append(RefusalDelta(index, refusal))
    if type(calls := fields.get("tool_calls")) is list:
        events += [_parse_call(index, call, call.get("function")) for call in calls if type(call) is dict]
    if type(call := fields.get("function_call")) is dict and call:  # the older name, one call at most
        events.append(_parse_call(index, {"index": 0}, call))
    return events


def _parse_call(index: int, call: dict[str, Any], function: object) -> CallDelta:
    slot, call_id = call.get("index"), call.get("id")
    fields = function if type(function) is dict else {}
    name, arguments = fields.get("name"), fields.get("arguments")
    if type(arguments) is dict:  # they should be the text of an object
        arguments = _dump(arguments)
    return CallDelta(
        index,
        slot if type(slot) is int else None,
        call_id if type(call_id) is str else "",
        name if type(name) is str else "",
        arguments if type(arguments) is str else "",
    )


def _dump(arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def read_content(content: object, depth: int = 0) -> tuple[str, str] | None:
    """Return the text of a message, and the thinking among its parts; None when it is neither text nor parts."""
    match content:
        case None:
            return "", ""
        case str() as text:
            return text, ""
        case list() as parts if depth < 3:  # no server nests its parts deeper than twice
            texts: list[str] = []
            thinking: list[str] = []
            for part in parts:
                match part:
                    case str() as text:
                        texts.append(text)
                    case {"type": "thinking" | "reasoning", **fields}:
                        inner = read_content(fields.get("thinking") or fields.get("text"), depth + 1)
                        thinking.append("".join(inner) if inner else "")
                    case {"text": str() as text}:
                        texts.append(text)
                    case _:
                        pass
            return "".join(texts), "".join(thinking)
        case _:
            return None


def write_completion(text: str, model: str, *, created: int) -> dict[str, Any]:
    return {
        "id": "previously",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def write_chunks(text: str, model: str, *, created: int) -> Iterator[bytes]:
    head = {"id": "previously", "object": "chat.completion.chunk", "created": created, "model": model}
    for delta, finish in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()
    yield b"data: [DONE]\n\n"
