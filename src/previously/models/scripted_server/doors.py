"""What the scripted server tells about itself, as one of the usual servers would: models, window, slots.

Pure. Every server tells its window at another door, and has none of the others' doors. See `server_facts`, which reads
them.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

ServerKind = Literal["openai", "llama.cpp", "ollama", "lm studio", "koboldcpp", "vllm", "openrouter"]


def door(
    kind: ServerKind, method: str, path: str, *, model: str, window_tokens: int | None, running: int
) -> dict[str, Any] | list[Any] | None:
    """The JSON behind a door; None when this kind of server has no such door."""
    match kind, method, path:
        case _, "GET", "/v1/models" | "/models":
            return {"object": "list", "data": [_listed(kind, model, window_tokens)]}
        case "llama.cpp", "GET", "/props":
            settings: dict[str, Any] = {"n_ctx": window_tokens, "params": {}}
            return {"default_generation_settings": settings, "total_slots": 1, "model_path": f"{model}.gguf"}
        case "llama.cpp", "GET", "/slots":
            return [{"id": 0, "n_ctx": window_tokens, "is_processing": running > 0}]
        case "ollama", "GET", "/api/ps":
            return {
                "models": [{"name": f"{model}:latest", "model": f"{model}:latest", "context_length": window_tokens}]
            }
        case "ollama", "POST", "/api/show":
            return {
                "parameters": f"stop  x\nnum_ctx    {window_tokens}\n",
                "model_info": {"any.context_length": 131_072},
            }
        case "lm studio", "GET", "/api/v0/models":
            told = {
                "id": model,
                "state": "loaded",
                "loaded_context_length": window_tokens,
                "max_context_length": 131_072,
            }
            return {"object": "list", "data": [told]}
        case "koboldcpp", "GET", "/api/extra/true_max_context_length":
            return {"value": window_tokens}
        case "koboldcpp", "GET", "/api/v1/model":
            return {"result": f"koboldcpp/{model}"}
        case _:
            return None


def _listed(kind: ServerKind, model: str, window_tokens: int | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": model, "object": "model", "created": 1_700_000_000, "owned_by": kind}
    if kind == "vllm":
        entry["max_model_len"] = window_tokens
    elif kind == "openrouter":
        entry |= {"context_length": 131_072, "top_provider": {"context_length": window_tokens}}
    elif kind == "llama.cpp":
        entry["meta"] = {"n_ctx_train": 131_072}
    return entry


def embeddings(asked: object, model: str) -> dict[str, Any]:
    """Vectors of eight numbers, the same for the same text."""
    given = asked.get("input") if isinstance(asked, dict) else None
    texts = given if isinstance(given, list) else [given]
    data = [{"object": "embedding", "index": at, "embedding": _vector(str(text))} for at, text in enumerate(texts)]
    return {
        "object": "list",
        "model": model,
        "data": data,
        "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)},
    }


def _vector(text: str) -> list[float]:
    return [byte / 128 - 1 for byte in hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8]]
