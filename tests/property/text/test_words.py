"""Texts are taken apart the same way in every script, and nothing in them is syntax."""

from __future__ import annotations

import pytest

from previously.text.stems import list_irregular_forms, stem
from previously.text.words import LONGEST_TERM, NAME_MARK, casefold_word, find_places, read_terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("promised", "promises"),
        ("went", "goes"),
        ("children", "child"),
        ("stolen", "steals"),
        ("hopping", "hops"),
        ("relational", "relate"),
        ("seven", "7"),
        ("ponies", "pony"),
        ("agreed", "agrees"),
        ("книгами", "книга"),
    ],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"), [("universe", "unite"), ("wander", "wonder"), ("news", "newt"), ("bas", "base"), ("лес", "лиса")]
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_a_stem_is_never_empty_and_stems_of_irregular_forms_agree() -> None:
    for form, first in list_irregular_forms().items():
        assert stem(form) == stem(first) != ""


def test_words_that_say_nothing_are_no_terms_but_names_spelt_like_them_are() -> None:
    assert read_terms("what will you do about it?").terms == ()
    assert NAME_MARK + "will" in read_terms("Then Will came back.").terms
    assert NAME_MARK + "will" not in read_terms("Will you come back?").terms


def test_contractions_and_possessives() -> None:
    assert read_terms("Mara's lantern").terms == read_terms("Mara lantern").terms
    assert read_terms("didn't couldn’t wasn't").terms == ()


def test_content_leaves_filler_out() -> None:
    said = read_terms("Okay, I really think the lantern is great")
    assert said.content == ("lantern",)
    assert len(said.terms) > 1


def test_scripts_without_spaces_become_pairs() -> None:
    assert read_terms("灯台の鍵").terms == ("灯台", "台の", "の鍵")
    assert set(read_terms("鍵").terms) == {"鍵"}
    assert set(read_terms("灯台").terms) <= set(read_terms("古い灯台はここです").terms)
    assert read_terms("ประภาคาร").terms[0] == "ประ"


def test_korean_and_mixed_text() -> None:
    assert "등대" in read_terms("등대의 열쇠").terms
    assert "lamp" in read_terms("その lamp はどこ").terms


def test_emoji_are_found_by_themselves() -> None:
    assert "🔑" in read_terms("I lost my 🔑!").terms
    assert read_terms("🔑🔑").terms == ("🔑", "🔑")


def test_accents_and_width_do_not_matter() -> None:
    assert read_terms("CAFÉ").terms == read_terms("cafe").terms
    assert read_terms("ＡＢＣ").terms == read_terms("abc").terms
    assert casefold_word("Straße") == "strasse"


def test_identifiers_are_found_whole_and_by_their_parts() -> None:
    assert {"parse_config_file", "pars", "config", "file"} <= set(read_terms("parse_config_file").terms)
    assert {"user", "name"} <= set(read_terms("getUserName()").terms)


def test_numbers_without_their_separators() -> None:
    assert read_terms("18,400 crowns").terms == read_terms("18400 crowns").terms
    assert read_terms("at 3:15").terms[-1] == "3:15"
    assert read_terms("the 3rd").terms == read_terms("the 3").terms


@pytest.mark.parametrize(
    "text", ['"unbalanced', "a AND OR NOT NEAR(", "col:value*", "^front", "'; DROP TABLE entry; --", "-x +y (z", "\x00"]
)
def test_search_syntax_is_only_text(text: str) -> None:
    assert all(len(term) <= LONGEST_TERM and "\x00" not in term for term in read_terms(text).terms)


def test_a_blob_is_found_by_its_front() -> None:
    assert [len(term) <= LONGEST_TERM for term in read_terms("a" * 100_000).terms] == [True]


def test_places_to_highlight() -> None:
    text = "She promised the brass key; promises are kept."
    assert [text[a:b] for a, b in find_places(text, read_terms("promise").terms)] == ["promised", "promises"]
    text = "古い灯台の鍵"
    assert [text[a:b] for a, b in find_places(text, read_terms("灯台の鍵").terms)] == ["灯台の鍵"]
    assert find_places("nothing here", ()) == ()
