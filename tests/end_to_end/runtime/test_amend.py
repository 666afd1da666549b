"""Changes to the past: what is stale, what it costs to set it right, and that removed words are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from previously import BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.blocking import BlockingStory
from previously.core.model_io import FailureKind, ModelFailure, ModelRequest
from previously.core.versions import Kind, Status
from previously.testing.model import Scripted
from previously.view.memory import STALE
from tests.effort import ON_DISK, cases
from tests.end_to_end.runtime.obedient import PEOPLE, kind_of, obedient, said, stubborn, tell

RULES = Settings(scene_messages=0, cast="off",
    tail_messages=4, fold_messages=10, fold_words=400, fold_tokens=900, recap_words=60, chapter_messages=0
)  # fmt: skip
CHAPTERED = Settings(scene_messages=0, cast="off",
    tail_messages=4, fold_messages=10, fold_words=400, fold_tokens=900, recap_words=60, chapter_messages=30
)  # fmt: skip

TIMELINE = Settings(scene_messages=0, cast="off")


class Listening:
    """A model whose manners can change while it is used, and what it was asked since it was last looked at."""

    def __init__(self) -> None:
        self.answer: Callable[[ModelRequest], Scripted] = obedient
        self.model = ScriptedModel(self._reply)
        self._seen = 0

    def _reply(self, request: ModelRequest) -> Scripted:
        return self.answer(request)

    def asked(self) -> Counter[str]:
        new = self.model.requests[self._seen :]
        self._seen = len(self.model.requests)
        return Counter(kind_of(request) for request in new)


@pytest.fixture
def listening() -> Listening:
    return Listening()


@pytest.fixture(params=["in_memory", ON_DISK])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return ":memory:" if request.param == "in_memory" else tmp_path / "stories.db"


@pytest.fixture
def story(place: str | Path, listening: Listening) -> Iterator[BlockingStory]:
    with BlockingMemory(place, settings=RULES, model=listening.model) as memory:
        yield memory.story("tale")


def remembered(story: BlockingStory) -> str:
    texts = [story.recap(), story.backbone(), *(one.recap for one in story.chapters())]
    return "\n".join(text.text for text in texts if text)


def test_a_text_with_changes_under_it_is_shown_marked_and_set_right_in_two_calls(
    story: BlockingStory, listening: Listening
) -> None:
    tell(story, 10)
    story.edit(2, said(2, "Zephyrine"))
    tell(story, 40, 10)
    story.fold()
    assert "Zephyrine" in remembered(story)
    listening.asked()
    story.edit(2, said(2, "Perpetua"))
    stale = story.recap()
    assert stale is not None
    assert stale.stale
    assert stale.span.first == 0
    assert STALE in story.view().messages[0].text
    fold, span = story.fold().folds
    assert (fold.kind, fold.reason, fold.status) == (Kind.RECAP, "an earlier message was changed", "committed")
    assert (span.kind, span.reason, span.status) == (Kind.EPISODE, "a message of it was changed", "committed")
    assert listening.asked() == {"amend": 1, "span": 1}
    live = story.recap()
    assert live is not None
    assert not live.stale
    assert live.span == stale.span
    assert "Perpetua" in live.text
    assert "Zephyrine" not in live.text
    assert story.fold().folds == ()
    tell(story, 12, 50)
    assert [done.reason for done in story.fold().folds] != ["an earlier message was changed"]
    assert "Perpetua" in remembered(story)


def test_a_gap_of_one_fold_is_folded_again(story: BlockingStory, listening: Listening) -> None:
    tell(story, 40)
    story.fold()
    live = story.recap()
    assert live is not None
    listening.asked()
    story.edit(live.span.last - 1, said(1, "Zephyrine"))
    before = story.recap()
    assert before is not None
    assert not before.stale
    assert before.span.last < live.span.last
    story.fold()
    assert listening.asked() == {"recap": 1}
    assert "Zephyrine" in remembered(story)


def test_a_model_that_keeps_removed_words_is_refused_and_the_chain_folded_again(
    story: BlockingStory, listening: Listening
) -> None:
    tell(story, 10)
    story.edit(2, said(2, "Zephyrine"))
    tell(story, 40, 10)
    story.fold()
    story.edit(2, said(2, "Perpetua"))
    listening.asked()
    listening.answer = stubborn
    report = story.fold()
    refused = [version for version in story.log() if version.made.status is Status.REFUSED]
    assert "Zephyrine" in refused[-1].made.reason
    assert report.folds[0].status == "refused"
    assert {fold.status for fold in report.folds[1:]} == {"committed"}
    asked = listening.asked()
    assert asked["amend"] <= 3
    assert asked["recap"] == len(report.folds) - 1
    live = story.recap()
    assert live is not None
    assert not live.stale
    assert "Perpetua" in live.text
    assert "Zephyrine" not in live.text


def test_a_model_that_is_down_leaves_the_built_in_writer_to_fold_again(
    story: BlockingStory, listening: Listening
) -> None:
    tell(story, 40)
    story.fold()
    story.edit(2, said(2, "Perpetua"))
    listening.answer = lambda _: ModelFailure(FailureKind.BAD_REQUEST, "No.")
    report = story.fold()
    assert [fold.status for fold in report.folds[:2]] == ["refused", "provisional"]
    live = story.recap()
    assert live is not None
    assert not live.stale
    assert live.made_by == "builtin"


def test_too_many_changed_words_are_folded_again(story: BlockingStory, listening: Listening) -> None:
    tell(story, 40)
    story.fold()
    listening.asked()
    story.edit(2, f"{said(2)} " + "The rain fell on the mill and on the road to the mill. " * 300)
    story.fold()
    assert listening.asked()["amend"] == 0


@pytest.mark.parametrize("where", [0, 7])
def test_insertions_and_deletions_are_amended_too(story: BlockingStory, listening: Listening, where: int) -> None:
    tell(story, 40)
    story.fold()
    listening.asked()
    story.insert(where, "user", said(0, "Zephyrine"), name="Maya")
    story.fold()
    assert "Zephyrine" in remembered(story)
    story.delete(where)
    story.fold()
    assert "Zephyrine" not in remembered(story), "the text from before is exact again"
    assert listening.asked() == {"amend": 1, "span": 1}


def test_an_edit_in_a_closed_chapter_leaves_the_other_chapters_alone(place: str | Path, listening: Listening) -> None:
    with BlockingMemory(place, settings=CHAPTERED, model=listening.model) as memory:
        story = memory.story("tale")
        tell(story, 200)
        story.fold()
        before = story.chapters()
        assert len(before) >= 3
        assert all(one.recap for one in before)
        listening.asked()
        story.edit(before[1].span.first + 3, said(1, "Zephyrine"))
        stale = story.chapters()[1].recap
        assert stale is not None
        assert stale.stale
        story.fold()
        after = story.chapters()
        assert [one for one in after if one.number != 2] == [one for one in before if one.number != 2]
        assert "Zephyrine" in after[1].text
        backbone = story.backbone()
        assert backbone is not None
        assert "Zephyrine" in backbone.text
        assert listening.asked() == {"amend": 2, "span": 1}, "the chapter, the backbone, and the span's own notes"


@pytest.mark.random
def test_an_edit_of_message_0_of_10000_costs_one_call_per_rolling_text_and_one_span(
    tmp_path: Path, listening: Listening
) -> None:
    lines = [
        Draft(message("assistant", said(number, "Zephyrine" if number == 0 else ""), speaker=PEOPLE[number % 3]))
        for number in range(cases(10_000, quick=500))
    ]
    with BlockingMemory(tmp_path / "s.db", settings=TIMELINE, model=listening.model) as memory:
        story = memory.story("tale")
        story.follow(lines)
        story.fold()
        chapters = story.chapters()
        assert len(chapters) > len(lines) // 400
        assert "Zephyrine" in chapters[0].text
        listening.asked()
        story.edit(0, said(0, "Perpetua"))
        story.fold()
        assert listening.asked() == {"amend": 2, "span": 1}
        assert story.chapters()[1:] == chapters[1:]
        assert "Zephyrine" not in remembered(story)
        assert "Perpetua" in story.chapters()[0].text
        assert story.fold().folds == ()
