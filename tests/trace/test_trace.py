"""The trace tells what an operation touches, and the report holds all four."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import BlockingMemory
from tests.trace.measure import take_traces
from tests.trace.recorder import installed_recorder


def test_calls_count_in_all_threads_while_it_records(tmp_path: Path) -> None:
    with installed_recorder() as recorder, BlockingMemory(tmp_path / "s.db") as memory:
        story = memory.story("tale")
        recorder.start()
        story.add("user", "The lamp is out.")
        trace = recorder.stop()
        story.add("user", "Nobody counts this.")
    assert "blocking" in trace["names"], "this thread"
    assert any(name.startswith("storage.sqlite") for name in trace["names"]), "the store's thread"
    assert trace["modules"] == len(trace["names"]) == len(recorder.modules)
    assert trace["hops"] == recorder.hops > 0


@pytest.mark.slow(reason="folds the sample story under a profiler, and starts a proxy")
def test_every_operation_is_traced(tmp_path: Path) -> None:
    traces = take_traces(tmp_path)
    assert list(traces) == ["edit", "fold", "view", "chat turn"]
    assert all(trace["modules"] > 5 and trace["hops"] > 0 for trace in traces.values())
    assert any(name.startswith("server.") for name in traces["chat turn"]["names"])
