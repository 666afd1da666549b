"""A database of version 0.1.0: it opens, its texts stay in force, and all of it can be made anew.

`data/stories-0.1.0.db.gz` was written by that version: a story of 90 messages that a scripted model folded (a chapter
closed, its recap rewritten by hand, a pin) and one of 60 that the built-in writer did.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from previously import BlockingMemory, Settings
from previously.core.versions import Kind
from tests.end_to_end.runtime.faithful import PEOPLE, Asked, said

OLD = Path(__file__).parent / "data" / "stories-0.1.0.db.gz"
RULES = Settings(
    tail_messages=6, fold_messages=10, fold_words=120, fold_tokens=900, recap_words=60, chapter_messages=30
)
RECAP = "Maya, Joaquin and Odalys carried parcels to the mill, 79 by then."
BY_HAND = "Maya, Joaquin and Odalys sold the mill with 59 parcels in it."


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def memory(tmp_path: Path, asked: Asked) -> Iterator[BlockingMemory]:
    path = tmp_path / "stories.db"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    with BlockingMemory(path, settings=RULES, writer=asked.writer) as opened:
        yield opened


def test_old_texts_stay_in_force_and_nothing_is_paid_again(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    recap = story.recap()
    assert recap is not None and recap.text.startswith(RECAP) and not recap.stale
    assert story.chapters()[0].text == BY_HAND
    assert [one.text for one in story.pins()] == ["Odalys is left-handed."]
    assert story.fold().calls == 0, "what was folded then is not folded again"
    after = story.recap()
    assert after is not None and after.text == recap.text
    assert not asked.since()
    assert not memory.verify().faults


def test_old_chapters_have_no_short_form_until_they_are_made_anew(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    story.unlock("chapter:1")
    before = story.chapters()[0]
    assert before.text and before.text != BY_HAND and before.short == ""
    story.fold()
    assert story.chapters()[0].short == "", "no short form is asked for by itself"
    story.rebuild()
    after = story.chapters()[0]
    assert after.short and after.title
    assert story.fold().calls == 0


def test_the_lists_still_tell_what_old_notes_said(memory: BlockingMemory) -> None:
    story = memory.story("by a model")
    assert {"Maya", "Joaquin", "Odalys", "Zephyrine"} <= {one.name for one in story.lore()}
    assert any("fetch parcel" in one.thread.text for one in story.threads())


def test_what_is_new_is_folded_in_the_new_way(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    for number in range(90, 112):
        story.add("user" if number % 2 else "assistant", said(number), name=PEOPLE[number % 3])
    report = story.fold()
    assert set(asked.since()) == {"update"}
    assert all(one.beside == ("episode", "note") for one in report.folds if one.kind is Kind.RECAP)
    versions = story.log()
    first = min(one.made.span.first for one in versions if one.made.kind is Kind.EPISODE)
    assert first >= 80, "what was told before needs no episode"


def test_all_of_it_can_be_made_anew_and_hands_stay(memory: BlockingMemory, asked: Asked) -> None:
    story = memory.story("by a model")
    report = story.rebuild()
    assert report.calls > 0
    since = asked.since()
    assert since["update"] > 0 and not since["scene"]
    covered = sorted((one.made.span.first, one.made.span.last) for one in story.log() if one.made.kind is Kind.EPISODE)
    assert covered[-1][1] >= 75, "the open chapter has its episodes now"
    assert story.chapters()[0].text == BY_HAND
    assert [one.text for one in story.pins()] == ["Odalys is left-handed."]
    assert story.fold().calls == 0


def test_a_story_of_the_built_in_writer_goes_on(memory: BlockingMemory) -> None:
    story = memory.story("without a model")
    story.set(["fold_messages=60", "fold_words=3000", "tail_messages=12"])
    recap = story.recap()
    assert recap is not None and recap.text
    assert story.fold().calls == 0
    assert story.recap() == recap
