"""What people did, and what becomes of it: rewriting after a rewrite, undo across branches, restoring, reviewing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously import BlockingMemory
from previously.blocking import BlockingStory
from previously.core.errors import BadInput
from tests.end_to_end.runtime.test_people import (
    RULES,
    WHATS,
    Script,
    later,
    marks,
    now,
    place,
    script,
    story,
    tell,
    told,
)

__all__ = ["place", "script", "story", "told"]


def texts(story: BlockingStory) -> list[str]:
    return [mark.text for mark in marks(story, story.branch_info().name)]


def test_a_chapter_by_hand_stays_when_the_chapter_after_it_is_emptied(told: BlockingStory) -> None:
    told.close_chapter("Two", 19)
    told.write("chapter:1", "By hand.")
    for _ in range(10):
        told.delete(10)
    told.edit(3, "Joaquin burned it.")
    told.fold()
    assert now(told, "chapter:1") == "By hand.", "all its messages are there"


@pytest.mark.parametrize("what", WHATS)
def test_what_is_written_on_one_branch_is_not_read_on_another(told: BlockingStory, what: str) -> None:
    folded = now(told, what)
    told.branch("other")
    told.write(what, "By hand.")
    told.switch("other")
    assert now(told, what) == folded


def test_undo_of_a_rewrite_that_reaches_further_brings_the_first_one_back(story: BlockingStory) -> None:
    tell(story, 12)
    story.write("recap", "First.")
    tell(story, 20, 12)
    story.fold()
    before = now(story, "recap")
    assert before.startswith("First.\n\n")
    story.write("recap", "Second.")
    later(story).undo()
    assert now(story, "recap") == before
    assert texts(story) == ["First."], "and no fold touches it"


def test_unlock_takes_back_every_earlier_text_of_the_same(story: BlockingStory) -> None:
    tell(story, 12)
    story.write("recap", "First.")
    tell(story, 20, 12)
    story.fold()
    story.write("recap", "Second.")
    story.unlock("recap")
    assert "First." not in now(story, "recap")


def test_undo_never_brings_back_what_was_undone_before(story: BlockingStory) -> None:
    tell(story, 12)
    for text in ("First.", "Second."):
        story.write("recap", text)
    story.undo()
    story.write("recap", "Third.")
    story.undo()
    assert now(story, "recap") == "First."


def test_undo_on_one_branch_leaves_what_was_written_on_another(story: BlockingStory) -> None:
    tell(story, 12)
    story.write("recap", "First.")
    story.branch("other")
    story.switch("other")
    story.write("recap", "Second.")
    story.switch("main")
    for _ in range(3):  # the switch, the second text, the switch before it
        story.undo()
    with pytest.raises(BadInput, match="Making the branch other"):
        story.undo()
    story.undo()
    assert story.recap() is None, "the first thing done here was the first text"
    story.switch("other")
    story.restore(2)
    assert now(story, "recap") == "Second."


def test_undo_on_the_branch_a_text_was_copied_to_can_still_be_done_where_it_came_from(story: BlockingStory) -> None:
    tell(story, 12)
    story.write("recap", "First.")
    story.branch("other")
    story.switch("other")
    story.unlock("recap")
    story.switch("main")
    assert now(story, "recap") == "First."
    assert story.undo() == "the switch; other is active again"
    assert story.undo() == "the unlocking"
    assert story.undo() == "the switch; main is active again"
    with pytest.raises(BadInput, match="Making the branch other"):
        story.undo()
    story.undo()
    assert story.recap() is None


def test_undo_takes_the_newest_even_within_a_millisecond(story: BlockingStory, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("story.memory_edits", "story.access", "runtime.note_deed"):
        monkeypatch.setattr(f"previously.{module}.time_at", lambda: "2026-01-01T00:00:00.000+00:00")
    tell(story, 12)
    story.write("recap", "First.")
    story.pin("Second.")
    assert story.undo().startswith("the pin")


def test_undo_takes_the_newest_pin_of_a_new_branch_too(story: BlockingStory) -> None:
    tell(story, 12)
    story.pin("Older.", at=8)
    later(story).pin("Newer.", at=3)
    story.branch("other")
    story.switch("other")
    story.pin("Newest.", at=2)
    story.undo()
    assert [pin.text for pin in story.pins()] == ["Newer.", "Older."]


def test_a_chapter_whose_every_message_names_it_stays_open_once_it_was_opened_again(story: BlockingStory) -> None:
    for number in range(30):
        name = "One" if number < 10 else "Two"
        story.add("user", f"Maya carried parcel {number} to the mill.", name="Maya", extra={"chapter": name})
    assert [one.position for one in story.fold().closed] == [9]
    story.open_chapter(1)
    assert story.fold().closed == ()


def test_a_restored_fold_takes_the_place_of_a_text_by_hand(story: BlockingStory) -> None:
    tell(story, 12)
    story.fold()
    folded = now(story, "recap")
    story.write("recap", "By hand.")
    story.restore(1)
    assert now(story, "recap") == folded


def test_a_text_by_hand_can_be_restored(story: BlockingStory) -> None:
    tell(story, 12)
    for text in ("First.", "Second."):
        story.write("recap", text)
    story.restore(1)
    assert now(story, "recap") == "First."


def test_what_was_undone_after_another_fold_can_be_restored(story: BlockingStory) -> None:
    tell(story, 18)
    assert len(story.fold().folds) == 2
    newest = now(story, "recap")
    story.take_back()
    story.take_back()
    story.restore(1)
    story.restore(2)
    assert now(story, "recap") == newest


def test_an_answer_without_words_cannot_be_restored(place: str, script: Script) -> None:
    script.answer = lambda request: "" if len(script.model.requests) == 1 else script.tells(request)
    with BlockingMemory(place, settings=RULES, model=script.model) as memory:
        story = memory.story("tale")
        tell(story, 12)
        story.fold()
        assert (story.log()[0].made.status, story.log()[0].made.text) == ("refused", "")
        with pytest.raises(BadInput):
            story.restore(1)


def test_a_title_is_given_to_the_chapter_that_is_meant(told: BlockingStory) -> None:
    told.close_chapter("Two", 19)
    told.close_chapter("The First", 9)
    assert [one.title for one in told.chapters()] == ["The First", "Two"]


def test_closing_a_chapter_again_without_a_title_keeps_the_one_it_has(told: BlockingStory) -> None:
    with pytest.raises(BadInput, match="already"):
        told.close_chapter(at=9)
    assert [one.title for one in told.chapters()] == ["One"]


def test_a_locked_backbone_speaks_for_no_chapter_that_it_has_not_taken_in(told: BlockingStory) -> None:
    locked = now(told, "backbone")
    told.close_chapter("Two", 19)
    told.lock("backbone")
    told.fold()
    assert len(now(told, "backbone")) > len(locked), "the second chapter is taken in behind it"


@pytest.mark.parametrize("act", ["edit", "branch"])
def test_what_waits_for_messages_that_are_not_here_holds_up_nothing(place: str, act: str) -> None:
    with BlockingMemory(place, settings=replace(RULES, review=True)) as memory:
        story = memory.story("tale")
        tell(story, 12)
        story.fold()
        if act == "edit":
            story.edit(0, "Joaquin burned it.")
        else:
            story.branch("other", at=2)
            story.switch("other")
            tell(story, 12, 12)
        assert [fold.status for fold in story.fold().folds] == ["pending"]


def test_a_text_by_hand_says_when_a_message_under_it_has_changed(story: BlockingStory) -> None:
    tell(story, 12)
    story.write("recap", "By hand.")
    story.edit(2, "Joaquin burned it.")
    assert story.flagged() == ["recap"]
    assert now(story, "recap") == "By hand."
    story.write("recap", "By hand, again.")
    assert story.flagged() == []


def test_the_number_of_a_chapter_is_the_same_in_every_place(story: BlockingStory) -> None:
    tell(story, 80)
    for number in range(16):
        story.close_chapter(f"T{number}", number * 4 + 3)
    for _ in range(4):
        story.delete(0)
    story.fold()
    assert f"{story.chapters()[-1].name}: " in story.view(20_000).messages[0].text


def test_a_chapter_number_beyond_all_bounds_is_bad_input(story: BlockingStory) -> None:
    with pytest.raises(BadInput):
        story.write(f"chapter:{'9' * 5000}", "x")
