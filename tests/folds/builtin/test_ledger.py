"""Which names the last sentence lists, and how it writes them."""

from __future__ import annotations

import pytest
from previously.folds.builtin.ledger import ledger_sentence, take_ledger

from previously.folds.builtin.names import NameBook


def book_of(*sentences: str) -> NameBook:
    """A book that has read these sentences."""
    book = NameBook((), ())
    for sentence in sentences:
        book.read(sentence)
    return book


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("They rowed past Hob's Tooth and Maiden's Sand in the dark.", ["Hob's Tooth", "Maiden's Sand"]),
        ("They rang the bell of St. Orla's for Dr. Senn and Mr. Gage.", ["St. Orla's", "Dr. Senn", "Mr. Gage"]),
        ("They asked Miss Quillan about Fennel Court.", ["Miss Quillan", "Fennel Court"]),
        ("They asked the Miss at the door about Lethen.", ["Lethen"]),
    ],
)
def test_names_are_kept_whole(sentence: str, names: list[str]) -> None:
    assert book_of(sentence).runs_in(sentence) == names


def test_what_belongs_to_someone_met_alone_is_no_part_of_the_name() -> None:
    sentence = "They saw Caleb with Frumpkin, and Caleb's Frumpkin saw them."
    assert book_of(sentence).runs_in(sentence) == ["Caleb", "Frumpkin", "Caleb", "Frumpkin"]


def test_a_part_of_a_listed_name_and_a_bare_title_are_not_listed() -> None:
    book = book_of(
        "They came to Fennel Court by Fennel Lane, to the Assessor, the Assessor of Lethen.",
        "They rowed past Hob's Tooth to St. Orla's with Dr. Senn.",
    )
    counts = {"Fennel": 9, "Assessor": 8, "Fennel Court": 7, "Hob's Tooth": 6, "Dr. Senn": 5, "St. Orla's": 4}
    listed = ledger_sentence("Nothing was said.", counts, book, 40, english=True)
    assert listed == "Also named so far: Fennel Court, Hob's Tooth, Dr. Senn and St. Orla's."
    assert take_ledger(f"Nothing was said.\n{listed}") == (
        "Nothing was said.",
        ["Fennel Court", "Hob's Tooth", "Dr. Senn", "St. Orla's"],
    )


def test_a_name_with_a_title_is_not_listed_when_the_prose_holds_it_without() -> None:
    book = book_of("They asked Dr. Senn about it.")
    assert ledger_sentence("Senn left the town.", {"Dr. Senn": 9}, book, 40, english=True) == ""
