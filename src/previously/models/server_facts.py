"""Facts that the usual servers tell about themselves: their models, and how large a window they run with.

Pure and total: every reader takes any JSON and gives a number or None. A window counts only when it is the one the
server *runs* with. The most that a model could read is another matter: some servers cut a longer prompt silently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from previously.core.model_io import ModelReply, ModelRequest
from previously.core.patterns import lazy_pattern


def _size(value: object) -> int | None:
    return value if type(value) is int and 0 < value < 2**40 else None


def _models(payload: object) -> Iterator[dict[str, Any]]:
    match payload:
        case {"data": list() as items} | {"models": list() as items}:
            yield from (item for item in items if isinstance(item, dict))
        case _:
            return


def _find_entry(payload: object, model: str) -> dict[str, Any]:
    """Return the entry of a list that is about this model: the one so named, or the only one."""
    listed = list(_models(payload))
    names = {model, f"{model}:latest"}
    for item in listed:
        if any(str(item.get(field)) in names for field in ("id", "key", "name", "model")):
            return item
    return listed[0] if len(listed) == 1 else {}


def read_model_names(payload: object) -> list[str]:
    """Return the models in the answer of `/models`, at most a thousand."""
    return [name for item in _models(payload) if isinstance(name := item.get("id"), str)][:1_000]


def find_listed_window(payload: object, model: str) -> int | None:
    """Return the window in the answer of `/models`: vLLM, llama.cpp, OpenRouter and others tell it there."""
    match _find_entry(payload, model):
        case {"max_model_len": size} | {"meta": {"n_ctx": size}} | {"top_provider": {"context_length": size}}:
            return _size(size)
        case {"context_length": size} | {"context_window": size} | {"max_seq_len": size}:
            return _size(size)
        case _:
            return None


def _llama_cpp(payload: object, model: str) -> int | None:  # noqa: ARG001 - it serves one model
    match payload:
        case {"default_generation_settings": {"n_ctx": size}}:
            return _size(size)
        case _:
            return None


def _lm_studio(payload: object, model: str) -> int | None:
    match _find_entry(payload, model):
        case {"loaded_context_length": size} | {"loaded_instances": [{"config": {"context_length": size}}, *_]}:
            return _size(size)
        case _:
            return None


def _ollama_running(payload: object, model: str) -> int | None:
    return _size(_find_entry(payload, model).get("context_length"))


def _ollama_set(payload: object, model: str) -> int | None:  # noqa: ARG001 - it was asked about one model
    match payload:
        case {"parameters": str() as parameters}:
            match_ = re.search(r"^num_ctx\s+(\d{1,9})\s*$", parameters, re.MULTILINE)
            return _size(int(match_.group(1))) if match_ else None
        case _:
            return None


def _koboldcpp(payload: object, model: str) -> int | None:  # noqa: ARG001 - it serves one model
    match payload:
        case {"value": size}:
            return _size(size)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class WindowPath:
    """A path of one server's own interface that tells the window."""

    path: str
    read: Callable[[object, str], int | None]
    post: bool = False


WINDOW_PATHS = (
    WindowPath("props", _llama_cpp),
    WindowPath("api/v0/models", _lm_studio),
    WindowPath("api/v1/models", _lm_studio),
    WindowPath("api/ps", _ollama_running),
    WindowPath("api/show", _ollama_set, post=True),
    WindowPath("api/extra/true_max_context_length", _koboldcpp),
)
"""Tried in this order when `/models` does not tell."""

SCHEMA_PROBE = ModelRequest(
    system="",
    user="Is water wet? Answer with yes or no.",
    max_output_tokens=200,
    schema={
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    },
    temperature=0.0,
)
"""A question whose prose answer differs from the one that keeps to the schema."""


def is_schema_kept(reply: ModelReply) -> bool | None:
    """Return whether the answer to `SCHEMA_PROBE` kept to its schema; None when it was cut off and proves nothing."""
    try:
        answer = json.loads(reply.text)
    except (ValueError, RecursionError):
        return None if reply.finish_reason == "length" else False
    return isinstance(answer, dict) and answer.get("verdict") in ("yes", "no")


def read_slots(payload: object) -> int | None:
    """Return how many requests a llama.cpp server works on at a time, in the answer of `/props`."""
    match payload:
        case {"total_slots": slots}:
            return _size(slots)
        case _:
            return None


_USUAL = (
    (lazy_pattern(r"claude-"), 200_000),
    (lazy_pattern(r"gpt-4\.1|gemini-(?:1\.5|[2-9])"), 1_000_000),
    (lazy_pattern(r"gpt-5|codex-"), 272_000),
    (lazy_pattern(r"o[134](?:-|$)"), 200_000),
    (lazy_pattern(r"gpt-4o|gpt-4-turbo|chatgpt-4o"), 128_000),
)


def find_usual_window(model: str) -> int | None:
    """Return the window of a well-known hosted model whose server does not tell.

    It is less than some of them read, and far more than what is taken for a model that nobody knows.
    """
    name = model.rpartition("/")[2].lower()
    return next((window for begins, window in _USUAL if begins.match(name)), None)
