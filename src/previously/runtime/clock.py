"""The one clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def time_at(seconds_from_now: float = 0.0) -> str:
    """The time, as it is stored: UTC, so that it sorts."""
    return (datetime.now(UTC) + timedelta(seconds=seconds_from_now)).isoformat(timespec="milliseconds")
