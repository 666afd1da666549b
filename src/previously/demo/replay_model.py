"""A model whose answers were recorded: the demo shows what a strong model makes of its story, and needs none.

A file `answers/HASH.txt` holds a strong model's answer to the one request that has this hash, as it came. A request
whose words have changed since has no answer: the model then fails, and the built-in writer steps in.
`tests/record_demo.py` records answers anew.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.wire.model_call import build_reply

ANSWERS = "answers"
"""The folder of the answers, beside this module."""

RECORDED_MODEL = "recorded"
"""The name under which the log of the story lists its answers."""


def hash_request(request: ModelRequest) -> str:
    """Return the hash of all that a request says. Sixteen digits: there are a dozen requests, not billions."""
    return sha256(f"{request.system}\0{request.user}".encode()).hexdigest()[:16]


class RecordedModel:
    """Answers from recordings. Lists the requests that it has no answer to."""

    def __init__(self) -> None:
        self.missing: list[ModelRequest] = []
        self.used: set[str] = set()

    @property
    def name(self) -> str:
        """Return the name that stands in the log."""
        return RECORDED_MODEL

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """Return the recorded answer to this very request."""
        name = f"{hash_request(request)}.txt"
        answer = files(__package__).joinpath(ANSWERS, name)
        if not answer.is_file():
            self.missing.append(request)
            # A bad request is not tried again, unlike a lost connection: nobody has to wait for the built-in writer.
            return ModelFailure(FailureKind.BAD_REQUEST, "No answer to this request is recorded.")
        self.used.add(name)
        return build_reply(answer.read_text("utf-8"), request=request, model=self.name)

    async def close(self) -> None:
        """Hold nothing open."""
