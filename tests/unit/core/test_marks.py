"""Where marks stand after a script, and what chapters they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.marks import (
    Chapter,
    Mark,
    MarkKind,
    Stretch,
    begins_at_front,
    find_chapters,
    find_starts,
    is_of_a_span,
    move_marks,
    move_position,
)
from previously.core.messages import Draft, message
from previously.core.path import Put, Splice

PIECE = Put(Draft(message("user", "x")))


def splice(at: int, remove: int, put: int) -> Splice:
    return Splice(at, remove, (PIECE,) * put)


def mark(ident: int, position: int, kind: MarkKind = MarkKind.CHAPTER, text: str = "", of: int = 0) -> Mark:
    return Mark(ident, ident, kind, position, text, "person", "", of=of)


@pytest.mark.parametrize(
    ("position", "script", "after"),
    [
        (5, [splice(10, 0, 3)], 5),
        (5, [splice(6, 1, 0)], 5),
        (5, [splice(2, 0, 2)], 7),
        (5, [splice(2, 2, 0)], 3),
        (5, [splice(5, 1, 1)], 5),
        (5, [splice(5, 1, 0)], 4),
        (5, [splice(4, 2, 0)], 3),
        (5, [splice(4, 3, 1)], 4),
        (5, [splice(0, 1, 0), splice(5, 1, 0)], 3),
        (0, [splice(0, 1, 0)], -1),
        (2, [splice(0, 5, 0)], -1),
        (2, [splice(0, 1, 0), splice(1, 3, 0)], -1),
        (-1, [splice(0, 5, 2)], -1),
        (2, [splice(0, 5, 5)], 2),
    ],
)
def test_a_mark_moves_with_its_message_or_falls_back(position: int, script: list[Splice], after: int) -> None:
    assert move_position(position, script) == after


@given(st.lists(st.integers(-1, 20), max_size=6), st.integers(0, 20), st.integers(0, 5), st.integers(0, 5))
def test_marks_keep_their_order(positions: list[int], at: int, remove: int, put: int) -> None:
    marks = [mark(number, position) for number, position in enumerate(sorted(positions), 1)]
    kept = move_marks(marks, [splice(at, remove, put)])
    assert [one.position for one in kept] == sorted(one.position for one in kept)
    assert all(one.position >= -1 for one in kept)
    assert {one.id for one in kept} == {one.id for one in marks}, "no mark is ever lost"


def told(chapters: list[Chapter]) -> list[tuple[int, str, int, int | None, str]]:
    return [(one.number, one.title, one.first, one.last, one.scope) for one in chapters]


def stretches(chapter: Chapter) -> list[tuple[str, int, int | None]]:
    return [(one.scope, one.first, one.last) for one in chapter.stretches]


def test_without_marks_there_is_one_open_chapter() -> None:
    (only,) = find_chapters([])
    assert told([only]) == [(1, "", 0, None, "")]
    assert (only.last_stretch, only.by_hand, only.blocks, only.hand_text) == (Stretch("", 0, None), (), (), "")


def test_chapters_and_blocks() -> None:
    marks = [
        mark(1, 9, text="The Assessor"),
        mark(2, 14, MarkKind.RECAP, "What I wrote."),
        mark(3, 19, text="Slate"),
    ]
    first, second, current = find_chapters(marks)
    assert told([first, second, current]) == [
        (1, "The Assessor", 0, 9, ""),
        (2, "Slate", 10, 19, "1"),
        (3, "", 20, None, "3"),
    ]
    assert stretches(second) == [("1", 10, 14), ("2", 15, 19)]
    assert [block.text for block in second.blocks] == ["What I wrote."]
    assert (second.by_hand, second.hand_text) == ((), ""), "a block stands for its stretch, not for the chapter"
    assert current.last_stretch == Stretch("3", 20, None)
    assert find_starts(marks) == {"": 0, "1": 10, "2": 15, "3": 20}


def test_a_recap_by_hand_stands_for_what_lies_before_it_in_the_open_chapter() -> None:
    marks = [mark(1, 9), mark(2, 14, MarkKind.RECAP, "First."), mark(3, 16, MarkKind.RECAP, "Second.")]
    _, current = find_chapters(marks)
    assert stretches(current) == [("1", 10, 14), ("2", 15, 16), ("3", 17, None)]
    assert current.last_stretch == Stretch("3", 17, None)
    assert current.by_hand == current.blocks == tuple(marks[1:])
    assert current.hand_text == "First.\n\nSecond."


def test_a_chapters_recap_by_hand_stands_for_the_whole_chapter() -> None:
    marks = [
        mark(1, 5, MarkKind.RECAP, "A block."),
        mark(2, 9, MarkKind.CHAPTER_RECAP, "The chapter, by hand.", of=3),
        mark(3, 9, text="One"),
    ]
    first, current = find_chapters(marks)
    assert told([first, current]) == [(1, "One", 0, 9, ""), (2, "", 10, None, "3")]
    assert stretches(first) == [("", 0, 5), ("1", 6, 9)], "it parts no stretches"
    assert (first.by_hand, first.blocks) == ((marks[1],), (marks[0],))
    assert first.hand_text == "The chapter, by hand."
    assert (current.by_hand, current.hand_text) == ((), "")


def test_a_chapters_recap_by_hand_is_a_block_once_the_chapter_is_opened_again() -> None:
    (current,) = find_chapters([mark(2, 9, MarkKind.CHAPTER_RECAP, "By hand.", of=1)])
    assert stretches(current) == [("", 0, 9), ("2", 10, None)]
    assert current.hand_text == "By hand."


def test_a_recap_by_hand_names_its_chapter_wherever_it_has_got() -> None:
    """The second chapter was emptied, and its marks fell back to the end of the first."""
    marks = [
        mark(1, 9, text="One"),
        mark(2, 9, text="Emptied"),
        mark(3, 9, MarkKind.CHAPTER_RECAP, "Of the first.", of=1),
        mark(4, 9, MarkKind.CHAPTER_RECAP, "Of the second.", of=2),
    ]
    first, current = find_chapters(marks)
    assert (first.hand_text, current.hand_text) == ("Of the first.", "")


def test_a_chapter_without_a_message_is_none() -> None:
    """Two chapter marks fell back to one place: memory goes on behind the later one."""
    marks = [mark(1, 9, text="One"), mark(2, 9, text="Emptied"), mark(3, 19, text="Two")]
    assert told(find_chapters(marks)) == [(1, "One", 0, 9, ""), (2, "Two", 10, 19, "2"), (3, "", 20, None, "3")]
    assert told(find_chapters([mark(1, -1, text="Emptied")])) == [(1, "", 0, None, "1")]
    assert find_starts(marks)["2"] == 10
    assert find_starts([mark(1, -1)]) == {"": 0, "1": 0}


def test_other_marks_part_nothing() -> None:
    marks = [
        mark(1, 4, MarkKind.PIN, "Pinned."),
        mark(2, 9, text="One"),
        mark(3, 9, MarkKind.BACKBONE, "The story so far, by hand."),
        mark(4, 12, MarkKind.PIN, "Pinned."),
    ]
    first, current = find_chapters(marks)
    assert told([first, current]) == [(1, "One", 0, 9, ""), (2, "", 10, None, "2")]
    assert (stretches(first), stretches(current)) == ([("", 0, 9)], [("2", 10, None)])
    assert (first.by_hand, first.blocks, current.by_hand, current.blocks) == ((), (), (), ())


def test_the_newest_marks_are_enough_for_the_newest_chapters() -> None:
    marks = [
        mark(1, 9, text="One"),
        mark(2, 19, text="Two"),
        mark(3, 24, MarkKind.RECAP, "By hand."),
        mark(4, 29, text="Three"),
        mark(5, 33, MarkKind.RECAP, "More."),
    ]
    every = find_chapters(marks)
    assert find_chapters(marks, after=1) == every[1:]
    assert find_chapters(marks[1:], after=2) == every[2:]
    assert find_chapters(marks[3:], after=3) == every[3:]
    assert told(find_chapters([], after=0)) == [(1, "", 0, None, "")]


def test_chains_that_know_no_marks_begin_with_the_story_and_notes_of_spans_nowhere() -> None:
    marks = [mark(7, 3), mark(9, -1)]
    scopes = ["", "@", "@Maya", "@7", "*", "*7", "7", "8", "Maya"]
    assert find_starts(marks, scopes) == {"": 0, "@": 0, "@Maya": 0, "@7": 0, "7": 4, "9": 0}
    assert find_starts(marks) == {"": 0, "7": 4, "9": 0}
    assert [one for one in scopes if begins_at_front(one)] == ["", "@", "@Maya", "@7"]
    assert [one for one in scopes if is_of_a_span(one)] == ["*", "*7"]
