"""Passages: whole messages with place, day and speaker, inside a budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from previously.recall.index import MessageFacts
from previously.recall.outline import Outline, PathEntries
from previously.recall.rank import Hit, Why
from previously.recall.search import Quoted, choose_hits, make_passages, read_outline, render_line
from tests.unit.recall.in_memory_index import InMemoryIndex

NOTHING = Why((), 0, 0, 0, 0, 0, 0)


def hits(*scores: float) -> list[Hit]:
    found = [Hit(position, score, NOTHING) for position, score in enumerate(scores)]
    return sorted(found, key=lambda hit: -hit.score)


def shaped(sessions: Sequence[str]) -> Outline:
    index = InMemoryIndex()
    for entry, session in enumerate(sessions):
        index.add(entry, MessageFacts("word", session=session))
    return read_outline(index, PathEntries(range(len(sessions))))


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (Quoted("It is red.", "Mara", "2023-05-08T10:00"), "[message 7, 8 May 2023] Mara: It is red."),
        (Quoted("It is red.", "Mara"), "[message 7] Mara: It is red."),
        (Quoted("It is red."), "[message 7] It is red."),
    ],
)
def test_a_line_has_place_day_and_speaker(told: Quoted, line: str) -> None:
    assert render_line(7, told) == line


def test_passages_stand_in_the_order_of_the_story_and_inside_the_budget() -> None:
    told = {position: Quoted("some words that were said", "Mara") for position in range(4)}
    found = make_passages(hits(0.1, 0.9, 0.5, 0.8), told, 18, words, shaped("abcd"))
    assert [passage.position for passage in found] == [1, 3]
    assert sum(passage.tokens for passage in found) <= 18
    assert all(passage.tokens == words(passage.line) for passage in found)


def test_what_does_not_fit_is_passed_over() -> None:
    told = {0: Quoted("long " * 50), 1: Quoted("short")}
    assert [passage.position for passage in make_passages(hits(0.9, 0.1), told, 10, words, shaped("ab"))] == [1]


def test_a_cheap_message_goes_before_a_dear_one_of_about_the_same_score() -> None:
    order = choose_hits(hits(0.50, 0.49), 100, {0: 64, 1: 8}, shaped("ab"))
    assert [hit.position for hit in order] == [1, 0]


def test_one_session_does_not_take_everything() -> None:
    order = choose_hits(hits(0.9, 0.85, 0.84, 0.83), 40, dict.fromkeys(range(4), 10), shaped("aaab"))
    assert [hit.position for hit in order][:2] == [0, 3]


def test_excluded_and_untold_messages_are_never_taken() -> None:
    told = {position: Quoted("said") for position in range(3)}
    found = make_passages(hits(0.9, 0.8, 0.7, 0.6), told, 100, words, shaped("abcd"), excluded={0})
    assert sorted(passage.position for passage in found) == [1, 2]


@pytest.mark.parametrize("budget", [0, -5])
def test_no_budget_no_passages(budget: int) -> None:
    assert make_passages(hits(1.0), {0: Quoted("said")}, budget, words, shaped("a")) == []
