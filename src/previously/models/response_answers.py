"""An answer written in the shape of OpenAI's Responses interface: one response object, or the events that make it.

Pure. What must stay true: the official client makes the same response of the events as of the object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from previously.core.messages import ToolCall

Item = dict[str, Any]


def words_item(ident: str, text: str) -> Item:
    """Words."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": ident, "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def reasoning_item(ident: str, text: str) -> Item:
    """Reasoning, in short."""
    return {"id": ident, "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def call_item(ident: str, call: ToolCall) -> Item:
    """A call."""
    told = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {"id": ident, "type": "function_call", "status": "completed", **told}


def response(
    ident: str,
    model: str,
    items: Sequence[Item],
    *,
    created: int,
    status: str = "completed",
    usage: Mapping[str, Any] | None = None,
    error: object = None,
) -> dict[str, Any]:
    """The answer as one object."""
    return {
        "id": ident,
        "object": "response",
        "created_at": created,
        "status": status,
        "error": error,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": list(items),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None if usage is None else dict(usage),
    }


class Events:
    """Writes the events of one answer, numbered as they come."""

    def __init__(self) -> None:
        self._number = 0

    def event(self, kind: str, **fields: Any) -> bytes:
        """One event."""
        told = json.dumps({"type": kind, "sequence_number": self._number, **fields}, ensure_ascii=False)
        self._number += 1
        return f"event: {kind}\ndata: {told}\n\n".encode("utf-8", "replace")

    def begins(self, whole: Mapping[str, Any]) -> bytes:
        """The first events, of a response with nothing in it yet."""
        empty = {**whole, "status": "in_progress", "output": [], "usage": None}
        return self.event("response.created", response=empty) + self.event("response.in_progress", response=empty)

    def item(self, place: int, item: Item, pieces: Iterable[str]) -> Iterator[bytes]:
        """The events of one item, whose words or arguments come in pieces."""
        where = {"output_index": place, "item_id": item["id"]}
        match item["type"]:
            case "message":
                part = item["content"][0]
                empty = {**part, "text": ""}
                opened = {**item, "status": "in_progress", "content": []}
                inside = {**where, "content_index": 0}
                yield self.event("response.output_item.added", output_index=place, item=opened) + self.event(
                    "response.content_part.added", **inside, part=empty
                )
                for piece in pieces:
                    yield self.event("response.output_text.delta", **inside, delta=piece, logprobs=[])
                done = self.event("response.output_text.done", **inside, text=part["text"], logprobs=[])
                done += self.event("response.content_part.done", **inside, part=part)
            case "reasoning":
                inside = {**where, "summary_index": 0}
                part = item["summary"][0]
                yield self.event("response.output_item.added", output_index=place, item={**item, "summary": []})
                yield self.event("response.reasoning_summary_part.added", **inside, part={**part, "text": ""})
                for piece in pieces:
                    yield self.event("response.reasoning_summary_text.delta", **inside, delta=piece)
                done = self.event("response.reasoning_summary_text.done", **inside, text=part["text"])
                done += self.event("response.reasoning_summary_part.done", **inside, part=part)
            case _:
                opened = {**item, "status": "in_progress", "arguments": ""}
                yield self.event("response.output_item.added", output_index=place, item=opened)
                for piece in pieces:
                    yield self.event("response.function_call_arguments.delta", **where, delta=piece)
                done = self.event("response.function_call_arguments.done", **where, arguments=item["arguments"])
        yield done + self.event("response.output_item.done", output_index=place, item=item)

    def ends(self, whole: Mapping[str, Any]) -> bytes:
        """The last event, with all that was said."""
        return self.event("response.completed", response=whole)
