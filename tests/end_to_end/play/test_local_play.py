"""A real, small model plays: whatever it says, the turns go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously import Memory
from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.play.game_files import read_shipped_game
from previously.play.model_meter import MeteredModel
from previously.play.playtest import PromptLog, play_automatically
from previously.play.session import GameSession

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")

from previously.models.local import LocalModel, find_smollm2

LONGEST = 60
"""Tokens that it may write: what runs on is cut off, and repaired."""


class Terse:
    """A model that is given little room, so that no test waits for it to ramble."""

    def __init__(self, model: LocalModel) -> None:
        self.model, self.name = model, model.name

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        return await self.model.ask(replace(request, max_output_tokens=min(LONGEST, request.max_output_tokens)))

    async def close(self) -> None:
        await self.model.close()


@pytest.mark.slow(reason="a real model")
@pytest.mark.skipif(find_smollm2() is None, reason="the model's weights are not installed (make setup brings them)")
async def test_a_small_model_plays_ten_turns_to_the_end_whatever_it_says() -> None:
    weights = find_smollm2()
    assert weights is not None
    log = PromptLog()
    model = MeteredModel(Terse(LocalModel(weights, window_tokens=4_096)), log.look)
    async with await Memory.open(":memory:", model=model) as memory:
        session = await GameSession.open(memory, read_shipped_game(), model)
        report = await play_automatically(session, log, 10, 1)
        assert (report.turns, session.state.turn, report.leaks) == (10, 10, 0)
        assert report.largest_view_tokens <= 1_550
        assert report.repairs or report.faults, "a model this small keeps to no form"
        assert await session.undo(10) == 10
