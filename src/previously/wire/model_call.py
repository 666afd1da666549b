"""One question to a model as the body of `/chat/completions`, and whatever comes back as a value.

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
from previously.core.patterns import lazy_pattern
from previously.core.tokens import MESSAGE_OVERHEAD_TOKENS, estimate_tokens
from previously.wire.chat import ChatEvents, read_content, to_chat
from previously.wire.errors import Redaction, build_failure, collect_error_words, find_retry_after_s
from previously.wire.reasoning import split_reasoning
from previously.wire.reply import Reply, ReplyFold


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The optional parts of a request that the server takes. Only ever loses parts, as the server turns them down."""

    json_schema: bool = True
    temperature: bool = True
    max_tokens: bool = True
    """False: the limit is sent as `max_completion_tokens`, the newer name."""

    def intersect(self, other: RequestOptions) -> RequestOptions:
        """Return the options that both servers take."""
        return RequestOptions(
            self.json_schema and other.json_schema,
            self.temperature and other.temperature,
            self.max_tokens and other.max_tokens,
        )


def build_request(request: ModelRequest, model: str, options: RequestOptions) -> dict[str, Any]:
    """Build the body that asks for one whole answer. No tools, no streaming, no more than one choice."""
    messages = [{"role": "system", "content": clean(request.system)[0]}] if request.system else []
    messages.append({"role": "user", "content": clean(request.user)[0]})
    if request.messages:
        messages = to_chat(request.messages)
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": False, **request.sampling}
    body["max_tokens" if options.max_tokens else "max_completion_tokens"] = request.max_output_tokens
    if options.temperature:
        body["temperature"] = request.temperature
    if options.json_schema and request.schema is not None:
        title = re.sub(r"[^A-Za-z0-9_-]+", "_", str(request.schema.get("title", ""))).strip("_")[:60]
        shape = {"name": title or "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return body


_TURNED_DOWN = lazy_pattern(
    r"response_format|json_schema|json schema|structured output|grammar|guided_json|guided decoding", re.IGNORECASE
)


def find_refused_option(
    failure: ModelFailure, payload: object, request: ModelRequest, sent: RequestOptions
) -> RequestOptions | None:
    """Return the options to use from now on when the server complained about one that was sent; else None."""
    if failure.kind not in (FailureKind.BAD_REQUEST, FailureKind.SERVER):
        return None
    words = collect_error_words(payload)
    if sent.max_tokens and "max_completion_tokens" in words:
        return replace(sent, max_tokens=False)
    if sent.temperature and re.search(r"\btemperature\b", words, re.IGNORECASE):
        return replace(sent, temperature=False)
    if sent.json_schema and request.schema is not None and _TURNED_DOWN.search(words):
        return replace(sent, json_schema=False)
    return None


def parse_body(body: bytes) -> object:
    """Return the JSON in a body, or its text when it is none. Total."""
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
    """Read what the server answered. `headers` have lower-case names; `now` is in seconds since the epoch."""
    if len(key) >= SHORTEST_KEY:
        body = body.replace(key.encode(), b"[key]")  # a server that echoes it must not bring it into memory or log
    payload = parse_body(body)
    redaction = Redaction(key, "\n".join(request.texts))
    wait_s = find_retry_after_s(headers, now)
    if not 200 <= status < 300:
        return build_failure(status, _drop_page(payload), redaction=redaction, retry_after_s=wait_s)
    if isinstance(payload, str):
        return ModelFailure(FailureKind.UNREADABLE, _explain_unreadable(payload))
    fields: dict[str, Any] = payload if isinstance(payload, dict) else {}
    fold = ReplyFold()
    fold.add(ChatEvents().parse(fields))
    reply = fold.reply()
    if reply.error is not None:
        code = _find_status(reply.error)
        return build_failure(
            code or 500, reply.error, redaction=redaction, retry_after_s=wait_s, tell_status=code is not None
        )
    match fields:
        case {"choices": [{"message": {"content": content}}, *_]} if read_content(content) is None:
            return ModelFailure(FailureKind.UNREADABLE, "The message in the server's answer is neither text nor parts.")
        case {"choices": [{"message": dict()} | {"text": str()}, *_]}:
            return _judge_choice(reply, request=request, model=model)
        case _:
            return ModelFailure(FailureKind.UNREADABLE, "The server's answer holds no message.")


def read_streamed(reply: Reply, *, request: ModelRequest, model: str) -> ModelReply | ModelFailure:
    """Return what a stream came to, once it is whole."""
    return _judge_choice(reply, request=request, model=model)


def _drop_page(payload: object) -> object:
    """Return an error body without what is meant for a browser: pages say nothing, and may say it at length."""
    return "" if isinstance(payload, str) and payload.lstrip()[:1] == "<" else payload


def _explain_unreadable(text: str) -> str:
    start = text.lstrip()[:16].lower()
    if not start:
        return "The server's answer is empty."
    if start.startswith("<"):
        return "The server answered with a web page: is the address right, and does it end in /v1?"
    if start.startswith(("data:", "event:", ":")):
        return "The server answered with a stream, although none was asked for."
    return "The server's answer is not JSON, or was cut off."


def _find_status(error: object) -> int | None:
    """Return the HTTP status that an error names as its code, if it does."""
    match error:
        case {"code": code} | {"status": code}:
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
"""Names that other servers have for the four usual reasons."""


def _judge_choice(reply: Reply, *, request: ModelRequest, model: str) -> ModelReply | ModelFailure:
    choice = reply.choices[0]
    said = (choice.finish_reason or "").lower()
    finish_reason = _FINISHED.get(said, said)[:40] or None
    if not choice.text.strip() and finish_reason == "content_filter":
        return ModelFailure(FailureKind.FILTERED, "A content filter of the server blocked the answer.")
    if not choice.text.strip() and choice.refusal.strip():
        return ModelFailure(FailureKind.FILTERED, "The model refused to answer.")
    return build_reply(
        choice.text,
        request=request,
        model=clean(reply.model)[0] if reply.model else model,
        finish_reason=finish_reason,
        reasoning=choice.reasoning,
        tool_calls=bool(choice.tool_calls) or finish_reason == "tool_calls",
        reported=reply.usage,
    )


def build_reply(
    text: str,
    *,
    request: ModelRequest,
    model: str,
    finish_reason: str | None = "stop",
    reasoning: str = "",
    tool_calls: bool = False,
    reported: object = None,
) -> ModelReply:
    """Build the reply that a raw text stands for: reasoning taken off the front, unstorable characters replaced."""
    text, reasoning = clean(text)[0], clean(reasoning)[0]
    thought, answer = split_reasoning(text)
    return ModelReply(
        text=answer,
        model=model,
        finish_reason=finish_reason,
        usage=_count_usage(reported, request, text + reasoning),
        reasoning="\n".join(part for part in (reasoning, thought) if part),
        tool_calls=tool_calls,
    )


def _count_usage(reported: object, request: ModelRequest, produced: str) -> Usage:
    """Return what the server counted, or an estimate. A count of nothing for a text that is there was not counted."""
    if isinstance(reported, dict):
        read, written = reported.get("prompt_tokens"), reported.get("completion_tokens")
        if type(read) is int and type(written) is int and 0 < read < 2**53 and int(bool(produced)) <= written < 2**53:
            return Usage(read, written, reported=True)
    asked = sum(estimate_tokens(text) + MESSAGE_OVERHEAD_TOKENS for text in request.texts)
    return Usage(asked, estimate_tokens(produced), reported=False)
