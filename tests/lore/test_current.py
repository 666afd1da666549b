"""How things stand now: what replaces what, what is kept, and what is told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.core.signals import Signals
from previously.core.states import Label
from previously.lore.current import (
    MOST_SHOWN,
    NO_STATE,
    Change,
    Current,
    changes_of,
    held_by,
    lines,
    reduce_current,
)
from previously.lore.snapshots import current_json, current_of


def after(*texts: str, by: str = "model") -> Current:
    return reduce_current(NO_STATE, [Change(text, place, by) for place, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("text", "subject", "label"),
    [
        ("Maya: at the mill", "Maya", Label.PLACE),
        ("Maya reached the harbour", "Maya", Label.PLACE),
        ("Maya is now in Lethen", "Maya", Label.PLACE),
        ("Location: the cellar of the inn", "", Label.PLACE),
        ("Time: evening", "", Label.TIME),
        ("It is now night", "", Label.TIME),
        ("Three days have passed", "", Label.TIME),
        ("Alice: wounded in the shoulder", "Alice", Label.INJURY),
        ("Alice's wound healed", "Alice", Label.INJURY),
        ("Alice Liddell broke her arm", "Alice Liddell", Label.INJURY),
        ("Maya has the brass key", "Maya", Label.POSSESSION),
        ("Maya gave the key to Odalys", "Maya", Label.POSSESSION),
        ("Wren died in the storm", "Wren", Label.STATUS),
        ("Wren: captured by the guards", "Wren", Label.STATUS),
        ("Maya and Wren are now enemies", "Maya", Label.RELATION),
        ("Odalys no longer trusts Maya", "Odalys", Label.RELATION),
        ("The bridge was swept away", "bridge", Label.OTHER),
        ("The next morning Maya reached the mill", "Maya", Label.PLACE),
        ("Three days later Maya went to Lethen", "Maya", Label.PLACE),
        ("In the cellar Odalys found the ledger", "Odalys", Label.POSSESSION),
        ("The Gentleman of the Docks: dead", "The Gentleman of the Docks", Label.STATUS),
        ("She sang", "", Label.OTHER),
    ],
)
def test_whom_a_change_is_about_and_what(text: str, subject: str, label: Label) -> None:
    held = held_by(Change(text, 3))
    assert held is not None
    assert (held.subject, held.label, held.text, held.position) == (subject, label, text, 3)


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        (["Alice: wounded in the shoulder", "Alice's wound healed"], ["Alice's wound healed"]),
        (["Alice: wounded in the shoulder", "Alice's shoulder has healed"], ["Alice's shoulder has healed"]),
        (["Alice broke her arm", "Alice: wounded in the leg"], ["Alice broke her arm", "Alice: wounded in the leg"]),
        (["Alice broke her arm", "Alice: wounded in the leg", "Alice recovered"], ["Alice recovered"]),
        (["Maya: at the mill", "Maya reached Lethen"], ["Maya reached Lethen"]),
        (["Maya: at the mill", "Wren: at the inn"], ["Maya: at the mill", "Wren: at the inn"]),
        (["Maya: at the mill", "maya: at the inn"], ["maya: at the inn"]),
        (["Alice Liddell: at the mill", "Alice: at the inn"], ["Alice: at the inn"]),
        (["Maya has the brass key", "Maya has the rope"], ["Maya has the brass key", "Maya has the rope"]),
        (["Maya has the brass key", "Maya gave the key to Wren"], ["Maya gave the key to Wren"]),
        (["Maya: at the mill", "Maya is wounded"], ["Maya: at the mill", "Maya is wounded"]),
        (["Time: evening", "Three days have passed"], ["Three days have passed"]),
        (["Maya trusts Wren", "Maya hates Wren"], ["Maya hates Wren"]),
        (["Maya trusts Wren", "Maya hates Odalys"], ["Maya trusts Wren", "Maya hates Odalys"]),
        (["Wren: captured", "Wren escaped"], ["Wren escaped"]),
        (["", "  "], []),
    ],
)
def test_the_newest_replaces_what_it_is_about_and_nothing_else(changes: list[str], left: list[str]) -> None:
    state = after(*changes)
    assert list(lines(state)) == left
    assert len(state.items) + len(state.earlier) == len([one for one in changes if one.strip()])


def test_what_was_replaced_is_kept() -> None:
    state = after("Maya: at the mill", "Maya: at the inn", "Maya: at the harbour")
    assert [one.text for one in state.earlier] == ["Maya: at the mill", "Maya: at the inn"]


def test_two_people_of_one_first_name_are_not_confused() -> None:
    state = after("Alice Liddell: at the mill", "Alice Moor: at the inn", "Alice: at the harbour")
    assert len(state.items) == 3


def test_it_is_by_subject_and_label() -> None:
    found = after("Maya: at the mill", "Maya has the key", "Maya has the rope").by_subject()
    assert [one.text for one in found["Maya"][Label.POSSESSION]] == ["Maya has the key", "Maya has the rope"]
    assert found["Maya"][Label.PLACE][0].position == 0


def test_what_a_person_wrote_no_model_replaces() -> None:
    mine = reduce_current(after("Maya: at the mill", by="person"), [Change("Maya: at the inn", 9)])
    assert lines(mine) == ("Maya: at the mill",)
    assert [one.text for one in mine.suggestions] == ["Maya: at the inn"]
    again = reduce_current(mine, [Change("Maya: at the harbour", 9, "person")])
    assert lines(again) == ("Maya: at the harbour",)


def test_a_person_may_say_whom_and_what_it_is_about() -> None:
    held = held_by(Change("hungry as a wolf", 1, "person", "Maya", Label.STATUS))
    assert held is not None
    assert (held.subject, held.label) == ("Maya", Label.STATUS)


def test_where_there_is_too_much_the_oldest_of_no_label_go_first() -> None:
    other = [f"The number {place} hummed a song" for place in range(MOST_SHOWN)]
    state = after(other[0], "Maya: at the mill", *other[1:], "Wren: at the inn")
    shown = lines(state)
    assert len(shown) == MOST_SHOWN
    assert "Maya: at the mill" in shown
    assert shown[-1] == "Wren: at the inn"
    assert set(state.items) >= {held for held in state.items if held.text in other[:2]}
    assert other[0] not in shown
    assert other[1] not in shown
    assert other[2] in shown
    assert len(state.items) == MOST_SHOWN + 2, "and nothing is deleted"


def test_changes_come_from_signals() -> None:
    signals = Signals(state_changes=("Maya: at the mill", "Night"))
    assert changes_of(signals, 4, "builtin") == (
        Change("Maya: at the mill", 4, "builtin"),
        Change("Night", 4, "builtin"),
    )


TEXTS = [
    "Maya: at the mill", "Maya reached Lethen", "Maya Moor: wounded in the leg", "Maya's leg healed", "Time: dawn",
    "Wren has the key", "Wren lost the key", "Three days later", "Wren trusts Maya", "The bridge fell", "It rained",
    "", ":", "a: b",
]  # fmt: skip
changes = st.lists(
    st.builds(
        Change,
        st.one_of(st.sampled_from(TEXTS), st.text(max_size=20)),
        st.integers(0, 99),
        st.sampled_from(["model", "builtin", "person"]),
    ),
    max_size=30,
)


@settings(max_examples=80)
@given(changes, st.integers(0, 30))
def test_a_snapshot_and_the_rest_give_what_all_changes_give(history: list[Change], cut: int) -> None:
    whole = reduce_current(NO_STATE, history)
    assert reduce_current(reduce_current(NO_STATE, history[:cut]), history[cut:]) == whole
    assert current_of(current_json(whole)) == whole
    assert len(lines(whole)) <= MOST_SHOWN
    words = sum(1 for one in history if one.text.split())
    assert len(whole.items) + len(whole.earlier) + len(whole.suggestions) == words


@pytest.mark.parametrize("given", [None, [], {"items": [{"label": "no such"}]}, {"items": "x"}])
def test_a_snapshot_that_cannot_be_read_is_empty(given: object) -> None:
    assert current_of(given) == NO_STATE
