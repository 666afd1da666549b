"""Conservation in novels: every message is shown word for word, told by the librarian's summary, or listed as left out;
and where the summary was cut, views, `show` and `blame` say so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously import BlockingMemory, BudgetTooSmall, ScriptedModel, Settings
from previously.blocking import BlockingStory
from previously.core.model_io import ModelRequest
from previously.core.path import Span
from previously.core.versions import Kind
from previously.folds.summary import Summary, compact_summary, grow_summary, parse_summary
from previously.view.view import Reason, Section, View
from tests.effort import cases
from tests.end_to_end.runtime.echoing import kind_of, make_writer, part
from tests.end_to_end.runtime.update_answers import closing_answer

PARAGRAPHS = st.sampled_from(
    [
        "Maya came to the mill and asked for the lantern. ",
        "Joaquin had hidden the key under the third stair, and he said nothing of it. ",
        "It rained. ",
        "“I will pay you forty crowns before the fair,” said Odalys. ",
    ]
)
HEADING = "# The Long Night"


def novel(characters: int, target: int, **more: object) -> Settings:
    """A novel whose chapters and backbone are quoted whole: what they do not tell, they were not given."""
    return Settings.of(
        "novel",
        lore="off",
        summary_characters=characters,
        summary_target_characters=target,
        chapter_words=10_000,
        backbone_words=10_000,
        **more,
    )


def told_in(text: str, at: int) -> bool:
    """Whether a summary made of quotations tells a message."""
    return re.search(rf"(?:^|\n|\.\.\. )#{at} ", text) is not None


def tells(story: BlockingStory, section: Section, at: int) -> bool:
    """Whether the text in force in a section tells a message, by its own words."""
    if section is Section.CHAPTERS:
        texts = [one.recap for one in story.chapters() if at in one.span]
    else:
        texts = [story.backbone() if section is Section.BACKBONE else story.recap()]
    return any(one is not None and told_in(one.text, at) for one in texts)


def check(story: BlockingStory, view: View) -> None:
    """Every message on the path: verbatim, told by a text in force, or listed."""
    verbatim = {item.sources[0].first for item in view.items if item.section is Section.TAIL}
    covered = {
        at: item.section
        for item in view.items
        if item.section is not Section.TAIL
        for span in item.sources
        for at in range(span.first, span.last + 1)
    }
    listed = {at for one in view.left_out if one.span for at in range(one.span.first, one.span.last + 1)}
    for item in story.messages():
        at = item.position
        told = at in covered and (item.entry.message.text == HEADING or tells(story, covered[at], at))
        assert at in verbatim or at in listed or told, f"message {at}"
        assert not (at in listed and at in covered), f"message {at} is claimed and listed"
    for one in view.left_out:
        if one.reason is Reason.CUT:
            assert one.span is not None
            gone = range(one.span.first, one.span.last + 1)
            assert verbatim.isdisjoint(gone), "what is shown is not left out"
            assert all(any(told.cut and at in told.cut for told in story.telling(at)) for at in gone), "it says so"


@settings(max_examples=cases(12), deadline=None)
@given(
    paragraphs=st.lists(st.lists(PARAGRAPHS, min_size=1, max_size=4).map("".join), min_size=6, max_size=40),
    characters=st.integers(100, 1_500),
    target=st.integers(100, 1_500),
    budgets=st.lists(st.integers(150, 3_000), min_size=1, max_size=3),
    changes=st.lists(st.tuples(st.sampled_from(["edit", "delete", "insert"]), st.integers(0, 100)), max_size=2),
)
def test_every_message_of_a_novel_is_shown_told_or_listed(
    paragraphs: list[str], characters: int, target: int, budgets: list[int], changes: list[tuple[str, int]]
) -> None:
    with BlockingMemory(":memory:", settings=novel(characters, target, tail_messages=3)) as memory:
        story = memory.story("novel")
        for number, text in enumerate(paragraphs):
            story.add("assistant", HEADING if number == 3 else f"{text}So ended day {number}.")
        story.fold()
        for change, number in changes:
            at = number % story.info().active.messages
            if change == "delete":
                story.delete(at)
            elif change == "insert":
                story.insert(at, "assistant", "A stranger came by the ferry and left a letter.")
            else:
                story.edit(at, "Nothing happened that day, and Maya slept.")
            story.fold()
        for budget in budgets:
            try:
                view = story.view(budget)
            except BudgetTooSmall:
                continue
            check(story, view)


@pytest.fixture
def long_novel() -> Iterator[BlockingStory]:
    """A novel whose summary is full of fewer fragments than make a chapter: 600 characters hold six, eight make one."""
    with BlockingMemory(":memory:", settings=novel(600, 400)) as memory:
        story = memory.story("novel")
        for number in range(40):
            story.add("assistant", f"Maya came to house number {number} and asked for the lantern of Joaquin there.")
        story.fold()
        yield story


def cuts_in(view: View) -> list[Span | None]:
    return [one.span for one in view.left_out if one.reason is Reason.CUT]


def test_a_cut_is_listed_with_its_span_and_its_reason(long_novel: BlockingStory) -> None:
    recap = long_novel.recap()
    assert recap is not None
    assert (recap.span, recap.cut, recap.told) == (Span(27, 35), Span(27, 29), Span(30, 35))
    view = long_novel.view(250)
    assert cuts_in(view)[-1] == Span(27, 29)
    assert not view.fold_due, "no fold would bring it back"
    (item,) = [item for item in view.items if item.section is Section.RECAP]
    assert item.sources == (Span(30, 35),), "it claims no more than it tells"


def test_a_chapter_and_the_backbone_claim_no_more_than_the_summaries_they_are_made_from(
    long_novel: BlockingStory,
) -> None:
    chapters = [one.recap for one in long_novel.chapters()]
    assert [(one.span, one.cut) for one in chapters if one] == [
        (Span(0, 8), Span(0, 2)),
        (Span(9, 17), Span(9, 11)),
        (Span(18, 26), Span(18, 20)),
    ]
    backbone = long_novel.backbone()
    assert backbone is not None
    assert backbone.cuts == (Span(0, 2), Span(9, 11), Span(18, 20))
    view = long_novel.view(250)
    assert cuts_in(view) == [Span(0, 2), Span(9, 11), Span(18, 20), Span(27, 29)]
    (item,) = [item for item in view.items if item.section is Section.BACKBONE]
    assert item.sources == (Span(3, 8), Span(12, 17), Span(21, 26))
    check(long_novel, view)


def test_nothing_is_cut_where_a_chapter_can_close_before() -> None:
    with BlockingMemory(":memory:", settings=novel(1_000, 700)) as memory:
        story = memory.story("novel")
        for number in range(60):
            story.add("assistant", f"Maya came to house number {number} and asked for the lantern of Joaquin there.")
        story.fold()
        recap, backbone = story.recap(), story.backbone()
        assert recap is not None
        assert backbone is not None
        assert len(story.chapters()) > 2
        assert not recap.cuts
        assert not backbone.cuts
        for budget in (200, 500, 2_000):
            view = story.view(budget)
            assert cuts_in(view) == []
            check(story, view)


def test_a_cut_stays_with_its_messages_when_others_are_put_in_or_taken_out(long_novel: BlockingStory) -> None:
    long_novel.delete(38)
    long_novel.delete(2)
    long_novel.fold()
    texts = [long_novel.recap(), long_novel.backbone(), *(one.recap for one in long_novel.chapters())]
    assert len(texts) == 5
    for text in texts:
        assert text is not None
        assert text.cut is not None
        gone = {at for cut in text.cuts for at in range(cut.first, cut.last + 1)}
        told = {at for at in range(text.span.first, text.span.last + 1) if told_in(text.text, at)}
        assert told >= set(range(text.span.first, text.span.last + 1)) - gone, "what it claims it tells"
    recap = texts[0]
    assert recap is not None
    assert recap.cut is not None
    assert not any(told_in(recap.text, at) for at in range(recap.cut.first, recap.cut.last + 1))


def test_it_is_told_of_a_message_which_memory_tells_it_no_more(long_novel: BlockingStory) -> None:
    def telling(at: int) -> dict[Kind, Span | None]:
        return {one.kind: one.cut for one in long_novel.telling(at)}

    assert telling(28) == {Kind.ANALYSIS: None, Kind.RECAP: Span(27, 29)}
    assert telling(33) == {Kind.ANALYSIS: None, Kind.RECAP: None}
    assert telling(10) == {Kind.ANALYSIS: None, Kind.CHAPTER: Span(9, 11), Kind.BACKBONE: Span(9, 11)}
    assert telling(12) == {Kind.ANALYSIS: None, Kind.CHAPTER: None, Kind.BACKBONE: None}
    assert telling(-1) == {Kind.ANALYSIS: None}


HOUSES = (
    "Maya went from house to house and asked at each of them. At every house she knocked, waited in the rain and asked "
    "again, and every door stayed shut. Nobody answered her at the first house, nobody at the last, and she went on "
    "along the road with nothing to show for it but wet shoes."
)
DOG = "A dog barked at her before house 99."
DOORS = Settings.of("novel", lore="off", summary_characters=400, summary_target_characters=250)


def door(request: ModelRequest) -> str:
    """Answer as a librarian, and of chapters that have closed or were changed."""
    if kind_of(request) == "amend":
        return f"{HOUSES} {DOG}"
    if kind_of(request) == "chapter":
        return closing_answer(request, HOUSES, title="Shut Doors")
    number = re.findall(r"house (\d+)", part(request, "fragment"))[-1]
    return json.dumps({"summary_update": f"Maya asked at house {number}. Door {number} stayed shut in the rain."})


@pytest.fixture
def doors() -> Iterator[BlockingStory]:
    with BlockingMemory(":memory:", settings=DOORS, writer=make_writer(ScriptedModel(door))) as memory:
        story = memory.story("novel")
        for number in range(33):
            story.add("assistant", f"Maya came to house {number} and knocked.")
        story.fold()
        yield story


def test_a_models_updates_are_accounted_for_like_quotations(doors: BlockingStory) -> None:
    recap = doors.recap()
    assert recap is not None
    assert recap.cut is not None
    whole = [at for at in range(29) if f"Maya asked at house {at}. Door {at} stayed shut in the rain." in recap.text]
    assert whole == list(range(recap.told.first, 29))
    assert cuts_in(doors.view(200))[-1] == recap.cut


def test_a_models_chapters_take_along_what_they_were_not_given(doors: BlockingStory) -> None:
    chapters, backbone = [one.recap for one in doors.chapters()], doors.backbone()
    assert backbone is not None
    assert len(chapters) > 1
    assert all(one and (one.text, one.made_by) == (HOUSES, "model") for one in chapters)
    assert all(one and one.cut and one.cut.first == one.span.first for one in chapters)
    assert backbone.cuts == tuple(one.cut for one in chapters if one)


def test_a_chapter_that_is_amended_does_not_claim_what_it_was_not_given(doors: BlockingStory) -> None:
    (first, *_) = doors.chapters()
    assert first.recap is not None
    assert (first.span, first.recap.cut) == (Span(0, 10), Span(0, 3))
    doors.insert(1, "assistant", "A dog barked at Maya before house 99.")
    doors.fold()
    for text in (doors.chapters()[0].recap, doors.backbone()):
        assert text is not None
        assert text.text.endswith(DOG), "it was amended"
        assert text.cut == Span(0, 4), "what stood at 1 to 3 has moved"


LINES = ["Maya came.", "It rained. She left.", "#3 N: “So.”\n#3 N: “Why?”", "雨が降る。"]
UPDATES = st.lists(st.sampled_from(LINES), max_size=30)


@given(updates=UPDATES, most=st.integers(100, 300), target=st.integers(100, 300), step=st.integers(1, 7))
def test_a_summary_knows_what_it_tells_however_it_grows(updates: list[str], most: int, target: int, step: int) -> None:
    """Each update carries its number, so that what is whole in the text can be looked up there."""
    numbered = [(at, f"<{at}> {update} </{at}>") for at, update in enumerate(updates)]
    summary = Summary("")
    for at in range(0, len(numbered), step):
        summary = grow_summary(summary, numbered[at : at + step], most, target)
        reached = at + len(numbered[at : at + step])
        summary = parse_summary(summary.text, summary.carry, reached)
        whole = [number for number, text in numbered[:reached] if text in summary.text]
        assert [last for last, _ in summary.pieces][-len(whole) or reached :] == whole or len(whole) <= 1
        assert parse_summary("", summary.carry, 0).cut == summary.cut <= max(0, reached - 1)
        assert set(range(summary.cut, reached - 1)) <= set(whole), "what it claims it tells"
        assert len(summary.text) <= max(most, 100)


def test_a_text_that_another_wrote_is_cut_as_one() -> None:
    mine = parse_summary("Words of mine. " * 10, "update", 12)
    assert mine.cut == 0
    later = grow_summary(mine, [(12, "Maya came. " * 4)], 120, 100)
    assert (later.cut, later.pieces) == (12, ((12, 1),))
    assert later.text == compact_summary("Words of mine. " * 10 + "\nMaya came. " + "Maya came. " * 3, 120, 100)
