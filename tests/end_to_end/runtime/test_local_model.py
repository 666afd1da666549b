"""A real, small model drives every fold once, end to end: whatever it says, nothing breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import ModelFailure, ModelReply, ModelRequest
from previously.core.versions import Kind
from previously.demo.long_story import generate_story
from previously.folds.amend import AMENDED
from previously.models.client import Model
from previously.models.retry import MAX_CALLS
from previously.runtime.fold_report import FoldDone
from tests.end_to_end.runtime.echoing import kind_of
from tests.end_to_end.runtime.obedient import obedient
from tests.end_to_end.runtime.obedient import tell as tell_parcels
from tests.end_to_end.runtime.update_answers import asked_for, is_closing

pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")

from previously.models.local import LocalModel, find_smollm2

RULES = Settings(
    tail_messages=2, fold_messages=3, recap_words=20, memory_window_tokens=4_096, scene_messages=0, cast="off"
)
SMALL = {"tail_messages": 1, "tail_turns": 0, "recap_words": 10, "memory_window_tokens": 4_096}
LONGEST = 40
"""How many tokens the model may write: what runs on is cut off, and refused like any other."""


with_weights = pytest.mark.skipif(
    find_smollm2() is None, reason="the model's weights are not installed (make setup brings them)"
)


@pytest.mark.slow(reason="a real model")
@with_weights
def test_a_real_model_drives_every_text(tmp_path: Path) -> None:
    """Recap, chapter, short form and backbone, then an amend of texts that a better model had written. A model this
    small is refused most of the time; it is asked each time, and memory goes on."""
    lines = [(str(line["role"]), str(line["content"]), str(line["name"])) for line in generate_story(3)]
    folds: list[FoldDone] = []
    requests: list[ModelRequest] = []

    def fold(place: str, model: Model, act: Callable[[BlockingStory], object]) -> None:
        with BlockingMemory(tmp_path / place, settings=RULES, model=model) as memory:
            story = memory.story("tale")
            act(story)
            report = story.fold()
            versions, view = story.log(), story.view(1_000)
        if isinstance(model, Terse):
            folds.extend(report.folds)
            requests.extend(model.asked)
            assert all(version.made.reason for version in versions)
        assert view.tokens <= 1_000

    def tell(story: BlockingStory) -> None:
        for role, text, name in lines:
            story.add(role, text, name=name)
        story.close_chapter("The first evening")

    fold("own.db", _local(), tell)
    fold("amended.db", ScriptedModel(obedient), lambda story: tell_parcels(story, 3))
    fold("amended.db", ScriptedModel(obedient), lambda story: story.close_chapter())
    fold("amended.db", _local(), lambda story: story.edit(1, "Nothing of the sort was said."))
    asked = {(done.kind, done.reason.partition(";")[0]) for done in folds if done.cost.calls}
    assert {kind for kind, _ in asked} == {Kind.RECAP, Kind.CHAPTER}
    assert any(Kind.BACKBONE.value in done.beside for done in folds if done.kind is Kind.CHAPTER), "one question"
    assert {"CHAPTER", "SHORT", "BACKBONE"} <= {part for one in requests if is_closing(one) for part in asked_for(one)}
    assert (Kind.CHAPTER, AMENDED) in asked
    assert {done.status for done in folds} <= {"committed", "provisional", "refused"}
    assert all(done.cost.calls <= MAX_CALLS for done in folds)


NOTES = {
    "scenes": Settings.of("roleplay", **SMALL, timeline="scenes", scene_messages=2),
    "librarian": Settings.of("novel", **SMALL, lore="off", apply_after=0),
    "game": Settings.of("game", **SMALL),
    "agent": Settings.of("agent", **SMALL, fold_messages=2),
}


@pytest.mark.slow(reason="a real model")
@with_weights
@pytest.mark.parametrize("name", NOTES)
def test_a_real_model_drives_every_note(name: str) -> None:
    """Scenes with their combining, analyses, and what two characters know. Whatever it says, the story folds and is
    seen by everyone."""
    model = _local()
    with BlockingMemory(":memory:", settings=NOTES[name], model=model) as memory:
        story = memory.story("tale")
        for role, who, text in SAID:
            story.add(role, text, name=who)
        folds = story.fold().folds
        for reader in ("chat", "character:Maya", "memory:Maya", "state"):
            assert story.view(1_000, reader=reader).tokens <= 1_000
        story.edit(0, "Nothing of the sort was said.")
        assert story.view(1_000).tokens <= 1_000
        seen = story.scenes(), story.analyses(), story.cast(), story.lore(), story.threads(), story.state()
    assert any(seen), "something is remembered"
    assert {done.status for done in folds} <= {"committed", "provisional"}
    assert {kind_of(request) for request in model.asked} >= ASKED[name]


SAID = (
    ("user", "Tess", "Is the brass key safe, Maya?"),
    ("assistant", "Maya", "It is under the third stair of the old mill. I promised Bram to tell nobody."),
    ("assistant", "Bram", "And yet she told you. Now there are three of us."),
)
ASKED = {"scenes": {"scene", "combine"}, "librarian": {"analysis"}, "game": {"cast"}, "agent": {"brief"}}


class Terse:
    """A model that is given little room to answer, so that no test waits for it to ramble."""

    def __init__(self, model: LocalModel) -> None:
        self.model, self.name = model, model.name
        self.asked: list[ModelRequest] = []

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        self.asked.append(request)
        return await self.model.ask(replace(request, max_output_tokens=min(LONGEST, request.max_output_tokens)))

    async def close(self) -> None:
        await self.model.close()


def _local() -> Terse:
    weights = find_smollm2()
    assert weights is not None
    return Terse(LocalModel(weights, window_tokens=4_096))
