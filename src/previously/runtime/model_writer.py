"""A writer that asks a model, within bounds, and never leaves without memory.

Per part of a fold at most three calls, transport retries included. An answer that cannot be kept is asked for again
with the reason, once per reason; a refusal is not asked again. One that can be kept and could be better is asked for
again once, and the better of the two is kept. After the last try, or while the breaker is open or a limit is reached,
the built-in writer gives a provisional text, which a later fold makes anew; if the model has nothing to say then
either, the built-in text stays. What does not fit the model's window is split, never trimmed.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from previously.core.count_nouns import count_nouns
from previously.core.messages import Message
from previously.core.model_io import FailureKind, ModelFailure, ModelReply, ModelRequest
from previously.core.tokens import estimate_tokens
from previously.core.versions import Cost, Kind, Status
from previously.folds.checks import Accepted, RefusalKind
from previously.folds.fold import Fold
from previously.folds.json_answer import list_faults
from previously.folds.prompts.templates import Template
from previously.folds.split import join_beside, split_fold
from previously.models.client import Model
from previously.models.retry import (
    CLOSED,
    MAX_CALLS,
    BreakerState,
    Wait,
    decide_retry,
    may_call,
    note_call,
    note_failure,
    note_success,
)
from previously.runtime.answer_cache import AnswerCache, AnswerSource
from previously.runtime.spend_limits import NOTHING, Spending
from previously.runtime.writer import Attempt, BuiltinWriter, MemoryReply

THINKING_TOKENS = 4_000
"""The room for thinking on top of an answer: about what current reasoning models take for such a question."""

THINKING_SHARE = 4
"""But no more than a quarter of its window: the messages have to fit too."""

UNUSABLE_ANSWERS = 2
"""So many unusable answers show that a model cannot give texts and lists in one: it is asked for the texts alone."""

MEND = "Your last answer can be kept, but it has faults: {}. Write the whole answer again without them."
ONCE_MORE = "asked for once more: {}"
"""The words for a model whose answer could be better, and for the log of the worse of two."""

SMALLEST_WINDOW_TOKENS = 1_024
"""A model that cannot read this much cannot fold."""


class Blame(Enum):
    """The blame for a part without answer: the model was not to be had, or what it said could not be kept, or
    neither."""

    NONE = auto()
    MODEL = auto()
    ANSWER = auto()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The outcome of asking for one part."""

    attempts: tuple[Attempt, ...]
    cost: Cost = NOTHING
    """Of the answer that was accepted."""
    accepted: Accepted | None = None
    reason: str = ""
    """The reason why there is no answer."""
    fault: Blame = Blame.NONE
    """The blame for that."""
    overflow: ModelFailure | None = None
    """The server says that the question was too long for it."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that can be kept."""

    accepted: Accepted
    reply: ModelReply
    cost: Cost

    @property
    def faults(self) -> str:
        """Return what the model could do better, in a sentence."""
        return list_faults(self.accepted.mendable)


@dataclass(frozen=True, slots=True)
class _Desk:
    """The stories whose kept answers may be taken, and for which new ones are kept."""

    reads: AnswerSource | None
    source: AnswerSource | None


class ModelWriter:
    """The writer that asks a model, and falls back to the built-in one."""

    made_by = "model"
    amends = True

    def __init__(
        self,
        model: Model,
        templates: Mapping[str, Template],
        *,
        window_tokens: int,
        spending: Spending | None = None,
        kept: AnswerCache | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._templates = templates
        self._window_tokens = window_tokens
        self._spending = spending
        self._kept = kept or AnswerCache(None, "")
        self._sleep = sleep
        self._clock = clock
        self._jitter = jitter
        self._thinking_tokens = 0
        self._breaker: BreakerState = CLOSED
        self._fallback = BuiltinWriter()

    async def ready(self) -> bool:
        """Return whether the model would be asked now."""
        return await self._why_not() == ""

    async def write(self, asked: Fold, *, source: AnswerSource | None = None, anew: bool = False) -> MemoryReply:
        """The model's text; if there is none, a provisional one with the reason, and for an amend a refusal."""
        if asked.is_silent:
            return await self._fallback.write(asked)  # nothing to ask about
        if asked.splits_for_good and await self._kept.takes_two_steps(self._model.name):
            asked = asked.take_first_step()
        desk = _Desk(None if anew or asked.again else source, source)
        asked, runs = self._divided(asked, asked.most_parts)
        why_not = await self._why_not()
        if len(runs) > asked.most_parts:
            why_not = (
                f"it would take more than {count_nouns(asked.most_parts, 'call')}, since the model's window is taken "
                f"for {self._window_tokens:,} tokens; if it is larger, say so with memory_window_tokens"
            )
        elif (overflow := asked.explain_overflow(self._window_tokens)) and not self._fits_run(asked, runs):
            why_not = overflow
        if why_not:
            return await self._without(asked, why_not, ())
        self._breaker = note_call(self._breaker, self._clock())
        attempts: list[Attempt] = []
        before, cost, accepted = asked.so_far, NOTHING, Accepted("")
        beside: list[tuple[Kind, str]] = []
        used = 0
        while runs:
            pending = sum((attempt.cost for attempt in attempts), cost)
            answer = await self._ask(asked.take_run(runs, before), pending, desk, used)
            attempts += answer.attempts
            used += len(answer.attempts)
            smaller = self._smaller_parts(answer.overflow, asked, before, runs)
            if smaller and used < MAX_CALLS:
                asked, runs = smaller
                continue
            if answer.accepted is None:
                # A model that cannot answer a person's question may still write memory, so folds go on.
                unable = answer.fault is Blame.ANSWER and not asked.again and asked.kind is not Kind.QUESTION
                if answer.fault is Blame.MODEL or unable:
                    self._breaker = note_failure(self._breaker, self._clock())
                given_up = asked.again and answer.fault is Blame.ANSWER
                return await self._without(asked, answer.reason, tuple(attempts), spent=cost, for_good=given_up)
            cost, accepted, runs, used = cost + answer.cost, answer.accepted, runs[1:], 0
            before = accepted.text or before  # where no recap is asked for, the next part is told the same one
            beside = join_beside(beside, accepted.beside)
        self._breaker = note_success(self._breaker)
        return MemoryReply(
            accepted.text,
            accepted.carry,
            cost,
            made_by="model",
            checked=True,
            model=self._model.name,
            prompt_hash=self._templates[asked.prompt].hash,
            attempts=tuple(attempts),
            shed=accepted.shed,
            unverified=accepted.unverified,
            warnings=accepted.warnings,
            beside=tuple(beside),
        )

    async def _ask(self, asked: Fold, pending: Cost, desk: _Desk, used: int) -> _Asked:
        """One part: up to three calls, each within the limits, of which `used` were made; `pending` is what this fold
        has taken so far."""
        template = self._templates[asked.prompt]
        attempts: list[Attempt] = []
        hint = ""
        seen: set[RefusalKind] = set()  # a model that will not is not asked again, and no fault is named to it twice
        split = False
        first: _Answer | None = None
        plain = asked.build(template)
        known = await self._kept.answer(desk.reads, self._model.name, plain)
        if known is not None and isinstance(verdict := asked.judge(known), Accepted):
            return _Asked((), NOTHING, verdict)
        for calls in range(used + 1, MAX_CALLS + 1):
            spent = sum((attempt.cost for attempt in attempts), pending) + (first.cost if first else NOTHING)
            why_not = await self._over_limit(spent)
            if why_not and first is None:
                return _Asked(tuple(attempts), reason=why_not, fault=Blame.NONE)
            if why_not:
                break
            question = self._with_thinking(asked.build(template, hint))
            reply = await self._model.ask(question)
            if isinstance(reply, ModelFailure):
                unread = reply.kind is FailureKind.CONNECTION
                attempts.append(
                    self._attempt(template, reply.reason, "", Cost(1, 0 if unread else _estimate(question), 0))
                )
                if first:
                    break
                decision = decide_retry(reply, calls, jitter=self._jitter())
                if not isinstance(decision, Wait):
                    overflow = reply if reply.kind is FailureKind.OVERFLOW else None
                    fault = Blame.ANSWER if reply.kind is FailureKind.FILTERED else Blame.MODEL
                    return _Asked(tuple(attempts), reason=decision.reason, overflow=overflow, fault=fault)
                await self._sleep(decision.seconds)
                continue
            cost = Cost(1, reply.usage.input_tokens, reply.usage.output_tokens)
            if reply.reasoning:
                self._thinking_tokens = min(THINKING_TOKENS, self._window_tokens // THINKING_SHARE)
            verdict = asked.judge(reply)
            if isinstance(verdict, Accepted):
                if split and asked.splits_for_good:  # it could not give all at once, and can give this
                    await self._kept.take_two_steps(self._model.name)
                answer = _Answer(verdict, reply, cost)
                if verdict.mendable and first is None and calls < MAX_CALLS:
                    first, hint = answer, MEND.format(answer.faults)
                    continue
                better, other = answer, first
                if first and len(first.accepted.mendable) < len(verdict.mendable):
                    better, other = first, answer
                if other:
                    attempts.append(
                        self._attempt(template, ONCE_MORE.format(other.faults), other.reply.text, other.cost)
                    )
                return await self._settled(better, plain, attempts, desk)
            attempts.append(self._attempt(template, f"{verdict.kind.value}: {verdict.reason}", reply.text, cost))
            if first or verdict.kind is RefusalKind.REFUSAL or (verdict.kind in seen and not _may_split(asked)):
                break
            seen.add(verdict.kind)
            hint = f"Your last answer could not be used: {verdict.reason}."
            refused = sum(1 for one in attempts if one.text)
            if refused >= UNUSABLE_ANSWERS and _may_split(asked):
                asked, hint, seen, split = asked.take_first_step(), "", set(), True
        if first:
            return await self._settled(first, plain, attempts, desk)
        return _Asked(tuple(attempts), reason=attempts[-1].reason, fault=Blame.ANSWER)

    async def _settled(
        self, answer: _Answer, question: ModelRequest, attempts: Sequence[Attempt], desk: _Desk
    ) -> _Asked:
        """Keep an answer for the next time that the same is asked."""
        await self._kept.keep(desk.source, self._model.name, question, answer.reply)
        return _Asked(tuple(attempts), answer.cost, answer.accepted)

    def _with_thinking(self, question: ModelRequest) -> ModelRequest:
        """Return a question that leaves room to think to a model that has been seen to do so."""
        most = max(question.max_output_tokens, self._window_tokens - _estimate(question))
        wanted = question.max_output_tokens + self._thinking_tokens
        return replace(question, max_output_tokens=min(wanted, most))

    def _attempt(self, template: Template, reason: str, text: str, cost: Cost) -> Attempt:
        return Attempt(reason, text, cost, self._model.name, template.hash)

    async def _without(
        self, asked: Fold, reason: str, attempts: tuple[Attempt, ...], spent: Cost = NOTHING, *, for_good: bool = False
    ) -> MemoryReply:
        """Return the built-in writer's text; for good, when the model has twice had nothing to say that could be
        kept."""
        if not asked.has_builtin:
            return MemoryReply("", "", spent, made_by="model", status=Status.REFUSED, reason=reason, attempts=attempts)
        written = await self._fallback.write(asked)
        status = Status.COMMITTED if for_good else Status.PROVISIONAL
        return replace(written, status=status, reason=reason, attempts=attempts, cost=spent)

    async def _why_not(self) -> str:
        """Return why the model may not be asked now; empty when it may."""
        if not may_call(self._breaker, self._clock()):
            return "the model failed too often and is left alone for a while"
        return await self._over_limit(NOTHING)

    async def _over_limit(self, pending: Cost) -> str:
        return await self._spending.over_limit(pending) if self._spending else ""

    def _divided(self, asked: Fold, most: int | None = None) -> tuple[Fold, list[tuple[Message, ...]]]:
        """Return what to ask and the runs to ask it in. Where a window leaves no room for texts and lists in one, the
        texts are asked for alone."""
        runs = split_fold(asked, self._fits, most)
        fits = self._fits_run(asked, runs)
        leaner = asked.find_leaner(fits_whole=fits and len(runs) == 1, fits_run=fits)
        return self._divided(leaner, most) if leaner else (asked, runs)

    def _fits_run(self, asked: Fold, runs: Sequence[tuple[Message, ...]]) -> bool:
        """Return whether the first of the runs fits."""
        return self._fits(asked.take_run(runs, asked.so_far))

    def _smaller_parts(
        self, overflow: ModelFailure | None, asked: Fold, text: str, runs: list[tuple[Message, ...]]
    ) -> tuple[Fold, list[tuple[Message, ...]]] | None:
        """Return what is left to ask, in smaller parts, when the server finds the first too long. Its window is taken
        for what it says, or for half of what it was thought to be. None when no part fits that: so this ends."""
        while overflow is not None and not asked.amends and self._window_tokens >= 2 * SMALLEST_WINDOW_TOKENS:
            said = overflow.window_tokens
            known = said is not None and SMALLEST_WINDOW_TOKENS <= said < self._window_tokens
            self._window_tokens = said if said is not None and known else self._window_tokens // 2
            left = asked.take_run([tuple(message for run in runs for message in run)], text)
            smaller, found = self._divided(left)
            if smaller != left or found[0] != runs[0]:
                return smaller, found
        return None

    def _fits(self, asked: Fold) -> bool:
        """Return whether the question fits, also when the recap before it has grown to what an answer may be."""
        question = asked.build(self._templates[asked.prompt])
        growth = max(0, asked.count_growth(question) - estimate_tokens(asked.so_far))
        return _estimate(question) + growth + question.max_output_tokens <= self._window_tokens


def _may_split(asked: Fold) -> bool:
    return asked.take_first_step() != asked


def _estimate(question: ModelRequest) -> int:
    return estimate_tokens(question.system) + estimate_tokens(question.user)
