"""Episodes, chapters, backbone: which form of each a view takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from previously.core.digests import digest
from previously.core.messages import Attributes, Entry, message
from previously.core.path import OnPath, Span
from previously.core.tokens import ESTIMATE
from previously.view.build import Material, ViewRequest, build_view
from previously.view.choose_memory import PastRoom, choose_layers
from previously.view.memory import Remembered
from previously.view.view import Reason, Section, View

CHAPTER = 100
"""Messages of a chapter."""

SPAN = 25
"""Messages of an episode."""


def words(name: str, number: int) -> str:
    """Return a text of about so many words, in sentences of ten."""
    return " ".join(f"Of {name} sentence {at} tells of the mill and rain." for at in range(number // 10))


def chapter(number: int, short: bool = True) -> Remembered:
    span = Span((number - 1) * CHAPTER, number * CHAPTER - 1)
    name = f"Chapter {number}"
    told = f"{name}: {words(name, 450)}"
    return Remembered(Section.CHAPTERS, told, span, "chapter", name, short=f"{name}: {words(name, 70)}" * short)


def backbone(chapters: int) -> Remembered:
    span = Span(0, chapters * CHAPTER - 1)
    return Remembered(Section.BACKBONE, words(f"all {chapters}", 500), span, "backbone", "the backbone")


def episode(first: int) -> Remembered:
    beside = Span(first, first + SPAN - 1)
    return Remembered(Section.EPISODES, words(f"episode {first}", 130), None, "episode", "an episode", beside=beside)


def memories(chapters: int, recap_words: int = 400, recapped: int = 100) -> list[Remembered]:
    """All there is of a story of so many closed chapters, and an open one."""
    first, last = chapters * CHAPTER, chapters * CHAPTER + recapped - 1
    read = range(max(1, chapters - 11), chapters + 1)
    found = [backbone(number) for number in range(max(1, chapters - 12), chapters + 1)]
    found += [chapter(number) for number in read]
    found.append(Remembered(Section.RECAP, words("the recap", recap_words), Span(first, last), "recap", "the recap"))
    return found + [episode(at) for at in range(max(0, last + 1 - 300), last + 1, SPAN)]


def at(position: int) -> OnPath:
    said = message("user" if position % 2 else "assistant", f"{position} " + "word " * 60)
    return OnPath(position, position + 1, b"", Entry(position, said, digest(said), Attributes()))


def viewed(chapters: int, budget: int, told: Sequence[Remembered] | None = None) -> View:
    told = memories(chapters) if told is None else told
    length = chapters * CHAPTER + 112
    newest = [at(position) for position in range(max(0, length - 200), length)]
    return build_view(Material(length, (), told, newest, 12, has_lore=False), ViewRequest(budget))[0]


def forms(view: View) -> dict[int, str]:
    """Return in which form each chapter is told that is told by itself."""
    text, found = view.messages[0].text, {}
    for number in range(1, 100):
        if f"Chapter {number}: " in text:
            found[number] = "full" if f"Of Chapter {number} sentence 44 " in text else "short"
    return found


def spans_told(view: View) -> list[Span]:
    """Return what the stable texts of a view stand for."""
    return sorted(span for item in view.items if item.section is not Section.TAIL for span in item.sources)


@pytest.mark.parametrize("budget", [2_000, 3_000, 4_000, 8_000, 16_000])
@pytest.mark.parametrize("chapters", [0, 1, 6, 40])
def test_the_nearest_is_told_most_finely_and_nothing_twice(chapters: int, budget: int) -> None:
    view = viewed(chapters, budget)
    assert view.tokens <= budget
    told = forms(view)
    assert list(told) == list(range(chapters + 1 - len(told), chapters + 1)), "without a gap up to the nearest"
    assert sorted(told.values(), reverse=True) == list(told.values()), "the short ones before the full ones"
    spans = spans_told(view)
    assert all(one.last < other.first for one, other in pairwise(spans)), "no message is told by two texts"
    assert {at for span in spans for at in range(span.first, span.last + 1)} >= set(range(chapters * CHAPTER))
    if len(told) < chapters:
        assert "Of all" in view.messages[0].text, "the oldest are in the backbone"


@pytest.mark.parametrize(
    ("chapters", "budget", "full", "short", "in_backbone"),
    [
        (1, 2_000, 1, 0, False),
        (6, 2_000, 0, 0, True),
        (40, 2_000, 0, 0, True),
        (1, 4_000, 1, 0, False),
        (6, 4_000, 1, 1, True),
        (40, 4_000, 1, 1, True),
        (1, 8_000, 1, 0, False),
        (6, 8_000, 2, 4, False),
        (40, 8_000, 1, 4, True),
        (40, 16_000, 5, 2, True),
    ],
)
def test_full_ones_then_short_ones_then_the_backbone(
    chapters: int, budget: int, full: int, short: int, in_backbone: bool
) -> None:
    view = viewed(chapters, budget)
    told = list(forms(view).values())
    assert (told.count("full"), told.count("short")) == (full, short)
    assert ("Of all" in view.messages[0].text) is in_backbone


@pytest.mark.parametrize("chapters", [1, 6, 40])
def test_a_young_recap_leaves_its_room_to_the_chapter_before_it(chapters: int) -> None:
    told = memories(chapters, recap_words=30, recapped=10)
    length = chapters * CHAPTER + 22
    newest = [at(position) for position in range(length - 22, length)]
    view = build_view(Material(length, (), told, newest, 12, has_lore=False), ViewRequest(2_000))[0]
    assert forms(view).get(chapters) == "full"


@pytest.mark.parametrize(("chapters", "budget"), [(1, 4_000), (6, 4_000), (1, 8_000), (6, 8_000), (40, 8_000)])
def test_episodes_stand_beside_the_recap_the_newest_first(chapters: int, budget: int) -> None:
    view = viewed(chapters, budget)
    text = view.messages[0].text
    shown = [at for at in range(0, chapters * CHAPTER + 100, SPAN) if f"Of episode {at} " in text]
    assert shown, "there is room for some"
    verbatim = min(item.sources[0].first for item in view.items if item.section is Section.TAIL)
    assert all(first < verbatim for first in shown), "none of which every message is shown"
    newest = max(first for first in range(0, chapters * CHAPTER + 100, SPAN) if first < verbatim)
    assert shown == list(range(shown[0], newest + 1, SPAN)), "without a gap up to the newest"
    assert not any(item.sources for item in view.items if item.section is Section.EPISODES)


@pytest.mark.parametrize("budget", [2_000, 4_000, 8_000, 16_000])
@pytest.mark.parametrize("chapters", [0, 1, 6, 40])
def test_no_room_stays_empty_while_something_older_would_fit(chapters: int, budget: int) -> None:
    view = viewed(chapters, budget)
    kept_free = {2_000: 150, 4_000: 300, 8_000: 600, 16_000: 1_200}[budget]
    whole = len([item for item in view.items if item.section is Section.TAIL]) == chapters * CHAPTER + 112
    assert whole or budget - view.tokens - kept_free < 100, "the next older message takes more"


def test_a_chapter_that_nothing_else_tells_loses_its_middle_before_it_is_left_out() -> None:
    alone = chapter(1, short=False)
    view = viewed(1, 2_000, [alone, *memories(1)[2:]])
    text = view.messages[0].text
    assert "Of Chapter 1 sentence 0 " in text and "Of Chapter 1 sentence 44 " in text and "[…]" in text
    assert any("sentences of Chapter 1" in one.what for one in view.left_out)


def test_without_a_backbone_short_forms_stand_for_older_chapters() -> None:
    told = [one for one in memories(6) if one.section is not Section.BACKBONE]
    assert list(forms(viewed(6, 4_000, told))) == [1, 2, 3, 4, 5, 6]


def test_a_backbone_goes_back_to_an_earlier_end_only_where_every_chapter_behind_it_is_told() -> None:
    told = [one for one in memories(6) if one.what != "Chapter 5"]
    chosen = choose_layers(told, PastRoom(10_000, 800), ESTIMATE)
    assert [one.what for one in chosen if one.section is Section.CHAPTERS] == ["Chapter 6"]
    spans = [one.span for one in chosen if one.section is Section.BACKBONE]
    assert spans == [Span(0, 5 * CHAPTER - 1)]


def test_a_persons_backbone_stands_before_the_chapters_it_tells() -> None:
    mine = Remembered(Section.BACKBONE, "In my words.", Span(0, 299), "by hand", "the backbone", by_hand=True)
    told = [mine, *(one for one in memories(6) if one.section is not Section.BACKBONE)]
    chosen = choose_layers(told, PastRoom(10_000, 800), ESTIMATE)
    names = [one.what for one in chosen if one.section is Section.CHAPTERS]
    assert names == ["Chapter 4", "Chapter 5", "Chapter 6"]
    assert "In my words." in [one.text for one in chosen]


def test_episodes_that_tell_a_chapter_alone_stand_for_its_messages() -> None:
    told = [one for one in memories(1) if one.section is not Section.CHAPTERS and one.section is not Section.BACKBONE]
    stands = [
        Remembered(
            Section.EPISODES, words(f"episode {first}", 60), Span(first, first + SPAN - 1), "episode", "an episode"
        )
        for first in range(0, CHAPTER, SPAN)
    ]
    beside = [one for one in told if one.beside is None or one.beside.first >= CHAPTER]
    view = viewed(1, 4_000, [*stands, *beside])
    assert not [one for one in view.left_out if one.reason is Reason.WAITING]
    view = viewed(1, 4_000, beside)
    assert [one.span for one in view.left_out if one.reason is Reason.WAITING] == [Span(0, CHAPTER - 1)]
