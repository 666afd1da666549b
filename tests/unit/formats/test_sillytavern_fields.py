"""A line that was read can be written again, byte for byte."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.messages import Attributes, Draft, Message, Role, Text, message
from previously.formats.sillytavern import KEY, OWN_KEYS, copy_fields, parse_line
from tests.unit.formats.test_sillytavern import ANSWER, GREETING, QUESTION


def to_sillytavern(draft: Draft) -> dict[str, Any]:
    """Return the line of a draft: as it was read, with what the story has changed since."""
    message, attributes = draft.message, draft.attributes
    hidden, at = attributes.hidden, attributes.at
    fields: dict[str, Any] = dict(attributes.extra.get(KEY, {}))
    if "mes" not in fields:
        fields = {"name": None, "is_user": None, "is_system": None, "send_date": None, "mes": None, "extra": {}}
    fields["mes"] = message.text
    own = {"name": message.speaker, "is_user": message.role is Role.USER, "is_system": hidden, "send_date": at}
    for key, value in own.items():
        if key in fields and fields[key] is None:
            fields[key] = value
    swipes, infos = fields.get("swipes"), fields.get("swipe_info")
    if isinstance(swipes, dict) and "count" in swipes:
        others = {alternative.attributes.extra[KEY]["swipe_id"]: alternative for alternative in draft.alternatives}
        texts = _by_place(swipes) | {place: other.message.text for place, other in others.items()}
        fields["swipes"] = [texts.get(place, message.text) for place in range(swipes["count"])]
        if isinstance(infos, dict) and "count" in infos:
            known = {place: _info(other.attributes) for place, other in others.items()} | _by_place(infos)
            copy = copy_fields(fields)
            fields["swipe_info"] = [known.get(place, copy) for place in range(infos["count"])]
    for key in OWN_KEYS:
        value = fields.get(key)
        if isinstance(value, dict) and "was" in value:
            fields[key] = value["was"]
    if bool(fields.get("is_system")) != hidden:
        fields["is_system"] = hidden
    return fields


def _by_place(layout: dict[str, Any]) -> dict[int, Any]:
    return {int(place): value for place, value in layout.get("kept", {}).items()}


def _info(attributes: Attributes) -> dict[str, Any]:
    info = dict(attributes.extra[KEY].get("swipe_info", {}))
    if "send_date" in info and info["send_date"] is None:
        info["send_date"] = attributes.at
    return info


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
