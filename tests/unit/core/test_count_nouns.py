"""So many of something, in words."""

from __future__ import annotations

import pytest

from previously.core.count_nouns import count_nouns


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "call", "1 call"),
        (0, "call", "0 calls"),
        (1_200, "message", "1,200 messages"),
        (2, "story", "2 stories"),
        (2, "branch", "2 branches"),
        (10, "analysis", "10 analyses"),
        (1, "analysis", "1 analysis"),
    ],
)
def test_one_is_singular_and_all_else_plural(number: int, noun: str, words: str) -> None:
    assert count_nouns(number, noun) == words
