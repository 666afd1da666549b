"""The demo's recorded answers are those to what its folds ask today."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.demo import replay_model
from previously.demo.replay_model import RecordedModel, hash_request
from previously.wire.model_call import build_reply
from tests import record_demo
from tests.record_demo import ANSWERS, RecordingModel, replay

RECORD_ANEW = (
    "The prompts, or what is put into them, have changed since the demo's answers were recorded. Record them anew with "
    "a strong model: python -m tests.record_demo --endpoint URL --model NAME"
)


@pytest.fixture(scope="module")
def replayed() -> tuple[RecordedModel, list[str]]:
    model = RecordedModel()
    return model, replay(model)


def test_every_request_has_its_answer(replayed: tuple[RecordedModel, list[str]]) -> None:
    model, _ = replayed
    assert [hash_request(request) for request in model.missing] == [], RECORD_ANEW


def test_no_answer_is_left_over(replayed: tuple[RecordedModel, list[str]]) -> None:
    model, _ = replayed
    assert {path.name for path in ANSWERS.iterdir()} == model.used, RECORD_ANEW


def test_every_answer_is_kept_as_it_came(replayed: tuple[RecordedModel, list[str]]) -> None:
    _, folds = replayed
    assert len(folds) == 14
    assert [fold for fold in folds if "committed by model" not in fold] == []


def test_a_request_without_an_answer_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_model, "ANSWERS", "nowhere")
    model = RecordedModel()
    failure = asyncio.run(model.ask(ModelRequest("system", "user", 10)))
    assert isinstance(failure, ModelFailure)
    assert failure.kind is FailureKind.BAD_REQUEST
    assert [request.user for request in model.missing] == ["user"]


class _Scripted:
    """A model that says the same to everything."""

    name = "scripted"

    def __init__(self, reply: str | None) -> None:
        self.asked: list[str] = []
        self._reply = reply

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        self.asked.append(request.user)
        if self._reply is None:
            return ModelFailure(FailureKind.SERVER, "down")
        return build_reply(self._reply, request=request, model=self.name)

    async def close(self) -> None:
        """Hold nothing open."""


def test_recording_asks_for_what_is_missing_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_demo, "ANSWERS", tmp_path)
    monkeypatch.setattr(replay_model, "ANSWERS", str(tmp_path))
    request, scripted = ModelRequest("system", "user", 10), _Scripted("So it was.")
    model = RecordingModel(scripted)
    for _ in range(2):
        reply = asyncio.run(model.ask(request))
        assert isinstance(reply, ModelReply)
        assert reply.text == "So it was.\n"
    assert scripted.asked == ["user"]
    assert (tmp_path / f"{hash_request(request)}.txt").read_text("utf-8") == "So it was.\n"


def test_recording_keeps_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_demo, "ANSWERS", tmp_path)
    failure = asyncio.run(RecordingModel(_Scripted(None)).ask(ModelRequest("system", "user", 10)))
    assert isinstance(failure, ModelFailure)
    assert list(tmp_path.iterdir()) == []
