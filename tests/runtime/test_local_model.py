"""A real, small model drives every fold once, end to end: whatever it says, nothing breaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.versions import Kind
from previously.demo.generated import generated_story
from previously.folds.amend import AMENDED
from previously.models.client import Model
from previously.models.retry import MAX_CALLS
from previously.runtime.fold_report import FoldDone
from tests.runtime.obedient import obedient
from tests.runtime.obedient import tell as tell_parcels

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")

from previously.models.local import LocalModel, find_smollm2

RULES = Settings(tail_messages=2, fold_messages=3, recap_words=20, memory_window_tokens=4_096)


@pytest.mark.skipif(find_smollm2() is None, reason="the model's weights are not installed (make setup brings them)")
def test_a_real_model_drives_every_fold(tmp_path: Path) -> None:
    """Recap, chapter and backbone, then an amend of texts that a better model had written. A model this small is
    refused most of the time; it is asked each time, and memory goes on."""
    lines = [(str(line["role"]), str(line["content"]), str(line["name"])) for line in generated_story(5)]
    folds: list[FoldDone] = []

    def fold(place: str, model: Model, act: Callable[[BlockingStory], object]) -> None:
        with BlockingMemory(tmp_path / place, settings=RULES, model=model) as memory:
            story = memory.story("tale")
            act(story)
            report = story.fold()
            versions, view = story.log(), story.view(1_000)
        if isinstance(model, LocalModel):
            folds.extend(report.folds)
            assert all(version.made.reason for version in versions)
        assert view.tokens <= 1_000

    def tell(story: BlockingStory) -> None:
        for role, text, name in lines:
            story.add(role, text, name=name)

    fold("own.db", _local(), tell)
    fold("own.db", _local(), lambda story: story.close_chapter("The first evening"))
    fold("amended.db", ScriptedModel(obedient), lambda story: tell_parcels(story, 6))
    fold("amended.db", ScriptedModel(obedient), lambda story: story.close_chapter())
    fold("amended.db", _local(), lambda story: story.edit(1, "Nothing of the sort was said."))
    asked = {(done.kind, done.reason.partition(";")[0]) for done in folds if done.cost.calls}
    assert {kind for kind, _ in asked} == set(Kind)
    assert (Kind.CHAPTER, AMENDED) in asked
    assert {done.status for done in folds} <= {"committed", "provisional", "refused"}
    assert all(done.cost.calls <= MAX_CALLS for done in folds)


def _local() -> LocalModel:
    weights = find_smollm2()
    assert weights is not None
    return LocalModel(weights, window_tokens=4_096)
