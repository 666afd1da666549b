"""Who knows of something, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.cast import Fact, Knowledge
from previously.folds.cast_facts import find_knowers

KEY = Fact("Bram hid the brass key under the third stair", 4, "told by Bram")
STAIR = Fact("The stair creaks", 6)
CAST = {
    "Maya": Knowledge("Maya sits in the mill. She knows where the brass key is.", (KEY, STAIR)),
    "Joaquin": Knowledge("Joaquin looks for a key.", (Fact("Odalys lost forty crowns", 2),)),
    "Odalys": Knowledge("Odalys est fatiguée.", (Fact("Le café de José est fermé", 3), Fact("鍵は水車小屋にある", 5))),
    "Bram": Knowledge(),
}


def names(query: str) -> list[str]:
    return [row.name for row in find_knowers(CAST, query)]


def test_who_knows_most_of_it_comes_first_with_their_facts() -> None:
    rows = find_knowers(CAST, "the brass key")
    assert [row.name for row in rows] == ["Maya", "Joaquin"]
    assert rows[0].facts == (KEY,)
    assert rows[0].summary_sentences == ("She knows where the brass key is.",)
    assert rows[1].facts == ()
    assert rows[1].summary_sentences == ("Joaquin looks for a key.",)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("BRASS KEYS", ["Maya", "Joaquin"]),
        ("hidden key", ["Maya", "Joaquin"]),
        ("ｂｒａｓｓ", ["Maya"]),
        ("cafe JOSE", ["Odalys"]),
        ("40 crowns", ["Joaquin"]),
        ("水車小屋", ["Odalys"]),
        ("dragon", []),
        ("", []),
        ("  ?! ", []),
        ("is", ["Maya"]),
    ],
)
def test_words_are_found_however_they_are_written(query: str, found: list[str]) -> None:
    assert names(query) == found


def test_of_one_character_the_best_and_newest_fact_comes_first() -> None:
    assert find_knowers(CAST, "stair key")[0].facts == (KEY, STAIR)
    assert find_knowers(CAST, "stair")[0].facts == (STAIR, KEY)


@given(st.text(max_size=60))
def test_any_query_is_answered_with_what_is_known(query: str) -> None:
    for row in find_knowers(CAST, query):
        assert row.facts or row.summary_sentences
        assert set(row.facts) <= set(CAST[row.name].facts)
        assert all(sentence in CAST[row.name].summary for sentence in row.summary_sentences)
