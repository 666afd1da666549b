"""What CONTRIBUTING tells of a chat turn and of a fold is what happens, in that order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.architecture.walk_throughs import FLOW, FOLD, list_functions
from tests.trace.background_fold import trace_background_fold
from tests.trace.measure import trace_turn


async def test_a_fold_happens_as_contributing_tells(tmp_path: Path) -> None:
    assert_walked(FOLD, await trace_background_fold(tmp_path / "stories.db"))


async def test_a_message_flows_as_contributing_tells(tmp_path: Path) -> None:
    assert_walked(FLOW, await trace_turn(tmp_path / "stories.db"))


def test_another_order_or_a_missing_call_is_seen() -> None:
    calls = list_functions(FOLD)
    assert_walked(FOLD, {"calls": calls})
    for wrong in (calls[1:], [*calls[1:], calls[0]]):
        with pytest.raises(AssertionError):
            assert_walked(FOLD, {"calls": wrong})


def assert_walked(walk: str, trace: dict[str, Any]) -> None:
    """Fail unless the functions of a walk-through were first called in its order."""
    places = {name: place for place, name in enumerate(trace["calls"])}
    functions = list_functions(walk)
    assert [name for name in functions if name not in places] == [], "not called at all"
    assert functions == sorted(functions, key=places.__getitem__)
