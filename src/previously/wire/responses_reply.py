"""Replies of OpenAI's Responses, read and written: one response object, or the events that make it.

Pure. Words are taken from the pieces as they come, so that what a broken stream showed is known; the whole items at its
end are looked at only where no pieces came. What the client sends back as items is the message that is kept. What is
written here comes to the same response for the official client, as events and as one object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from previously.core.messages import ToolCall
from previously.wire.reply import (
    CallDelta,
    ChoiceEnded,
    ChoiceStarted,
    Junk,
    ModelNamed,
    ReasoningDelta,
    RefusalDelta,
    ReplyEnded,
    ReplyEvent,
    ReplyFailed,
    TextDelta,
    UsageReported,
)
from previously.wire.responses import CALLS

BETWEEN_ITEMS = "\n\n"
"""Stands between the words of two items."""

_Delta = Callable[[int, str], TextDelta | RefusalDelta | ReasoningDelta]

_DELTAS: Mapping[str, _Delta] = {
    "response.output_text.delta": TextDelta,
    "response.refusal.delta": RefusalDelta,
    "response.reasoning_text.delta": ReasoningDelta,
    "response.reasoning_summary_text.delta": ReasoningDelta,
}
_ARGUMENTS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})


class ResponsesEvents:
    """The objects of `/v1/responses` as events."""

    def __init__(self) -> None:
        self._begun: set[int | None] = set()
        """The items of which anything came, by their place among the output."""
        self._pieces: set[int | None] = set()
        """The calls whose arguments came."""
        self._places: dict[_Delta, tuple[int | None, object]] = {}
        """For each kind of words, the item and the part that the last were of."""

    def is_part(self, value: dict[str, Any]) -> bool:
        return isinstance(value.get("type"), str) or value.get("object") == "response" or "error" in value

    def finish_arguments(self, arguments: str) -> str:
        return arguments

    def parse(self, value: dict[str, Any]) -> Iterator[ReplyEvent]:
        match value:
            case {"type": str(event), "delta": str(delta), **rest} if event in _DELTAS:
                part = rest.get("content_index", rest.get("summary_index"))
                yield from self._parse_text(_DELTAS[event], (_read_slot(rest), part), delta)
            case {"type": "response.output_item.added", "item": dict(item), **rest}:
                yield from self._parse_call(item, _read_slot(rest), whole=False)
            case {"type": str(event), "delta": str(delta), **rest} if event in _ARGUMENTS:
                slot = _read_slot(rest)
                self._begun.add(slot)
                self._pieces.add(slot)
                yield CallDelta(0, slot, arguments=delta)
            case {"type": "response.output_item.done", "item": dict(item), **rest}:
                yield from self._parse_item(item, _read_slot(rest))
            case {"type": "response.completed" | "response.incomplete" | "response.done", "response": dict(response)}:
                yield from self._parse_response(response)
                yield ReplyEnded()
            case {"type": "response.failed", "response": dict(response)}:
                yield ReplyFailed(response.get("error") or "failed")
                yield from self._parse_response(response)
                yield ReplyEnded()
            case {"type": "response.created", "response": {"model": str(model)}}:
                yield ModelNamed(model)
            case {"type": "error"}:
                yield ReplyFailed(value.get("error") or value)
            case {"object": "response", "output": list()}:
                yield from self._parse_response(value)
            case {"error": error} if error:
                yield ReplyFailed(error)
            case {"type": str()} | {"object": str()}:
                pass  # progress of one kind or another
            case _:
                yield Junk()

    def _parse_response(self, response: Mapping[str, Any]) -> Iterator[ReplyEvent]:
        output = response.get("output")
        for slot, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                yield from self._parse_item(item, slot)
        if error := response.get("error"):
            yield ReplyFailed(error)
        if isinstance(usage := response.get("usage"), dict):
            counts = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
            yield UsageReported(counts)
        status = response.get("status")
        yield ChoiceEnded(0, status) if status in ("completed", "incomplete") else ChoiceStarted(0)
        if isinstance(model := response.get("model"), str):
            yield ModelNamed(model)

    def _parse_item(self, item: Mapping[str, Any], slot: int | None) -> Iterator[ReplyEvent]:
        """Parse an item that is whole, as far as nothing of it came in pieces."""
        if str(item.get("type")) in CALLS:
            yield from self._parse_call(item, slot, whole=True)
            return
        if slot in self._begun:
            return
        for field in ("content", "summary"):
            parts = item.get(field)
            for at, part in enumerate(parts if isinstance(parts, list) else ()):
                match part:
                    case {"type": "output_text", "text": str(text)}:
                        yield from self._parse_text(TextDelta, (slot, at), text)
                    case {"type": "refusal", "refusal": str(text)}:
                        yield from self._parse_text(RefusalDelta, (slot, at), text)
                    case {"type": "summary_text" | "reasoning_text", "text": str(text)}:
                        yield from self._parse_text(ReasoningDelta, (slot, at), text)
                    case _:
                        pass

    def _parse_call(self, item: Mapping[str, Any], slot: int | None, *, whole: bool) -> Iterator[ReplyEvent]:
        kind = str(item.get("type"))
        if kind not in CALLS:
            return
        name_field, field = CALLS[kind]
        if name_field is None and not whole:
            return
        name = item.get(name_field) if name_field else kind.removesuffix("_call")
        if slot in self._begun or not isinstance(name, str):
            name = ""
        self._begun.add(slot)
        given = item.get(field) if whole and slot not in self._pieces else ""
        if whole:
            self._pieces.add(slot)
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        call_id = item.get("call_id") or item.get("id")
        yield CallDelta(0, slot, call_id if isinstance(call_id, str) else "", name, arguments)

    def _parse_text(self, delta: _Delta, place: tuple[int | None, object], text: str) -> Iterator[ReplyEvent]:
        if text:
            self._begun.add(place[0])
            last = self._places.get(delta)
            self._places[delta] = place
            yield delta(0, text if last is None or last == place else BETWEEN_ITEMS + text)


def _read_slot(event: Mapping[str, Any]) -> int | None:
    """Return the place among the output of the item that an event is of."""
    place = event.get("output_index")
    return place if type(place) is int else None


Item = dict[str, Any]


def write_text_item(ident: str, text: str) -> Item:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": ident, "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def write_reasoning_item(ident: str, text: str) -> Item:
    return {"id": ident, "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def write_call_item(ident: str, call: ToolCall) -> Item:
    fields = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return {"id": ident, "type": "function_call", "status": "completed", **fields}


def write_response(
    ident: str,
    model: str,
    items: Sequence[Item],
    *,
    created: int,
    status: str = "completed",
    usage: Mapping[str, Any] | None = None,
    error: object = None,
) -> dict[str, Any]:
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


class ResponsesEventWriter:
    """Writes the events of one reply, numbered as they come."""

    def __init__(self) -> None:
        self._number = 0

    def write_event(self, kind: str, **fields: Any) -> bytes:
        data = json.dumps({"type": kind, "sequence_number": self._number, **fields}, ensure_ascii=False)
        self._number += 1
        return f"event: {kind}\ndata: {data}\n\n".encode("utf-8", "replace")

    def write_start(self, whole: Mapping[str, Any]) -> bytes:
        """Write the first events, of a response with nothing in it yet."""
        empty = {**whole, "status": "in_progress", "output": [], "usage": None}
        created = self.write_event("response.created", response=empty)
        return created + self.write_event("response.in_progress", response=empty)

    def write_item_events(self, place: int, item: Item, pieces: Iterable[str]) -> Iterator[bytes]:
        """Write the events of one item, whose words or arguments come in pieces."""
        where = {"output_index": place, "item_id": item["id"]}
        match item["type"]:
            case "message":
                part = item["content"][0]
                empty = {**part, "text": ""}
                opened = {**item, "status": "in_progress", "content": []}
                inside = {**where, "content_index": 0}
                added = self.write_event("response.output_item.added", output_index=place, item=opened)
                yield added + self.write_event("response.content_part.added", **inside, part=empty)
                for piece in pieces:
                    yield self.write_event("response.output_text.delta", **inside, delta=piece, logprobs=[])
                done = self.write_event("response.output_text.done", **inside, text=part["text"], logprobs=[])
                done += self.write_event("response.content_part.done", **inside, part=part)
            case "reasoning":
                inside = {**where, "summary_index": 0}
                part = item["summary"][0]
                yield self.write_event("response.output_item.added", output_index=place, item={**item, "summary": []})
                yield self.write_event("response.reasoning_summary_part.added", **inside, part={**part, "text": ""})
                for piece in pieces:
                    yield self.write_event("response.reasoning_summary_text.delta", **inside, delta=piece)
                done = self.write_event("response.reasoning_summary_text.done", **inside, text=part["text"])
                done += self.write_event("response.reasoning_summary_part.done", **inside, part=part)
            case _:
                opened = {**item, "status": "in_progress", "arguments": ""}
                yield self.write_event("response.output_item.added", output_index=place, item=opened)
                for piece in pieces:
                    yield self.write_event("response.function_call_arguments.delta", **where, delta=piece)
                done = self.write_event("response.function_call_arguments.done", **where, arguments=item["arguments"])
        yield done + self.write_event("response.output_item.done", output_index=place, item=item)

    def write_end(self, whole: Mapping[str, Any]) -> bytes:
        """Write the last event, with all that was said."""
        return self.write_event("response.completed", response=whole)
