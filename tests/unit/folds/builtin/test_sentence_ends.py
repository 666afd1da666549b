"""Where a sentence ends: not behind an abbreviation, in English and German."""

from __future__ import annotations

import pytest

from previously.text.sentences import split_sentences


@pytest.mark.parametrize(
    "sentence",
    [
        "Das Haus Nr. 58 steht leer.",
        "Er kaufte Obst, z. B. Birnen.",
        "Er kaufte Obst, z.B. Birnen.",
        "Dr. Weiss wohnt in St. Pölten.",
        "Birnen bzw. Quitten, ca. 40 Stück, lagen da.",
        "Der Hof, d. h. Haus und Stall, brannte ab.",
    ],
)
def test_an_abbreviation_ends_no_sentence(sentence: str) -> None:
    assert split_sentences(f"{sentence} Dann kam die Nacht.") == [sentence, "Dann kam die Nacht."]


@pytest.mark.parametrize("sentence", ["He chose plan a.", "The door shut.", "Das war der Herr.", "Er ging weiter."])
def test_other_words_do(sentence: str) -> None:
    assert split_sentences(f"{sentence} Night came.") == [sentence, "Night came."]
