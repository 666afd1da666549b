"""A model that counts what it is asked, and keeps the questions where somebody looks at them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.models.client import Model, ask_aloud

_CAST = re.compile(r"You keep the memory of one character in a story: (.*?)\. You are")


@dataclass
class Meter:
    """The calls of a game, and their tokens."""

    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    most_at_once: int = 0
    """The most calls that were under way at the same time."""

    def compute_cost(self, input_price: float, output_price: float) -> float:
        """Return what it cost, by prices of a million tokens."""
        return (self.input_tokens * input_price + self.output_tokens * output_price) / 1_000_000


class MeteredModel:
    """Another model, and its meter. `look` sees every question before it is asked."""

    def __init__(self, model: Model, look: Callable[[ModelRequest], None] | None = None) -> None:
        self.meter: Meter = Meter()
        self._model = model
        self._look = look
        self._under_way = 0

    @property
    def name(self) -> str:
        return self._model.name

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        return await self._count(request, None)

    async def ask_aloud(self, request: ModelRequest, told: Callable[[str], None]) -> ModelReply | ModelFailure:
        """Ask, and tell the words as they come where the model can; `told` is given all of them each time."""
        return await self._count(request, told)

    async def close(self) -> None:
        await self._model.close()

    async def _count(self, request: ModelRequest, told: Callable[[str], None] | None) -> ModelReply | ModelFailure:
        if self._look:
            self._look(request)
        self.meter.calls += 1
        self._under_way += 1
        self.meter.most_at_once = max(self.meter.most_at_once, self._under_way)
        try:
            reply = await (ask_aloud(self._model, request, told) if told else self._model.ask(request))
        finally:
            self._under_way -= 1
        if isinstance(reply, ModelFailure):
            self.meter.failures += 1
        else:
            self.meter.input_tokens += reply.usage.input_tokens
            self.meter.output_tokens += reply.usage.output_tokens
        return reply


def find_cast_name(request: ModelRequest) -> str:
    """Return whose memory a question is about; empty where it is about nobody's."""
    match = _CAST.match(request.system)
    return match[1] if match else ""


def identify_agent(request: ModelRequest) -> str:
    """Return who is asked: `narrator`, `state`, a character's name, or `memory of NAME`; empty for other questions."""
    name = find_cast_name(request)
    if name:
        return f"memory of {name}"
    if request.system.startswith("You narrate"):
        return "narrator"
    if request.system.startswith("You keep the score"):
        return "state"
    if request.system.startswith("You are "):
        return request.system.removeprefix("You are ").partition(" in a story ")[0]
    return ""
