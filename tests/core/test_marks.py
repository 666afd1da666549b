"""Where marks stand after a script, and what chapters they make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.marks import Mark, MarkKind, chapters_of, moved, moved_marks, starts
from previously.core.messages import Draft, message
from previously.core.scripts import Put, Splice

PIECE = Put(Draft(message("user", "x")))


def splice(at: int, remove: int, put: int) -> Splice:
    return Splice(at, remove, (PIECE,) * put)


def mark(ident: int, position: int, kind: MarkKind = MarkKind.CHAPTER, text: str = "") -> Mark:
    return Mark(ident, ident, kind, position, text, "person", "")


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
        (0, [splice(0, 1, 0)], None),
        (2, [splice(0, 5, 0)], None),
        (2, [splice(0, 5, 5)], 2),
    ],
)
def test_a_mark_moves_with_its_message_or_falls_back(position: int, script: list[Splice], after: int | None) -> None:
    assert moved(position, script) == after


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 20), st.integers(0, 5), st.integers(0, 5))
def test_marks_keep_their_order(positions: list[int], at: int, remove: int, put: int) -> None:
    marks = [mark(number, position) for number, position in enumerate(sorted(positions), 1)]
    kept = moved_marks(marks, [splice(at, remove, put)])
    assert [one.position for one in kept] == sorted(one.position for one in kept)
    assert all(one.position >= 0 for one in kept)


def test_chapters_and_blocks() -> None:
    marks = [
        mark(1, 9, text="The Assessor"),
        mark(2, 14, MarkKind.BLOCK, "What I wrote."),
        mark(3, 19, text="Slate"),
    ]
    first, second, current = chapters_of(marks)
    assert [(one.title, one.first, one.last, one.scope) for one in (first, second, current)] == [
        ("The Assessor", 0, 9, ""),
        ("Slate", 10, 19, "1"),
        ("", 20, None, "3"),
    ]
    assert [(one.scope, one.first, one.last) for one in second.stretches] == [("1", 10, 14), ("2", 15, 19)]
    assert [block.text for block in second.blocks] == ["What I wrote."]
    assert starts(marks) == {"": 0, "1": 10, "2": 15, "3": 20}
    assert chapters_of([])[0].span is None
