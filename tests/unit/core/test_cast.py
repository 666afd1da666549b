"""What a character knows as a value, and who may know of a message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.cast import (
    LONGEST_FACT,
    MOST_FACTS,
    NOTHING_KNOWN,
    Fact,
    Knowledge,
    cut_line,
    parse_knowledge,
)
from previously.core.messages import Entry, message
from previously.core.path import OnPath
from previously.core.presence import may_know
from previously.core.scripts import casefold
from previously.view.reader import parse_reader

FACTS = st.builds(Fact, st.text("abc é字", min_size=1, max_size=20), st.integers(0, 99), st.sampled_from(["witnessed"]))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["summary", "facts", "text", "since", "source", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_it_is_read_back_as_it_was_written() -> None:
    known = Knowledge("Maya waits.", (Fact("Bram hid the key", 3, "told by Bram"), Fact("It rains", 4)))
    assert parse_knowledge(json.dumps(known.as_json())) == known
    assert known.as_json()["facts"][0] == {"text": "Bram hid the key", "since": 3, "source": "told by Bram"}


@pytest.mark.parametrize("text", ["", "  ", "null", "[]", "{", '"words"', "{}", '{"facts": 3}', "[" * 5_000])
def test_what_cannot_be_read_is_nothing_known(text: str) -> None:
    assert parse_knowledge(text) == NOTHING_KNOWN
    assert parse_knowledge(text).is_empty


def test_facts_of_an_odd_shape_are_taken_as_far_as_they_can_be() -> None:
    given = ["Plain words", {"text": " two\nlines "}, {"since": 3}, 7, {"text": "x", "since": True, "source": 1}]
    assert parse_knowledge(json.dumps({"facts": given})).facts == (
        Fact("Plain words", 0),
        Fact("two lines", 0),
        Fact("x", 0),
    )


@given(ANY_JSON)
def test_whatever_was_stored_is_some_knowledge_within_its_bounds(value: object) -> None:
    known = parse_knowledge(json.dumps(value))
    assert len(known.facts) <= MOST_FACTS
    assert all(0 < len(fact.text) <= LONGEST_FACT and "\n" not in fact.text for fact in known.facts)
    assert len({fact.text.casefold() for fact in known.facts}) == len(known.facts)
    assert parse_knowledge(json.dumps(known.as_json())) == known


@given(st.text(max_size=400))
def test_a_line_can_be_stored(text: str) -> None:
    line = cut_line(text)
    line.encode()
    assert len(line) <= LONGEST_FACT
    assert line == " ".join(line.split())


@pytest.mark.parametrize(
    ("name", "speaker", "witnesses", "knows"),
    [
        ("Maya", None, None, True),
        ("Maya", "Bram", None, True),
        ("Maya", "Bram", ["Bram"], False),
        ("Maya", "Bram", ["Bram", "Maya"], True),
        ("maya ", None, ["MAYA"], True),
        ("Maya", None, ["Ｍａｙａ"], True),
        ("Maya", "maya", ["Bram"], True),  # who speaks knows what they said
        ("Maya", None, [], False),  # nobody was there
        ("", None, ["Bram"], True),  # nobody in particular
        ("Maya", None, ["Mayana"], False),
        ("  ", None, ["Bram"], False),
    ],
)
def test_who_may_know_of_a_message(name: str, speaker: str | None, witnesses: list[str] | None, knows: bool) -> None:
    said = message("assistant", "The key is in the mill.", speaker=speaker, witnesses=witnesses)
    assert may_know(name, said) is knows
    item = OnPath(0, 1, b"", Entry(1, said, b""))
    if name.strip():
        assert parse_reader(f"character:{name}").witnessed(item) is knows


def test_a_name_is_the_same_however_it_is_spelt() -> None:
    assert casefold("Bram") == casefold(" BRAM") == casefold("ｂｒａｍ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Bram hid the ledger under the third stair.", "Bram hid the ledger…"),
        ("Bram hid the ledger, under the third stair.", "Bram hid the ledger…"),
        ("Bram hid it.\nHere.", "Bram hid it. Here."),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffahrtsg…"),
        (
            "彼は台帳を三段目の階段の下に隠した。それは去年の冬のことだった。",
            "彼は台帳を三段目の階段の下に隠した。それは去年…",
        ),
    ],
)
def test_a_long_line_ends_with_a_whole_word(text: str, line: str) -> None:
    assert cut_line(text, 24) == line
