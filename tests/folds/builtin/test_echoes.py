"""Lines that say the same but for a number do not fill the recap."""

from __future__ import annotations

import pytest

from previously.folds.builtin import Said, rewrite

PARCELS = [Said(None, f"Maya carried parcel {number} to the mill and promised to be back.") for number in range(40)]
LETTER = Said(None, "Maya burned the letter from Odalys in the stove.")


@pytest.mark.parametrize("place", [0, 20, 40])
@pytest.mark.parametrize("target", [24, 60])
def test_near_duplicates_leave_room_for_what_else_happened(place: int, target: int) -> None:
    text = rewrite("", None, [*PARCELS[:place], LETTER, *PARCELS[place:]], target_words=target).text
    assert "Odalys" in text
    assert "promised to be back" in text


def test_near_duplicates_do_not_push_it_out_later_either() -> None:
    made = rewrite("", None, [LETTER], target_words=60)
    for start in range(0, 40, 8):
        made = rewrite(made.text, made.carry, PARCELS[start : start + 8], target_words=60)
    assert "Odalys" in made.text


def test_the_same_promise_of_two_people_is_no_echo() -> None:
    delta = [Said(who, f"I promise to pay back {sum_} crowns.") for who, sum_ in (("Maya", 9), ("Bram", 12))]
    text = rewrite("", None, [*PARCELS, *delta], target_words=60).text
    assert "Maya promised" in text
    assert "Bram promised" in text
