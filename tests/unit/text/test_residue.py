"""What an amended text may not hold any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.text.compare import find_residue
from previously.text.stopwords import list_stop_words
from previously.text.words import make_key

KEPT = ["Ines came to the harbour on 2 March.", "Bram owed seven crowns."]


def test_names_numbers_and_quotes_of_removed_words_are_found() -> None:
    removed = ["Zerubbabel swore on 4711 stars: “the moon is a liar”. Ines laughed."]
    text = "Ines met Zerubbabel, who counted 4,711 stars and said the moon is a liar. Bram owed seven crowns."
    assert {"Zerubbabel", "4711", "the moon is a liar"} <= set(find_residue(removed, KEPT, text))


def test_what_is_kept_elsewhere_is_no_residue() -> None:
    assert find_residue(["Ines paid 7 crowns to Bram on 2 March."], KEPT, "Ines, Bram, 7, 2, March.") == []


def test_a_number_is_found_in_words() -> None:
    assert find_residue(["He owed 340 crowns."], KEPT, "He owed three hundred and forty crowns.") == ["340"]


def test_any_distinctive_word_is_found() -> None:
    removed = ["The lantern was hidden in the well."]
    assert find_residue(removed, KEPT, "Ines came for the lantern.") == ["lantern"]
    assert find_residue(removed, ["A lantern burned."], "Ines came for the lantern.") == []


def test_katakana_names() -> None:
    assert find_residue(["コハクが笑った。"], ["ハルカが来た。"], "ハルカはコハクに会った。") == ["コハク"]


def test_a_name_that_only_began_sentences_is_found() -> None:
    assert find_residue(["Quillfeather! Run!"], KEPT, "They called for Quillfeather's help.") == ["Quillfeather"]


words = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäéñжя", min_size=4, max_size=9)
texts = st.lists(words, max_size=6).map(" ".join)


@given(texts, texts, texts, words, st.sampled_from(["{}", "{}'s", "the {}.", "“{}” they said"]))
def test_no_word_that_only_the_removed_text_had_survives(
    removed: str, kept: str, text: str, word: str, around: str
) -> None:
    found = find_residue([f"{removed} {word}"], [kept], f"{text} {around.format(word)}")
    only = word not in list_stop_words() and make_key(word) not in {make_key(one) for one in kept.split()}
    if only and make_key(word) not in list_stop_words():
        assert make_key(word) in {make_key(one) for one in found}


@given(st.lists(st.text(max_size=50), max_size=3), st.lists(st.text(max_size=50), max_size=3), st.text(max_size=100))
def test_residue_is_total_and_never_in_what_is_kept(removed: list[str], kept: list[str], text: str) -> None:
    found = find_residue(removed, kept, text)
    assert found == find_residue(removed, kept, text)
    assert find_residue(removed, [*kept, *removed], text) == []
    assert find_residue([], kept, text) == []
