"""A model's reply as one value, and the events of which it is made, whatever the interface it came by.

Each interface parses its objects into `ReplyEvent`s once (see `chat`, `anthropic_reply`, `responses_reply`), and
`ReplyFold` adds them up. Pure and total: a fold takes any events in any order and never raises. Text is joined as
clients join it, so what is remembered equals what was shown. Memory is bounded: texts of all choices together hold at
most `max_bytes`, and what goes beyond is left out and marked as `truncated`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any, Protocol

from previously.core.messages import ToolCall

MAX_TEXT_BYTES = 12 * 1024 * 1024
"""Below what a store takes as one message, with room for what stands beside the text."""

MAX_CHOICES = 128
"""As many as OpenAI's interface gives for one request."""

MAX_TOOL_CALLS = 256
"""Twice what the official interfaces let a model call at a time."""

_MAX_NAME_CHARS = 200
"""Longer than any name of a model, a tool or a reason in use."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of a choice's text."""

    choice: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of a choice's reasoning."""

    choice: int
    text: str


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """More of the words by which a choice refuses."""

    choice: int
    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of a tool call. Servers that give no slot, or the same for all, tell calls apart by their id."""

    choice: int
    slot: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceStarted:
    """A choice exists, though it says nothing yet."""

    choice: int


@dataclass(frozen=True, slots=True)
class ChoiceEnded:
    """A choice has come to its end."""

    choice: int
    finish_reason: str


@dataclass(frozen=True, slots=True)
class ModelNamed:
    """The server names the model. The first name counts."""

    model: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The server's count of tokens by now, in the names of chat completions. The last one counts."""

    usage: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReplyFailed:
    """The server says that it failed. The first reason counts."""

    error: object


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The server says that this is the end of all choices."""


@dataclass(frozen=True, slots=True)
class Junk:
    """Something that no client can read."""


ReplyEvent = (
    TextDelta
    | ReasoningDelta
    | RefusalDelta
    | CallDelta
    | ChoiceStarted
    | ChoiceEnded
    | ModelNamed
    | UsageReported
    | ReplyFailed
    | ReplyEnded
    | Junk
)


class EventParser(Protocol):
    """The objects of one reply in one interface, as events. One parser is for one reply."""

    def parse(self, value: dict[str, Any]) -> Iterable[ReplyEvent]:
        """Parse the next object: an event of a stream, a whole reply, an error, or something else."""

    def is_part(self, value: dict[str, Any]) -> bool:
        """Return whether an object is a part of a reply."""

    def finish_arguments(self, arguments: str) -> str:
        """Return the arguments of a call as a client sends them back."""


@dataclass(frozen=True, slots=True)
class ReplyChoice:
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
        """True when there is nothing that a client could show or act upon."""
        return not (self.text or self.tool_calls or self.refusal)


@dataclass(frozen=True, slots=True)
class Reply:
    """All that came of one reply."""

    choices: tuple[ReplyChoice, ...] = ()
    """In the order of their index."""
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    error: object = None
    """The reason that the server gave in place of, or after a part of, its answer."""
    done: bool = False
    """The server said that this is the end: `[DONE]`, or the last event of its interface."""
    streamed: bool = True
    """False for one JSON object, as servers send it that were not asked to stream or do not."""
    truncated: bool = False
    """More came than this value holds."""
    junk: int = 0
    """Lines that could not be read."""

    @property
    def whole(self) -> bool:
        """True when the server said that this is all of it. A stream that merely ended is not whole."""
        if self.error is not None or self.truncated or not self.choices:
            return False
        return self.done or not self.streamed or all(choice.finish_reason is not None for choice in self.choices)

    def choice(self, index: int = 0) -> ReplyChoice:
        """Return the choice of that index; an empty one when there is none."""
        return next((choice for choice in self.choices if choice.index == index), ReplyChoice(index))


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
        """The call that a server's slot stands for now."""

    def find_call(self, slot: int | None, call_id: str) -> _Call | None:
        """Return the call that a delta belongs to, made when it is the first of it; None when there are too many."""
        key = -1 if slot is None else slot
        call = self.slots.get(key)
        if call is not None and call_id and call.id and call_id != call.id:
            call = next((other for other in self.calls if other.id == call_id), None)
        if call is None:
            if len(self.calls) >= MAX_TOOL_CALLS:
                return None
            call = _Call()
            self.calls.append(call)
        self.slots[key] = call
        return call

    def freeze(self, finish_arguments: Callable[[str], str]) -> ReplyChoice:
        calls = (
            ToolCall(_mend(call.id), _mend(call.name), finish_arguments(_mend(call.arguments.getvalue())))
            for call in self.calls
        )
        return ReplyChoice(
            self.index,
            _mend(self.text.getvalue()),
            _mend(self.reasoning.getvalue()),
            _mend(self.refusal.getvalue()),
            tuple(calls),
            self.finish_reason,
        )


def _mend(text: str) -> str:
    """Join the halves of a character that came in two pieces; a half by itself becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class ReplyFold:
    """Events of a reply go in, `reply` says what they come to."""

    __slots__ = (
        "_choices",
        "_finish_arguments",
        "_room",
        "done",
        "error",
        "junk",
        "model",
        "streamed",
        "truncated",
        "usage",
    )

    def __init__(self, max_bytes: int = MAX_TEXT_BYTES, finish_arguments: Callable[[str], str] = str) -> None:
        self._choices: dict[int, _Choice] = {}
        self._finish_arguments = finish_arguments
        self._room = max_bytes
        self.model: str | None = None
        self.usage: Mapping[str, Any] | None = None
        self.error: object = None
        self.done: bool = False
        self.streamed: bool = True
        self.truncated: bool = False
        self.junk: int = 0

    def reply(self) -> Reply:
        return Reply(
            tuple(choice.freeze(self._finish_arguments) for _, choice in sorted(self._choices.items())),
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
        """True when anything came that a client could show or act upon, or an end."""
        choices = self._choices.values()
        texts = (text.tell() for choice in choices for text in (choice.text, choice.reasoning, choice.refusal))
        return self.done or any(choice.calls or choice.finish_reason for choice in choices) or any(texts)

    def add(self, events: Iterable[ReplyEvent]) -> None:
        """Take the next events."""
        for event in events:
            match event:
                case TextDelta():
                    if choice := self._find_choice(event.choice):
                        self._write(choice.text, event.text)
                case ReasoningDelta():
                    if choice := self._find_choice(event.choice):
                        self._write(choice.reasoning, event.text)
                case RefusalDelta():
                    if choice := self._find_choice(event.choice):
                        self._write(choice.refusal, event.text)
                case CallDelta():
                    if choice := self._find_choice(event.choice):
                        self._add_call(choice, event)
                case ChoiceStarted():
                    self._find_choice(event.choice)
                case ChoiceEnded():
                    if choice := self._find_choice(event.choice):
                        choice.finish_reason = _mend(event.finish_reason[:_MAX_NAME_CHARS])
                case ModelNamed():
                    if self.model is None:
                        self.model = _mend(event.model[:_MAX_NAME_CHARS])
                case UsageReported():
                    self.usage = event.usage
                case ReplyFailed():
                    if self.error is None:
                        self.error = event.error
                case ReplyEnded():
                    self.done = True
                case Junk():
                    self.junk += 1

    def _find_choice(self, index: int) -> _Choice | None:
        choice = self._choices.get(index)
        if choice is None:
            if len(self._choices) >= MAX_CHOICES:
                self.truncated = True
                return None
            choice = self._choices[index] = _Choice(index)
        return choice

    def _add_call(self, choice: _Choice, delta: CallDelta) -> None:
        call_id = delta.id[:_MAX_NAME_CHARS]
        call = choice.find_call(delta.slot, call_id)
        if call is None:
            self.truncated = True
            return
        call.id = call.id or call_id
        if delta.name != call.name:  # some repeat it with every piece
            call.name = (call.name + delta.name)[:_MAX_NAME_CHARS]
        self._write(call.arguments, delta.arguments)

    def _write(self, pieces: StringIO, text: str) -> None:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size > self._room:
            self.truncated = True
            text = text.encode("utf-8", "surrogatepass")[: self._room].decode("utf-8", "ignore")
            size = self._room
        self._room -= size
        pieces.write(text)
