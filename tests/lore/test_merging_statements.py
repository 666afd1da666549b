"""How two statements about a thing stand to each other, and which keys are worth keeping."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.generic_words import is_generic
from previously.lore.keywords import LONGEST_KEY, MOST_KEYS, MOST_WORDS, key_of, refined
from previously.lore.statements import Relation, joined, relation, split, state_of

APART, REPEATS, MORE, AGAINST = Relation.APART, Relation.REPEATS, Relation.SAYS_MORE, Relation.CONTRADICTS


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("Skilled warrior.", "skilled  WARRIOR", REPEATS),
        ("Skilled warrior.", "Alice is a skilled warrior.", REPEATS),
        ("Ｓkilled warrior.", "Skilled warrior.", REPEATS),
        ("Trusts Bob.", "She trusted Bob.", REPEATS),
        ("Red hair, green eyes, late 20s.", "Has red hair, green eyes.", REPEATS),
        ("Red hair, green eyes.", "Has red hair, green eyes, late 20s.", MORE),
        ("Bob is a member.", "Bob is a member of the Shadow Guild.", MORE),
        ("Alive.", "Dead.", AGAINST),
        ("Alive.", "Status: deceased", AGAINST),
        ("Alive and well.", "Was killed by Bob.", AGAINST),
        ("Alice is alive.", "Alice died.", AGAINST),
        ("Dead.", "Resurrected.", AGAINST),
        ("Status: wounded.", "Current status: healed.", AGAINST),
        ("Mood: calm", "Mood: furious", AGAINST),
        ("Has red hair.", "Has black hair.", AGAINST),
        ("Carries 3 daggers.", "Carries five daggers.", AGAINST),
        ("In her late 20s.", "In her late 30s.", AGAINST),
        ("Trusts Bob.", "No longer trusts Bob.", AGAINST),
        ("Does not trust Bob.", "Trusts Bob.", AGAINST),
        ("Trusts Bob.", "Distrusts Bob.", AGAINST),
        ("The vault is open.", "The vault is closed.", AGAINST),
        ("Currently held by Alice's aunt.", "Currently held by Alice's uncle.", AGAINST),
        ("Alice trusts Bob.", "Bob trusts Alice.", APART),
        ("Lives in Lethen.", "Owns a boat.", APART),
        ("Likes tea.", "Likes rum.", APART),
        ("Killed two bandits.", "Alive.", APART),
        ("Her brother was killed by Bob.", "Alive.", APART),
        ("Dead.", "Was killed by Bob at the mill.", APART),
        ("Knows: the password", "Knows: the way in", APART),
        ("Warrior.", "Defeated the greatest warrior of the northern isles.", APART),
        ("赤い髪。", "赤い髪", REPEATS),
        ("赤い髪。", "青い目をしている。", APART),
    ],
)
def test_how_statements_stand_to_each_other(old: str, new: str, how: Relation) -> None:
    assert relation(old, new, "Alice") is how


def test_the_one_state_a_statement_is_about() -> None:
    assert state_of("The king was assassinated.", "The King") == ("life", "dead")
    assert state_of("Occupation: pilot", "Wren") == ("occupation", "pilot")
    assert state_of("Assassinated three dukes.", "Wren") is None


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("Skilled warrior. Red hair.", ["Skilled warrior.", "Red hair."]),
        ("Dr. Senn knows her. J. Vex does not.", ["Dr. Senn knows her.", "J. Vex does not."]),
        ('She says: "Stop. Now." Then nothing.', ['She says: "Stop. Now."', "Then nothing."]),
        ("- tall\n- grim\n\nOld", ["- tall", "grim", "Old"]),
        ("強い。怖い。", ["強い。", "怖い。"]),
        ("about 3.5 miles. e.g. this", ["about 3.5 miles. e.g. this"]),
        ("", []),
    ],
)
def test_a_text_falls_into_statements(text: str, statements: list[str]) -> None:
    assert split(text) == statements


def test_a_document_is_one_statement() -> None:
    assert split("First. Second.\nThird.", "document") == ["First. Second.\nThird."]


@given(st.text(max_size=200))
def test_no_letter_is_lost_in_splitting(text: str) -> None:
    letters = [mark for mark in text if mark.isalnum()]
    assert [mark for one in split(text) for mark in one if mark.isalnum()] == letters
    assert [mark for mark in joined(split(text)) if mark.isalnum()] == letters


@settings(max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=10))
def test_any_two_texts_can_be_compared(old: str, new: str, name: str) -> None:
    assert relation(old, old, name) is REPEATS
    assert (relation(old, new, name) is AGAINST) == (relation(new, old, name) is AGAINST)


def test_the_name_comes_first_and_generic_keys_go() -> None:
    keys = ["man", "the next day", "12", "bartender", "THE BARTENDER", "dwarf", "a", "", "  Grim "]
    assert refined("Grim", keys) == ("Grim", "bartender", "dwarf")


def test_keys_are_few_and_short() -> None:
    long = ["x" * 33, "one key of five whole words", "salt key of Lethen"]
    assert refined("Key", long) == ("Key", "salt key of Lethen")
    assert len(refined("Key", [f"salt{number}" for number in range(40)])) == MOST_KEYS


def test_spellings_of_one_key_are_one() -> None:
    assert len({key_of(one) for one in ("Hob’s Tooth", "hob's tooth", "The Hob's Tooth.", "ＨＯＢ'S  TOOTH")}) == 1


@given(st.text(max_size=20), st.lists(st.text(max_size=40), max_size=15))
def test_refining_twice_changes_nothing(name: str, keys: list[str]) -> None:
    once = refined(name, keys)
    assert refined(name, once) == once
    assert len(once) <= MOST_KEYS
    for key in once[1:]:
        assert len(key) <= LONGEST_KEY
        assert len(key.split()) <= MOST_WORDS
        assert not is_generic(key)
