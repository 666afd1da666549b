"""When to ask again, as a table; and the breaker."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.model_io import FailureKind, ModelFailure
from previously.models.retry import (
    CLOSED,
    LONGEST_PAUSE_S,
    LONGEST_WAIT_S,
    MAX_CALLS,
    BreakerState,
    GiveUp,
    Wait,
    compute_pause_s,
    decide_retry,
    may_call,
    note_call,
    note_failure,
    note_success,
)

KIND = FailureKind


def failed(kind: FailureKind, retry_after_s: float | None = None) -> ModelFailure:
    return ModelFailure(kind, "It failed.", retry_after_s)


@pytest.mark.parametrize(
    ("kind", "retry_after_s", "calls_made", "jitter", "seconds"),
    [
        (KIND.SERVER, None, 1, 0.0, 1.0),
        (KIND.SERVER, None, 1, 1.0, 2.0),
        (KIND.SERVER, None, 2, 0.0, 2.0),
        (KIND.SERVER, None, 2, 1.0, 4.0),
        (KIND.SERVER, 7.0, 1, 0.5, 7.5),
        (KIND.CONNECTION, None, 1, 0.5, 1.5),
        (KIND.CONNECTION, None, 2, 0.5, 3.0),
        (KIND.TIMEOUT, None, 1, 1.0, 2.0),
        (KIND.UNREADABLE, None, 1, 0.0, 1.0),
        (KIND.RATE_LIMITED, None, 1, 0.0, 2.0),
        (KIND.RATE_LIMITED, None, 2, 1.0, 8.0),
        (KIND.RATE_LIMITED, 0.0, 1, 0.0, 0.0),
        (KIND.RATE_LIMITED, 20.0, 1, 0.25, 20.25),
        (KIND.RATE_LIMITED, 60.0, 2, 1.0, 60.0),
        (KIND.BAD_REQUEST, 0.0, 1, 1.0, 0.0),
        (KIND.SERVER, None, 1, 7.0, 2.0),
        (KIND.SERVER, None, 1, -7.0, 1.0),
        (KIND.SERVER, None, 1, math.nan, 1.0),
    ],
)
def test_asked_again(
    kind: FailureKind, retry_after_s: float | None, calls_made: int, jitter: float, seconds: float
) -> None:
    assert decide_retry(failed(kind, retry_after_s), calls_made, jitter=jitter) == Wait(seconds)


@pytest.mark.parametrize(
    ("kind", "retry_after_s", "calls_made"),
    [
        *((kind, None, MAX_CALLS) for kind in KIND),
        (KIND.RATE_LIMITED, 60.1, 1),
        (KIND.RATE_LIMITED, 86_400.0, 1),
        (KIND.RATE_LIMITED, math.nan, 1),
        (KIND.RATE_LIMITED, -1.0, 1),
        (KIND.SERVER, 3_600.0, 1),
        (KIND.BAD_REQUEST, None, 1),
        (KIND.BAD_REQUEST, 0.0, 3),
        (KIND.UNAUTHORIZED, None, 1),
        (KIND.OVERFLOW, None, 1),
        (KIND.FILTERED, None, 1),
        (KIND.UNAUTHORIZED, 1.0, 1),
        (KIND.OVERFLOW, 1.0, 1),
        (KIND.FILTERED, 1.0, 1),
    ],
)
def test_not_asked_again(kind: FailureKind, retry_after_s: float | None, calls_made: int) -> None:
    assert isinstance(decide_retry(failed(kind, retry_after_s), calls_made, jitter=0.5), GiveUp)


failures = st.builds(
    ModelFailure, st.sampled_from(KIND), st.just("It failed."), st.none() | st.floats() | st.floats(0, 100)
)


@given(st.lists(failures, min_size=10, max_size=10), st.floats())
def test_never_more_than_three_calls_and_never_a_long_wait(plan: list[ModelFailure], jitter: float) -> None:
    calls = 0
    for failure in plan:
        calls += 1
        decision = decide_retry(failure, calls, jitter=jitter)
        if isinstance(decision, GiveUp):
            break
        assert 0.0 <= decision.seconds <= LONGEST_WAIT_S
    assert calls <= MAX_CALLS == 3


def test_the_breaker_opens_after_three_failed_folds_in_a_row() -> None:
    state = CLOSED
    for _ in range(2):
        state = note_failure(state, 100.0)
        assert may_call(state, 100.0)
    state = note_failure(state, 100.0)
    assert not may_call(state, 100.0)
    assert not may_call(state, 159.9)
    assert may_call(state, 160.0)


def test_one_good_fold_closes_it() -> None:
    state = note_failure(note_failure(CLOSED, 0.0), 0.0)
    assert note_success(state) == CLOSED
    assert may_call(note_failure(note_success(state), 0.0), 0.0)


def test_half_open_lets_one_try_through() -> None:
    state = BreakerState(3, 0.0)
    assert may_call(state, 60.0)
    trying = note_call(state, 60.0)
    assert not may_call(trying, 60.0)
    assert note_success(trying) == CLOSED
    again = note_failure(trying, 65.0)
    assert not may_call(again, 65.0 + 119.9)
    assert may_call(again, 65.0 + 120.0)
    assert note_call(CLOSED, 1.0) is CLOSED


def test_the_pause_doubles_up_to_an_hour() -> None:
    pauses = [compute_pause_s(BreakerState(failures, 0.0)) for failures in range(3, 12)]
    assert pauses == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]
    assert compute_pause_s(BreakerState(10**9, 0.0)) == LONGEST_PAUSE_S


def test_a_clock_that_went_back_does_not_lock_the_model_out() -> None:
    assert may_call(BreakerState(5, 1_000_000.0), 3.0)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 5_000)), max_size=60))
def test_an_open_breaker_calls_at_most_once_per_pause(steps: list[tuple[bool, float]]) -> None:
    state, now, last_call = CLOSED, 0.0, -math.inf
    for succeeds, passes in steps:
        now += passes
        if not may_call(state, now):
            continue
        if state.opened_at is not None:
            assert now - last_call >= 60.0
        state, last_call = note_call(state, now), now
        state = note_success(state) if succeeds else note_failure(state, now)
    assert state.failures < 3 or state.opened_at is not None


def test_a_server_that_hung_twice_is_not_waited_for_again() -> None:
    assert isinstance(decide_retry(failed(KIND.TIMEOUT), 2, jitter=0.5), GiveUp)
