"""The beginning of a reply that a client puts behind the history is told from a reply of the history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.digests import match_key
from previously.recognition.undo_postprocessing import NO_PREFILL, Prefill, find_last_exchange, split_prefill
from tests.unit.recognition.lists import LINES, keys, lines_of, pieces, said

STORY = ["a Late.", "u I stamp the rain off.", "a Sit down."]
SIGH = "a Odalys sighs."


@pytest.mark.parametrize(
    ("sent", "known", "stored", "is_prefill"),
    [
        ([*STORY, "u New.", SIGH], STORY, None, True),  # the user's message is new: nobody has answered yet
        ([*STORY[:2], SIGH], STORY[:2], None, True),  # known, and not answered
        ([*STORY[:2], SIGH], STORY, "a Odalys sighs. Sit down.", True),  # asked again: what is stored begins with it
        ([*STORY[:2], SIGH], STORY, "a Sit down.", False),  # the reply was edited
        ([*STORY[:2], SIGH], STORY, SIGH, False),
        (STORY, STORY, "a Sit down.", False),
        ([*STORY, SIGH], STORY, None, False),  # two replies in a row: an empty send, or a reply that was edited
        (["u Hello", SIGH], [], None, True),
        ([*STORY, "u New.", SIGH], [], None, False),  # a chat never seen before may end with a reply
        ([SIGH], [], None, False),
        ([*STORY, "u New."], STORY, None, False),
        ([*STORY[:2], "c 1 look"], STORY[:2], None, False),  # a call is not the beginning of a reply
    ],
)
def test_what_is_a_prefill(sent: list[str], known: list[str], stored: str | None, is_prefill: bool) -> None:
    story, prefill = split_prefill(pieces(*sent), keys(*known), said(stored) if stored else None, continues=False)
    assert lines_of(prefill.pieces) == (sent[-1:] if is_prefill else [])
    assert list(story) == pieces(*sent)[: len(story)]
    assert len(story) + len(prefill.pieces) == len(sent)


def test_nothing_is_one_when_more_of_the_last_message_is_asked_for() -> None:
    sent = pieces(*STORY, "u New.", SIGH)
    assert split_prefill(sent, keys(*STORY), None, continues=True) == (tuple(sent), NO_PREFILL)


@pytest.mark.parametrize(
    ("text", "begins"),
    [("Odalys sighs.", "Odalys sighs."), ("[The wind howls.]", ""), ("[Odalys] sighs.", "[Odalys] sighs."), ("", "")],
)
def test_a_note_in_brackets_that_stands_last_begins_no_reply(text: str, begins: str) -> None:
    assert Prefill(tuple(pieces(f"a {text}"))).begins == begins
    assert NO_PREFILL.begins == ""


@pytest.mark.parametrize(
    ("sent", "known", "found"),
    [
        ([*STORY[:2], SIGH], STORY, STORY[1]),
        ([*STORY, "u New.", SIGH], STORY, None),
        (STORY, STORY, None),
        ([*STORY, SIGH], STORY, None),
        ([SIGH], STORY, None),
    ],
)
def test_whose_answer_has_to_be_looked_up(sent: list[str], known: list[str], found: str | None) -> None:
    assert find_last_exchange(pieces(*sent), keys(*known)) == (match_key(said(found)) if found else None)


@given(st.lists(LINES, max_size=6), st.lists(LINES, max_size=6), st.one_of(st.none(), LINES), st.booleans())
def test_all_is_kept_and_at_most_the_last_is_a_prefill(
    sent: list[str], known: list[str], stored: str | None, continues: bool
) -> None:
    given_pieces = pieces(*sent)
    story, prefill = split_prefill(given_pieces, keys(*known), said(stored) if stored else None, continues=continues)
    assert [*story, *prefill.pieces] == given_pieces
    assert len(prefill.pieces) <= 1
