"""A real, small model drives every fold once, end to end: whatever it says, nothing breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import BlockingMemory, Settings
from previously.demo.generated import generated_story

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")

from previously.models.local import LocalModel, find_smollm2

RULES = Settings(tail_messages=2, fold_messages=3, recap_words=20, memory_window_tokens=2_048)


@pytest.mark.skipif(find_smollm2() is None, reason="the model's weights are not installed (make setup brings them)")
def test_a_real_model_folds_a_story(tmp_path: Path) -> None:
    weights = find_smollm2()
    assert weights is not None
    model = LocalModel(weights, window_tokens=2_048)
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        for line in generated_story(5):
            story.add(str(line["role"]), str(line["content"]), name=str(line["name"]))
        report = story.fold(once=True)
        live = story.recap()
        versions = story.log()
        view = story.view(1_000)
    assert {fold.status for fold in report.folds} <= {"committed", "provisional"}
    assert 1 <= report.calls <= 3
    assert live is not None
    assert live.text.strip()
    assert sum(version.made.cost.calls for version in versions) == report.calls
    assert all(version.made.reason for version in versions)
    assert view.tokens <= 1_000
