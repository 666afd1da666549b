"""The current state: one value per thing and aspect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from previously.core.note import Aspect, LoreItem, Note, PresenceItem, StateItem, parse_state_line, render_state_line
from previously.lore.current_state import MOST_VALUES, UNSEEN_AFTER
from previously.lore.hand_records import StateRecord, correct_state, parse_record
from previously.lore.state import EMPTY_STATE, PlacedNote, State, apply_note


def told(*notes: tuple[str, ...], lore: tuple[LoreItem, ...] = (), length: int = 10) -> State:
    state = EMPTY_STATE
    for number, lines in enumerate(notes):
        items = tuple(replace(item, at=0) for line in lines if (item := parse_state_line(line)))
        note = Note(state=items, lore=lore if not number else ())
        state = apply_note(state, PlacedNote(note, bytes([number]), number * length, number * length + length - 1))
    return state


def lines(state: State) -> list[str]:
    return [one.text for one in state.current.items]


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("Maya / place: the mill", StateItem("Maya", Aspect.PLACE, "the mill")),
        ("- Bram's knife/HOLDER： Old  Wick", StateItem("Bram's knife", Aspect.HOLDER, "Old Wick")),
        ("Order of 1/2 / office: clerk / scribe", StateItem("Order of 1/2", Aspect.OFFICE, "clerk / scribe")),
        ("Story / time: ended.", StateItem("Story", Aspect.TIME, "")),
        ("Maya: at the mill", None), ("Maya / mood: sad", None), (" / place: the mill", None), ("Maya / place:", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_line_is_a_thing_an_aspect_and_a_value(line: str, item: StateItem | None) -> None:
    assert parse_state_line(line) == item
    if item and item.value:
        assert parse_state_line(render_state_line(item.thing, item.aspect, item.value)) == item


def test_the_newest_value_of_a_thing_and_aspect_replaces_the_older_one_and_nothing_else() -> None:
    first = ("Maya / place: the mill", "Maya / condition: wounded", "Key / holder: Maya")
    state = told(first, ("maya / place: the quay",))
    assert lines(state) == ["Maya / condition: wounded", "Key / holder: Maya", "maya / place: the quay"]
    assert [one.value for one in state.current.earlier] == ["the mill"]


def test_a_value_ends_and_stays_at_hand() -> None:
    state = told(("Maya / condition: wounded",), ("Maya / condition: ended", "Key / place: ended"))
    assert (lines(state), [one.value for one in state.current.earlier]) == ([], ["wounded"])


def test_a_thing_is_the_same_under_the_names_that_lore_knows() -> None:
    ilse = LoreItem("Ilse Marrow", "person", ("Ilse",), "Clockmaker.")
    both = (("Ilse / place: the tower",), ("Ilse Marrow / place: the ferry",))
    assert lines(told(*both, lore=(ilse,))) == ["Ilse Marrow / place: the ferry"]
    assert len(lines(told(*both))) == 2, "nothing says that they are one"


def test_places_that_nobody_spoke_of_for_long_go_first() -> None:
    old = ("Maya / place: the mill", "Maya / condition: wounded")
    rest = tuple(f"Thing {number} / holder: Bram" for number in range(MOST_VALUES - 1))
    near = told(old, rest)
    assert lines(near)[0] == "Maya / condition: wounded", "the oldest place of all"
    far = told(("Key / holder: Maya",), old, rest[:-1], length=UNSEEN_AFTER + 1)
    assert len(lines(far)) == MOST_VALUES
    assert "Key / holder: Maya" in lines(far)
    assert "Maya / place: the mill" not in lines(far)


def test_what_a_person_says_no_note_replaces() -> None:
    state = told(("Maya / place: the mill",), ("Maya / place: the quay",))
    found = correct_state(
        state, [(5, StateRecord("Maya / place: the chapel")), (6, StateRecord("It rains."))]
    ).state.current
    assert [one.text for one in found.items] == ["Maya / place: the chapel", "It rains."]
    assert [one.value for one in found.suggestions] == ["the quay"]


def test_free_words_stand_beside_each_other_until_a_person_ends_them() -> None:
    said = [
        (5, StateRecord("It rains.")),
        (5, StateRecord("Maya is tired.")),
        (6, StateRecord("it  rains.", ended=True)),
    ]
    assert [one.text for one in correct_state(EMPTY_STATE, said).state.current.items] == ["Maya is tired."]


def test_what_a_person_ended_may_come_to_hold_again() -> None:
    ended = [(5, StateRecord("Maya / place: ended"))]
    assert correct_state(told(("Maya / place: the mill",)), ended).state.current.items == ()
    assert lines(correct_state(told((), ("Maya / place: the quay",)), ended).state) == ["Maya / place: the quay"]


def test_a_record_of_an_earlier_version_is_free_words() -> None:
    old = parse_record('{"kind": "held", "text": "Maya is in the mill.", "subject": "Maya"}')
    assert old is not None
    assert lines(correct_state(EMPTY_STATE, [(0, old)]).state) == ["Maya is in the mill."]


def test_a_place_that_is_not_said_again_of_somebody_present_has_lapsed() -> None:
    first = Note(
        state=(
            StateItem("Sister Avice", Aspect.PLACE, "the lamp-house", 0),
            StateItem("Avice's ledger", Aspect.PLACE, "the lamp-house", 0),
            StateItem("Bram", Aspect.PLACE, "the tower", 0),
            StateItem("Sister Avice", Aspect.CONDITION, "burnt hand", 0),
        )
    )
    second = Note(
        present=(PresenceItem(0, 9, ("Avice", "Bram")),), state=(StateItem("Bram", Aspect.PLACE, "the yard", 3),)
    )
    state = apply_note(EMPTY_STATE, PlacedNote(first, b"a", 0, 9))
    assert len(state.current.standing) == 4
    state = apply_note(state, PlacedNote(second, b"b", 10, 19))
    assert [one.text for one in state.current.standing] == [
        "Avice's ledger / place: the lamp-house",
        "Sister Avice / condition: burnt hand",
        "Bram / place: the yard",
    ]
    assert any(one.lapsed for one in state.current.items), "whoever notes what comes next is still shown it"
    again = Note(state=(StateItem("Sister Avice", Aspect.PLACE, "the ferry", 1),))
    assert "Sister Avice / place: the ferry" in [
        one.text for one in apply_note(state, PlacedNote(again, b"c", 20, 29)).current.standing
    ]
