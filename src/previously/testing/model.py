"""A model that answers from a script: for tests, examples and trying things out without a server.

It keeps the contract of `models.client` and treats text as the real client does, so code that works with it works with
a server that says the same. It asks no network, keeps every request, and gives the same answers every time.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.wire.model_call import build_reply

Scripted = ModelReply | ModelFailure | str
"""An answer of a script. A string stands for the raw text of a model that finished by itself."""

NOTHING_LEFT = ModelFailure(FailureKind.BAD_REQUEST, "The script has no reply left.")


class ScriptedModel:
    """Answers with one string always, with each item of a sequence in turn, or with what a function says.

    The function takes the request and may be async; what it raises is raised. A sequence that is used up gives
    `NOTHING_LEFT`, which is not asked again.
    """

    def __init__(
        self,
        reply: str | Sequence[Scripted] | Callable[[ModelRequest], Scripted | Awaitable[Scripted]],
        *,
        name: str = "scripted",
    ) -> None:
        self.requests: list[ModelRequest] = []
        """Every request, in the order they came."""
        self.closed: bool = False
        self._name = name
        self._reply = reply

    def __repr__(self) -> str:
        return f"ScriptedModel(name={self._name!r}, requests={len(self.requests)})"

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the next answer of the script."""
        turn = len(self.requests)
        self.requests.append(request)
        answer: Scripted | Awaitable[Scripted]
        if isinstance(self._reply, str):
            answer = self._reply
        elif callable(self._reply):
            answer = self._reply(request)
            if inspect.isawaitable(answer):
                answer = await answer
        else:
            answer = self._reply[turn] if turn < len(self._reply) else NOTHING_LEFT
        if isinstance(answer, str):
            return build_reply(answer, request=request, model=self._name)
        return answer

    async def close(self) -> None:
        """Note in `closed` that it was called; there is nothing to close."""
        self.closed = True
