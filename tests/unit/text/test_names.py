"""Names in a text, and who was heard of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.text.names import HeardNames, find_names, find_unheard, name_chapter

STORY = "Марина Орлова и Глеб. Ines Quillan met Dr. Senn and the Kessler brothers. Der Wärter Momme Hansen. ハルカ"


def test_a_title_written_out_ends_a_sentence() -> None:
    assert find_names("Gideon took it to his father. Remembering this, he met Mrs. Thripp.") == ["Mrs Thripp"]


def test_names_stand_inside_sentences() -> None:
    assert find_names("Yesterday Ines Quillan met the old Bram. Rain fell. Then Dr. Senn came.") == [
        "Ines Quillan",
        "Bram",
        "Dr Senn",
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("They saw Ines’s hat, the Kesslers and Senn on a Monday in March, near the Inn.", "English"),
        ("Rain fell. Nobody spoke. Villagers came, and Others went.", "English"),
        ("Глебу и Марине сказали, что Орловой нет.", "Russian"),
        ("Die Tür, der Keller und die Stiefel gehörten Hansens Mutter.", "German"),
        ("ハルカはテーブルの上にペンダントを置いた。", "Japanese"),
    ],
)
def test_forms_of_known_names_and_things_are_no_strangers(text: str, language: str) -> None:
    story = f"{STORY} others"
    assert find_unheard(text, HeardNames([story]), language) == []


@pytest.mark.parametrize(
    ("text", "language", "stranger"),
    [
        ("They saw Garrick there.", "English", "Garrick"),
        ("Garrick promised to come.", "English", "Garrick"),
        ("Captain Garrick came.", "English", "Garrick"),
        ("They asked Dr. Zorn.", "English", "Zorn"),
        ("Dann kam Balthasar Grimmelt.", "German", "Balthasar"),
        ("Balthasar Grimmelt kam dazu.", "German", "Grimmelt"),
        ("Потом пришёл Евграф.", "Russian", "Евграф"),
        ("ヴィクトルさんが来た。", "Japanese", "ヴィクトル"),
    ],
)
def test_strangers_are_found(text: str, language: str, stranger: str) -> None:
    assert stranger in find_unheard(text, HeardNames([STORY]), language)


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["English", "German", "Japanese", ""]))
def test_any_text_can_be_read_and_nobody_is_a_stranger_to_himself(text: str, story: str, language: str) -> None:
    find_unheard(text, HeardNames([story]), language)
    assert find_unheard(text, HeardNames([text]), language) == []


@pytest.mark.parametrize(
    ("number", "title", "name"),
    [
        (5, "Chapter Five", "Chapter Five"),
        (5, "Chapter 5: The Well", "Chapter 5: The Well"),
        (21, "CHAPTER TWENTY-ONE", "CHAPTER TWENTY-ONE"),
        (5, "Chapter Six", "Chapter 5, Chapter Six"),
        (5, "Five Bells", "Chapter 5, Five Bells"),
        (5, "", "Chapter 5"),
    ],
)
def test_a_chapter_is_not_called_by_its_number_twice(number: int, title: str, name: str) -> None:
    assert name_chapter(number, title) == name
