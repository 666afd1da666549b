"""Times in their many spellings."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.wire.fields import parse_time


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ("2026-11-15T07:37:22.415Z", "2026-11-15T07:37:22.415Z"),
        ("2026-11-15", "2026-11-15"),
        ("2026-11-15 07:37", "2026-11-15 07:37"),
        ("June 5, 2023 10:30pm", "2023-06-05T22:30:00"),
        ("June 5, 2023 10:30 PM", "2023-06-05T22:30:00"),
        ("Jun 5, 2023 12:05am", "2023-06-05T00:05:00"),
        ("December 31, 2023 12:00pm", "2023-12-31T12:00:00"),
        ("May 1, 2024, 17:45:09", "2024-05-01T17:45:09"),
        ("2023-6-5 @10h 30m 12s 123ms", "2023-06-05T10:30:12.123"),
        ("2023-6-5@10h30m12s", "2023-06-05T10:30:12"),
        ("2023-06-05@10h30m12s7ms", "2023-06-05T10:30:12.007"),
        (1685961000, "2023-06-05T10:30:00+00:00"),
        (1685961000123, "2023-06-05T10:30:00.123+00:00"),
        (1685961000.5, "2023-06-05T10:30:00.500+00:00"),
        ("1685961000123", "2023-06-05T10:30:00.123+00:00"),
        # not certain, so kept
        ("February 30, 2023 10:30pm", "February 30, 2023 10:30pm"),
        ("June 5, 2023 14:30pm", "June 5, 2023 14:30pm"),
        ("Juin 5, 2023 10:30", "Juin 5, 2023 10:30"),
        ("2023-13-5 @10h 30m 12s 123ms", "2023-13-5 @10h 30m 12s 123ms"),
        ("05/06/2023", "05/06/2023"),
        ("yesterday", "yesterday"),
        ("12", "12"),
        (7, "7"),
        (-1685961000, "-1685961000"),
        (10**400, str(10**400)),
    ],
)
def test_times(given_value: str | int | float, expected: str) -> None:
    assert parse_time(given_value) == expected


@given(st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_anything_is_kept_or_made_iso(value: str | int | float) -> None:
    result = parse_time(value)
    if result != str(value):
        datetime.fromisoformat(result)
