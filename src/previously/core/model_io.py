"""Questions to a model and its answers: plain values, known to folds (which build and judge them) and to
model clients (which carry them over the wire)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from previously.core.messages import Message


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model."""

    system: str
    user: str
    max_output_tokens: int
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer; None for plain text."""
    temperature: float = 0.3
    messages: tuple[Message, ...] = ()
    """A whole list, for a model that writes on in a story: it stands in place of `system` and `user`."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the call by the names that servers have for them: `top_p`, `stop`, …"""

    @property
    def texts(self) -> list[str]:
        """All that the model reads."""
        if self.messages:
            return [message.text for message in self.messages]
        return [self.system, self.user]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a call, as the server reported it or, failing that, as we estimate it."""

    input_tokens: int
    output_tokens: int
    reported: bool


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An answer, as it came: `text` without reasoning, which lies beside it."""

    text: str
    model: str
    finish_reason: str | None
    """`stop`, `length`, `tool_calls`, `content_filter`, …; None when the server did not say."""
    usage: Usage
    reasoning: str = ""
    tool_calls: bool = False


class FailureKind(StrEnum):
    """The kinds of failures to get an answer from a model."""

    RATE_LIMITED = "rate limited"
    SERVER = "server error"
    CONNECTION = "no connection"
    TIMEOUT = "timeout"
    OVERFLOW = "input too long"
    BAD_REQUEST = "bad request"
    UNAUTHORIZED = "not authorised"
    UNREADABLE = "unreadable answer"
    FILTERED = "blocked by a content filter"


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """There is no answer, and why. `reason` is one sentence without prompt text or keys."""

    kind: FailureKind
    reason: str
    retry_after_s: float | None = None
    window_tokens: int | None = None
    """On an input that is too long: the model's window, where the server names it."""
