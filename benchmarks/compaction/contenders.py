"""Who folds: the interface of every contender, ours with and without a model, and the two truncations.

Everyone gets the same conversation, budget and counter, and whoever asks a model asks `weak_model`. What must stay
true: a contender that refuses gives the conversation back as it was, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.compaction.weak_model import weak_model
from previously import ScriptedModel
from previously.core.messages import Draft, Message, Role
from previously.core.pairing import find_units
from previously.core.tokens import estimate_tokens, message_tokens
from previously.formats.conversations import Conversation, Dialect
from previously.runtime.conversation import FOLDED, fold_conversation_async

FOLD_AT = 0.85
"""From which share of the budget on there is something to fold, for everyone."""

MODEL_WINDOW = 128_000
"""What the model could read at once."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What a contender made of a conversation."""

    messages: tuple[Message, ...]
    memo: Any = None
    """To be given back when the conversation goes on."""
    calls: int = 0
    asked_tokens: int = 0
    """What the model had to read."""
    summary_tokens: int = 0
    reason: str = ""
    """Why nothing was done."""


class Contender(Protocol):
    """One way to fold."""

    @property
    def name(self) -> str:
        """How it is called in the tables."""

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """The conversation within the budget. `memo` is what the fold before gave back."""


def whole(messages: Sequence[Message]) -> int:
    """What these messages take."""
    return sum(map(message_tokens, messages))


def read_by(model: ScriptedModel) -> int:
    """The tokens of all that a model was asked."""
    return sum(estimate_tokens(one.system) + estimate_tokens(one.user) for one in model.requests)


def rules_of(messages: Sequence[Message]) -> int:
    """How many system messages a conversation begins with."""
    return next((at for at, one in enumerate(messages) if one.role is not Role.SYSTEM), len(messages))


@dataclass(frozen=True, slots=True)
class Ours:
    """`fold_conversation`, as a library user calls it."""

    name: str
    writes: int
    """What its model writes at most; zero = it has none."""
    tail_percent: int = 0
    """The share of the budget that the newest messages may take; zero = as it comes."""

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """The brief, the pins and the tail."""
        model = weak_model(self.writes) if self.writes else None
        given = Conversation(tuple(map(Draft, messages)), Dialect.OPENAI, pins=tuple(pins))
        done = await fold_conversation_async(
            given,
            budget=budget,
            tail_tokens=budget * self.tail_percent // 100 or None,
            earlier=memo,
            model=model,
            model_window=MODEL_WINDOW,
        )
        assert done.result is not None
        brief_at = done.result.brief_at
        return Folded(
            done.result.messages,
            done.earlier,
            len(model.requests) if model else 0,
            read_by(model) if model else 0,
            message_tokens(done.result.messages[brief_at]) if brief_at is not None else 0,
            "" if done.status == FOLDED else done.reason,
        )


@dataclass(frozen=True, slots=True)
class Truncation:
    """The newest that fits, behind the system prompt."""

    name: str
    keep_pairs: bool

    async def fold(self, messages: Sequence[Message], budget: int, memo: Any, pins: Sequence[int]) -> Folded:
        """Whole units, beginning with a message of the user where one is left; or message by message."""
        del memo, pins
        if whole(messages) <= FOLD_AT * budget:
            return Folded(tuple(messages), reason="it fits")
        rules = rules_of(messages)
        pieces = find_units(messages) if self.keep_pairs else [range(at, at + 1) for at in range(len(messages))]
        kept = newest_that_fit(messages, pieces, budget - whole(messages[:rules]), rules)
        if self.keep_pairs:
            kept = next((at for at in range(kept, len(messages)) if messages[at].role is Role.USER), kept)
        return Folded((*messages[:rules], *messages[kept:]))


def newest_that_fit(messages: Sequence[Message], pieces: Sequence[range], room: int, least: int = 0) -> int:
    """Where the newest pieces begin that take at most so much."""
    start = len(messages)
    for piece in reversed(pieces):
        room -= whole([messages[at] for at in piece])
        if room < 0 or piece[0] < least:
            break
        start = piece[0]
    return start


def all_contenders(writes: int, langchain: Callable[[int], list[Contender]] | None = None) -> list[Contender]:
    """Everyone who can take part here, with a model that writes so many tokens at most."""
    from benchmarks.compaction.rules_of_others import OpenCode, OpenHands, Seed

    return [
        Ours("ours", writes),
        Ours("ours, no model", 0),
        *(langchain(writes) if langchain else []),
        OpenHands("OpenHands' rules", writes),
        OpenCode("opencode's rules", writes),
        Seed("two turns and a template", writes),
        Truncation("truncation, pairs kept", True),
        Truncation("truncation by message", False),
    ]
