"""Who takes part in a story."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from previously.core.json_values import make_plain, read_plain
from previously.core.messages import Message, Role, Text
from previously.core.people import MOST_PEOPLE, Person, is_group, list_characters, update_people


def said(speaker: str | None, role: Role = Role.ASSISTANT, witnesses: tuple[str, ...] | None = None) -> Message:
    return Message(role, (Text("hm"),), speaker, witnesses)


def test_speakers_players_and_silent_witnesses_are_known() -> None:
    messages = [said("Sam", Role.USER), said("Maya"), said("Narrator"), said("MAYA ", witnesses=("Joaquin", "Sam"))]
    people = update_people({}, enumerate(messages))
    assert list_characters(people) == ["Joaquin", "Maya"]
    assert people["maya"] == Person("Maya", speaks=True, plays=False, first=1, last=3)
    assert people["sam"].plays and people["sam"].last == 3
    assert not is_group(people)
    assert is_group(update_people(people, [(4, said("Joaquin"))]))


def test_a_narrator_with_one_character_is_no_group() -> None:
    assert not is_group(update_people({}, enumerate([said("Narrator"), said("Maya"), said(None)])))


def test_only_those_seen_last_are_kept() -> None:
    people = update_people({}, ((at, said(f"Guest {at}")) for at in range(MOST_PEOPLE + 5)))
    assert len(people) == MOST_PEOPLE
    assert "guest 4" not in people and "guest 5" in people


names = st.sampled_from(["Maya", "maya", "Bram", "Sam", None])


@given(st.lists(st.tuples(names, st.sampled_from([Role.USER, Role.ASSISTANT])), max_size=12), st.integers(0, 12))
def test_reading_on_gives_the_same_as_reading_all(said_by: list[tuple[str | None, Role]], cut: int) -> None:
    messages = list(enumerate(said(name, role) for name, role in said_by))
    front = update_people({}, messages[:cut])
    kept = {name: read_plain(Person, make_plain(person)) for name, person in front.items()}
    assert update_people(kept, messages[cut:]) == update_people({}, messages)
