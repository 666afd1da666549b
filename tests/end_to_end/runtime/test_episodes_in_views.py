"""Episodes in views: beside the recap, in place of a chapter that has no text yet, and at what cost they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from previously import BlockingMemory, Draft, ScriptedModel, Settings, message
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.core.path import OnPath, Span
from previously.storage.tables.paths import PathReader
from previously.view import epoch
from previously.view.memory import HEADINGS
from previously.view.view import Reason, Section, View
from tests.effort import cases
from tests.end_to_end.runtime.echoing import kind_of
from tests.end_to_end.runtime.update_answers import answer, is_update, messages

RULES = Settings(cast="off", tail_messages=4, fold_messages=6, recap_words=60, chapter_messages=0, tokenizer="estimate")


def reply(request: ModelRequest) -> str:
    """A recap, and an episode that names the first parcel of its messages."""
    if not is_update(request):
        return f"Maya and Joaquin carried parcels to the mill. The {kind_of(request)} ended there."
    first = re.search(r"Parcel (\d+) ", messages(request))
    assert first
    episode = f"Maya and Joaquin carried parcel {first[1]} to the mill, and others after it."
    recap = f"Maya and Joaquin carried parcels to the mill, and at last those from {first[1]} on."
    return answer(request, recap, episode=episode)


@pytest.fixture
def story() -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(reply)) as memory:
        yield memory.story("tale")


def tell(story: BlockingStory, count: int, start: int = 0) -> None:
    names = ("Maya", "Joaquin")
    told = [f"Parcel {at} goes to the mill. " + "It is a heavy one. " * 8 for at in range(start, start + count)]
    drafts = [
        Draft(message("user" if at % 2 else "assistant", text, speaker=names[at % 2])) for at, text in enumerate(told)
    ]
    story.add_drafts(drafts)


def shown(view: View) -> list[int]:
    """Return the first parcels of the episodes in a view."""
    block = view.messages[0].text.partition(HEADINGS[Section.EPISODES])[2].partition("\n# ")[0]
    return [int(number) for number in re.findall(r"carried parcel (\d+) ", block)]


def test_older_episodes_stand_before_the_recap_the_oldest_first(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    view = story.view(1_000)
    text = view.messages[0].text
    assert text.index(HEADINGS[Section.EPISODES]) < text.index(HEADINGS[Section.RECAP])
    firsts = [one.span.first for one in story.episodes()]
    told = shown(view)
    assert told and told == sorted(told) and set(told) <= set(firsts)
    items = [item for item in view.items if item.section is Section.EPISODES]
    assert len(items) == len(told) and not any(item.sources for item in items), "the recap stands for the messages"
    assert all("episode, version" in item.reason and "of messages" in item.reason for item in items)
    assert shown(story.view(1_000, exclude=["episodes"])) == []


def test_episodes_are_chosen_when_an_epoch_begins(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    before = story.view(2_000)
    told = shown(before)
    tell(story, 1, 40)
    after = story.view(2_000)
    assert after.epoch in ("", epoch.NO_ROOM)
    if not after.epoch:
        assert shown(after) == told and after.messages[0] == before.messages[0]


def test_a_closed_chapter_without_its_text_is_told_by_its_episodes(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    recap, episodes = story.recap(), story.episodes()
    assert recap
    story.close_chapter(at=episodes[-1].span.last)
    view = story.view(2_000)
    assert not [one for one in view.left_out if one.reason is Reason.WAITING and one.span]
    told = sorted(span for item in view.items if item.section is Section.EPISODES for span in item.sources)
    assert told == [one.span for one in episodes]
    assert story.view(2_000, exclude=["episodes"]).left_out
    story.fold()
    view = story.view(2_010)
    chapter = [span for item in view.items if item.section is Section.CHAPTERS for span in item.sources]
    assert chapter == [Span(0, episodes[-1].span.last)]
    assert not [span for item in view.items if item.section is Section.EPISODES for span in item.sources]


def test_a_character_who_missed_something_is_shown_no_episode(story: BlockingStory) -> None:
    tell(story, 40)
    story.add_drafts([Draft(message("user", "A secret.", speaker="Maya", witnesses=["Maya"]))])
    story.fold()
    assert shown(story.view(2_000)) and not shown(story.view(2_000, reader="character:Joaquin"))


@pytest.mark.random
@pytest.mark.slow(reason="folds two stories that are longer than what a view reads")
def test_a_view_reads_no_more_of_a_longer_story(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    span = PathReader.span

    def counted(self: PathReader, *asked: Any) -> list[OnPath]:
        found = span(self, *asked)
        rows.append(len(found))
        return found

    monkeypatch.setattr(PathReader, "span", counted)
    read = {}
    short, long = 600, cases(1_500, quick=900)  # a view reads no more than the newest 700 or so
    for length in (short, long):
        with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(reply)) as memory:
            story = memory.story("tale")
            tell(story, length)
            story.fold()
            rows.clear()
            assert len(shown(story.view(4_000))) > 1
            read[length] = sum(rows)
    assert 0 < read[long] <= read[short] * 1.1
