"""The interfaces that the scripted server speaks: where each is asked, how it answers, what it counts and refuses.

Pure. What must stay true: an error has the shape that the official client of its interface reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from previously.models.scripted_server.bodies import Composed, error_body
from previously.models.scripted_server.other_bodies import ComposedMessage, ComposedResponse
from previously.models.scripted_server.strict_chat import faults_of_chat
from previously.models.scripted_server.strict_messages import faults_of_anthropic
from previously.models.scripted_server.strict_responses import faults_of_responses

Fields = dict[str, Any]


def _chat_texts(asked: Fields) -> Iterator[str]:
    messages = asked.get("messages")
    for message in messages if isinstance(messages, list) else ():
        yield _text(message.get("content")) if isinstance(message, dict) else ""


def _prompt_texts(asked: Fields) -> Iterator[str]:
    yield str(asked.get("prompt", ""))


def _message_texts(asked: Fields) -> Iterator[str]:
    yield _text(asked.get("system"))
    yield from _chat_texts(asked)


def _input_texts(asked: Fields) -> Iterator[str]:
    yield _text(asked.get("instructions"))
    given = asked.get("input")
    for item in given if isinstance(given, list) else [given]:
        fields = item if isinstance(item, dict) else {"content": item}
        yield " ".join(_text(fields[name]) for name in ("content", "output", "arguments") if fields.get(name))


def _text(content: object) -> str:
    return "" if content is None else content if isinstance(content, str) else str(content)


def _anthropic_error(status: int, message: str, code: str) -> bytes:
    kinds = {401: "authentication_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error"}
    kind = kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
    told = message or f"The scripted server answers with {status}."
    return json.dumps({"type": "error", "error": {"type": kind, "message": told}, "request_id": code or None}).encode()


def _llama_cpp_overflow(tokens: int, window: int | None) -> bytes:
    words = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    error = {"code": 400, "message": words, "type": "exceed_context_size_error"}
    return json.dumps({"error": error | {"n_prompt_tokens": tokens, "n_ctx": window}}).encode()


def _anthropic_overflow(tokens: int, window: int | None) -> bytes:
    return _anthropic_error(400, f"prompt is too long: {tokens} tokens > {window} maximum", "")


def _openai_overflow(tokens: int, window: int | None) -> bytes:
    words = f"This model's maximum context length is {window} tokens. However, your input has {tokens} tokens."
    return error_body(400, words, "context_length_exceeded")


def _response_faults(asked: Fields) -> list[str]:
    earlier = bool(asked.get("previous_response_id") or asked.get("conversation"))
    return faults_of_responses(asked.get("input"), earlier=earlier)


@dataclass(frozen=True, slots=True)
class Interface:
    """One way of asking for an answer."""

    composed: type[Composed]
    texts: Callable[[Fields], Iterator[str]]
    """What a request gives to read, each of which costs a little more than its words."""
    error: Callable[[int, str, str], bytes]
    too_long: Callable[[int, int | None], bytes]
    """What is said of a prompt of so many tokens when the window has so many."""
    faults: Callable[[Fields], list[str]]
    chat: bool = True
    around_tokens: int = 4
    """What each of the texts costs besides its words."""


CHAT = Interface(
    Composed, _chat_texts, error_body, _llama_cpp_overflow, lambda asked: faults_of_chat(asked.get("messages"))
)
PROMPT = Interface(Composed, _prompt_texts, error_body, _llama_cpp_overflow, lambda _: [], chat=False, around_tokens=0)
MESSAGES = Interface(ComposedMessage, _message_texts, _anthropic_error, _anthropic_overflow, faults_of_anthropic)
RESPONSES = Interface(ComposedResponse, _input_texts, error_body, _openai_overflow, _response_faults)

_AT = {"chat/completions": CHAT, "completions": PROMPT, "messages": MESSAGES, "responses": RESPONSES}
INTERFACES = {f"{before}{path}": interface for path, interface in _AT.items() for before in ("/v1/", "/")}
"""Each by the paths where it is asked."""
