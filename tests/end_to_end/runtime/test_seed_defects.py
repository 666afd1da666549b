"""Defects of the systems that inspired this one, each shown not to happen here. Named after seed and defect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from previously import BlockingMemory, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.scripts import count_words
from previously.core.versions import Cost
from previously.demo.long_story import generate_story
from previously.folds.chapter import ChapterFold
from previously.folds.fold import Fold
from previously.folds.update import UpdateFold
from previously.runtime.answer_cache import AnswerSource
from previously.runtime.writer import BuiltinWriter, MemoryReply
from previously.view.memory import STALE
from tests.effort import ON_DISK
from tests.end_to_end.runtime.obedient import obedient
from tests.end_to_end.runtime.obedient import tell as tell_parcels
from tests.end_to_end.runtime.update_answers import messages, under

SMALL = Settings(
    scene_messages=0,
    cast="off",
    recall_percent=0,
    tail_messages=4,
    fold_messages=10,
    fold_words=400,
    fold_tokens=600,
    recap_words=60,
)


class Recorder(BuiltinWriter):
    """The built-in writer, remembering what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ChapterFold | UpdateFold] = []

    async def write(self, asked: Fold, *, source: AnswerSource | None = None, anew: bool = False) -> MemoryReply:
        if isinstance(asked, ChapterFold | UpdateFold):
            self.asked.append(asked)
        return await super().write(asked)


@pytest.fixture
def writer() -> Recorder:
    return Recorder()


@pytest.fixture(params=["in_memory", ON_DISK])
def story(request: pytest.FixtureRequest, tmp_path: Path, writer: Recorder) -> Iterator[BlockingStory]:
    place = ":memory:" if request.param == "in_memory" else tmp_path / "stories.db"
    with BlockingMemory(place, settings=SMALL, writer=writer) as memory:
        yield memory.story("tale")


def tell(story: BlockingStory, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        story.add("user", f"Maya carried parcel {number} to the mill and promised to be back.", name="Maya")


def recap_text(story: BlockingStory) -> str | None:
    live = story.recap()
    return live.text if live else None


def test_000_an_edit_that_keeps_the_message_count_is_noticed(story: BlockingStory, writer: Recorder) -> None:
    tell(story, 40)
    story.fold()
    old = story.messages(5, 5)[0].entry.message
    story.edit(5, "Maya burned the letter from Odalys in the stove.")
    assert story.branch_info().messages == 40
    live = story.recap()
    assert live is not None
    assert live.stale, "what was made from the old words is marked as such"
    assert STALE in story.view(300).messages[0].text
    writer.asked.clear()
    story.fold()
    told = [message for asked in writer.asked for message in asked.delta]
    assert story.messages(5, 5)[0].entry.message in told
    assert old not in told
    live = story.recap()
    assert live is not None
    assert not live.stale


def test_000_deleting_two_and_adding_two_is_noticed(story: BlockingStory) -> None:
    tell(story, 14)
    story.fold()
    assert story.recap() is not None
    for _ in range(6):
        story.delete(-1)
    tell(story, 6, start=100)
    assert story.branch_info().messages == 14
    assert story.recap() is None


def test_000_one_deletion_near_the_end_does_not_wipe_the_recap(story: BlockingStory) -> None:
    tell(story, 60)
    folds = story.fold().folds
    assert len(folds) >= 3
    reached = folds[-1].span.last
    story.delete(reached - 1)
    live = story.recap()
    assert live is not None
    assert live.span.last == folds[-2].span.last, "all links before the deletion stand"
    assert len(story.fold().folds) <= 1


def test_000_a_deletion_in_the_tail_leaves_the_recap_alone(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    before = recap_text(story)
    story.delete(-2)
    assert recap_text(story) == before


def test_000_a_regeneration_does_not_double_what_is_told(story: BlockingStory, writer: Recorder) -> None:
    tell(story, 30)
    for number in range(5):
        story.regenerate(f"Joaquin answered for the {number}th time.")
    tell(story, 20, start=30)
    story.fold()
    told = [message.text for asked in writer.asked for message in asked.delta]
    assert len(told) == len(set(told))
    assert sum("Joaquin answered" in text for text in told) == 1


def test_000_the_bridge_is_shown_and_not_folded_again(tmp_path: Path) -> None:
    model = ScriptedModel(obedient)
    with BlockingMemory(tmp_path / "stories.db", settings=SMALL, model=model) as memory:
        story = memory.story("tale")
        tell_parcels(story, 60)
        story.fold()
    first, *others = model.requests
    assert under(first, "Bridge") == ""
    assert len(others) >= 3
    for earlier, later in pairwise(model.requests):
        bridge = under(later, "Bridge")
        assert bridge == messages(earlier).rpartition("\n\n")[2].partition(" ")[2]
        assert bridge not in messages(later)


@pytest.mark.slow(reason="folds a story of 3,000 messages")
def test_004_the_folds_input_does_not_grow_with_history(tmp_path: Path) -> None:
    writer = Recorder()
    with BlockingMemory(tmp_path / "stories.db", writer=writer) as memory:
        story = memory.story("long")
        sizes: list[int] = []
        for number, line in enumerate(generate_story(3_000)):
            story.add(str(line["role"]), str(line["content"]), name=str(line["name"]))
            if number % 20 == 0:
                seen = len(writer.asked)
                story.fold()
                sizes += [asked.words_read for asked in writer.asked[seen:]]
    assert len(sizes) > 30
    early, late = sizes[5:15], sizes[-10:]
    assert max(late) <= 1.25 * max(early)


def test_004_the_tail_is_never_folded_in_a_short_story(story: BlockingStory) -> None:
    for count in range(1, 30):
        tell(story, 1, start=count)
        for fold in story.fold().folds:
            assert fold.span.last < count - SMALL.tail_messages
    shown = [message.text for message in story.view(8_192).messages]
    newest = [item.entry.message.text for item in story.messages()][-SMALL.tail_messages :]
    assert shown[-SMALL.tail_messages :] == newest


def test_004_a_story_shorter_than_its_tail_is_shown_whole(story: BlockingStory) -> None:
    tell(story, SMALL.tail_messages)
    assert story.fold().folds == ()
    assert len(story.view(8_192).messages) == SMALL.tail_messages


@pytest.mark.slow(reason="folds a long story")
def test_the_words_read_over_a_long_story_are_at_most_twice_its_own(tmp_path: Path) -> None:
    writer = Recorder()
    words = 0
    with BlockingMemory(tmp_path / "stories.db", writer=writer) as memory:
        story = memory.story("long")
        for number, line in enumerate(generate_story(2_000)):
            words += count_words(str(line["content"]))
            story.add(str(line["role"]), str(line["content"]), name=str(line["name"]))
            if number % 10 == 0:
                story.fold()
    assert sum(asked.words_read for asked in writer.asked) <= 2 * words


def test_an_answer_that_cannot_be_kept_is_refused_and_memory_goes_on(tmp_path: Path) -> None:
    class Silent(BuiltinWriter):
        made_by = "model"

        async def write(self, asked: Fold, *, source: AnswerSource | None = None, anew: bool = False) -> MemoryReply:
            return MemoryReply("", "", Cost(1, 10, 0), made_by="model")

    place = tmp_path / "stories.db"
    with BlockingMemory(place, settings=SMALL) as memory:
        story = memory.story("tale")
        tell(story, 20)
        story.fold()
        before = story.recap()
        assert before
    with BlockingMemory(place, settings=SMALL, writer=Silent()) as memory:
        story = memory.story("tale")
        tell(story, 40, start=20)
        report = story.fold()
        assert {fold.status for fold in report.folds} == {"provisional"}
        assert report.calls == len(report.folds)
        kept = [version for version in story.log() if version.made.status != "refused"]
        assert before.version in [version.id for version in kept], "what was there stays as it was"
        assert all(version.made.text for version in kept)
