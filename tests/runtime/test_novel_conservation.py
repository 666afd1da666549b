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
from previously.core.asking import ModelRequest
from previously.core.spans import Span
from previously.core.versions import Kind
from previously.folds.applying import Summary, compacted, cut_of, grown, summary_of
from previously.view.view import Reason, Section, View
from tests.runtime.echoing import folder_of, part

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
    return Settings.of(
        "novel", lore="off", summary_characters=characters, summary_target_characters=target, **more
    )  # fmt: skip


def told_in(text: str, at: int) -> bool:
    """Whether a summary made of quotations tells a message."""
    return re.search(rf"(?:^|\n|\.\.\. )#{at} ", text) is not None


def check(story: BlockingStory, view: View) -> None:
    """Every message on the path: verbatim, told by a text in force, or listed."""
    verbatim = {item.sources[0].first for item in view.items if item.section is Section.TAIL}
    covered = {
        at
        for item in view.items
        if item.section is not Section.TAIL
        for span in item.sources
        for at in range(span.first, span.last + 1)
    }
    listed = {at for one in view.left_out if one.span for at in range(one.span.first, one.span.last + 1)}
    recap = story.recap()
    assert recap is not None or not covered
    for item in story.messages():
        at = item.position
        tells = covered and recap and (told_in(recap.text, at) or item.entry.message.text == HEADING)
        assert at in verbatim or at in listed or (at in covered and tells), f"message {at}"
        assert not (at in listed and at in covered), f"message {at} is claimed and listed"
    for one in view.left_out:
        if one.reason is Reason.CUT:
            assert one.span is not None
            assert verbatim.isdisjoint(range(one.span.first, one.span.last + 1)), "what is shown is not left out"
            assert recap is not None
            assert recap.cut is not None
            assert one.span.first in recap.cut
            assert one.span.last in recap.cut


@settings(max_examples=12, deadline=None)
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
    with BlockingMemory(":memory:", settings=novel(600, 400)) as memory:
        story = memory.story("novel")
        for number in range(40):
            story.add("assistant", f"Maya came to house number {number} and asked for the lantern of Joaquin there.")
        story.fold()
        yield story


def test_a_cut_is_listed_with_its_span_and_its_reason(long_novel: BlockingStory) -> None:
    recap = long_novel.recap()
    assert recap is not None
    assert (recap.span, recap.cut, recap.told) == (Span(0, 35), Span(0, 31), Span(32, 35))
    view = long_novel.view(500)
    assert [(one.reason, one.span) for one in view.left_out if one.reason is Reason.CUT] == [(Reason.CUT, Span(0, 21))]
    assert not view.fold_due, "no fold would bring it back"
    (item,) = [item for item in view.items if item.section is Section.RECAP]
    assert item.sources == (Span(32, 35),), "it claims no more than it tells"


def test_a_cut_stays_with_its_messages_when_others_are_put_in_or_taken_out(long_novel: BlockingStory) -> None:
    long_novel.delete(38)
    long_novel.delete(2)
    long_novel.fold()
    recap = long_novel.recap()
    assert recap is not None
    assert recap.cut is not None
    assert all(told_in(recap.text, at) for at in range(recap.told.first, recap.told.last + 1))
    assert not any(told_in(recap.text, at) for at in range(recap.cut.first, recap.cut.last + 1))


def test_it_is_told_of_a_message_which_memory_tells_it_no_more(long_novel: BlockingStory) -> None:
    def telling(at: int) -> dict[Kind, Span | None]:
        return {one.kind: one.cut for one in long_novel.telling(at)}

    assert telling(3) == {Kind.ANALYSIS: None, Kind.RECAP: Span(0, 31)}
    assert telling(33) == {Kind.ANALYSIS: None, Kind.RECAP: None}
    assert telling(-1) == {Kind.ANALYSIS: None}


def test_a_models_updates_are_accounted_for_like_quotations() -> None:
    def answer(request: ModelRequest) -> str:
        number = re.findall(r"house (\d+)", part(request, "fragment"))[-1]
        return json.dumps({"summary_update": f"Maya asked at house {number}. Door {number} stayed shut in the rain."})

    with BlockingMemory(":memory:", settings=novel(600, 400), folder=folder_of(ScriptedModel(answer))) as memory:
        story = memory.story("novel")
        for number in range(30):
            story.add("assistant", f"Maya came to house {number} and knocked.")
        story.fold()
        recap = story.recap()
        assert recap is not None
        assert recap.cut is not None
        whole = [
            at for at in range(26) if f"Maya asked at house {at}. Door {at} stayed shut in the rain." in recap.text
        ]
        assert whole == list(range(recap.told.first, 26))
        listed = [one.span for one in story.view(400).left_out if one.reason is Reason.CUT]
        assert [span.first for span in listed if span] == [0]


LINES = ["Maya came.", "It rained. She left.", "#3 N: “So.”\n#3 N: “Why?”", "雨が降る。"]
UPDATES = st.lists(st.sampled_from(LINES), max_size=30)


@given(updates=UPDATES, most=st.integers(100, 300), target=st.integers(100, 300), step=st.integers(1, 7))
def test_a_summary_knows_what_it_tells_however_it_grows(updates: list[str], most: int, target: int, step: int) -> None:
    """Each update carries its number, so that what is whole in the text can be looked up there."""
    numbered = [(at, f"<{at}> {update} </{at}>") for at, update in enumerate(updates)]
    summary = Summary("")
    for at in range(0, len(numbered), step):
        summary = grown(summary, numbered[at : at + step], most, target)
        reached = at + len(numbered[at : at + step])
        summary = summary_of(summary.text, summary.carry, reached)
        whole = [number for number, text in numbered[:reached] if text in summary.text]
        assert [last for last, _ in summary.pieces][-len(whole) or reached :] == whole or len(whole) <= 1
        assert cut_of(summary.carry) == summary.cut <= max(0, reached - 1)
        assert set(range(summary.cut, reached - 1)) <= set(whole), "what it claims it tells"
        assert len(summary.text) <= max(most, 100)


def test_a_text_that_another_wrote_is_cut_as_one() -> None:
    mine = summary_of("Words of mine. " * 10, "update", 12)
    assert mine.cut == 0
    later = grown(mine, [(12, "Maya came. " * 4)], 120, 100)
    assert (later.cut, later.pieces) == (12, ((12, 1),))
    assert later.text == compacted("Words of mine. " * 10 + "\nMaya came. " + "Maya came. " * 3, 120, 100)
