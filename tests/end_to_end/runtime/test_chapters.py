"""Chapters and the backbone: when chapters close, what is kept of them, and how the view uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.errors import BadInput
from previously.core.model_io import ModelRequest
from previously.core.path import Span
from previously.core.versions import Kind
from previously.view.view import Reason, Section
from tests.effort import ON_DISK, cases
from tests.end_to_end.runtime.obedient import PEOPLE, kind_of, obedient, said, tell
from tests.end_to_end.runtime.update_answers import messages, recap_in, under

RULES = Settings(scene_messages=0, cast="off",
    tail_messages=4, fold_messages=10, fold_words=400, fold_tokens=900, recap_words=60, chapter_messages=30
)  # fmt: skip


class Recorded(ScriptedModel):
    """The obedient model, and what it was asked by kind."""

    def __init__(self) -> None:
        super().__init__(obedient)

    def of(self, kind: str) -> list[ModelRequest]:
        return [request for request in self.requests if kind_of(request) == kind]


@pytest.fixture
def model() -> Recorded:
    return Recorded()


@pytest.fixture(params=["in_memory", ON_DISK])
def story(request: pytest.FixtureRequest, tmp_path: Path, model: Recorded) -> Iterator[BlockingStory]:
    place = ":memory:" if request.param == "in_memory" else tmp_path / "stories.db"
    with BlockingMemory(place, settings=RULES, model=model) as memory:
        yield memory.story("tale")


def spans(story: BlockingStory) -> list[Span]:
    return [one.span for one in story.chapters()]


def test_without_a_scene_end_a_chapter_closes_by_size(story: BlockingStory) -> None:
    tell(story, 130)
    report = story.fold()
    assert spans(story) == [Span(0, 59), Span(60, 119)]
    assert [end.reason for end in report.closed] == ["60 messages", "60 messages"]
    assert story.fold().folds == ()


@pytest.mark.parametrize("text", ["***\nThe mill was quiet.", "# The fair", "Scene 2: the mill"])
def test_a_chapter_closes_at_the_first_scene_end_once_it_is_long_enough(story: BlockingStory, text: str) -> None:
    tell(story, 20)
    story.add("assistant", text)
    tell(story, 21, 21)
    story.add("assistant", text)
    tell(story, 20, 43)
    story.fold()
    assert spans(story) == [Span(0, 41)], "the scene that begins with message 20 came too early"


def test_messages_name_their_chapters(story: BlockingStory) -> None:
    names = {0: "The Assessor", 12: "Slate", 26: "Three Lights"}
    for number in range(40):
        extra = {"chapter": names[number]} if number in names else None
        story.add("assistant", said(number), name=PEOPLE[number % 3], extra=extra)
    story.fold()
    assert [(one.title, one.span) for one in story.chapters()] == [
        ("The Assessor", Span(0, 11)),
        ("Slate", Span(12, 25)),
    ]
    assert story.chapters()[0].name == "Chapter 1, The Assessor"


def test_a_chapter_closed_by_command_keeps_its_title_and_the_tail_is_still_shown(story: BlockingStory) -> None:
    tell(story, 25)
    closed = story.close_chapter("The Assessor")
    assert (closed.number, closed.title, closed.span, closed.recap) == (1, "The Assessor", Span(0, 24), None)
    waiting = story.view()
    assert [(out.span, out.reason) for out in waiting.left_out] == []
    story.fold()
    (one,) = story.chapters()
    assert "24 by then" in one.text
    assert story.view().messages == waiting.messages, "as long as there is room, nothing that was read moves"
    view = story.view(250)
    assert [item.sources[0].first for item in view.items if item.section is Section.TAIL][-4:] == [21, 22, 23, 24]
    assert "Chapter 1, The Assessor: " in view.messages[0].text
    story.close_chapter("Renamed", 24)
    assert [one.title for one in story.chapters()] == ["Renamed"]
    with pytest.raises(BadInput):
        story.close_chapter("", 99)


def test_004_a_chapters_recap_is_about_the_whole_chapter(story: BlockingStory, model: Recorded) -> None:
    tell(story, 8)
    story.edit(1, said(1, "Zephyrine"))
    tell(story, 47, 8)
    story.close_chapter()
    story.fold()
    assert not [*model.of("chapter"), *model.of("short")], "closing takes no call of its own"
    last = model.of("recap")[-1]
    assert "Zephyrine" in recap_in(last), "what is known of its beginning"
    assert said(54) in messages(last), "how it ends"
    (one,) = story.chapters()
    assert (one.span, one.text) == (Span(0, 54), _newest(story, Kind.RECAP)), "the recap of the whole of it, kept whole"
    assert "Zephyrine" in one.text and "54 by then" in one.text


def _newest(story: BlockingStory, kind: Kind) -> str:
    return [one.made.text for one in story.log() if one.made.kind is kind][-1]


def test_000_004_recaps_of_closed_chapters_stay_as_they_are(story: BlockingStory) -> None:
    tell(story, 100)
    story.fold()
    first = story.chapters()[0]
    tell(story, 200, 100)
    story.fold()
    story.edit(150, said(150, "Zephyrine"))
    story.delete(200)
    story.fold()
    assert len(story.chapters()) > 3
    assert story.chapters()[0] == first
    chapter_versions = [version.made.span for version in story.log() if version.made.kind is Kind.CHAPTER]
    assert chapter_versions.count(first.span) == 1


def test_000_the_backbone_follows_deletions(story: BlockingStory) -> None:
    tell(story, 20)
    story.edit(3, said(3, "Zephyrine"))
    tell(story, 200, 20)
    story.fold()
    backbone = story.backbone()
    assert backbone is not None
    assert "Zephyrine" in backbone.text
    for _ in range(5):
        story.delete(0)
    story.fold()
    after = story.backbone()
    assert after is not None
    assert not after.stale
    assert "Zephyrine" not in after.text
    assert all("Zephyrine" not in one.text for one in story.chapters())


def test_deleting_a_whole_chapter_leaves_no_trace_of_it(story: BlockingStory) -> None:
    tell(story, 20)
    story.edit(3, said(3, "Zephyrine"))
    story.close_chapter("Gone")
    tell(story, 30, 20)
    story.close_chapter("Kept")
    tell(story, 10, 50)
    story.fold()
    for _ in range(20):
        story.delete(0)
    story.fold()
    assert [one.title for one in story.chapters()] == ["Kept"]
    assert "Zephyrine" not in story.view().messages[0].text


def test_the_recap_restarts_behind_a_chapter(story: BlockingStory, model: Recorded) -> None:
    tell(story, 20)
    story.close_chapter()
    tell(story, 25, 20)
    story.fold()
    recap = story.recap()
    assert recap is not None
    assert recap.span.first == 20
    (first_of_second,) = [asked for asked in model.of("recap") if said(20) in messages(asked)]
    assert recap_in(first_of_second) == ""
    chapter = story.chapters()[0].text
    assert under(first_of_second, "The story before") == chapter, "it is told what came before, and nothing twice"


@pytest.mark.random
def test_many_chapters_stand_in_the_view_as_the_backbone_and_the_newest(story: BlockingStory) -> None:
    tell(story, cases(700, quick=300))
    story.fold()
    view = story.view(700)
    told = [item for item in view.items if item.section in (Section.BACKBONE, Section.CHAPTERS, Section.RECAP)]
    assert {item.section for item in told} == {Section.BACKBONE, Section.CHAPTERS, Section.RECAP}
    at = 0
    for item in told:
        assert item.sources[0].first == at, "each goes on where the one before ends"
        at = item.sources[0].last + 1
    assert not view.left_out
    small = story.view(350)
    assert small.tokens <= 350
    assert all(out.reason in (Reason.BUDGET, Reason.WAITING) for out in small.left_out)


def test_the_built_in_writer_does_all_of_it_too(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=RULES) as memory:
        story = memory.story("tale")
        tell(story, 8)
        story.edit(1, "Maya promised Zephyrine to bring the brass key back by Friday.")
        tell(story, 200, 8)
        kinds = {fold.kind for fold in story.fold().folds}
        assert kinds == {Kind.RECAP, Kind.CHAPTER, Kind.BACKBONE}
        assert "brass key" in story.chapters()[0].text, "an open promise is never lost"
        backbone = story.backbone()
        assert backbone is not None
        assert backbone.span.last == story.chapters()[-1].span.last


def test_a_plan_says_what_a_fold_then_does(story: BlockingStory, model: Recorded) -> None:
    story.set(["recap_words=30"])
    tell(story, 200)
    story.view(700)  # it has no room for what waits, until that is folded
    planned = story.plan()
    assert not model.requests
    assert story.chapters() == []
    done = story.fold()
    assert [(one.kind, one.span) for one in planned.folds] == [(one.kind, one.span) for one in done.folds]
    assert [end.position for end in planned.closed] == [end.position for end in done.closed]
    assert planned.calls == done.calls


def test_branches_share_what_they_have_in_common(story: BlockingStory) -> None:
    tell(story, 100)
    story.fold()
    chapters = story.chapters()
    story.branch("other", chapters[0].span.last + 5)
    story.switch("other")
    assert story.chapters() == chapters[:1]
    tell(story, 100, 300)
    story.fold()
    story.switch("main")
    assert story.chapters() == chapters
    assert story.fold().folds == ()
