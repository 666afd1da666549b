"""What a model's answer wants of a character's memory, in every shape that models give it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from previously.folds.cast import read_cast_answer
from previously.folds.cast_facts import CastAnswer
from previously.folds.checks import Refused
from tests.effort import cases

PLAIN = CastAnswer("Maya waits.", ("Bram hid the key",), (2,), ((3, "Bram left"),))

SHAPES = {
    "as asked": '{"summary": "Maya waits.", "add": ["Bram hid the key"], "remove": [2], '
    '"update": [{"old": 3, "new": "Bram left"}]}',
    "in a fence, with talk": 'Sure!\n```json\n{"summary": "Maya waits.", "add": ["Bram hid the key"], "remove": ["2"], '
    '"update": [{"old": "#3", "new": "Bram left"}]}\n```\nAnything else?',
    "nearly JSON": "{'summary': 'Maya waits.', 'add': ['Bram hid the key',], 'remove': ['fact 2'], "
    "'update': [{'old': '3.', 'new': 'Bram left'}]",
    "wrapped": '{"memory": {"summary": "Maya waits.", "add": ["Bram hid the key"], "remove": [2], '
    '"update": [{"old": 3, "new": "Bram left"}]}}',
    "other names": '{"new_summary": "Maya waits.", "New Facts": "Bram hid the key", "delete": 2, '
    '"updates": {"3": "Bram left"}}',
    "objects in lists": '{"summary": ["Maya waits."], "add": [{"fact": "Bram hid the key"}], '
    '"remove": [{"number": 2}], "update": {"old": 3, "new": "Bram left"}}',
    "lines like YAML": "summary: Maya waits.\nadd:\n  - Bram hid the key\nremove: [2]\nupdate:\n  - old: 3\n"
    "    new: Bram left\n",
    "YAML in a fence, folded": '```yaml\nsummary: >\n  Maya waits.\nadd:\n- "Bram hid the key"\nremove:\n- 2\nupdate:\n'
    '- old: "3"\n  new: "Bram left"\n```',
    "numbered items": '{"summary": "Maya waits.", "add": ["1. Bram hid the key"], "remove": [2], '
    '"update": [{"old": 3, "new": "- Bram left"}]}',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_one_meaning_in_many_shapes(shape: str) -> None:
    assert read_cast_answer(SHAPES[shape]) == PLAIN


def test_a_whole_list_and_whose_it_is() -> None:
    found = read_cast_answer('{"character": "Maya", "summary": "", "key_facts": ["Bram hid the key", "", "none", 7]}')
    assert found == CastAnswer(whole=("Bram hid the key",), about="Maya")


@pytest.mark.parametrize(
    "empty",
    ['{"summary": "", "add": [], "remove": [], "update": []}', '{"add": null}', '{"remove": "none", "update": "[]"}'],
)
def test_nothing_wanted_is_something_that_can_be_read(empty: str) -> None:
    assert read_cast_answer(empty) == CastAnswer()


@pytest.mark.parametrize(
    "answer", ["", "Maya is sad and goes home.", "{}", '{"weather": "rain"}', "[1, 2]", "{" * 3_000, '{"memory": 3}']
)
def test_an_answer_without_any_field_is_unusable(answer: str) -> None:
    assert isinstance(read_cast_answer(answer), Refused)


def test_an_update_without_its_old_words_is_still_new_knowledge() -> None:
    assert read_cast_answer('{"update": ["Bram left", {"new": "It rains"}, {"old": "gone"}]}') == CastAnswer(
        update=(("", "Bram left"), ("", "It rains"))
    )


@pytest.mark.parametrize(
    "answer", ["x" * 1_000_000, '{"add": ["' + "x" * 1_000_000, "add:\n" + "- x\n" * 250_000, '[{"' * 20_000]
)
def test_an_answer_that_ran_away_is_unusable(answer: str) -> None:
    assert isinstance(read_cast_answer(answer), Refused)


def test_what_is_read_of_it_is_bounded() -> None:
    found = read_cast_answer(json.dumps({"add": [f"fact {number} {'word ' * 100}" for number in range(150)]}))
    assert isinstance(found, CastAnswer)
    assert len(found.add) == 40
    assert max(map(len, found.add)) <= 200


WHOLE = SHAPES["as asked"]
GARBLED = st.one_of(
    st.text(max_size=300),
    st.text('{}[]:,"- \nadsumrevoptl.0123456789', max_size=300),
    st.integers(0, len(WHOLE)).map(lambda end: WHOLE[:end]),
    st.tuples(st.integers(0, len(WHOLE)), st.text(max_size=5)).map(lambda at: WHOLE[: at[0]] + at[1] + WHOLE[at[0] :]),
    st.dictionaries(
        st.sampled_from(["summary", "add", "remove", "update", "key_facts", "character"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["old", "new", "z"]), inner),
            max_leaves=8,
        ),
    ).map(json.dumps),
)


@settings(max_examples=cases(200))
@given(GARBLED)
def test_garbled_answers_never_raise(answer: str) -> None:
    found = read_cast_answer(answer)
    assert isinstance(found, CastAnswer | Refused)
    if isinstance(found, CastAnswer):
        for text in (found.summary, *found.add, *found.whole, *(new for _, new in found.update)):
            text.encode()
