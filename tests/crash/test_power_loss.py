"""Power cuts: what was acknowledged is on disk in every state that a power cut may leave. A few states here, thousands
in `python -m tests.crash`; and proof that the check finds out a store that is not safe."""

from __future__ import annotations

import pytest

from tests.crash.small_run import small_run


@pytest.mark.slow(reason="plays whole scenarios in a process of its own")
def test_a_power_cut_loses_nothing_and_unsafe_stores_are_found_out() -> None:
    report = small_run(states=18)
    assert report["total"]["states"] == 18
    assert set(report["unsafe_stores"]) == {
        "synchronous=NORMAL",
        "the database is not synced",
        "the WAL is not synced",
    }
    assert all(found["found"] > 0 for found in report["unsafe_stores"].values())
    assert report["unsafe_stores"]["synchronous=NORMAL"]["lost"] > 0
