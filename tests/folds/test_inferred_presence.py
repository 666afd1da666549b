"""Who is there, read from prose."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from previously.folds.presence import Change, presence_after

from previously.core.messages import message
from tests.folds.presence_sentences import ALONE, HERE, MISSED, TABLE, UNSEEN, Sentences

CAST = ["Maya", "Bram", "Odalys"]


def change(sentence: str, present: str) -> Change:
    return presence_after(frozenset(present.split()), CAST, message("assistant", sentence))


@pytest.mark.parametrize(("sentence", "present", "left", "entered"), TABLE)
def test_who_moves(sentence: str, present: str, left: str, entered: str) -> None:
    found = change(sentence, present)
    assert (set(found.left), set(found.entered)) == (set(left.split()), set(entered.split()))
    assert bool(found.why) is not found.is_nothing


@pytest.mark.parametrize(("sentence", "present", "left", "entered"), MISSED)
def test_what_is_not_seen_is_passed_over_in_silence(sentence: str, present: str, left: str, entered: str) -> None:
    assert left or entered
    assert change(sentence, present) == Change()


def right_and_wrong(rows: Sentences) -> tuple[int, int, int]:
    """How many moves were found, made up and missed."""
    found = made_up = missed = 0
    for sentence, present, left, entered in rows:
        result = change(sentence, present)
        got = {*(("left", one) for one in result.left), *(("entered", one) for one in result.entered)}
        wanted = {*(("left", one) for one in left.split()), *(("entered", one) for one in entered.split())}
        found, made_up, missed = found + len(got & wanted), made_up + len(got - wanted), missed + len(wanted - got)
    return found, made_up, missed


def test_it_is_seldom_wrong_about_sentences_it_was_not_made_for() -> None:
    found, made_up, missed = right_and_wrong(UNSEEN)
    assert found / (found + made_up) >= 0.9
    assert found / (found + missed) >= 0.6


def test_who_speaks_is_there() -> None:
    said = message("assistant", "Good evening.", speaker="Maya")
    assert presence_after(frozenset({"Bram"}), CAST, said) == Change((), ("Maya",), "Maya is there: they speak")
    assert presence_after(frozenset({"Bram", "Maya"}), CAST, said).is_nothing


def test_who_speaks_and_leaves_has_left() -> None:
    said = message("assistant", '"Good night." *She walks out of the room.*', speaker="Maya")
    assert presence_after(frozenset({"Bram", "Maya"}), CAST, said).left == ("Maya",)
    assert presence_after(frozenset({"Bram"}), CAST, said).is_nothing


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I leave the tavern.", ("Maya",)),
        ("*I storm out of the room*", ("Maya",)),
        ("I leave tomorrow, you know.", ()),
        ('"I leave the tavern when I like."', ()),
        ("I will leave the tavern.", ()),
        ("I leave the key on the table.", ()),
    ],
)
def test_players_write_what_they_do_in_the_first_person(text: str, left: tuple[str, ...]) -> None:
    assert presence_after(None, CAST, message("user", text, speaker="Maya")).left == left


def test_everybody_is_there_where_nothing_is_known() -> None:
    assert presence_after(None, CAST, message("assistant", "Maya leaves. Bram enters.")).left == ("Maya",)
    assert presence_after(None, CAST, message("assistant", "Maya leaves. Bram enters.")).entered == ()


def test_only_those_of_the_cast_are_moved_in_their_own_spelling() -> None:
    said = message("assistant", "Joaquin leaves. Maya walks out.")
    assert presence_after(frozenset({"maya ortiz"}), ["Maya Ortiz", "Bram"], said).left == ("Maya Ortiz",)
    assert presence_after(None, [], said) == Change()
    assert presence_after(None, ["Maya Ortiz", "Maya Reyes"], said).is_nothing, "it could be either"
    assert presence_after(None, ["Captain Reyes"], message("assistant", "The Captain leaves.")).is_nothing
    assert presence_after(None, ["Captain Reyes"], message("assistant", "Reyes leaves.")).left == ("Captain Reyes",)


def test_it_says_why() -> None:
    assert change("The rain falls. Maya storms out of the kitchen.", HERE).why == (
        "Maya left: “Maya storms out of the kitchen.”"
    )


@pytest.mark.parametrize("role", ["system", "tool"])
def test_only_the_story_moves_people(role: str) -> None:
    assert presence_after(None, CAST, message(role, "Maya leaves.")).is_nothing


WORDS = st.sampled_from(
    'Maya Bram Odalys leaves enters walks out into the room and not if . , " * ? she returns joins them 雨 ('.split()
)


@settings(max_examples=100)
@given(
    st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join)),
    st.none() | st.frozensets(st.sampled_from(CAST)),
    st.lists(st.sampled_from([*CAST, "", " ", "(", "マヤ", "x" * 80]), max_size=4),
    st.none() | st.sampled_from([*CAST, "Narrator"]),
)
def test_whatever_is_written_nobody_leaves_who_was_not_there(
    text: str, present: frozenset[str] | None, cast: list[str], speaker: str | None
) -> None:
    found = presence_after(present, cast, message("assistant", text, speaker=speaker))
    before = set(cast) if present is None else set(present)
    assert set(found.left) <= before & set(cast)
    assert set(found.entered) <= set(cast) - before
    assert bool(found.why) is not found.is_nothing


def test_the_tables_are_large_and_hold_both_kinds() -> None:
    still = [row for row in TABLE if not row[2] and not row[3]]
    assert len(TABLE) >= 60
    assert len(still) >= 30
    assert {row[1] for row in (*TABLE, *UNSEEN)} == {HERE, ALONE}
