"""Random tests try the same cases, whatever else a process has loaded."""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def test_no_case_is_drawn_from_our_sources() -> None:
    assert len(providers.HypothesisProvider(None)._local_constants) == 0
