"""The effort of random tests: few cases in `make test`, more in CI, many in `make test-all`, most in `make machines`.

HYPOTHESIS_PROFILE names it: `quick` (unless it is set), `ci`, `full` or `soak`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
SOAKING = PROFILE == "soak"

QUICK_PART = 10
"""A tenth of the full cases finds nearly all that a broken rule breaks, in a tenth of the time."""

CI_PART = 3
"""A third of the full cases: a run of everything then ends well within an hour on two slow cores."""

FEWEST = 4
"""Below this a random test would hardly differ from an example."""


def mark_slow(*values: object, reason: str) -> list[Any]:
    """Return values of a parameter that `make test` leaves out; it runs the others."""
    return [pytest.param(value, marks=pytest.mark.slow(reason=reason)) for value in values]


(ON_DISK,) = mark_slow("sqlite", reason="the same once more, in a file")
"""A place for stories of tests that `make test` runs in memory alone. Stores have contract tests of their own."""


def cross(*columns: Sequence[object], reason: str) -> list[Any]:
    """Return rows of values, every value with every other. `make test` runs so many that any two meet in one of them.

    A fault that takes two values to appear is found there; one that takes three, in the full suite.
    """
    pairs = {
        places: set(combinations(enumerate(places), 2))
        for places in product(*(range(len(column)) for column in columns))
    }
    apart, quick = set[Any]().union(*pairs.values()), set[tuple[int, ...]]()
    while apart:
        widest = max(pairs, key=lambda places: len(pairs[places] & apart))
        quick.add(widest)
        apart -= pairs[widest]
    slow = pytest.mark.slow(reason=reason)
    return [
        pytest.param(
            *(column[place] for column, place in zip(columns, places, strict=True)),
            marks=() if places in quick else slow,
        )
        for places in pairs
    ]


def cases(full: int, *, quick: int | None = None, soak: int | None = None) -> int:
    """Return how many random cases to try, given how many the full suite tries."""
    fewer = min(full, max(FEWEST, full // QUICK_PART)) if quick is None else quick
    if PROFILE == "quick":
        return fewer
    if PROFILE == "ci":
        return max(fewer, full // CI_PART)
    return soak if SOAKING and soak is not None else full


def register_profiles() -> None:
    """Make the profiles known to Hypothesis, and load the one that is asked for.

    All but `soak` try the same cases each time: what fails once fails always, on every machine.
    """
    settings.register_profile(
        "full",
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.register_profile("quick", settings.get_profile("full"), max_examples=10)
    settings.register_profile("ci", settings.get_profile("full"), max_examples=100 // CI_PART)
    settings.register_profile("soak", settings.get_profile("full"), derandomize=False)
    settings.load_profile(PROFILE)
    if not SOAKING:
        _forget_our_constants()


def _forget_our_constants() -> None:
    """Keep Hypothesis from drawing numbers and words of our own sources.

    It takes them from the modules that happen to be loaded, so its cases depended on which tests the same process had
    run before, and changed with every line of `src`. It has no setting for this.
    """
    none = Constants()
    providers._get_local_constants = lambda: none
