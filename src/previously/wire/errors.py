"""Errors on the wire: a server's refusal turned into a `FailureKind` and one sentence, and our own errors written in
the format of each interface.

Pure. Servers agree on little: an input that is too long comes as 400, 413, 422, 429 or 500, and a blocked one as 400 or
403, so texts and codes are read before the status is trusted. The sentence never holds what could be the prompt or a
key: a server's own words are quoted only after `Redaction` has let them through. Of an error of ours an official client
of the interface makes the error that it knows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Protocol

from previously.core.model_io import FailureKind, ModelFailure
from previously.core.patterns import lazy_pattern

_OVERFLOW = lazy_pattern(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded|string_above_max_length"
    r"|token[_ ]limit[_ ]exceeded|max_tokens_exceeded|prompt_too_long|request_too_large"
    # OpenAI, OpenRouter, vLLM, SGLang, Mistral, TabbyAPI
    r"|maximum (?:context|model|prompt|input|sequence) length|longer than the (?:model's )?(?:maximum|context)"
    r"|exceeds? (?:the )?(?:model'?s? )?(?:maximum|max|available|configured|allowed)? ?(?:context|input|prompt|token)"
    r"|exceeds? the (?:context|maximum number of tokens|limit of \d+)|exceeded (?:the )?(?:model )?(?:token|context)"
    r"|(?:prompt|input|message|request)s?(?: \w+){0,4} (?:is |are )?too (?:long|large)|too many (?:input )?tokens"
    r"|reduce the length of the|reduce your prompt|max_tokens must be at least 1, got -"
    # llama.cpp, LM Studio, Ollama, KoboldCpp
    r"|available context size|context size (?:has been )?exceeded|context (?:the )?overflows?|context overflow"
    r"|greater than the context length|n_keep.{0,40}n_ctx|context length of only|larger than the context"
    r"|input (?:length |tokens )?exceeds?|context (?:window|length|limit)[^.]{0,40}exceeded|exceeds? max context"
    # Anthropic, Gemini, Poolside, DashScope, MiniMax, z.ai, DS4
    r"|exceeds? context limit|input token count.{0,40}exceeds|maximum allowed input length|exceeds? max(?:imum)? length"
    r"|range of input length should be|context window exceeds|configured context size is",
    re.IGNORECASE,
)
_FILTER = lazy_pattern(
    r"content_?filter|content_policy|responsibleaipolicy|content management policy|moderation|flagged"
    r"|data_?inspection_?failed|content exists risk|prohibited_content|usage (?:guidelines|policy)"
    r"|blocked by (?:the )?(?:safety|content)|safety (?:system|filter|settings)|inappropriate content"
    r"|sensitive (?:content|words?)",
    re.IGNORECASE,
)
_SPENT = lazy_pattern(
    r"insufficient_quota|insufficient (?:credits|balance|funds)|exceeded your current quota|billing", re.IGNORECASE
)
_TOO_FAST = lazy_pattern(r"rate.?limit|too many requests|tokens per (?:min|day|hour)|requests per", re.IGNORECASE)
_NUMBER = r"(\d[\d,]{2,10})"
_WINDOW = lazy_pattern(
    rf"(?:context (?:length|size|window|limit)|n_ctx|maximum (?:model|prompt|input) length)\D{{0,30}}?{_NUMBER}"
    rf"|> {_NUMBER}|{_NUMBER} maximum|(?:exceeds the|configured) limit of {_NUMBER}|token limit: {_NUMBER}"
    rf"|tokens allowed \(?{_NUMBER}|input length of {_NUMBER}|limit {_NUMBER}, requested|should be \[\d+, {_NUMBER}",
    re.IGNORECASE,
)
_ANY_NUMBER = lazy_pattern(rf"(?<![\w.]){_NUMBER}(?![\w.]\w)")
_SECRET = lazy_pattern(r"\b(?:bearer\s+\S+|(?:sk|pk|key|gsk|hf|xai|AIza)[-_]?[\w*.\-]{8,})", re.IGNORECASE)

SMALLEST_WINDOW = 512
"""A smaller number in a complaint is none: a status, perhaps."""

MAX_QUOTE_CHARS = 200
"""Enough of a server's own words to be recognised and looked up."""

_SHARED_RUN_CHARS = 24
"""A server's words that share so many characters with the prompt count as its echo: four or five words, which two texts
seldom have in common by chance."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The key and the words of the prompt, which must never be quoted."""

    key: str = ""
    prompt: str = ""

    def quote(self, words: str) -> str:
        """Return the server's words in one short line; nothing when they hold a key or an echo of the prompt."""
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in words).split())[:MAX_QUOTE_CHARS]
        if not line or (self.key and self.key in line) or _SECRET.search(line):
            return ""
        prompt = " ".join(self.prompt.split())
        runs = range(0, max(1, len(line) - _SHARED_RUN_CHARS + 1), _SHARED_RUN_CHARS // 2)
        if any(line[at : at + _SHARED_RUN_CHARS] in prompt for at in runs if len(line) - at >= _SHARED_RUN_CHARS):
            return ""
        return line


def collect_error_words(payload: object) -> str:
    """Collect all that an error body says of what went wrong: messages, types, codes, and the names of bad fields.

    Echoes of the request (`input`, `body`) are left out.
    """
    words: list[str] = []
    waiting: list[object] = [payload]
    while waiting and len(words) < _MOST_WORDS:
        match waiting.pop(0):
            case str() as text:
                words.append(text[:2_000])
            case bool() | None:
                pass
            case int() as number:
                words.append(str(number)[:20])
            case list() as items:
                waiting += items[:20]
            case dict() as fields:
                waiting += [fields[key] for key in _TELLING_FIELDS if key in fields]
            case _:
                pass
    return " ".join(words)


_MOST_WORDS = 40
"""More than any server needs to say what went wrong; a body without end is not read through."""

_TELLING_FIELDS = (
    "error", "errors", "detail", "details", "message", "msg", "type", "code", "param", "loc", "reason", "reasons",
    "innererror", "metadata", "raw", "n_ctx", "title",
)  # fmt: skip


def find_error_message(payload: object) -> str:
    """Return the sentence meant for people in an error body, if there is one."""
    for _ in range(4):  # no server wraps its sentence more often
        match payload:
            case str() as text:
                return text
            case {"error": dict() | str() as inner} | {"detail": dict() | str() as inner}:
                payload = inner
            case {"message": str() as text} | {"msg": str() as text}:
                return text
            case _:
                return ""
    return ""


def judge_failure(status: int, words: str) -> FailureKind:
    """Return the kind of failure that a refusal means. `words` is all that the server said about it."""
    if status == 401 or status == 407:
        return FailureKind.UNAUTHORIZED
    if status == 402 or (status in (403, 429) and _SPENT.search(words)):
        return FailureKind.UNAUTHORIZED
    if status == 429:
        return (
            FailureKind.OVERFLOW if re.search("request too large", words, re.IGNORECASE) else FailureKind.RATE_LIMITED
        )
    if status == 413:
        return FailureKind.OVERFLOW
    if status >= 400 and _FILTER.search(words):
        return FailureKind.FILTERED
    if status == 403:
        return FailureKind.UNAUTHORIZED
    if status >= 400 and _OVERFLOW.search(words) and not _TOO_FAST.search(words):
        return FailureKind.OVERFLOW
    if status == 408:
        return FailureKind.TIMEOUT
    return FailureKind.SERVER if status >= 500 else FailureKind.BAD_REQUEST


_SENTENCES = {
    FailureKind.RATE_LIMITED: "The server asks for fewer requests",
    FailureKind.SERVER: "The server failed",
    FailureKind.TIMEOUT: "The server gave up waiting",
    FailureKind.OVERFLOW: "The input is too long for the model",
    FailureKind.BAD_REQUEST: "The server did not accept the request",
    FailureKind.UNAUTHORIZED: "The server did not accept the key, or the account has no credit left",
    FailureKind.FILTERED: "A content filter of the server blocked the request",
}
_QUOTED = (FailureKind.SERVER, FailureKind.BAD_REQUEST)


def build_failure(
    status: int, payload: object, *, redaction: Redaction, retry_after_s: float | None = None, tell_status: bool = True
) -> ModelFailure:
    """Return the failure that a status and an error body (JSON, or the text it could not be read as) stand for."""
    words = collect_error_words(payload)
    kind = judge_failure(status, words)
    sentence = _SENTENCES[kind]
    window = find_named_window(words) if kind is FailureKind.OVERFLOW else None
    if 300 <= status < 400:
        sentence = "The server sends the request elsewhere, and redirects are not followed: use the final address"
    elif window is not None:
        sentence += f", whose window is {window:,} tokens"
    sentence += f" (status {status})" if tell_status else ""
    quoted = redaction.quote(find_error_message(payload)) if kind in _QUOTED and status >= 400 else ""
    waits = kind in (FailureKind.RATE_LIMITED, FailureKind.SERVER)
    return ModelFailure(
        kind,
        f"{sentence}: {quoted.rstrip('.')}." if quoted else f"{sentence}.",
        retry_after_s if waits else None,
        window,
    )


def find_named_window(words: str) -> int | None:
    """Return the model's window in tokens, where a server names it in its complaint."""
    for match in _WINDOW.finditer(words):
        is_sum = "+" in words[match.end() : match.end() + 3]  # a number that another is added to is no window
        window = _parse_number(next(filter(None, match.groups())))
        if not is_sum and window >= SMALLEST_WINDOW:
            return window
    return None


def find_counted_tokens(words: str) -> int | None:
    """Return the tokens that a server counted in what was too long: the largest number beyond the window it names."""
    window = find_named_window(words)
    counted = max((_parse_number(match.group(1)) for match in _ANY_NUMBER.finditer(words)), default=0)
    return counted if window is not None and counted > window else None


def _parse_number(number: str) -> int:
    return int(number.replace(",", ""))


def find_retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Return how long the server wants to be left alone: `Retry-After` in seconds or as a date, or in milliseconds.

    `now` is in seconds since the epoch; `headers` are looked up in lower case.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - now
            except (ValueError, TypeError, OverflowError, OSError, IndexError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


ANTHROPIC_PATH = "/v1/messages"
RESPONSES_PATH = "/v1/responses"


class ErrorFormat(Protocol):
    """The format in which an interface says what went wrong."""

    def write_body(self, message: str, kind: str, code: str) -> bytes:
        """Write an error as the body of a response."""

    def write_event(self, message: str) -> bytes:
        """Write an error that ends a stream, behind whatever was sent of it."""


def write_openai_error(message: str, kind: str, code: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


class ChatErrorFormat:
    """OpenAI's chat completions."""

    def write_body(self, message: str, kind: str, code: str) -> bytes:
        return write_openai_error(message, kind, code)

    def write_event(self, message: str) -> bytes:
        """Write a bare object, as clients of this interface look for it."""
        return b"\n\ndata: " + write_openai_error(message, "upstream_error", "bad_upstream") + b"\n\n"


class ResponsesErrorFormat(ChatErrorFormat):
    """OpenAI's Responses: bodies as elsewhere, events of its own."""

    def write_event(self, message: str) -> bytes:
        fields = {"type": "error", "code": "bad_upstream", "message": message, "param": None, "sequence_number": 0}
        return b"\n\nevent: error\ndata: " + json.dumps(fields).encode() + b"\n\n"


_ANTHROPIC_KINDS = {"server_error": "api_error", "upstream_error": "api_error", "not_found": "not_found_error"}


class MessagesErrorFormat:
    """Anthropic's messages."""

    def write_body(self, message: str, kind: str, code: str) -> bytes:
        """Write an error as the body of a response. This interface knows kinds and no codes."""
        own_kind = _ANTHROPIC_KINDS.get(code) or _ANTHROPIC_KINDS.get(kind, kind)
        return json.dumps({"type": "error", "error": {"type": own_kind, "message": message}}).encode()

    def write_event(self, message: str) -> bytes:
        return b"\n\nevent: error\ndata: " + self.write_body(message, "upstream_error", "") + b"\n\n"


CHAT_ERRORS, MESSAGES_ERRORS, RESPONSES_ERRORS = ChatErrorFormat(), MessagesErrorFormat(), ResponsesErrorFormat()


def find_error_format(path: str) -> ErrorFormat:
    """Return the format of errors for whoever asks at a path."""
    for prefix, errors in ((ANTHROPIC_PATH, MESSAGES_ERRORS), (RESPONSES_PATH, RESPONSES_ERRORS)):
        if path == prefix or path.startswith(f"{prefix}/"):
            return errors
    return CHAT_ERRORS
