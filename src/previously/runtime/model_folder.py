"""A folder that asks a model, within bounds, and never leaves without memory.

Per part of a fold at most three calls, transport retries included; an answer that is refused is asked for once more
with the reason, never in the same words. After the last try, or while the breaker is open or a limit is reached, the
built-in folder writes a provisional text. What does not fit the model's window is split, never trimmed.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from previously.core.asking import FailureKind, ModelFailure, ModelRequest
from previously.core.messages import Message
from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost, Status
from previously.folds import recap
from previously.folds.checks import Accepted
from previously.folds.recap import RecapRequest
from previously.folds.rendering import Template
from previously.models.client import Model
from previously.models.retry import (
    CLOSED,
    MAX_CALLS,
    BreakerState,
    Wait,
    after_failure,
    after_success,
    before_call,
    decide_retry,
    may_call,
)
from previously.runtime.folder import Attempt, BuiltinFolder, FolderReply


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that may be spent; 0 = no limit."""

    calls_per_hour: int = 0
    calls_per_day: int = 0
    tokens_per_hour: int = 0
    tokens_per_day: int = 0


SMALLEST_WINDOW_TOKENS = 1_024
"""A model that cannot read this much cannot fold."""

NO_LIMITS = Limits()
NOTHING = Cost()

Spent = Callable[[float], Awaitable[Cost]]
"""What was spent in the last so many seconds."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """How asking for one part went."""

    attempts: tuple[Attempt, ...]
    cost: Cost = NOTHING
    """Of the answer that was accepted."""
    accepted: Accepted | None = None
    reason: str = ""
    """Why there is no answer."""
    blamed: bool = True
    """Whether that is the model's fault."""
    overflow: ModelFailure | None = None
    """The server says that the question was too long for it."""


class ModelFolder:
    """Asks a model; falls back to the built-in folder."""

    made_by = "model"

    def __init__(
        self,
        model: Model,
        template: Template,
        *,
        window_tokens: int,
        limits: Limits = NO_LIMITS,
        spent: Spent | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._template = template
        self._window_tokens = window_tokens
        self._limits = limits
        self._spent = spent
        self._sleep = sleep
        self._clock = clock
        self._jitter = jitter
        self._breaker: BreakerState = CLOSED
        self._fallback = BuiltinFolder()

    async def ready(self) -> bool:
        """Whether the model would be asked now."""
        return await self._why_not() == ""

    async def recap(self, asked: RecapRequest) -> FolderReply:
        """The model's recap, or a provisional one with the reason."""
        why_not = await self._why_not()
        if why_not:
            return await self._provisional(asked, why_not, ())
        self._breaker = before_call(self._breaker, self._clock())
        attempts: list[Attempt] = []
        text, cost, accepted = asked.previous, NOTHING, None
        runs = recap.parts(asked, self._fits)
        while runs:
            pending = sum((attempt.cost for attempt in attempts), cost)
            part = await self._ask(replace(asked, previous=text, delta=runs[0]), pending)
            attempts += part.attempts
            smaller = self._smaller_parts(part.overflow, replace(asked, previous=text), runs)
            if smaller:
                runs = smaller
                continue
            if part.accepted is None:
                if part.blamed:
                    self._breaker = after_failure(self._breaker, self._clock())
                return await self._provisional(asked, part.reason, tuple(attempts), spent=cost)
            text, cost, accepted, runs = part.accepted.text, cost + part.cost, part.accepted, runs[1:]
        self._breaker = after_success(self._breaker)
        return FolderReply(
            text,
            "",
            cost,
            made_by="model",
            model=self._model.name,
            prompt_hash=self._template.hash,
            attempts=tuple(attempts),
            shed=accepted.shed if accepted else (),
            unverified=accepted.unverified if accepted else (),
        )

    async def _ask(self, asked: RecapRequest, pending: Cost) -> _Asked:
        """One part: up to three calls, each within the limits; `pending` is what this fold has taken so far."""
        attempts: list[Attempt] = []
        hint = ""
        for calls in range(1, MAX_CALLS + 1):
            why_not = await self._over_limit(sum((attempt.cost for attempt in attempts), pending))
            if why_not:
                return _Asked(tuple(attempts), reason=why_not, blamed=False)
            question = recap.build(self._template, asked, hint)
            reply = await self._model.ask(question)
            if isinstance(reply, ModelFailure):
                attempts.append(Attempt(reply.reason, "", Cost(1, _estimate(question), 0)))
                decision = decide_retry(reply, calls, jitter=self._jitter())
                if not isinstance(decision, Wait):
                    overflow = reply if reply.kind is FailureKind.OVERFLOW else None
                    return _Asked(tuple(attempts), reason=decision.reason, overflow=overflow)
                await self._sleep(decision.seconds)
                continue
            cost = Cost(1, reply.usage.input_tokens, reply.usage.output_tokens)
            verdict = recap.check_reply(asked, question, reply)
            if isinstance(verdict, Accepted):
                return _Asked(tuple(attempts), cost, verdict)
            attempts.append(Attempt(f"{verdict.kind.value}: {verdict.reason}", reply.text, cost))
            hint = f"Your last answer could not be used: {verdict.reason}."
        return _Asked(tuple(attempts), reason=attempts[-1].reason)

    async def _provisional(
        self, asked: RecapRequest, reason: str, attempts: tuple[Attempt, ...], spent: Cost = NOTHING
    ) -> FolderReply:
        written = await self._fallback.recap(asked)
        return replace(written, status=Status.PROVISIONAL, reason=reason, attempts=attempts, cost=spent)

    async def _why_not(self) -> str:
        """Why the model may not be asked now; empty when it may."""
        if not may_call(self._breaker, self._clock()):
            return "the model failed too often and is left alone for a while"
        return await self._over_limit(NOTHING)

    async def _over_limit(self, pending: Cost) -> str:
        """Which limit is reached, counting what is not recorded yet; empty when none is."""
        if self._spent is None:
            return ""
        for seconds, word, calls, tokens in (
            (3_600.0, "hour", self._limits.calls_per_hour, self._limits.tokens_per_hour),
            (86_400.0, "day", self._limits.calls_per_day, self._limits.tokens_per_day),
        ):
            if not calls and not tokens:
                continue
            spent = await self._spent(seconds) + pending
            if calls and spent.calls >= calls:
                return f"the limit of {calls} calls per {word} is reached"
            if tokens and spent.input_tokens + spent.output_tokens >= tokens:
                return f"the limit of {tokens} tokens per {word} is reached"
        return ""

    def _smaller_parts(
        self, overflow: ModelFailure | None, asked: RecapRequest, runs: list[tuple[Message, ...]]
    ) -> list[tuple[Message, ...]]:
        """What is left to ask, in smaller parts, when the server finds the first too long. Its window is taken for what
        it says, or for half of what it was thought to be. Nothing when that makes no part smaller: so this ends."""
        while overflow is not None and self._window_tokens >= 2 * SMALLEST_WINDOW_TOKENS:
            said = overflow.window_tokens
            known = said is not None and SMALLEST_WINDOW_TOKENS <= said < self._window_tokens
            self._window_tokens = said if said is not None and known else self._window_tokens // 2
            left = replace(asked, delta=tuple(message for run in runs for message in run))
            smaller = recap.parts(left, self._fits)
            if smaller[0] != runs[0]:
                return smaller
        return []

    def _fits(self, asked: RecapRequest) -> bool:
        """Whether the question fits, also when the recap before it has grown to what an answer may be."""
        question = recap.build(self._template, asked)
        growth = max(0, question.max_output_tokens - estimate_tokens(asked.previous))
        return _estimate(question) + growth + question.max_output_tokens <= self._window_tokens


def _estimate(question: ModelRequest) -> int:
    return estimate_tokens(question.system) + estimate_tokens(question.user)
