"""`python -m tests.contract.storage.agreeing --steps 200000 [--seed N]`: the comparison of the three stores, for as
many steps.

Lives of 100 random steps each, until there were enough. A difference between two stores ends it, with the steps that
led there.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

import tests.conftest as _  # noqa: F401 # registers the profile
from tests.property.storage.test_postgres_agrees import AgreeingOnPostgres

STEPS_PER_LIFE = 100
LIVES_AT_ONCE = 50


class Counting(AgreeingOnPostgres):
    """Counts the steps of all lives."""

    done = 0

    def teardown(self) -> None:
        Counting.done += getattr(self, "steps", 0)
        super().teardown()


def main() -> None:
    """Compare, and say how far it is."""
    parser = argparse.ArgumentParser(description="Random verbs on three stores.")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args()
    began, number = time.monotonic(), given.seed
    profile = settings(
        max_examples=LIVES_AT_ONCE,
        stateful_step_count=STEPS_PER_LIFE,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    while Counting.done < given.steps:
        machine = seed(number)(type("Counted", (Counting,), {}))
        try:
            run_state_machine_as_test(machine, settings=profile)
        except BaseException:
            sys.stderr.write(f"\nafter {Counting.done} steps; again with --seed {number}\n")
            raise
        number += 1
        sys.stderr.write(f"\r{Counting.done:,} steps, {time.monotonic() - began:,.0f} s")
        sys.stderr.flush()
    sys.stdout.write(f"\n{Counting.done:,} steps from seed {given.seed}: three stores, every answer equal\n")


if __name__ == "__main__":
    main()
