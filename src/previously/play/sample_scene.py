"""The first scene of the shipped game, recorded: what the player said and what each agent answered.

Played where there is no model, through the same turns and the same memory as any game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.play.game_files import SHIPPED, import_yaml
from previously.play.model_meter import identify_agent
from previously.wire.model_call import build_reply

NOT_RECORDED = ModelFailure(FailureKind.BAD_REQUEST, "The recording has no answer to this.")


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """The words of the player, and the answers by who gave them."""

    words: str
    answers: Mapping[str, str]
    """By `narrator`, `state`, the name of a character, or `memory of NAME`."""


def read_recording() -> list[RecordedTurn]:
    """Return the recorded turns of the shipped game."""
    text = (files("previously.play") / "games" / SHIPPED / "recorded.yaml").read_text("utf-8")
    turns: list[dict[str, Any]] = import_yaml().safe_load(text)
    return [RecordedTurn(turn["player"], turn["answers"]) for turn in turns]


class SampleSceneModel:
    """Answers from a recording. Each question to the narrator is the next turn's."""

    def __init__(self, turns: list[RecordedTurn]) -> None:
        self._turns = turns
        self._turn = -1

    @property
    def name(self) -> str:
        return "recorded"

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        who = identify_agent(request)
        self._turn += who == "narrator"
        answers = self._turns[self._turn].answers if 0 <= self._turn < len(self._turns) else {}
        answer = answers.get(who)
        return build_reply(answer, request=request, model=self.name) if answer else NOT_RECORDED

    async def close(self) -> None:
        """There is nothing to close."""
