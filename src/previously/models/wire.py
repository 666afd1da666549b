"""The OpenAI-compatible wire: a request as the body of `/chat/completions`, and whatever comes back as a value.

Pure and total: `read_answer` gives a `ModelReply` or a `ModelFailure` for every status and every body, JSON or not.
A body is believed only as far as it can be: an `error` beside status 200 is an error, a missing answer is not an empty
one, and tokens that the server does not count are estimated and marked so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from previously.core.json_values import clean
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest, Usage
from previously.core.tokens import MESSAGE_OVERHEAD_TOKENS, estimate_tokens
from previously.models.failures import Redaction, error_words, refusal, retry_after_s
from previously.models.reasoning import split_reasoning


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which optional parts of a request the server takes. Only ever loses parts, as the server turns them down."""

    json_schema: bool = True
    temperature: bool = True
    max_tokens: bool = True
    """False: the limit is sent as `max_completion_tokens`, the newer name."""

    def shared_with(self, other: Dialect) -> Dialect:
        """What both take."""
        return Dialect(
            self.json_schema and other.json_schema,
            self.temperature and other.temperature,
            self.max_tokens and other.max_tokens,
        )


def request_body(request: ModelRequest, model: str, dialect: Dialect) -> dict[str, Any]:
    """The body that asks for one whole answer. No tools, no streaming, no more than one choice."""
    messages = [{"role": "system", "content": clean(request.system)[0]}] if request.system else []
    messages.append({"role": "user", "content": clean(request.user)[0]})
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": False}
    body["max_tokens" if dialect.max_tokens else "max_completion_tokens"] = request.max_output_tokens
    if dialect.temperature:
        body["temperature"] = request.temperature
    if dialect.json_schema and request.schema is not None:
        title = re.sub(r"[^A-Za-z0-9_-]+", "_", str(request.schema.get("title", ""))).strip("_")[:60]
        shape = {"name": title or "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return body


_TURNED_DOWN = re.compile(
    r"response_format|json_schema|json schema|structured output|grammar|guided_json|guided decoding", re.IGNORECASE
)


def turned_down(failure: ModelFailure, payload: object, request: ModelRequest, sent: Dialect) -> Dialect | None:
    """The dialect to use from now on when the server complained about an optional part that was sent; else None."""
    if failure.kind not in (FailureKind.BAD_REQUEST, FailureKind.SERVER):
        return None
    words = error_words(payload)
    if sent.max_tokens and "max_completion_tokens" in words:
        return replace(sent, max_tokens=False)
    if sent.temperature and re.search(r"\btemperature\b", words, re.IGNORECASE):
        return replace(sent, temperature=False)
    if sent.json_schema and request.schema is not None and _TURNED_DOWN.search(words):
        return replace(sent, json_schema=False)
    return None


def parse_body(body: bytes) -> object:
    """The JSON in a body, or its text when it is none. Total."""
    text = body.decode("utf-8-sig", errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


SHORTEST_KEY = 4
"""Shorter ones guard nothing, and would be found in ordinary words."""


def read_answer(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    request: ModelRequest,
    model: str,
    now: float,
    key: str = "",
) -> ModelReply | ModelFailure:
    """What the server answered. `headers` have lower-case names; `now` is in seconds since the epoch."""
    if len(key) >= SHORTEST_KEY:
        body = body.replace(key.encode(), b"[key]")  # a server that echoes it must not bring it into memory or log
    payload = parse_body(body)
    redaction = Redaction(key, f"{request.system}\n{request.user}")
    wait_s = retry_after_s(headers, now)
    if not 200 <= status < 300:
        return refusal(status, _without_pages(payload), redaction=redaction, retry_after_s=wait_s)
    if isinstance(payload, str):
        return ModelFailure(FailureKind.UNREADABLE, _unreadable_reason(payload))
    fields: dict[str, Any] = payload if isinstance(payload, dict) else {}
    error = _error_in(fields)
    if error is not None:
        code = _code_of(error)
        return refusal(code or 500, error, redaction=redaction, retry_after_s=wait_s, tell_status=code is not None)
    match fields:
        case {"choices": [{"message": dict() as message} as choice, *_]}:
            return _reply(choice, message, fields, request=request, model=model)
        case {"choices": [{"text": str() as text} as choice, *_]}:
            return _reply(choice, {"content": text}, fields, request=request, model=model)
        case _:
            return ModelFailure(FailureKind.UNREADABLE, "The server's answer holds no message.")


def _without_pages(payload: object) -> object:
    """An error body without what is meant for a browser: pages say nothing, and may say it at length."""
    return "" if isinstance(payload, str) and payload.lstrip()[:1] == "<" else payload


def _unreadable_reason(text: str) -> str:
    start = text.lstrip()[:16].lower()
    if not start:
        return "The server's answer is empty."
    if start.startswith("<"):
        return "The server answered with a web page: is the address right, and does it end in /v1?"
    if start.startswith(("data:", "event:", ":")):
        return "The server answered with a stream, although none was asked for."
    return "The server's answer is not JSON, or was cut off."


def _error_in(payload: dict[str, Any]) -> object | None:
    """The error in a body that came with status 200: at the top, in the old vLLM shape, or beside the choice."""
    match payload:
        case {"error": error} if error:
            return {"error": error}
        case {"object": "error"}:
            return payload
        case {"choices": [{"error": error}, *_]} if error:
            return {"error": error}
        case {"detail": detail} if detail and "choices" not in payload:
            return {"detail": detail}
        case _:
            return None


def _code_of(error: object) -> int | None:
    """The HTTP status that an error names as its code, if it does."""
    match error:
        case {"error": {"code": code}} | {"error": {"status": code}} | {"code": code} | {"status": code}:
            if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
                code = int(code)
            if isinstance(code, int) and 400 <= code < 600:
                return code
        case _:
            pass
    return None


_FINISHED = {
    "eos": "stop", "eos_token": "stop", "end_turn": "stop", "stop_sequence": "stop", "end": "stop", "complete": "stop",
    "max_tokens": "length", "model_length": "length", "max_length": "length", "max_output_tokens": "length",
    "function_call": "tool_calls", "tool_use": "tool_calls", "safety": "content_filter",
}  # fmt: skip
"""What other servers call the four usual reasons."""


def _reply(
    choice: Mapping[str, Any],
    message: Mapping[str, Any],
    payload: Mapping[str, Any],
    *,
    request: ModelRequest,
    model: str,
) -> ModelReply | ModelFailure:
    content = content_of(message.get("content"))
    if content is None:
        return ModelFailure(FailureKind.UNREADABLE, "The message in the server's answer is neither text nor parts.")
    told = choice.get("finish_reason")
    finish_reason = _FINISHED.get(told.lower(), told.lower())[:40] if isinstance(told, str) and told else None
    text, thinking = content
    tool_calls = bool(message.get("tool_calls") or message.get("function_call")) or finish_reason == "tool_calls"
    if not text.strip() and finish_reason == "content_filter":
        return ModelFailure(FailureKind.FILTERED, "A content filter of the server blocked the answer.")
    if not text.strip() and isinstance(refused := message.get("refusal"), str) and refused.strip():
        return ModelFailure(FailureKind.FILTERED, "The model refused to answer.")
    beside = [message.get(name) for name in ("reasoning_content", "reasoning", "thinking")]
    thinking = "\n".join([part for part in beside if isinstance(part, str) and part][:1] + [thinking] * bool(thinking))
    named = payload.get("model")
    return reply_of_text(
        text,
        request=request,
        model=clean(named)[0][:200] if isinstance(named, str) and named else model,
        finish_reason=finish_reason,
        reasoning=thinking,
        tool_calls=tool_calls,
        reported=payload.get("usage"),
    )


def reply_of_text(
    text: str,
    *,
    request: ModelRequest,
    model: str,
    finish_reason: str | None = "stop",
    reasoning: str = "",
    tool_calls: bool = False,
    reported: object = None,
) -> ModelReply:
    """The reply that a raw text stands for: reasoning taken off the front, unstorable characters replaced."""
    text, reasoning = clean(text)[0], clean(reasoning)[0]
    thought, answer = split_reasoning(text)
    return ModelReply(
        text=answer,
        model=model,
        finish_reason=finish_reason,
        usage=_usage(reported, request, text + reasoning),
        reasoning="\n".join(part for part in (reasoning, thought) if part),
        tool_calls=tool_calls,
    )


def content_of(content: object, depth: int = 0) -> tuple[str, str] | None:
    """The text of a message, and the thinking among its parts; None when it is neither text nor parts."""
    match content:
        case None:
            return "", ""
        case str() as text:
            return text, ""
        case list() as parts if depth < 3:
            texts: list[str] = []
            thinking: list[str] = []
            for part in parts:
                match part:
                    case str() as text:
                        texts.append(text)
                    case {"type": "thinking" | "reasoning", **fields}:
                        inner = content_of(fields.get("thinking") or fields.get("text"), depth + 1)
                        thinking.append("".join(inner) if inner else "")
                    case {"text": str() as text}:
                        texts.append(text)
                    case _:
                        pass
            return "".join(texts), "".join(thinking)
        case _:
            return None


def _usage(reported: object, request: ModelRequest, produced: str) -> Usage:
    """What the server counted. A count of nothing for a text that is there was not counted, so all is estimated."""
    if isinstance(reported, dict):
        read, written = reported.get("prompt_tokens"), reported.get("completion_tokens")
        if type(read) is int and type(written) is int and 0 < read < 2**53 and int(bool(produced)) <= written < 2**53:
            return Usage(read, written, reported=True)
    asked = estimate_tokens(request.system) + estimate_tokens(request.user) + 2 * MESSAGE_OVERHEAD_TOKENS
    return Usage(asked, estimate_tokens(produced), reported=False)
