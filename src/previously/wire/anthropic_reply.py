"""Replies of Anthropic's messages, read and written: one message object, or the events that make it.

Pure. The text of a reply is what a client sends back (blocks of text one under the other), and the arguments of a call
are written as `anthropic.read_blocks` writes them, so that the message is known again. What is written here comes to
the same message for the official client, as events and as one object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from previously.core.messages import ToolCall
from previously.wire.reply import (
    CallDelta,
    ChoiceEnded,
    ChoiceStarted,
    Junk,
    ModelNamed,
    ReasoningDelta,
    ReplyEnded,
    ReplyEvent,
    ReplyFailed,
    TextDelta,
    UsageReported,
)

BETWEEN_BLOCKS = "\n\n"
"""Stands between two blocks of text."""

_READ_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The counts of what was read, also from the server's cache."""


class AnthropicEvents:
    """The objects of `/v1/messages` as events."""

    def __init__(self) -> None:
        self._texts: set[int] = set()
        """The blocks of text that were begun, by their index."""
        self._counted: dict[str, int] = {}

    def is_part(self, value: dict[str, Any]) -> bool:
        return isinstance(value.get("type"), str)

    def finish_arguments(self, arguments: str) -> str:
        try:
            return json.dumps(json.loads(arguments or "{}"), ensure_ascii=False)
        except (ValueError, RecursionError):
            return arguments  # the stream broke off

    def parse(self, value: dict[str, Any]) -> Iterator[ReplyEvent]:
        match value:
            case {"type": "message_start", "message": dict(message)}:
                yield from self._parse_head(message)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                yield from self._parse_block(index, block, whole=False)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                yield from self._parse_delta(index, delta)
            case {"type": "message_delta", "delta": dict(delta), **rest}:
                yield from self._parse_usage(rest.get("usage"))
                yield _parse_end(delta.get("stop_reason"))
            case {"type": "message_stop"}:
                yield ReplyEnded()
            case {"type": "message", "content": list(blocks), **rest}:
                yield from self._parse_head(rest)
                for index, block in enumerate(blocks):
                    if isinstance(block, dict):
                        yield from self._parse_block(index, block, whole=True)
                yield _parse_end(rest.get("stop_reason"))
            case {"type": "error"} | {"error": _}:
                yield ReplyFailed(value.get("error") or value)
            case {"type": str()}:
                pass  # a ping, the end of a block, or an event that came after this was written
            case _:
                yield Junk()

    def _parse_head(self, message: Mapping[str, Any]) -> Iterator[ReplyEvent]:
        yield from self._parse_usage(message.get("usage"))
        yield ChoiceStarted(0)
        if isinstance(model := message.get("model"), str):
            yield ModelNamed(model)

    def _parse_block(self, index: int, block: Mapping[str, Any], *, whole: bool) -> Iterator[ReplyEvent]:
        match block:
            case {"type": "text", "text": str(text)}:
                yield from self._parse_text(index, text)
            case {"type": "thinking", "thinking": str(text)}:
                yield ReasoningDelta(0, text)
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                given = block.get("input")
                arguments = json.dumps(given, ensure_ascii=False) if whole or given else ""
                yield CallDelta(0, index, call_id, name, arguments)
            case _:
                pass  # of a kind that the server deals with itself

    def _parse_delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[ReplyEvent]:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                yield from self._parse_text(index, text)
            case {"type": "thinking_delta", "thinking": str(text)}:
                yield ReasoningDelta(0, text)
            case {"type": "input_json_delta", "partial_json": str(text)}:
                yield CallDelta(0, index, arguments=text)
            case _:
                pass  # signatures and citations are the client's

    def _parse_text(self, index: int, text: str) -> Iterator[ReplyEvent]:
        if text:
            before = BETWEEN_BLOCKS if self._texts and index not in self._texts else ""
            self._texts.add(index)
            yield TextDelta(0, before + text)

    def _parse_usage(self, usage: object) -> Iterator[ReplyEvent]:
        if isinstance(usage, dict):
            self._counted |= {name: count for name, count in usage.items() if type(count) is int}
            read = sum(self._counted.get(name, 0) for name in _READ_COUNTS)
            written = self._counted.get("output_tokens", 0)
            yield UsageReported({"prompt_tokens": read, "completion_tokens": written})


def _parse_end(reason: object) -> ReplyEvent:
    return ChoiceEnded(0, reason) if isinstance(reason, str) and reason else ChoiceStarted(0)


Block = dict[str, Any]
NO_USAGE: Mapping[str, Any] = {"input_tokens": 0, "output_tokens": 0}


def write_text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def write_thinking_block(text: str, signature: str) -> Block:
    """Write reasoning, with the signature by which the server knows it again."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def write_call_block(call: ToolCall) -> Block:
    """Write a call; arguments that are no object become an empty one."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        given = {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given if isinstance(given, dict) else {}}


def write_message(
    ident: str,
    model: str,
    blocks: Sequence[Block],
    *,
    stop_reason: str | None = "end_turn",
    usage: Mapping[str, Any] = NO_USAGE,
) -> dict[str, Any]:
    return {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(blocks),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": dict(usage),
    }


def write_event(fields: Mapping[str, Any]) -> bytes:
    """Write one event of a stream, called by its type."""
    data = json.dumps(fields, ensure_ascii=False)
    return f"event: {fields['type']}\ndata: {data}\n\n".encode("utf-8", "replace")


def write_start(ident: str, model: str, usage: Mapping[str, Any] = NO_USAGE) -> bytes:
    head = write_message(ident, model, (), stop_reason=None, usage={**usage, "output_tokens": 0})
    return write_event({"type": "message_start", "message": head})


def write_block_events(index: int, block: Block, pieces: Iterable[str]) -> Iterator[bytes]:
    """Write the events of one block, whose text, thinking or arguments come in pieces."""
    match block["type"]:
        case "text":
            opened, name, field = {**block, "text": ""}, "text_delta", "text"
        case "thinking":
            opened, name, field = {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"
        case _:
            opened, name, field = {**block, "input": {}}, "input_json_delta", "partial_json"
    yield write_event({"type": "content_block_start", "index": index, "content_block": opened})
    for piece in pieces:
        yield write_event({"type": "content_block_delta", "index": index, "delta": {"type": name, field: piece}})
    if block["type"] == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        yield write_event({"type": "content_block_delta", "index": index, "delta": signed})
    yield write_event({"type": "content_block_stop", "index": index})


def write_end(stop_reason: str = "end_turn", usage: Mapping[str, Any] = NO_USAGE) -> bytes:
    """Write the last two events."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    counts = {"output_tokens": usage.get("output_tokens", 0)}
    return write_event({"type": "message_delta", "delta": delta, "usage": counts}) + write_event(
        {"type": "message_stop"}
    )
