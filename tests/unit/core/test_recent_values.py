"""Values that were asked for lately."""

from __future__ import annotations

from previously.core.recent_values import RecentValues


def test_what_is_asked_for_stays_and_the_rest_goes() -> None:
    values = RecentValues[int, str](1_000)
    values.keep(0, "zero", 10)
    for number in range(1, 1_000):
        values.keep(number, str(number), 10)
        assert values.get(0, 10) == "zero"
    kept = [number for number in range(1_000) if values.get(number, 0) is not None]
    assert len(kept) <= 100
    assert kept[-1] == 999


def test_what_is_larger_than_all_is_kept_alone() -> None:
    values = RecentValues[str, str](100)
    values.keep("small", "small", 10)
    values.keep("large", "large", 10_000)
    values.keep("other", "other", 10)
    assert values.get("small", 10) is None
    assert values.get("other", 10) == "other"
