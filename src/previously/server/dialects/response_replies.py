"""What a client got of an answer in OpenAI's Responses interface: one response object, or events that make one.

Each object becomes what it would be in chat completions, so that all answers are put together in one place. Words are
taken from the pieces as they come, so that what a broken stream showed is known; the whole items at its end are looked
at only where no pieces came. What must stay true: what the client sends back as items is the message that is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from previously.formats.responses_items import CALLS
from previously.models.received import Assembly

BETWEEN_ITEMS = "\n\n"

_PIECES = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning_summary_text.delta": "reasoning_content",
}
_ARGUMENTS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})


class ResponseAssembly(Assembly):
    """Objects of `/v1/responses` go in."""

    __slots__ = ("_begun", "_pieces", "_places")

    def __init__(self) -> None:
        super().__init__()
        self._begun: set[object] = set()
        """The items of which anything came, by their place among the output."""
        self._pieces: set[object] = set()
        """Those of which pieces came, each with the part that it is of."""
        self._places: dict[str, tuple[object, object]] = {}
        """For each kind of words, whose were the last."""

    def is_part(self, value: dict[str, Any]) -> bool:
        """Whether an object is an event, a response or an error."""
        return isinstance(value.get("type"), str) or value.get("object") == "response" or "error" in value

    def take(self, value: object) -> None:
        """One event, or a whole response."""
        if isinstance(value, dict):
            self._take_object(value)
        else:
            self._take_odd(value)

    def _take_object(self, value: dict[str, Any]) -> None:
        match value:
            case {"type": str(event), "delta": str(delta), **rest} if event in _PIECES:
                place = rest.get("output_index"), rest.get("content_index", rest.get("summary_index"))
                self._say(_PIECES[event], place, delta)
            case {"type": "response.output_item.added", "item": dict(item), **rest}:
                self._take_call_item(item, rest.get("output_index"), whole=False)
            case {"type": str(event), "delta": str(delta), **rest} if event in _ARGUMENTS:
                self._begun.add(rest.get("output_index"))
                self._pieces.add(rest.get("output_index"))
                self._delta({"tool_calls": [{"index": rest.get("output_index"), "function": {"arguments": delta}}]})
            case {"type": "response.output_item.done", "item": dict(item), **rest}:
                self._take_item(item, rest.get("output_index"))
            case {"type": "response.completed" | "response.incomplete" | "response.done", "response": dict(response)}:
                self._take_response(response)
                self.done = True
            case {"type": "response.failed", "response": dict(response)}:
                self.fail(response.get("error") or "failed")
                self._take_response(response)
                self.done = True
            case {"type": "response.created", "response": {"model": str(model)}}:
                super().take({"model": model})
            case {"type": "error"}:
                self.fail(value.get("error") or value)
            case {"object": "response", "output": list()}:
                self._take_response(value)
            case {"error": error} if error:
                self.fail(error)
            case {"type": str()} | {"object": str()}:
                pass  # progress of one kind or another
            case _:
                self.junk += 1

    def _take_response(self, response: Mapping[str, Any]) -> None:
        output = response.get("output")
        for place, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._take_item(item, place)
        if error := response.get("error"):
            self.fail(error)
        if isinstance(usage := response.get("usage"), dict):
            self.usage = {"prompt_tokens": usage.get("input_tokens"), "completion_tokens": usage.get("output_tokens")}
        status = response.get("status")
        ended = {"finish_reason": status} if status in ("completed", "incomplete") else {}
        super().take({"model": response.get("model"), "choices": [{"index": 0, "delta": {}, **ended}]})

    def _take_item(self, item: Mapping[str, Any], place: object) -> None:
        """An item that is whole: what came of it in pieces was taken then."""
        if item.get("type") in CALLS:
            self._take_call_item(item, place, whole=True)
            return
        if place in self._begun:
            return
        for field in ("content", "summary"):
            parts = item.get(field)
            for at, part in enumerate(parts if isinstance(parts, list) else ()):
                match part:
                    case {"type": "output_text", "text": str(text)}:
                        self._say("content", (place, at), text)
                    case {"type": "refusal", "refusal": str(text)}:
                        self._say("refusal", (place, at), text)
                    case {"type": "summary_text" | "reasoning_text", "text": str(text)}:
                        self._say("reasoning_content", (place, at), text)
                    case _:
                        pass

    def _take_call_item(self, item: Mapping[str, Any], place: object, *, whole: bool) -> None:
        kind = str(item.get("type"))
        if kind not in CALLS:
            return
        name_field, field = CALLS[kind]
        if name_field is None and not whole:
            return
        known = place in self._begun
        self._begun.add(place)
        name = item.get(name_field) if name_field else kind.removesuffix("_call")
        given = item.get(field) if whole and place not in self._pieces else ""
        if whole:
            self._pieces.add(place)
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        call_id = item.get("call_id") or item.get("id")
        function = {"name": "" if known else name, "arguments": arguments}
        self._delta({"tool_calls": [{"index": place, "id": call_id, "function": function}]})

    def _say(self, field: str, place: tuple[object, object], text: str) -> None:
        if not text:
            return
        self._begun.add(place[0])
        last = self._places.get(field)
        self._places[field] = place
        self._delta({field: text if last is None or last == place else BETWEEN_ITEMS + text})

    def _delta(self, delta: dict[str, Any]) -> None:
        super().take({"choices": [{"index": 0, "delta": delta}]})
