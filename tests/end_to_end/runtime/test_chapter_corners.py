"""Corners of chapters and the backbone: marks that meet, texts that reach too far, models that never do one thing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.view.view import Reason, Section
from tests.effort import ON_DISK
from tests.end_to_end.runtime.obedient import kind_of, obedient, part, said, tell
from tests.end_to_end.runtime.update_answers import messages

RULES = Settings(scene_messages=0, cast="off",
    tail_messages=4, fold_messages=10, fold_words=400, fold_tokens=900, recap_words=60, chapter_messages=0
)  # fmt: skip


@pytest.fixture(params=["in_memory", ON_DISK])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return ":memory:" if request.param == "in_memory" else tmp_path / "stories.db"


@pytest.fixture
def story(place: str | Path) -> Iterator[BlockingStory]:
    with BlockingMemory(place, settings=RULES) as memory:
        yield memory.story("tale")


def test_a_persons_words_stay_with_their_chapter_when_the_next_is_deleted(story: BlockingStory) -> None:
    tell(story, 20)
    story.close_chapter(at=5)
    story.close_chapter("Two", at=3)  # out of order
    story.fold()
    story.close_chapter("The lamp", at=3)
    story.write("chapter:1", "MY OWN WORDS")
    story.delete(4)
    story.delete(4)
    story.fold()
    (one,) = story.chapters()
    assert (one.title, one.text) == ("The lamp", "MY OWN WORDS")


def test_folding_goes_on_when_marks_of_two_chapters_meet(story: BlockingStory) -> None:
    tell(story, 31)
    for at in (3, 5, 7):
        story.close_chapter(at=at)
    story.fold()
    story.close_chapter("X", at=3)
    story.delete(4)
    story.delete(4)
    report = story.fold()
    assert "awaited" not in report.stopped
    backbone = story.backbone()
    assert backbone is not None
    assert (backbone.stale, backbone.span.last) == (False, 5)
    assert not story.view().fold_due


def test_a_chapter_that_a_model_never_writes_holds_up_nothing(tmp_path: Path) -> None:
    place = tmp_path / "stories.db"
    silent = ScriptedModel(lambda _: "")
    of_lampfall = [said(number) for number in range(30)]

    def of_two(request: ModelRequest) -> str:
        """Return nothing on the messages of the first chapter, nor on the chapter."""
        refuses = any(text in messages(request) for text in of_lampfall) or "called 'Lampfall'" in request.user
        return "" if refuses else obedient(request)

    refuses_one = ScriptedModel(of_two)
    with BlockingMemory(place, settings=RULES, model=silent) as memory:
        story = memory.story("tale")
        for number, name in enumerate(("Lampfall", "Weirgate", "Tollhouse")):
            tell(story, 30, 30 * number)
            story.close_chapter(name)
        story.fold()
    with BlockingMemory(place, settings=RULES, model=refuses_one) as memory:
        story = memory.story("tale")
        for _ in range(3):
            story.fold()
        asked = len(refuses_one.requests)
        assert [one.recap.made_by for one in story.chapters() if one.recap] == ["builtin", "model", "model"]
        assert story.fold().folds == ()
        assert len(refuses_one.requests) == asked, "what was given up is not asked for again"


def test_without_a_backbone_all_chapters_may_be_told(place: str | Path) -> None:
    with BlockingMemory(place, settings=replace(RULES, backbone_words=0)) as memory:
        story = memory.story("tale")
        for chapter in range(20):
            tell(story, 4, 4 * chapter)
            story.close_chapter()
        story.fold()
        view = story.view(20_000)
        assert sum(item.section is Section.CHAPTERS for item in view.items) == 20
        assert not view.left_out
        small = story.view(300)
        assert {out.reason for out in small.left_out} == {Reason.BUDGET}
        assert not small.fold_due


def test_a_backbone_by_hand_ends_where_a_chapter_of_this_branch_does(story: BlockingStory) -> None:
    tell(story, 31)
    story.branch("other")
    story.switch("other")
    story.close_chapter(at=3)
    story.fold()
    story.switch("main")
    story.close_chapter(at=7)
    story.write("backbone", "By hand.")
    story.fold()
    story.close_chapter(at=12)
    story.fold()
    backbone = story.backbone()
    assert backbone is not None
    assert (backbone.span.first, backbone.span.last) == (0, 12)
    told = [item.sources[0] for item in story.view(500).items if item.section in (Section.BACKBONE, Section.CHAPTERS)]
    assert [(span.first, span.last) for span in told] == [(0, 7), (8, 12)]


def test_a_stale_text_gives_way_to_an_exact_one_that_tells_all_but_the_tail(story: BlockingStory) -> None:
    tell(story, 50)
    story.fold()
    story.edit(8, said(8, "Zebulon"))
    story.fold()
    for _ in range(3):
        story.delete(-1)
    story.edit(8, said(8))
    story.fold()
    live = story.recap()
    assert live is not None
    assert not live.stale
    assert "Zebulon" not in story.view().messages[0].text


def test_a_persons_recap_stands_in_full_when_its_chapter_closes(story: BlockingStory) -> None:
    words = "Wren is the true queen. This matters to me. It matters very much."
    tell(story, 20)
    story.write("recap", words)
    tell(story, 20, 20)
    story.close_chapter("One")
    story.fold()
    (one,) = story.chapters()
    assert one.text.startswith(f"{words}\n\n")
    assert words in story.view().messages[0].text
    assert one.recap is not None
    assert one.recap.span == one.span


def test_words_for_one_of_the_newest_chapters_reach_the_backbone(place: str | Path) -> None:
    model = ScriptedModel(obedient)
    with BlockingMemory(place, settings=RULES, model=model) as memory:
        story = memory.story("tale")
        for chapter in range(2):
            tell(story, 12, 12 * chapter)
            story.close_chapter()
        story.fold()
        story.write("chapter:1", "Maya and Joaquin went to the mill with 11 parcels. There they met Zephyrine.")
        seen = len(model.requests)
        story.fold()
        assert [kind_of(request) for request in model.requests[seen:]] == ["backbone", "backbone"]
        assert "Zephyrine" in part(model.requests[seen], "recap")
        backbone = story.backbone()
        assert backbone is not None
        assert "Zephyrine" in backbone.text


def test_a_stale_text_that_is_locked_is_flagged(story: BlockingStory) -> None:
    tell(story, 50)
    story.fold()
    story.edit(2, said(2, "Zephyrine"))
    assert story.flagged() == []
    story.lock("recap")
    assert story.flagged() == ["recap"]


def test_a_tail_of_turns_is_no_longer_than_its_share_of_the_window(place: str | Path) -> None:
    with BlockingMemory(place, settings=Settings.of("game", window_tokens=1_000, chapter_messages=0)) as memory:
        story = memory.story("tale")
        for number in range(300):
            story.add("assistant", said(number), name="Maya")
        story.view()
        story.fold()
        view = story.view()
        assert not [out for out in view.left_out if out.span]
        assert not view.fold_due
