"""Recorded requests of a real client, in order: the path is the chat on screen, or why it is not is written down."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.recognition.recorded import DIFFERENCES, FOLDER, replayed

DATA = Path(os.environ.get("PREVIOUSLY_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data")

pytestmark = pytest.mark.skipif(not (DATA / FOLDER).is_dir(), reason="there are no recorded requests")


@pytest.mark.parametrize("meta", [False, True], ids=["messages only", "with chat_meta"])
def test_every_recorded_request_leaves_the_chat_on_screen_or_a_difference_that_is_explained(meta: bool) -> None:
    outcomes = replayed(DATA, meta=meta)
    assert len(outcomes) == 219
    assert sum(one.compared for one in outcomes) >= 180, "most of them have a chat to be held against"
    different = {one.label: one for one in outcomes if one.faults}
    unexplained = [one.told for label, one in different.items() if label not in DIFFERENCES]
    assert not unexplained, "\n".join(unexplained)
    assert DIFFERENCES.keys() - different.keys() == set(), "explained, and not different any more"
