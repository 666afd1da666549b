"""Counting words means about the same in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.scripts import count_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        (" \n\t ", 0),
        ("one two  three\nfour", 4),
        ("don't — stop", 3),
        ("彼女は港へ", 3),
        ("港へ行った。", 3),
        ("3人が来た", 3),
        ("สวัสดีครับ", 3),
        ("Ünïcödé wörds", 2),
        ("。", 1),
    ],
)
def test_words_are_counted_in_any_script(text: str, words: int) -> None:
    assert count_words(text) == words


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_text_is_never_longer_than_its_parts(left: str, right: str) -> None:
    assert count_words(f"{left} {right}") == count_words(left) + count_words(right)
