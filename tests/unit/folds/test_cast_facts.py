"""Which facts an answer speaks of, what becomes of them, and which one gives way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.cast import MOST_FACTS, Fact
from previously.folds.cast_facts import (
    BINDS,
    HAPPENED,
    CastAnswer,
    FactDiff,
    apply_diff,
    find_fact,
    measure_likeness,
    resolve_answer,
    tells_nothing_new,
    weigh_fact,
)

KEY = Fact("Bram hid the brass key under the third stair of the mill", 1)
DEBT = Fact("Joaquin owes Maya forty crowns", 2)
LOVE = Fact("Odalys loves the smith", 3)
HELD = (KEY, DEBT, LOVE)


def learnt(text: str) -> Fact:
    return Fact(text, 9)


def change(wanted: CastAnswer, held: tuple[Fact, ...] = HELD) -> list[str]:
    return [fact.text for fact in apply_diff(held, resolve_answer(held, wanted, learnt))]


TEXTS = [fact.text for fact in HELD]


@pytest.mark.parametrize(
    ("pointed", "meant"),
    [
        (KEY.text, KEY),
        ("  bram HID the brass key under the third stair of the mill", KEY),
        (1, KEY),
        (3, LOVE),
        ("Bram has hidden a brass key under the third stair in the mill", KEY),
        ("The brass key was hidden by Bram under the third stair of the mill", KEY),
        ("Joaquin owes Maya 40 crowns", DEBT),
        ("Odalys is in love with the smith", LOVE),
        # none of these is meant
        (0, None),
        (4, None),
        (-1, None),
        ("", None),
        ("Bram", None),
        ("the key", None),
        ("brass key", None),
        ("Maya owes Joaquin forty crowns", None),
        ("Joaquin owes Maya sixty crowns", None),
        ("Joaquin does not owe Maya forty crowns", None),
        ("Odalys hates the miller", None),
        ("Maya hid the letter behind the third stone of the wall", None),
    ],
)
def test_what_is_pointed_at(pointed: str | int, meant: Fact | None) -> None:
    assert find_fact(pointed, HELD) == meant


def test_of_two_that_are_as_like_none_is_meant() -> None:
    keys = (
        Fact("Bram keeps the spare key of the old mill", 1),
        Fact("Bram keeps the spare key of the old inn", 2),
    )
    assert find_fact("Bram keeps the spare key of the old barn", keys) is None
    assert find_fact("bram keeps the spare key of the old inn", keys) == keys[1]


def test_adding_removing_and_updating() -> None:
    assert change(CastAnswer(add=("It rains",))) == [*TEXTS, "It rains"]
    assert change(CastAnswer(remove=(2,))) == [KEY.text, LOVE.text]
    assert change(CastAnswer(update=((1, "Bram moved the key to the inn"),))) == [
        DEBT.text, LOVE.text, "Bram moved the key to the inn",
    ]  # fmt: skip
    assert change(CastAnswer()) == TEXTS


def test_an_update_of_what_is_not_there_is_a_new_fact() -> None:
    assert change(CastAnswer(update=(("The duke is ill", "The duke is dead"),))) == [*TEXTS, "The duke is dead"]
    both = CastAnswer(update=((7, "The duke is dead"), ("", "It rains")))
    assert change(both) == [*TEXTS, "The duke is dead", "It rains"]


@pytest.mark.parametrize(
    "again",
    [
        "joaquin owes maya forty crowns.",
        "Joaquin owed Maya 40 crowns",
        "Bram has hidden the brass key under the third stair of the mill",
        "Bram hid the brass key under the third stair",
    ],
)
def test_what_is_known_is_not_added_twice(again: str) -> None:
    assert change(CastAnswer(add=(again,))) == TEXTS


@pytest.mark.parametrize(
    "other",
    [
        "Maya owes Joaquin forty crowns",
        "Joaquin owes Maya fifty crowns",
        "Joaquin does not owe Maya forty crowns",
        "Maya thinks Joaquin owes her forty crowns",
        "Bram hid the silver key under the third stair of the mill",
        "Odalys loves the miller",
        "Odalys fears the smith",
    ],
)
def test_what_is_only_alike_is_kept_beside_it(other: str) -> None:
    assert change(CastAnswer(add=(other,))) == [*TEXTS, other]


def test_a_fuller_wording_takes_the_place_of_the_shorter_one() -> None:
    held = (Fact("Bram hid the key", 1), DEBT)
    assert change(CastAnswer(add=("Bram hid the brass key",)), held) == [DEBT.text, "Bram hid the brass key"]
    assert change(CastAnswer(add=("Bram left", "Bram left for Lethen")), ()) == ["Bram left for Lethen"]


def test_what_an_answer_both_removes_and_adds_stays() -> None:
    assert change(CastAnswer(add=(DEBT.text,), remove=(2,))) == [KEY.text, LOVE.text, DEBT.text]


def test_a_whole_list_changes_what_it_words_anew_and_takes_nothing_away() -> None:
    whole = ("Joaquin owes Maya forty silver crowns", "The duke is dead", "odalys loves the SMITH")
    assert change(CastAnswer(whole=whole)) == [
        KEY.text, LOVE.text, "Joaquin owes Maya forty silver crowns", "The duke is dead",
    ]  # fmt: skip


def test_a_whole_list_takes_no_fact_for_another_that_it_names_too() -> None:
    keys = ("Bram keeps the spare key of the old mill", "Bram keeps the spare key of the old inn")
    held = tuple(Fact(text, 1) for text in keys)
    assert change(CastAnswer(whole=(*keys, "Bram keeps the spare key of the old barn")), held)[:2] == list(keys)


def test_the_eleventh_fact_is_kept_and_the_oldest_trivia_goes() -> None:
    held = tuple(
        [Fact("Bram promised to bring the boat", 0), Fact("The soup was cold", 1), Fact("The cat is grey", 2)]
        + [Fact(f"Odalys trusts her cousin {name}", 3) for name in ("Ann", "Bea", "Cid", "Dov", "Eli", "Fay", "Gus")]
    )
    assert len(held) == MOST_FACTS
    after = change(CastAnswer(add=("The dog is brown",)), held)
    assert len(after) == MOST_FACTS
    assert after[-1] == "The dog is brown"
    assert "The soup was cold" not in after
    assert "Bram promised to bring the boat" in after


def test_among_equals_the_oldest_goes() -> None:
    held = tuple(Fact(f"Bram promised {name} a boat", since) for since, name in enumerate("ABCDEFGHIJ"))
    assert change(CastAnswer(add=("It rains",)), held)[0] == "Bram promised B a boat"


@pytest.mark.parametrize(
    ("fact", "weight"),
    [
        ("Bram promised to bring the boat before dawn", BINDS),
        ("Joaquin owes Maya forty crowns", BINDS),
        ("Bram hat Maya versprochen, das Boot zu bringen", BINDS),
        ("Бобу я обещаю лодку", BINDS),
        ("Bram found the ledger in the loft", HAPPENED),
        ("", HAPPENED),
    ],
)
def test_what_matters_more(fact: str, weight: int) -> None:
    assert weigh_fact(fact) == weight


WORDS = st.sampled_from("Bram Maya Joaquin hid found owes trusts key ledger mill inn brass third two not never".split())
FACT_TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
MANY = st.lists(FACT_TEXTS, max_size=14).map(tuple)
POINTED = FACT_TEXTS | st.integers(-1, 12)
WANTED = st.builds(
    CastAnswer,
    add=MANY,
    remove=st.lists(POINTED, max_size=3).map(tuple),
    update=st.lists(st.tuples(POINTED, FACT_TEXTS), max_size=3).map(tuple),
    whole=st.just(()) | MANY,
)
FACTS = st.lists(st.tuples(FACT_TEXTS, st.integers(0, 8)), max_size=10, unique_by=lambda one: one[0]).map(
    lambda rows: tuple(Fact(text, since) for text, since in rows)
)


@given(FACTS, WANTED)
def test_there_are_never_more_than_ten_and_the_newest_is_one_of_them(
    held: tuple[Fact, ...], wanted: CastAnswer
) -> None:
    diff = resolve_answer(held, wanted, learnt)
    after = apply_diff(held, diff)
    assert len(after) <= MOST_FACTS
    assert len({fact.text for fact in after}) == len(after)
    if diff.new:
        assert after[-1] == diff.new[-1]
    kept_old = [fact for fact in after if fact not in diff.new]
    if any(fact not in after for fact in diff.new):
        assert not kept_old, "something new gave way before something old"


@given(FACTS, WANTED)
def test_applying_a_diff_twice_is_applying_it_once(held: tuple[Fact, ...], wanted: CastAnswer) -> None:
    diff = resolve_answer(held, wanted, learnt)
    assert apply_diff(apply_diff(held, diff), diff) == apply_diff(held, diff)


@given(FACTS, MANY)
def test_what_was_added_is_not_added_again(held: tuple[Fact, ...], adds: tuple[str, ...]) -> None:
    once = apply_diff(held, resolve_answer(held, CastAnswer(add=adds[:5]), learnt))
    again = resolve_answer(once, CastAnswer(add=adds[:5]), learnt)
    known = {fact.text for fact in once}
    assert [fact.text for fact in again.new if fact.text in known] == []


@given(FACTS, WANTED)
def test_only_what_was_pointed_at_or_gave_way_is_gone(held: tuple[Fact, ...], wanted: CastAnswer) -> None:
    diff = resolve_answer(held, wanted, learnt)
    assert set(diff.gone) <= {fact.text for fact in held}
    after = apply_diff(held, diff)
    if len(held) + len(diff.new) <= MOST_FACTS:
        assert [fact for fact in held if fact not in after and fact.text not in diff.gone] == [
            fact for fact in held if fact.text in {one.text for one in diff.new} - set(diff.gone)
        ]


@given(FACT_TEXTS, FACT_TEXTS)
def test_nothing_is_taken_for_another_on_fewer_than_two_words(one: str, other: str) -> None:
    shared = set(one.lower().split()) & set(other.lower().split())
    if len(shared) < 2:
        assert measure_likeness(one, other) == 0
        assert one == other or not tells_nothing_new(one, other)


def test_an_empty_diff_changes_nothing() -> None:
    assert apply_diff(HELD, FactDiff()) == HELD
