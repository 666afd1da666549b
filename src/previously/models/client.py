"""The contract of every model client.

A client carries one question to a model and brings back an answer or the reason why there is none. It judges nothing:
whether an answer is good enough to become memory is for the fold to say, and whether to ask again is for
`models.retry`. What every client promises:

- **One `ask` is at most one call.** No client retries by itself, so whoever counts calls counts `ask`s.
- **Failure is a value.** Whatever the network or the server does comes back as a `ModelFailure`; only cancellation
  passes through. (A client may raise `BadInput` when it is made, for an address or key that cannot be used.)
- **An answer comes without its reasoning**, which lies beside it in the reply.
- **No reason ever holds a key or words of the prompt.**
- `ask` may be called any number of times at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from previously.core.model_io import ModelFailure, ModelReply, ModelRequest


class Model(Protocol):
    """A client that answers when a fold asks."""

    @property
    def name(self) -> str:
        """The model as memory records it in `made_by` and `log`; never an address or a key."""

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Ask one question; return one answer or the reason why there is none."""

    async def close(self) -> None:
        """Close what is open. May be called more than once."""


async def retire(model: Model) -> None:
    """Let the connections of a model go as soon as no call needs them; those of one that cannot stay until its end."""
    let_go = getattr(model, "retire", None)
    if let_go is not None:
        await let_go()


async def ask_aloud(model: Model, request: ModelRequest, told: Callable[[str], None]) -> ModelReply | ModelFailure:
    """Ask, and tell the words as they come: `told` is given all of them each time. A model that cannot speak while it
    thinks is told of when its answer is whole."""
    aloud = getattr(model, "ask_aloud", None)
    if aloud is not None:
        answer: ModelReply | ModelFailure = await aloud(request, told)
        return answer
    answer = await model.ask(request)
    if isinstance(answer, ModelReply):
        told(answer.text)
    return answer
