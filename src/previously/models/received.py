"""What a client got: an answer of an OpenAI-compatible server put together from its JSON objects, whole or streamed.
(For those of other interfaces see `server.dialects`.)

Pure and total: `Assembly.take` accepts any JSON value, in any order, and never raises. Text is joined as clients join
it, so what is remembered equals what was shown. Memory is bounded: texts of all choices together hold at most
`max_bytes`, and what goes beyond is left out and marked as `truncated`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any

from previously.core.messages import ToolCall
from previously.models.wire import content_of

MAX_TEXT_BYTES = 12 * 1024 * 1024
"""Below what a store takes as one message, with room for what stands beside the text."""

MAX_CHOICES = 128
MAX_TOOL_CALLS = 256
_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class ReceivedChoice:
    """One of the answers to a request."""

    index: int
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    """As the server said it; None when it did not."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing that a client could show or act upon."""
        return not (self.text or self.tool_calls or self.refusal)


@dataclass(frozen=True, slots=True)
class ReceivedReply:
    """All that came of one answer."""

    choices: tuple[ReceivedChoice, ...] = ()
    """In the order of their index."""
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    error: object = None
    """What the server said in place of, or after a part of, its answer."""
    done: bool = False
    """The server said that this is the end: `[DONE]`, or the last event of its interface."""
    streamed: bool = True
    """False for one JSON object, as servers send it that were not asked to stream or do not."""
    truncated: bool = False
    """More came than is held here."""
    junk: int = 0
    """Lines that could not be read."""

    @property
    def whole(self) -> bool:
        """Whether the server said that this is all of it. A stream that merely ended is not whole."""
        if self.error is not None or self.truncated or not self.choices:
            return False
        return self.done or not self.streamed or all(choice.finish_reason is not None for choice in self.choices)

    def choice(self, index: int = 0) -> ReceivedChoice:
        """The choice of that index; an empty one when there is none."""
        return next((choice for choice in self.choices if choice.index == index), ReceivedChoice(index))


class _Call:
    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments = StringIO()


class _Choice:
    __slots__ = ("calls", "finish_reason", "index", "reasoning", "refusal", "slots", "text")

    def __init__(self, index: int) -> None:
        self.index = index
        self.text = StringIO()
        self.reasoning = StringIO()
        self.refusal = StringIO()
        self.finish_reason: str | None = None
        self.calls: list[_Call] = []
        self.slots: dict[int, _Call] = {}
        """The call that a server's index stands for now."""

    def received(self) -> ReceivedChoice:
        calls = [(_mended(call.id), _mended(call.name), _mended(call.arguments.getvalue())) for call in self.calls]
        return ReceivedChoice(
            self.index,
            _mended(self.text.getvalue()),
            _mended(self.reasoning.getvalue()),
            _mended(self.refusal.getvalue()),
            tuple(ToolCall(*call) for call in calls),
            self.finish_reason,
        )


def _mended(text: str) -> str:
    """Halves of a character that came in two pieces are one again, and a half by itself is U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _as_text(arguments: dict[str, Any]) -> str:
    """Arguments that came as an object, though they should be the text of one."""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


class Assembly:
    """Objects of an answer go in, `reply` says what they come to."""

    __slots__ = ("_choices", "_room", "done", "error", "junk", "model", "streamed", "truncated", "usage")

    def __init__(self, max_bytes: int = MAX_TEXT_BYTES) -> None:
        self._choices: dict[int, _Choice] = {}
        self._room = max_bytes
        self.model: str | None = None
        self.usage: dict[str, Any] | None = None
        self.error: object = None
        self.done = False
        self.streamed = True
        self.truncated = False
        self.junk = 0

    def reply(self) -> ReceivedReply:
        """What there is by now."""
        return ReceivedReply(
            tuple(choice.received() for _, choice in sorted(self._choices.items())),
            self.model,
            self.usage,
            self.error,
            self.done,
            self.streamed,
            self.truncated,
            self.junk,
        )

    @property
    def begun(self) -> bool:
        """Whether anything came that a client could show or act upon, or an end."""
        held = self._choices.values()
        written = (pieces.tell() for one in held for pieces in (one.text, one.reasoning, one.refusal))
        return self.done or any(one.calls or one.finish_reason for one in held) or any(written)

    def is_part(self, value: dict[str, Any]) -> bool:
        """Whether an object is a part of an answer."""
        return "choices" in value or "error" in value

    def fail(self, error: object) -> None:
        """The server said that it failed. The first reason counts."""
        if self.error is None:
            self.error = error

    def take(self, value: object) -> None:
        """One object of the answer: a chunk, a whole answer, an error, or something else, which is let go."""
        if type(value) is not dict:
            self._take_odd(value)
            return
        choices = value.get("choices")
        if type(choices) is list:
            for position, choice in enumerate(choices):
                if type(choice) is dict:
                    self._take_choice(choice, position)
        if error := value.get("error"):
            self.fail(error)
        elif value.get("object") == "error":
            self.fail(value)
        elif choices is None and (detail := value.get("detail")):
            self.fail(detail)
        usage = value.get("usage")
        if type(usage) is dict:
            self.usage = usage
        if self.model is None and type(model := value.get("model")) is str:
            self.model = _mended(model[:_MAX_NAME_CHARS])

    def _take_odd(self, value: object) -> None:
        """Some servers send a list of objects; anything else is nothing."""
        if type(value) is not list or any(type(item) is not dict for item in value):
            self.junk += 1
            return
        for item in value:
            self.take(item)

    def _take_choice(self, choice: dict[str, Any], position: int) -> None:
        index = choice.get("index")
        index = index if type(index) is int and index >= 0 else position
        held = self._choices.get(index)
        if held is None:
            if len(self._choices) >= MAX_CHOICES:
                self.truncated = True
                return
            held = self._choices[index] = _Choice(index)
        delta = choice.get("delta")
        said = False
        if type(delta) is dict:
            said = self._take_message(held, delta)
        if not said:  # as clients do: what the delta does not say may stand in the other two forms
            if type(message := choice.get("message")) is dict:
                self._take_message(held, message)
            elif type(text := choice.get("text")) is str:
                self._write(held.text, text)
        finish_reason = choice.get("finish_reason")
        if type(finish_reason) is str and finish_reason:
            held.finish_reason = _mended(finish_reason[:_MAX_NAME_CHARS])
        if error := choice.get("error"):
            self.fail(error)

    def _take_message(self, held: _Choice, fields: dict[str, Any]) -> bool:
        """What a delta or message says; whether it says anything."""
        said = False
        content = fields.get("content")
        if type(content) is str:
            said = True
            self._write(held.text, content)
        elif content is not None and (texts := content_of(content)):
            said = True
            self._write(held.text, texts[0])
            self._write(held.reasoning, texts[1])
        for name in ("reasoning_content", "reasoning", "thinking"):
            if type(thought := fields.get(name)) is str and thought:
                said = True
                self._write(held.reasoning, thought)
                break  # servers that send two of them send the same words twice
        if type(refusal := fields.get("refusal")) is str and refusal:
            said = True
            self._write(held.refusal, refusal)
        if type(calls := fields.get("tool_calls")) is list and calls:
            said = True
            for call in calls:
                if type(call) is dict:
                    self._take_call(held, call, call.get("function"))
        if type(call := fields.get("function_call")) is dict:  # the older name, one call at most
            said = True
            self._take_call(held, {"index": 0}, call)
        return said

    def _take_call(self, held: _Choice, call: dict[str, Any], function: object) -> None:
        told = call.get("id")
        told = told[:_MAX_NAME_CHARS] if type(told) is str else ""
        found = self._slot(held, call.get("index"), told)
        if found is None:
            self.truncated = True
            return
        found.id = found.id or told
        if type(function) is not dict:
            return
        name, arguments = function.get("name"), function.get("arguments")
        if type(name) is str and name != found.name:  # some repeat it with every piece
            found.name = (found.name + name)[:_MAX_NAME_CHARS]
        if type(arguments) is dict:
            arguments = _as_text(arguments)
        if type(arguments) is str:
            self._write(found.arguments, arguments)

    def _slot(self, held: _Choice, index: object, told: str) -> _Call | None:
        """The call that a piece belongs to, made when it is the first of it; None when there are too many.

        Servers that give no index, or 0 for all, tell calls apart by their id.
        """
        key = index if type(index) is int else -1
        found = held.slots.get(key)
        if found is not None and told and found.id and told != found.id:
            found = next((call for call in held.calls if call.id == told), None)
        if found is None:
            if len(held.calls) >= MAX_TOOL_CALLS:
                return None
            found = _Call()
            held.calls.append(found)
        held.slots[key] = found
        return found

    def _write(self, pieces: StringIO, text: str) -> None:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size > self._room:
            self.truncated = True
            text = text.encode("utf-8", "surrogatepass")[: self._room].decode("utf-8", "ignore")
            size = self._room
        self._room -= size
        pieces.write(text)
