"""A request that was too long for the model: how that is known, and how much shorter it is sent once more.

The newest request and the newest message keep their pictures. A request that is sent again is always meant to be
smaller than the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from previously.core.model_io import FailureKind
from previously.folds.conversation.pins import find_newest_request
from previously.server.chat_request import ChatRequest
from previously.server.upstream_messages import ANSWER_TOKENS, RESERVE, find_answer_share, find_budget
from previously.wire.errors import collect_error_words, find_counted_tokens, find_named_window, judge_failure
from previously.wire.interface import Interface, Raw
from previously.wire.model_call import parse_body

SMALLER = 0.6
"""The part of what was sent that is sent again, where the server does not say how much it takes: there is no third try,
and estimates of tokens are seldom wrong by more than a third."""

NO_GAIN = 0.95
"""If what the server says would leave more than this of what was sent, it counts otherwise than we do."""

LEFT_OUT = "[a picture or file, left out to make room]"

_MEDIA = frozenset({
    "image", "image_url", "input_image", "document", "file", "input_file", "input_audio", "audio_url", "video_url",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Overflow:
    """The complaint of a server about a request that was too long."""

    window_tokens: int | None = None
    """The most that it reads,"""
    counted_tokens: int | None = None
    """and what it was sent, by its own count; None where it does not say."""


def find_overflow(status: int, body: bytes) -> Overflow | None:
    """Return what an error says of the request's length; None if that is not what it is about. Some servers say
    nothing."""
    payload = parse_body(body)
    words = collect_error_words(payload)
    if judge_failure(status, words) is FailureKind.OVERFLOW or (status == 400 and not body.strip()):
        window, counted = (_read_field(payload, name) for name in ("n_ctx", "n_prompt_tokens"))  # llama.cpp
        return Overflow(window or find_named_window(words), counted or find_counted_tokens(words))
    return None


def _read_field(payload: object, name: str) -> int | None:
    """Return a number that an error has in a field of its own."""
    error = payload.get("error") if isinstance(payload, dict) else None
    value = error.get(name) if isinstance(error, dict) else None
    return value if type(value) is int and value > 0 else None


def shrink_budget(request: ChatRequest, overflow: Overflow, sent_tokens: int) -> int:
    """Return how much there is room for in what is sent once more, counted as `sent_tokens` was."""
    guess = int(sent_tokens * SMALLER)
    if overflow.window_tokens is None:
        return guess
    budget = find_budget(request, overflow.window_tokens)
    if overflow.counted_tokens and overflow.counted_tokens > sent_tokens:
        budget = int(budget * sent_tokens / overflow.counted_tokens)
    return budget if budget < sent_tokens * NO_GAIN else guess


def compute_window(request: ChatRequest, budget_tokens: int) -> int:
    """Return the window in which there is just that much room."""
    answer = request.answer_tokens or ANSWER_TOKENS
    window, share = (budget_tokens + answer) * RESERVE // (RESERVE - 1), find_answer_share(request)
    return (
        window if answer <= window // share else budget_tokens * share * RESERVE // (share * RESERVE - RESERVE - share)
    )


def remove_media(raws: Sequence[Raw], interface: Interface) -> list[Raw]:
    """Return the messages with a few words in place of older pictures and files."""
    asked = find_newest_request([interface.parse_raw(raw).message for raw in raws])
    newest = {asked, len(raws) - 1}
    return [raw if at in newest else _replace_media(raw, interface) for at, raw in enumerate(raws)]


def _replace_media(raw: Raw, interface: Interface) -> Raw:
    for field in ("content", "output"):
        given = raw.get(field)
        if isinstance(given, list) and (changed := [_replace_part(part, interface) for part in given]) != given:
            return {**raw, field: changed}
    return raw


def _replace_part(part: Any, interface: Interface) -> Any:
    if not isinstance(part, dict):
        return part
    return interface.write_text_part(LEFT_OUT) if part.get("type") in _MEDIA else _replace_media(part, interface)
