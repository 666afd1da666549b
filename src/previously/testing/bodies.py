"""The interfaces that the scripted server speaks: where each is asked, what its answers look like, what it refuses.

Pure. The same plan says the same in all of them: words, reasoning, calls, usage, and errors on the way, each in the
shape that the official client of the interface reads. Ordinary chunks of a chat are put together from parts that are
made once, since the server also stands behind benchmarks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from previously.core.messages import ToolCall
from previously.testing.request_faults import find_anthropic_faults, find_chat_faults, find_responses_faults
from previously.wire import anthropic_reply, responses_reply

_WORDS = (
    "tide lamp ferry ledger harbour stair bell rope salt gull oar lantern quay anchor fog net barrel chart compass "
    "storm mast shore letter piano key coin map candle window coat boot kettle"
).split()


def invent_words(number: int, chunks: int) -> list[str]:
    """Return the words of one answer: different from every other by their first, the same in every run."""
    return [f"Answer-{number}", *(f" {word}" for word in _run_of_words(number % 997, chunks - 2)), "."][:chunks]


@lru_cache(maxsize=1024)
def _run_of_words(seed: int, count: int) -> tuple[str, ...]:
    return tuple(_WORDS[(seed * 31 + at * (7 + seed % 5)) % len(_WORDS)] for at in range(max(0, count)))


def split_words(text: str) -> list[str]:
    """Return the text in pieces as a model would stream it: a word with the blank before it."""
    pieces: list[str] = []
    for word in text.split(" "):
        pieces.append(f" {word}" if pieces else word)
    return [piece for piece in pieces if piece]


def write_error(status: int, message: str = "", code: str = "") -> bytes:
    """Write an error in the shape that OpenAI gives it."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
    error = {
        "message": message or f"The scripted server answers with {status}.",
        "type": kinds.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        "param": None,
        "code": code or None,
    }
    return json.dumps({"error": error}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """An answer with everything decided, as a stream (`events`) and as one object (`whole`)."""

    number: int
    model: str
    texts: Sequence[Sequence[str]]
    """For each choice, the pieces of its text."""
    reasoning: str
    tool_calls: Sequence[ToolCall]
    finish_reason: str
    usage: Mapping[str, Any] | None
    streamed: bool
    chat: bool
    """False: the older interface of `/completions`."""
    logprobs: bool
    done: bool
    endless: bool
    error_after: int | None
    error: object
    error_event: bool

    def _envelope(self, kind: str) -> dict[str, Any]:
        name = f"chatcmpl-{self.number}" if self.chat else f"cmpl-{self.number}"
        return {"id": name, "object": kind, "created": 1_700_000_000 + self.number, "model": self.model}

    def _chunk(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        envelope = self._envelope("chat.completion.chunk" if self.chat else "text_completion")
        return b"data: %b\n\n" % json.dumps(envelope | {"choices": choices} | more).encode()

    def _choice(self, index: int, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        said = {"delta": delta} if self.chat else {"text": delta.get("content", "")}
        odds = _logprobs([delta["content"]], self.chat) if self.logprobs and delta.get("content") else None
        return {"index": index, **said, "logprobs": odds, "finish_reason": finish_reason}

    def events(self) -> Iterator[bytes]:
        """Write the stream, chunk by chunk; a chunk holds one event for each choice."""
        yield from islice(self._said(), self.error_after)
        if self.error_after is not None:
            yield self._error()
        else:
            ended = [self._choice(index, {}, self.finish_reason) for index in range(len(self.texts))]
            yield b"".join(self._chunk([choice]) for choice in ended)
            if self.usage is not None:
                yield self._chunk([], usage=self.usage)
        if self.done:
            yield b"data: [DONE]\n\n"

    def _said(self) -> Iterator[bytes]:
        role: dict[str, Any] = {"role": "assistant"}
        for piece in split_words(self.reasoning):
            yield self._chunk([self._choice(0, role | {"reasoning_content": piece})])
            role = {}
        before, after = self._around()
        plain = len(self.texts) == 1 and not self.logprobs
        while True:
            for at in range(max(map(len, self.texts), default=0)):
                if plain and not role:
                    yield before + json.dumps(self.texts[0][at]).encode() + after
                else:
                    pieces = [(index, pieces[at]) for index, pieces in enumerate(self.texts) if at < len(pieces)]
                    choices = [self._choice(index, role | {"content": text}) for index, text in pieces]
                    yield b"".join(self._chunk([choice]) for choice in choices)
                role = {}
            if not self.endless:
                break
        for at, call in enumerate(self.tool_calls):
            halves = call.arguments[: len(call.arguments) // 2], call.arguments[len(call.arguments) // 2 :]
            begun = {"index": at, "id": call.id, "type": "function"}
            begun |= {"function": {"name": call.name, "arguments": ""}}
            yield self._chunk([self._choice(0, role | {"tool_calls": [begun]})])
            role = {}
            for half in halves:
                yield self._chunk([self._choice(0, {"tool_calls": [{"index": at, "function": {"arguments": half}}]})])

    def _around(self) -> tuple[bytes, bytes]:
        """Return the bytes before and after the text in an ordinary chunk."""
        whole = self._chunk([self._choice(0, {"content": "\0"})])
        before, _, after = whole.partition(b'"\\u0000"')
        return before, after

    def _error(self) -> bytes:
        if self.error_event:
            return b"event: error\ndata: %b\n\n" % json.dumps(self.error).encode()
        return b"data: %b\n\n" % json.dumps({"error": self.error}).encode()

    def whole(self) -> bytes:
        if self.error_after is not None:
            return json.dumps({"error": self.error}).encode()
        choices = []
        for index, pieces in enumerate(self.texts):
            text = "".join(pieces)
            odds = _logprobs(pieces, self.chat) if self.logprobs else None
            message: dict[str, Any] = {"role": "assistant", "content": text if text or not self.tool_calls else None}
            if self.reasoning and index == 0:
                message["reasoning_content"] = self.reasoning
            if self.tool_calls and index == 0:
                message["tool_calls"] = [
                    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                    for call in self.tool_calls
                ]
            said = {"message": message} if self.chat else {"text": text}
            choices.append({"index": index, **said, "logprobs": odds, "finish_reason": self.finish_reason})
        answer = self._envelope("chat.completion" if self.chat else "text_completion") | {"choices": choices}
        if self.usage is not None:
            answer["usage"] = self.usage
        return json.dumps(answer).encode()


def _logprobs(pieces: Sequence[str], chat: bool) -> dict[str, Any]:
    if not chat:
        return {"tokens": list(pieces), "token_logprobs": [-0.25] * len(pieces)}
    tokens = [{"token": piece, "logprob": -0.25, "bytes": list(piece.encode()), "top_logprobs": []} for piece in pieces]
    return {"content": tokens, "refusal": None}


_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def _halves(call: ToolCall) -> list[str]:
    half = len(call.arguments) // 2
    return [piece for piece in (call.arguments[:half], call.arguments[half:]) if piece]


class ScriptedMessagesReply(ScriptedReply):
    """An answer of `/v1/messages`."""

    __slots__ = ()

    @property
    def _name(self) -> str:
        return f"msg_{self.number}"

    @property
    def _counted(self) -> Mapping[str, Any]:
        usage = self.usage or {}
        return {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)}

    def _blocks(self) -> list[tuple[anthropic_reply.Block, list[str]]]:
        """Return each block with the pieces it comes in."""
        text = "".join(self.texts[0]) if self.texts else ""
        blocks: list[tuple[anthropic_reply.Block, list[str]]] = []
        if self.reasoning:
            block = anthropic_reply.write_thinking_block(self.reasoning, f"signed-{self.number}")
            blocks.append((block, split_words(self.reasoning)))
        if text:
            blocks.append((anthropic_reply.write_text_block(text), list(self.texts[0])))
        return blocks + [(anthropic_reply.write_call_block(call), _halves(call)) for call in self.tool_calls]

    def events(self) -> Iterator[bytes]:
        yield anthropic_reply.write_start(self._name, self.model, self._counted) + anthropic_reply.write_event(
            {"type": "ping"}
        )
        yield from islice(self._said(), self.error_after)
        if self.error_after is not None:
            yield anthropic_reply.write_event(json.loads(_error(self.error)))
            return
        if self.done:
            stop = _STOPS.get(self.finish_reason, self.finish_reason)
            yield anthropic_reply.write_end(stop, self._counted)

    def _said(self) -> Iterator[bytes]:
        while True:
            for index, (block, pieces) in enumerate(self._blocks()):
                yield from anthropic_reply.write_block_events(index, block, pieces)
            if not self.endless:
                return

    def whole(self) -> bytes:
        if self.error_after is not None:
            return _error(self.error)
        blocks = [block for block, _ in self._blocks()]
        stop = _STOPS.get(self.finish_reason, self.finish_reason)
        message = anthropic_reply.write_message(self._name, self.model, blocks, stop_reason=stop, usage=self._counted)
        return json.dumps(message).encode()


def _error(error: object) -> bytes:
    words = error.get("message") if isinstance(error, dict) else error
    return json.dumps({"type": "error", "error": {"type": "api_error", "message": str(words)}}).encode()


class ScriptedResponsesReply(ScriptedReply):
    """An answer of `/v1/responses`."""

    __slots__ = ()

    def _items(self) -> list[tuple[responses_reply.Item, list[str]]]:
        """Return each item with the pieces it comes in."""
        text = "".join(self.texts[0]) if self.texts else ""
        items: list[tuple[responses_reply.Item, list[str]]] = []
        if self.reasoning:
            item = responses_reply.write_reasoning_item(f"rs_{self.number}", self.reasoning)
            items.append((item, split_words(self.reasoning)))
        if text:
            items.append((responses_reply.write_text_item(f"msg_{self.number}", text), list(self.texts[0])))
        for at, call in enumerate(self.tool_calls):
            items.append((responses_reply.write_call_item(f"fc_{self.number}_{at}", call), _halves(call)))
        return items

    def _response(self, items: list[responses_reply.Item], **more: Any) -> dict[str, Any]:
        read, written = (int((self.usage or {}).get(name, 0)) for name in ("prompt_tokens", "completion_tokens"))
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        }
        created = 1_700_000_000 + self.number
        return responses_reply.write_response(
            f"resp_{self.number}", self.model, items, created=created, usage=usage, **more
        )

    def events(self) -> Iterator[bytes]:
        whole, events = self._response([item for item, _ in self._items()]), responses_reply.ResponsesEventWriter()
        yield events.write_start(whole)
        yield from islice(self._given(events), self.error_after)
        if self.error_after is not None:
            failed = self._response([], status="failed", error=self.error)
            yield events.write_event("response.failed", response=failed)
        elif self.done:
            yield events.write_end(whole)

    def _given(self, events: responses_reply.ResponsesEventWriter) -> Iterator[bytes]:
        while True:
            for place, (item, pieces) in enumerate(self._items()):
                yield from events.write_item_events(place, item, pieces)
            if not self.endless:
                return

    def whole(self) -> bytes:
        if self.error_after is not None:
            return json.dumps({"error": self.error}).encode()
        return json.dumps(self._response([item for item, _ in self._items()])).encode()


Fields = dict[str, Any]


def _chat_texts(asked: Fields) -> Iterator[str]:
    messages = asked.get("messages")
    for message in messages if isinstance(messages, list) else ():
        yield _text(message)


def _prompt_texts(asked: Fields) -> Iterator[str]:
    yield str(asked.get("prompt", ""))


def _message_texts(asked: Fields) -> Iterator[str]:
    yield _text(asked.get("system"))
    yield from _chat_texts(asked)


def _input_texts(asked: Fields) -> Iterator[str]:
    yield _text(asked.get("instructions"))
    given = asked.get("input")
    for item in given if isinstance(given, list) else [given]:
        yield _text(item)


_READ_FIELDS = ("text", "content", "output", "name", "arguments", "input", "tool_calls", "function")
"""The fields of messages, parts and calls that a chat template writes into the prompt, in all interfaces."""


def _text(given: object) -> str:
    """Return the words of a message, of its parts or of its calls, as the model reads them."""
    match given:
        case None:
            return ""
        case str():
            return given
        case list():
            return " ".join(_text(part) for part in given)
        case {"type": "tool_use", "name": name, "input": arguments}:
            return f"{name} {json.dumps(arguments)}"
        case dict():
            return " ".join(_text(given[field]) for field in _READ_FIELDS if given.get(field))
    return str(given)


def _anthropic_error(status: int, message: str, code: str) -> bytes:
    kinds = {401: "authentication_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error"}
    kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
    words = message or f"The scripted server answers with {status}."
    return json.dumps({"type": "error", "error": {"type": kind, "message": words}, "request_id": code or None}).encode()


def _llama_cpp_overflow(tokens: int, window: int | None) -> bytes:
    words = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    error = {"code": 400, "message": words, "type": "exceed_context_size_error"}
    return json.dumps({"error": error | {"n_prompt_tokens": tokens, "n_ctx": window}}).encode()


def _anthropic_overflow(tokens: int, window: int | None) -> bytes:
    return _anthropic_error(400, f"prompt is too long: {tokens} tokens > {window} maximum", "")


def _openai_overflow(tokens: int, window: int | None) -> bytes:
    words = f"This model's maximum context length is {window} tokens. However, your input has {tokens} tokens."
    return write_error(400, words, "context_length_exceeded")


def _response_faults(asked: Fields) -> list[str]:
    earlier = bool(asked.get("previous_response_id") or asked.get("conversation"))
    return find_responses_faults(asked.get("input"), earlier=earlier)


@dataclass(frozen=True, slots=True)
class ScriptedInterface:
    """One way of asking for an answer, and what the server answers in it."""

    reply: type[ScriptedReply]
    texts: Callable[[Fields], Iterator[str]]
    """The texts that a request gives to read, each of which costs a little more than its words."""
    error: Callable[[int, str, str], bytes]
    too_long: Callable[[int, int | None], bytes]
    """The complaint of a prompt of so many tokens when the window has so many."""
    faults: Callable[[Fields], list[str]]
    chat: bool = True
    around_tokens: int = 4
    """The cost of each text besides its words."""


CHAT = ScriptedInterface(
    ScriptedReply, _chat_texts, write_error, _llama_cpp_overflow, lambda asked: find_chat_faults(asked.get("messages"))
)
PROMPT = ScriptedInterface(
    ScriptedReply, _prompt_texts, write_error, _llama_cpp_overflow, lambda _: [], chat=False, around_tokens=0
)
MESSAGES = ScriptedInterface(
    ScriptedMessagesReply, _message_texts, _anthropic_error, _anthropic_overflow, find_anthropic_faults
)
RESPONSES = ScriptedInterface(ScriptedResponsesReply, _input_texts, write_error, _openai_overflow, _response_faults)

_AT = {"chat/completions": CHAT, "completions": PROMPT, "messages": MESSAGES, "responses": RESPONSES}
INTERFACES = {f"{before}{path}": interface for path, interface in _AT.items() for before in ("/v1/", "/")}
"""Each by the paths where it is asked."""
