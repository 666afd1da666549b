"""The decision to ask again, and when: within one fold (`decide_retry`) and from fold to fold (the breaker).

Pure: no clock, no randomness. The caller brings `jitter` and `now`, waits, and keeps the state.

- A fold makes at most `MAX_CALLS` calls, whatever fails.
- What would fail the same way again is not asked again.
- An open breaker lets one try through when its wait is over, not a crowd: whoever goes first calls `note_call`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from previously.core.model_io import FailureKind, ModelFailure

MAX_CALLS = 3
"""Calls per fold, transport retries included: room for one lost connection and one refused answer. A fold that is split
counts each part by itself."""

LONGEST_WAIT_S = 60.0
"""A server that wants to be left alone for longer than this is left to the breaker."""

FIRST_BACKOFF_S = 2.0
"""The longest first pause: limits per second are over by then. Each further one may be twice as long. Jitter takes off
up to half."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not ask again in this fold; the reason is one sentence."""

    reason: str


_TRANSIENT = (FailureKind.SERVER, FailureKind.CONNECTION, FailureKind.TIMEOUT, FailureKind.UNREADABLE)


def decide_retry(failure: ModelFailure, calls_made: int, *, jitter: float) -> Wait | GiveUp:
    """Decide what to do after a call failed. `calls_made` counts it; `jitter` is drawn by the caller from 0 to 1.

    A bad request is asked again only when the client set `retry_after_s`: it has learnt what the server does not take,
    and will not send the same request (see `OpenAICompatibleModel`).
    """
    if calls_made >= MAX_CALLS:
        return GiveUp(f"{failure.reason} That was call {calls_made} of at most {MAX_CALLS}.")
    asked_s = failure.retry_after_s
    match failure.kind:
        case FailureKind.BAD_REQUEST if asked_s is not None:
            return Wait(0.0)
        case FailureKind.RATE_LIMITED | FailureKind.SERVER if asked_s is not None:
            if not 0.0 <= asked_s <= LONGEST_WAIT_S:
                return GiveUp(
                    f"{failure.reason} It asks to be left alone for longer than {LONGEST_WAIT_S:.0f} seconds."
                )
            return Wait(min(LONGEST_WAIT_S, asked_s + _bound_jitter(jitter)))
        case FailureKind.RATE_LIMITED:
            return Wait(_compute_backoff_s(calls_made + 1, jitter))
        case FailureKind.TIMEOUT if calls_made >= 2:
            return GiveUp(f"{failure.reason} It hung twice.")
        case kind if kind in _TRANSIENT:
            return Wait(_compute_backoff_s(calls_made, jitter))
        case _:
            return GiveUp(failure.reason)


def _compute_backoff_s(calls_made: int, jitter: float) -> float:
    longest = FIRST_BACKOFF_S * 2.0 ** max(0, min(calls_made, MAX_CALLS) - 1)
    return longest * (0.5 + 0.5 * _bound_jitter(jitter))


def _bound_jitter(jitter: float) -> float:
    return 0.0 if math.isnan(jitter) else min(1.0, max(0.0, jitter))


FAILURES_TO_OPEN = 3
"""Two in a row happen by chance; at the third the server is taken to be down."""

FIRST_PAUSE_S = 60.0
"""Long enough for a server to be started again."""

LONGEST_PAUSE_S = 3_600.0
"""A server that comes back is found within the hour."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The number of folds that failed in a row at a model, and the time since when it is left alone."""

    failures: int = 0
    opened_at: float | None = None
    """None while the breaker is closed."""


CLOSED = BreakerState()


def compute_pause_s(state: BreakerState) -> float:
    """Return how long an open breaker waits: a minute, twice that after each further failure, at most an hour."""
    doublings = min(max(0, state.failures - FAILURES_TO_OPEN), 16)
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**doublings)


def may_call(state: BreakerState, now: float) -> bool:
    """Return whether a fold may ask the model now. A clock that went backwards does not keep the breaker open."""
    if state.opened_at is None:
        return True
    waited = now - state.opened_at
    return waited < 0 or waited >= compute_pause_s(state)


def note_call(state: BreakerState, now: float) -> BreakerState:
    """Return the state to keep while a fold asks: an open breaker waits anew, so that one try goes through."""
    return state if state.opened_at is None else replace(state, opened_at=now)


def note_success(state: BreakerState) -> BreakerState:
    """Return the state after a fold got its answer: closed."""
    return CLOSED if state != CLOSED else state


def note_failure(state: BreakerState, now: float) -> BreakerState:
    """Return the state after a fold used up its calls or gave up on the model."""
    failures = state.failures + 1
    return BreakerState(failures, now if failures >= FAILURES_TO_OPEN else None)
