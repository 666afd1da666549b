"""What the usual servers tell about themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.model_io import ModelReply, Usage
from previously.models.server_facts import (
    WINDOW_PATHS,
    find_listed_window,
    find_usual_window,
    is_schema_kept,
    read_model_names,
)


def door(path: str, payload: object, model: str = "small") -> int | None:
    return next(door for door in WINDOW_PATHS if door.path == path).read(payload, model)


@pytest.mark.parametrize(
    ("payload", "window"),
    [
        ({"data": [{"id": "small", "max_model_len": 4_096}]}, 4_096),
        ({"data": [{"id": "small", "meta": {"n_ctx": 2_048, "n_ctx_train": 8_192}}]}, 2_048),
        ({"data": [{"id": "small", "meta": {"n_ctx_train": 8_192}}]}, None),
        ({"data": [{"id": "other", "context_length": 1}, {"id": "small", "context_length": 32_768}]}, 32_768),
        ({"data": [{"id": "small", "context_length": 99, "top_provider": {"context_length": 50}}]}, 50),
        ({"data": [{"id": "named-otherwise", "max_model_len": 4_096}]}, 4_096),
        ({"data": [{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}]}, None),
        ({"data": [{"id": "small"}]}, None),
        ({"data": [{"id": "small", "max_model_len": "4096"}]}, None),
        ({"data": [{"id": "small", "max_model_len": True}]}, None),
        ({"data": []}, None),
        ({}, None),
        ("<html>", None),
        (None, None),
    ],
)
def test_windows_in_the_list_of_models(payload: object, window: int | None) -> None:
    assert find_listed_window(payload, "small") == window


@pytest.mark.parametrize(
    ("path", "payload", "window"),
    [
        ("props", {"default_generation_settings": {"n_ctx": 4_096}}, 4_096),
        ("api/v0/models", {"data": [{"id": "small", "loaded_context_length": 4_096, "max_context_length": 9}]}, 4_096),
        ("api/v0/models", {"data": [{"id": "small", "max_context_length": 8_192}]}, None),
        ("api/v1/models", {"models": [{"key": "small", "loaded_instances": [{"config": {"context_length": 7}}]}]}, 7),
        ("api/ps", {"models": [{"name": "small:latest", "context_length": 4_096}, {"name": "b"}]}, 4_096),
        ("api/show", {"parameters": "stop x\nnum_ctx    8192", "model_info": {"llama.context_length": 131_072}}, 8_192),
        ("api/show", {"model_info": {"llama.context_length": 131_072}}, None),
        ("api/extra/true_max_context_length", {"value": 4_096}, 4_096),
    ],
)  # fmt: skip
def test_windows_of_the_servers_themselves(path: str, payload: object, window: int | None) -> None:
    assert door(path, payload) == window


def test_models() -> None:
    assert read_model_names({"data": [{"id": "a"}, {"id": 7}, None, {}, {"id": "b"}]}) == ["a", "b"]
    assert read_model_names([]) == []


@pytest.mark.parametrize(
    ("text", "finish_reason", "kept"),
    [
        ('{"verdict": "yes"}', "stop", True),
        ('{"verdict": "maybe"}', "stop", False),
        ("Yes.", "stop", False),
        ('{"verdict', "length", None),
        ("[]", "stop", False),
    ],
)
def test_whether_the_schema_was_kept(text: str, finish_reason: str, kept: bool | None) -> None:
    assert is_schema_kept(ModelReply(text, "small", finish_reason, Usage(1, 1, False))) is kept


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "models", "id", "meta", "n_ctx", "value", "parameters", "loaded_instances", "config"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(values)
def test_readers_are_total(payload: object) -> None:
    assert all(isinstance(name, str) for name in read_model_names(payload))
    for window in [find_listed_window(payload, "small"), *(door.read(payload, "small") for door in WINDOW_PATHS)]:
        assert window is None or window > 0


def test_the_usual_windows_of_hosted_models() -> None:
    assert find_usual_window("claude-sonnet-4-5") == 200_000
    assert find_usual_window("anthropic/claude-opus-4") == 200_000
    assert find_usual_window("gpt-5-codex") == 272_000
    assert find_usual_window("o3") == 200_000
    assert find_usual_window("gpt-4.1-mini") == 1_000_000
    assert [find_usual_window(name) for name in ("", "small", "o3x", "qwen3", "my-claude-7b")] == [None] * 5
