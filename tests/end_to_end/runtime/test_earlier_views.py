"""The view before a message, and views without some of the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from previously import BlockingMemory, Settings
from previously.blocking import BlockingStory
from previously.core.errors import BadInput
from previously.view.view import Reason, Section, View

SMALL = Settings(
    fold_messages=6,
    recall_percent=0,
    tail_messages=4,
    chapter_messages=0,
    fold_words=10_000,
    recap_words=60,
    backbone_words=60,
)


def told(memory: BlockingMemory, messages: int = 60) -> BlockingStory:
    """A story with two closed chapters, told message by message, a view before each kept."""
    story = memory.story("tale")
    for number in range(messages):
        story.add("user", f"Ines counts lamp {number} and owes Bram {number} crowns.", name="Ines")
        story.fold()
        if number in (19, 39):
            story.close_chapter(f"Part {number}")
            story.fold()
    return story


def positions(view: View) -> set[int]:
    shown = {at for item in view.items for span in item.sources for at in range(span.first, span.last + 1)}
    return shown | {at for one in view.left_out if one.span for at in range(one.span.first, one.span.last + 1)}


@pytest.mark.parametrize("place", [":memory:", "file"])
def test_nothing_later_is_seen_and_all_before_is_accounted_for(place: str, tmp_path: Path) -> None:
    with BlockingMemory(place if place == ":memory:" else tmp_path / "s.db", settings=SMALL) as memory:
        story = told(memory)
        for before in (0, 1, 5, 17, 20, 21, 38, 40, 41, 59):
            view = story.view(2_000, before=before)
            assert positions(view) == set(range(before)), before
            text = " ".join(message.text for message in view.messages)
            assert not any(f"lamp {later} " in text for later in range(before, 60)), before
            if before:
                assert f"lamp {before - 1} " in text
        assert story.view(2_000, before=60).messages == story.view(2_000).messages
        assert story.view(2_000, before=-1).messages == story.view(2_000, before=59).messages


def test_a_view_that_was_given_is_given_again(tmp_path: Path) -> None:
    """As long as nothing was folded since, the view before a message is the one that was shown then."""
    with BlockingMemory(tmp_path / "s.db", settings=SMALL) as memory:
        story = memory.story("tale")
        views = []
        for number in range(40):
            views.append(story.view(2_000).messages)
            story.add("user", f"Ines counts lamp {number} and owes Bram {number} crowns.", name="Ines")
        assert [story.view(2_000, before=at).messages for at in range(40)] == views


def test_chapters_closed_later_are_open_before(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=SMALL) as memory:
        story = told(memory)
        sections = {item.section for item in story.view(2_000, before=15).items}
        assert Section.CHAPTERS not in sections and Section.BACKBONE not in sections
        assert Section.CHAPTERS in {item.section for item in story.view(2_000, before=30).items}


def test_looking_back_changes_no_budget(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=SMALL) as memory:
        story = told(memory, 12)
        story.view(2_000)
        story.view(900, before=5)
        assert story.info().budget_tokens == 2_000


@pytest.mark.parametrize("before", [61, -61, 10**9])
def test_positions_that_are_not_there_are_bad_input(before: int, tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=SMALL) as memory:
        story = memory.story("tale")
        for number in range(60):
            story.add("user", str(number))
        with pytest.raises(BadInput):
            story.view(2_000, before=before)


def test_what_only_an_excluded_section_tells_of_is_listed(tmp_path: Path) -> None:
    with BlockingMemory(tmp_path / "s.db", settings=SMALL) as memory:
        story = told(memory)
        story.pin("Bram is left-handed.")
        whole = story.view(2_000)
        assert {Section.PINS, Section.CHAPTERS, Section.RECAP} <= {item.section for item in whole.items}
        for name in ("pins", "backbone", "chapters", "recap"):
            view = story.view(2_000, exclude=[name])
            assert name not in {item.section.value for item in view.items}
            assert positions(view) == positions(whole) == set(range(60))
            assert view.fold_due == whole.fold_due
        without = story.view(500, exclude=["recap", "chapters", "backbone", "pins", "threads"])
        assert {item.section for item in without.items} == {Section.TAIL}
        assert any(one.reason is Reason.EXCLUDED for one in without.left_out)
        with pytest.raises(BadInput, match="weather"):
            story.view(2_000, exclude=["weather"])
        with pytest.raises(BadInput, match="tail"):
            story.view(2_000, exclude=["tail"])
