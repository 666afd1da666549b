"""Which of several things a person means."""

from __future__ import annotations

import pytest

from previously.text.likeness import find_alike, is_slip

THINGS = [
    ["that blanket of hers"],
    ["the salt key", "iron key"],
    ["Orla owes the miller forty crowns"],
    ["Bell tower"],
    ["Old tower"],
]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("the blanket", [0]),
        ("BLANKET", [0]),
        ("this blanket of hers", [0]),
        ("blankte", [0]),
        ("salt keys", [1]),
        ("an iron key", [1]),
        ("miler crowns", [2]),
        ("tower", [3, 4]),
        ("the bell tower", [3]),
        ("forty sheep", []),
        ("stove", []),
        ("", []),
        (" ", []),
    ],
)
def test_words_find_what_they_are_like(words: str, meant: list[int]) -> None:
    assert find_alike(words, THINGS) == meant


def test_the_closest_counts() -> None:
    assert find_alike("tower", [["tower"], ["Bell tower"]]) == [0]
    assert find_alike("The Tower", [["tower"], ["the tower key"]]) == [0]


@pytest.mark.parametrize(
    ("word", "other", "slip"),
    [("blanket", "blankte", True), ("stone", "stove", True), ("key", "kay", False), ("1234", "1235", False),
     ("lighthouse", "lihgthose", True), ("mill", "bell", False)],
)  # fmt: skip
def test_slips_of_the_hand(word: str, other: str, slip: bool) -> None:
    assert is_slip(word, other) is is_slip(other, word) is slip
