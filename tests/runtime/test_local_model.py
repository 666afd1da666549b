"""A real, small model drives every fold once, end to end: whatever it says, nothing breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import BlockingMemory, Settings
from previously.core.versions import Kind
from previously.demo.generated import generated_story

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")

from previously.models.local import LocalModel, find_smollm2

RULES = Settings(tail_messages=2, fold_messages=3, recap_words=20, memory_window_tokens=2_048)


@pytest.mark.skipif(find_smollm2() is None, reason="the model's weights are not installed (make setup brings them)")
def test_a_real_model_drives_every_fold(tmp_path: Path) -> None:
    weights = find_smollm2()
    assert weights is not None
    model = LocalModel(weights, window_tokens=2_048)
    lines = [(str(line["role"]), str(line["content"]), str(line["name"])) for line in generated_story(12)]
    with BlockingMemory(tmp_path / "s.db", settings=RULES, model=model) as memory:
        story = memory.story("tale")
        for role, text, name in lines[:5]:
            story.add(role, text, name=name)
        reports = [story.fold()]
        story.close_chapter("The first evening")
        reports.append(story.fold())
        for role, text, name in lines[5:]:
            story.add(role, text, name=name)
        story.edit(1, "Nothing of the sort was said.")
        reports.append(story.fold())
        (chapter,) = story.chapters()
        backbone, versions, view = story.backbone(), story.log(), story.view(1_000)
    folds = [fold for report in reports for fold in report.folds]
    assert {fold.kind for fold in folds if fold.cost.calls} == set(Kind)
    assert {fold.status for fold in folds} <= {"committed", "provisional", "refused"}
    assert all(fold.cost.calls <= 3 for fold in folds)
    assert chapter.text.strip()
    assert backbone is not None
    assert backbone.text.strip()
    assert sum(version.made.cost.calls for version in versions) == sum(report.calls for report in reports)
    assert all(version.made.reason for version in versions)
    assert view.tokens <= 1_000
