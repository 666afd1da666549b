"""Timed effects: they follow from what fired on the path, and going back on the path undoes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.lore.decisions import NO_EFFECTS, Activation, ScanInput, ScanMessage, TimedEffects, compute_effects
from previously.lore.entry import KeyedEntry
from previously.lore.index import build_index
from previously.lore.scan import scan

STAYS = KeyedEntry("stays", "Stays", "x", ("grim",), sticky=4)
RESTS = KeyedEntry("rests", "Rests", "x", ("grim",), cooldown=6)
BOTH = KeyedEntry("both", "Both", "x", ("grim",), sticky=4, cooldown=6)
PLAIN = KeyedEntry("plain", "Plain", "x", ("grim",))
ENTRIES = {one.uid: one for one in (STAYS, RESTS, BOTH, PLAIN)}


@pytest.mark.parametrize(
    ("now", "sticky", "cooldown"),
    [
        (9, {}, {}),
        (10, {}, {}),  # the answer is made again: what it fired before does not count
        (11, {"stays": 14, "both": 14}, {"rests": 16}),
        (13, {"stays": 14, "both": 14}, {"rests": 16}),
        (14, {}, {"rests": 16, "both": 20}),
        (15, {}, {"rests": 16, "both": 20}),
        (16, {}, {"both": 20}),
        (19, {}, {"both": 20}),
        (20, {}, {}),
    ],
)
def test_what_holds_after_all_fired_at_ten(now: int, sticky: dict[str, int], cooldown: dict[str, int]) -> None:
    fired = [Activation(uid, 10) for uid in ENTRIES]
    assert compute_effects(fired, ENTRIES, now) == TimedEffects(sticky, cooldown)


def test_firing_while_sticky_does_not_make_it_longer() -> None:
    fired = [Activation("both", at) for at in (10, 11, 13)]
    assert compute_effects(fired, ENTRIES, 13) == TimedEffects({"both": 14}, {})
    assert compute_effects(fired, ENTRIES, 15) == TimedEffects({}, {"both": 20})


def test_firing_after_that_starts_anew() -> None:
    fired = [Activation("both", at) for at in (10, 20)]
    assert compute_effects(fired, ENTRIES, 22) == TimedEffects({"both": 24}, {})


def test_a_path_that_goes_back_has_no_effects_left() -> None:
    fired = [Activation("both", 4), Activation("both", 30)]
    assert compute_effects(fired, ENTRIES, 9) == TimedEffects({}, {"both": 14})
    assert compute_effects(fired[:1], ENTRIES, 31) == NO_EFFECTS


def test_an_entry_that_is_gone_or_changed_has_the_effects_it_says_now() -> None:
    assert compute_effects([Activation("gone", 1)], ENTRIES, 2) == NO_EFFECTS
    longer = {"stays": KeyedEntry("stays", "Stays", "other words", sticky=40)}
    assert compute_effects([Activation("stays", 1)], longer, 30) == TimedEffects({"stays": 41}, {})


@given(st.lists(st.builds(Activation, st.sampled_from(list(ENTRIES)), st.integers(0, 40))), st.integers(0, 60))
def test_order_and_repetition_of_the_records_do_not_matter(fired: list[Activation], now: int) -> None:
    found = compute_effects(fired, ENTRIES, now)
    assert compute_effects([*reversed(fired), *fired], ENTRIES, now) == found
    assert not set(found.sticky) & set(found.cooldown)
    assert all(end > now for end in (*found.sticky.values(), *found.cooldown.values()))


def test_a_story_told_turn_by_turn() -> None:
    index = build_index([BOTH])
    recorded: list[Activation] = []
    told: dict[int, str] = {}
    for length in range(1, 16):
        text = "Grim again" if length in (1, 9, 13) else "nothing"
        turn = ScanInput(
            (ScanMessage(text),), depth=1, message_count=length, timed=compute_effects(recorded, index.entries, length)
        )
        found = scan(index, turn)
        recorded += [Activation(fired.entry.uid, length) for fired in found.fired]
        told[length] = found.explain("both").reason
    assert recorded == [Activation("both", length) for length in (1, 2, 3, 4, 13, 14, 15)]
    assert told[1] == 'key "grim" in message 0'
    assert told[2] == told[4] == "sticky until message 5"
    assert told[5] == told[9] == "cooldown until message 11"
    assert told[11] == "no key found in the newest message"
    assert told[14] == "sticky until message 17"
