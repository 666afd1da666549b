"""The bodies that the scripted server sends: an answer as a stream of chunks or as one object, and error bodies.

Pure. Ordinary chunks are put together from parts that are made once, since the server also stands behind benchmarks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from previously.core.messages import ToolCall

_WORDS = (
    "tide lamp ferry ledger harbour stair bell rope salt gull oar lantern quay anchor fog net barrel chart compass "
    "storm mast shore letter piano key coin map candle window coat boot kettle"
).split()


def words_of_its_own(number: int, chunks: int) -> list[str]:
    """The words of one answer: told apart from every other by their first, the same in every run."""
    return [f"Answer-{number}", *(f" {word}" for word in _run_of_words(number % 997, chunks - 2)), "."][:chunks]


@lru_cache(maxsize=1024)
def _run_of_words(seed: int, count: int) -> tuple[str, ...]:
    return tuple(_WORDS[(seed * 31 + at * (7 + seed % 5)) % len(_WORDS)] for at in range(max(0, count)))


def split_words(text: str) -> list[str]:
    """The text in pieces as a model would stream it: a word with the blank before it."""
    pieces: list[str] = []
    for word in text.split(" "):
        pieces.append(f" {word}" if pieces else word)
    return [piece for piece in pieces if piece]


def error_body(status: int, message: str = "", code: str = "") -> bytes:
    """An error in the shape that OpenAI gives it."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
    error = {
        "message": message or f"The scripted server answers with {status}.",
        "type": kinds.get(status, "server_error" if status >= 500 else "invalid_request_error"),
        "param": None,
        "code": code or None,
    }
    return json.dumps({"error": error}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """An answer with everything decided: what `events` streams, and what `whole` is one object of."""

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
        """The stream, chunk by chunk; a chunk holds one event for each choice."""
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
        """What stands before and after the text in an ordinary chunk."""
        whole = self._chunk([self._choice(0, {"content": "\0"})])
        before, _, after = whole.partition(b'"\\u0000"')
        return before, after

    def _error(self) -> bytes:
        if self.error_event:
            return b"event: error\ndata: %b\n\n" % json.dumps(self.error).encode()
        return b"data: %b\n\n" % json.dumps({"error": self.error}).encode()

    def whole(self) -> bytes:
        """The answer as one object."""
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
