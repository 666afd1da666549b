"""The benchmark of the scan, small: it runs, and checks for itself that ours mentions what key by key mentions."""

from __future__ import annotations

import json

import pytest

from benchmarks.lore import main


@pytest.mark.slow(reason="a benchmark takes three seconds")
def test_it_runs_and_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "--entries", "100", "--characters", "2000", "--times", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["benchmark"], found["keys"], found["characters"]) == ("lore", 300, 2_000)
    assert found["methods"]["fired"] > 0
    assert set(found["methods"]["times_as_fast"]) == {"scan", "keys", "ahocorasick", "in", "re", "re, tuned"}
    assert set(found["hostile"]) >= {"extra_ms", "extra_on_their_own_text_ms"}


def test_it_refuses_sizes_that_mean_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--entries", "3"]) == 2
    assert "at least 100 entries" in capsys.readouterr().err
