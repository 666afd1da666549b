"""What a client got of an answer in Anthropic's interface: one message object, or events that make one.

Each object becomes what it would be in chat completions, so that all answers are put together in one place. What must
stay true: the text is what a client sends back (blocks of text one under the other), and the arguments of a call are
written as the reader of `formats.anthropic` writes them, so that the message is known again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from previously.core.messages import ToolCall
from previously.models.received import Assembly, ReceivedReply

BETWEEN_BLOCKS = "\n\n"
"""What stands between two blocks of text."""


class MessageAssembly(Assembly):
    """Objects of `/v1/messages` go in."""

    __slots__ = ("_counted", "_texts")

    def __init__(self) -> None:
        super().__init__()
        self._texts: set[int] = set()
        """The blocks of text that were begun, by their index."""
        self._counted: dict[str, int] = {}

    def is_part(self, value: dict[str, Any]) -> bool:
        """Whether an object is an event, a message or an error."""
        return isinstance(value.get("type"), str)

    def reply(self) -> ReceivedReply:
        """What there is by now, calls with their arguments written plainly."""
        found = super().reply()
        choices = tuple(replace(one, tool_calls=tuple(map(_plainly, one.tool_calls))) for one in found.choices)
        return replace(found, choices=choices)

    def take(self, value: object) -> None:
        """One event, or a whole message."""
        if isinstance(value, dict):
            self._take_object(value)
        else:
            self._take_odd(value)

    def _take_object(self, value: dict[str, Any]) -> None:
        match value:
            case {"type": "message_start", "message": dict(message)}:
                self._take_message_head(message)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self._take_block(index, block, whole=False)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                self._take_delta(index, delta)
            case {"type": "message_delta", "delta": dict(delta), **rest}:
                self._count(rest.get("usage"))
                self._end(delta.get("stop_reason"))
            case {"type": "message_stop"}:
                self.done = True
            case {"type": "message", "content": list(blocks), **rest}:
                self._take_message_head(rest)
                for index, block in enumerate(blocks):
                    if isinstance(block, dict):
                        self._take_block(index, block, whole=True)
                self._end(rest.get("stop_reason"))
            case {"type": "error"} | {"error": _}:
                self.fail(value.get("error") or value)
            case {"type": str()}:
                pass  # a ping, the end of a block, or an event that came after this was written
            case _:
                self.junk += 1

    def _take_message_head(self, message: Mapping[str, Any]) -> None:
        self._count(message.get("usage"))
        super().take({"model": message.get("model"), "choices": [{"index": 0}]})

    def _take_block(self, index: int, block: Mapping[str, Any], *, whole: bool) -> None:
        match block:
            case {"type": "text", "text": str(text)}:
                self._say(index, text)
            case {"type": "thinking", "thinking": str(text)}:
                self._delta({"reasoning_content": text})
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                given = block.get("input")
                arguments = json.dumps(given, ensure_ascii=False) if whole or given else ""
                function = {"name": name, "arguments": arguments}
                self._delta({"tool_calls": [{"index": index, "id": call_id, "function": function}]})
            case _:
                pass  # of a kind that the server deals with itself

    def _take_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                self._say(index, text)
            case {"type": "thinking_delta", "thinking": str(text)}:
                self._delta({"reasoning_content": text})
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._delta({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
            case _:
                pass  # signatures and citations are the client's

    def _say(self, index: int, text: str) -> None:
        if not text:
            return
        before = BETWEEN_BLOCKS if self._texts and index not in self._texts else ""
        self._texts.add(index)
        self._delta({"content": before + text})

    def _delta(self, delta: dict[str, Any]) -> None:
        super().take({"choices": [{"index": 0, "delta": delta}]})

    def _end(self, reason: object) -> None:
        super().take({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})

    def _count(self, usage: object) -> None:
        """What the server counted. What it read from its cache was read too."""
        if not isinstance(usage, dict):
            return
        self._counted |= {name: count for name, count in usage.items() if type(count) is int}
        cached = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        read = sum(self._counted.get(name, 0) for name in cached)
        self.usage = {"prompt_tokens": read, "completion_tokens": self._counted.get("output_tokens", 0)}


def _plainly(call: ToolCall) -> ToolCall:
    """A call with its arguments as they are written when they come back as an object."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call  # it was broken off
    return replace(call, arguments=json.dumps(given, ensure_ascii=False))
