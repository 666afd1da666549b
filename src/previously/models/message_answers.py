"""An answer written in the shape of Anthropic's interface: one message object, or the events that make it.

Pure. What must stay true: the official client makes the same message of the events as of the object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from previously.core.messages import ToolCall

Block = dict[str, Any]
NO_USAGE: Mapping[str, Any] = {"input_tokens": 0, "output_tokens": 0}


def text_block(text: str) -> Block:
    """Words."""
    return {"type": "text", "text": text}


def thinking_block(text: str, signature: str) -> Block:
    """Reasoning, with what lets the server know it again."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def call_block(call: ToolCall) -> Block:
    """A call; arguments that are no object become one."""
    try:
        given = json.loads(call.arguments)
    except ValueError:
        given = {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given if isinstance(given, dict) else {}}


def message(
    ident: str,
    model: str,
    blocks: Sequence[Block],
    *,
    stop_reason: str | None = "end_turn",
    usage: Mapping[str, Any] = NO_USAGE,
) -> dict[str, Any]:
    """The answer as one object."""
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


def event(fields: Mapping[str, Any]) -> bytes:
    """One event of a stream, called by its type."""
    told = json.dumps(fields, ensure_ascii=False)
    return f"event: {fields['type']}\ndata: {told}\n\n".encode("utf-8", "replace")


def begins(ident: str, model: str, usage: Mapping[str, Any] = NO_USAGE) -> bytes:
    """The first event."""
    head = message(ident, model, (), stop_reason=None, usage={**usage, "output_tokens": 0})
    return event({"type": "message_start", "message": head})


def block_events(index: int, block: Block, pieces: Iterable[str]) -> Iterator[bytes]:
    """The events of one block, whose text, thinking or arguments come in pieces."""
    match block["type"]:
        case "text":
            opened, name, field = {**block, "text": ""}, "text_delta", "text"
        case "thinking":
            opened, name, field = {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"
        case _:
            opened, name, field = {**block, "input": {}}, "input_json_delta", "partial_json"
    yield event({"type": "content_block_start", "index": index, "content_block": opened})
    for piece in pieces:
        yield event({"type": "content_block_delta", "index": index, "delta": {"type": name, field: piece}})
    if block["type"] == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        yield event({"type": "content_block_delta", "index": index, "delta": signed})
    yield event({"type": "content_block_stop", "index": index})


def ends(stop_reason: str = "end_turn", usage: Mapping[str, Any] = NO_USAGE) -> bytes:
    """The last two events."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    told = {"output_tokens": usage.get("output_tokens", 0)}
    return event({"type": "message_delta", "delta": delta, "usage": told}) + event({"type": "message_stop"})
