"""Numbers by value, in words and digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.text.numbers import LANGUAGES, find_numbers


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("a hundred and two, and three garnets", "English", [102, 3]),
        ("two dozen eggs on the twenty-fifth, the 24th or the 2nd", "English", [24, 25, 24, 2]),
        ("two thousand one hundred and fifty crowns; eight nine", "English", [2150, 8, 9]),
        ("the nine-fifteen, 9.05, 9:40, 18,400 and 3.5", "English", [9, 15, 9, 5, 9, 40, 18400, 3.5]),
        ("twenty and thirty, 40 thousand, 2 million", "English", [20, 30, 40_000, 2_000_000]),
        ("vierhundertelf, am vierzehnten, zweihundertzehn, einundzwanzig", "German", [411, 14, 210, 21]),
        ("quatre-vingt-dix-sept, soixante et onze, deux cents, mille deux", "French", [97, 71, 200, 1002]),
        ("ciento dos, noventa y dos, cuarenta mil, once", "Spanish", [102, 92, 40_000, 11]),
        ("quarenta e uma pessoas, cem", "Portuguese", [41, 100]),
        ("сто сорок первый день, двадцать шесть, триста тысяч", "Russian", [141, 26, 300_000]),
        ("残り七十二時間、百八段、二千万円、３４０", "Japanese", [72, 108, 20_000_000, 340]),
        ("٣٤٠ and ४५", "", [340, 45]),
        ("once upon an elf, x86 and run2", "English", []),
    ],
)
def test_values(text: str, language: str, values: list[float]) -> None:
    assert [number.value for number in find_numbers(text, language)] == values


def test_a_word_that_may_be_something_else_is_unsure() -> None:
    assert [one.sure for one in find_numbers("wait a second", "English")] == [False]
    assert [one.sure for one in find_numbers("en el cuarto", "Spanish")] == [False]
    assert [one.sure for one in find_numbers("一緒に", "Japanese")] == [False]


@given(st.integers(0, 999_999))
def test_digits_are_what_they_say(value: int) -> None:
    assert [one.value for one in find_numbers(f"They had {value} sheep, or {value:,}.")] == [value, value]


@given(st.text(max_size=80), st.sampled_from([*LANGUAGES, "Japanese", ""]))
def test_any_text_can_be_read(text: str, language: str) -> None:
    assert all(one.value >= 0 for one in find_numbers(text, language))
