"""A line that was read can be written again, byte for byte."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Attributes, Draft, Entry, Message, Role, Text, message
from previously.formats.sillytavern import parse_line
from previously.formats.write_sillytavern import ChatLine, write_line
from tests.unit.formats.test_sillytavern import ANSWER, GREETING, QUESTION


def to_sillytavern(draft: Draft) -> dict[str, Any]:
    """Return the line of a draft: as it was read, with what the story has changed since."""
    shown, *others = [
        Entry(number, one.message, b"", one.attributes) for number, one in enumerate((draft, *draft.alternatives))
    ]
    return write_line(ChatLine(shown, tuple(others)))


def written(item: dict[str, Any]) -> str:
    return json.dumps(to_sillytavern(parse_line(item)))


@pytest.mark.parametrize("item", [GREETING, QUESTION, ANSWER], ids=["greeting", "question", "answer"])
def test_real_shapes(item: dict[str, Any]) -> None:
    assert written(item) == json.dumps(item)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "a", "b", "2026-01-01"]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from(["a", "extra"]), values, max_size=2),
    max_leaves=4,
)
_TIMES = st.sampled_from(["2026-04-02T08:01:30.000Z", "June 5, 2023 10:30pm", 1685961000123]) | _ANY
_EXTRAS = _ANY | st.fixed_dictionaries({}, optional={"type": st.just("narrator"), "reasoning": st.just("hm")})
_INFOS = _ANY | st.fixed_dictionaries({"send_date": _TIMES, "extra": _EXTRAS}, optional={"gen_started": _ANY})
_ITEMS = st.fixed_dictionaries(
    {"mes": st.sampled_from(["a", "b", ""])},
    optional={
        "name": st.none() | st.sampled_from(["", "Tamsin"]),
        "is_user": _ANY,
        "is_system": _ANY,
        "send_date": _TIMES,
        "extra": _EXTRAS,
        "swipe_id": st.integers(-1, 3) | _ANY,
        "swipes": st.lists(st.sampled_from(["a", "b", "c", "d", ""]) | _ANY, max_size=4) | _ANY,
        "swipe_info": st.lists(_INFOS, max_size=4) | _ANY,
        "title": _ANY,
    },
)


@given(_ITEMS, st.randoms(use_true_random=False))
def test_any_line_of_any_order(item: dict[str, Any], random: Any) -> None:
    keys = list(item)
    random.shuffle(keys)
    shuffled = {key: item[key] for key in keys}
    assert written(shuffled) == json.dumps(shuffled)


def test_no_text_is_stored_twice() -> None:
    draft = parse_line(ANSWER)
    for each in (draft, *draft.alternatives):
        assert "Two rolls" not in json.dumps(each.attributes.extra)
        assert "crumb" not in json.dumps(each.attributes.extra)


def test_what_changed_in_the_story_is_written() -> None:
    draft = parse_line(ANSWER)
    edited = replace(
        draft,
        message=Message(Role.ASSISTANT, (Text("None."),), "Tamsin"),
        attributes=replace(draft.attributes, hidden=True),
    )
    line = to_sillytavern(edited)
    assert (line["mes"], line["swipes"], line["is_system"]) == ("None.", ["Not a crumb.", "None."], True)
    narrated = parse_line({"mes": "x", "is_system": ""})
    assert to_sillytavern(replace(narrated, attributes=replace(narrated.attributes, hidden=True)))["is_system"] is True


def test_a_message_from_elsewhere() -> None:
    draft = Draft(message("user", "Hello.", speaker="Jory"), Attributes("2026-04-02T08:00:00Z"))
    assert to_sillytavern(draft) == {
        "name": "Jory",
        "is_user": True,
        "is_system": False,
        "send_date": "2026-04-02T08:00:00Z",
        "mes": "Hello.",
        "extra": {},
    }
