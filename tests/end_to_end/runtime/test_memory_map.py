"""The memory map: each message is told by a band or untold; what is stale, provisional, pending or by hand shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from previously import BandStatus, BlockingMemory, ScriptedModel
from previously.blocking import BlockingStory
from previously.core.path import Span
from previously.memory.in_force import MemoryText
from previously.memory.memory_map import MemoryMap, find_untold
from tests.end_to_end.runtime.test_episodes_in_views import RULES, reply, tell


@pytest.fixture
def story() -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(reply)) as memory:
        yield memory.story("tale")


def bands(drawn: MemoryMap, kind: str) -> list[tuple[str, Span, BandStatus]]:
    return [(band.thing, band.span, band.status) for band in drawn.bands if band.kind == kind]


def test_an_empty_story_has_an_empty_map(story: BlockingStory) -> None:
    drawn = story.memory_map()
    assert (drawn.messages, drawn.untold, drawn.bands, drawn.threads) == (0, (), (), ())


def test_what_is_not_folded_is_untold_and_all_else_has_a_band(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    drawn = story.memory_map()
    (recap,) = bands(drawn, "recap")
    assert recap == ("recap", Span(0, recap[1].last), BandStatus.KEPT)
    assert drawn.untold == (Span(recap[1].last + 1, 39),)
    assert drawn.tail_first == 36
    episodes = bands(drawn, "episode")
    assert [span.first for _, span, _ in episodes] == [0, *(span.last + 1 for _, span, _ in episodes[:-1])]
    assert [thing for thing, _, _ in episodes] == [f"episode:{number}" for number in range(1, len(episodes) + 1)]


def test_a_closed_chapter_is_a_band_with_its_title(story: BlockingStory) -> None:
    tell(story, 20)
    story.close_chapter("The parcels")
    story.fold()
    (chapter,) = [band for band in story.memory_map().bands if band.kind == "chapter"]
    assert (chapter.thing, chapter.title, chapter.span) == ("chapter:1", "The parcels", Span(0, 19))
    assert bands(story.memory_map(), "backbone")


def test_what_a_person_wrote_is_by_hand(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    story.write("recap", "Maya kept one parcel for herself.")
    story.open_thread("Maya to Joaquin: the last parcel")
    drawn = story.memory_map()
    assert [status for _, _, status in bands(drawn, "recap")] == [BandStatus.BY_HAND]
    assert {mark.kind for mark in drawn.by_hand} == {"recap", "thread"}
    (arc,) = drawn.threads
    assert (arc.opened, arc.settled, arc.by_hand) == (39, None, True)


def test_a_settled_thread_ends_where_it_was_settled(story: BlockingStory) -> None:
    tell(story, 2)
    story.open_thread("Maya to Joaquin: the last parcel")
    tell(story, 2, 2)
    story.resolve_thread("the last parcel")
    (arc,) = story.memory_map().threads
    assert (arc.number, arc.opened, arc.settled) == (1, 1, 3)


def test_an_edit_makes_what_read_it_stale(story: BlockingStory) -> None:
    tell(story, 40)
    story.fold()
    story.edit(3, "Parcel 3 was lost.")
    statuses = [status for _, _, status in bands(story.memory_map(), "recap")]
    assert statuses == [BandStatus.STALE]


def test_what_waits_for_approval_is_pending() -> None:
    with BlockingMemory(":memory:", settings=replace(RULES, review=True), model=ScriptedModel(reply)) as memory:
        story = memory.story("tale")
        tell(story, 20)
        story.fold()
        drawn = story.memory_map()
    assert BandStatus.PENDING in {status for _, _, status in bands(drawn, "recap")}
    assert drawn.untold == (Span(0, 19),)


def test_provisional_memory_shows_as_such(no_waiting: None) -> None:
    with BlockingMemory(":memory:", settings=RULES, model=ScriptedModel(lambda _: "")) as memory:
        story = memory.story("tale")
        tell(story, 20)
        story.fold()
        drawn = story.memory_map()
    assert {status for _, _, status in bands(drawn, "recap")} == {BandStatus.PROVISIONAL}


def test_what_a_text_was_cut_by_is_untold() -> None:
    text = MemoryText("…", Span(2, 9), "model", 1, cuts=(Span(2, 4),))
    assert find_untold(12, [text]) == (Span(0, 1), Span(2, 4), Span(10, 11))
