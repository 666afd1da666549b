"""The bodies that the scripted server sends in the other interfaces: Anthropic's messages, OpenAI's Responses.

Pure. The same plan says the same in all of them: words, reasoning, calls, usage, and errors on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from previously.core.messages import ToolCall
from previously.models import message_answers, response_answers
from previously.models.scripted_server.bodies import Composed, split_words

_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def _halves(call: ToolCall) -> list[str]:
    half = len(call.arguments) // 2
    return [piece for piece in (call.arguments[:half], call.arguments[half:]) if piece]


class ComposedMessage(Composed):
    """An answer of `/v1/messages`."""

    __slots__ = ()

    @property
    def _name(self) -> str:
        return f"msg_{self.number}"

    @property
    def _counted(self) -> Mapping[str, Any]:
        told = self.usage or {}
        return {"input_tokens": told.get("prompt_tokens", 0), "output_tokens": told.get("completion_tokens", 0)}

    def _blocks(self) -> list[tuple[message_answers.Block, list[str]]]:
        """Each block with the pieces it comes in."""
        text = "".join(self.texts[0]) if self.texts else ""
        found: list[tuple[message_answers.Block, list[str]]] = []
        if self.reasoning:
            block = message_answers.thinking_block(self.reasoning, f"signed-{self.number}")
            found.append((block, split_words(self.reasoning)))
        if text:
            found.append((message_answers.text_block(text), list(self.texts[0])))
        return found + [(message_answers.call_block(call), _halves(call)) for call in self.tool_calls]

    def events(self) -> Iterator[bytes]:
        """The stream, chunk by chunk."""
        yield message_answers.begins(self._name, self.model, self._counted) + message_answers.event({"type": "ping"})
        yield from islice(self._said(), self.error_after)
        if self.error_after is not None:
            yield message_answers.event(json.loads(_error(self.error)))
            return
        if self.done:
            stop = _STOPS.get(self.finish_reason, self.finish_reason)
            yield message_answers.ends(stop, self._counted)

    def _said(self) -> Iterator[bytes]:
        while True:
            for index, (block, pieces) in enumerate(self._blocks()):
                yield from message_answers.block_events(index, block, pieces)
            if not self.endless:
                return

    def whole(self) -> bytes:
        """The answer as one object."""
        if self.error_after is not None:
            return _error(self.error)
        blocks = [block for block, _ in self._blocks()]
        stop = _STOPS.get(self.finish_reason, self.finish_reason)
        told = message_answers.message(self._name, self.model, blocks, stop_reason=stop, usage=self._counted)
        return json.dumps(told).encode()


def _error(error: object) -> bytes:
    told = error.get("message") if isinstance(error, dict) else error
    return json.dumps({"type": "error", "error": {"type": "api_error", "message": str(told)}}).encode()


class ComposedResponse(Composed):
    """An answer of `/v1/responses`."""

    __slots__ = ()

    def _items(self) -> list[tuple[response_answers.Item, list[str]]]:
        """Each item with the pieces it comes in."""
        text = "".join(self.texts[0]) if self.texts else ""
        found: list[tuple[response_answers.Item, list[str]]] = []
        if self.reasoning:
            item = response_answers.reasoning_item(f"rs_{self.number}", self.reasoning)
            found.append((item, split_words(self.reasoning)))
        if text:
            found.append((response_answers.words_item(f"msg_{self.number}", text), list(self.texts[0])))
        for at, call in enumerate(self.tool_calls):
            found.append((response_answers.call_item(f"fc_{self.number}_{at}", call), _halves(call)))
        return found

    def _response(self, items: list[response_answers.Item], **more: Any) -> dict[str, Any]:
        read, written = (int((self.usage or {}).get(name, 0)) for name in ("prompt_tokens", "completion_tokens"))
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        }
        created = 1_700_000_000 + self.number
        return response_answers.response(f"resp_{self.number}", self.model, items, created=created, usage=usage, **more)

    def events(self) -> Iterator[bytes]:
        """The stream, chunk by chunk."""
        whole, events = self._response([item for item, _ in self._items()]), response_answers.Events()
        yield events.begins(whole)
        yield from islice(self._given(events), self.error_after)
        if self.error_after is not None:
            failed = self._response([], status="failed", error=self.error)
            yield events.event("response.failed", response=failed)
        elif self.done:
            yield events.ends(whole)

    def _given(self, events: response_answers.Events) -> Iterator[bytes]:
        while True:
            for place, (item, pieces) in enumerate(self._items()):
                yield from events.item(place, item, pieces)
            if not self.endless:
                return

    def whole(self) -> bytes:
        """The answer as one object."""
        if self.error_after is not None:
            return json.dumps({"error": self.error}).encode()
        return json.dumps(self._response([item for item, _ in self._items()])).encode()
