"""The fields of a message object: what they give, and what is said when they are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from previously.core.errors import BadInput
from previously.core.messages import NO_ATTRIBUTES, Attributes, Role
from previously.wire.fields import read_attributes, read_optional_list, read_optional_text, read_role, read_witnesses


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("system", (Role.SYSTEM, None)),
        ("developer", (Role.SYSTEM, "developer")),
        ("user", (Role.USER, None)),
        ("assistant", (Role.ASSISTANT, None)),
        ("tool", (Role.TOOL, None)),
        ("function", (Role.TOOL, "function")),
    ],
)
def test_roles(word: str, expected: tuple[Role, str | None]) -> None:
    assert read_role({"role": word}) == expected


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        ({}, '"role" is missing.'),
        ({"role": None}, '"role" must be text, not null.'),
        ({"role": ["user"]}, '"role" must be text, not a list.'),
        (
            {"role": "human"},
            '"role" must be one of system, developer, user, assistant, tool, function, not "human".',
        ),
    ],
)
def test_bad_roles(item: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_role(item)
    assert str(caught.value) == sentence


def test_texts_and_lists() -> None:
    assert [read_optional_text({"a": value}, "a") for value in ("x", "", None)] == ["x", None, None]
    assert [read_optional_list({"a": value}, "a") for value in ([1], None)] == [[1], []]
    assert read_optional_text({}, "a") is None
    assert read_optional_list({}, "a") == []
    with pytest.raises(BadInput, match=r'^"a" must be text, not true\.$'):
        read_optional_text({"a": True}, "a")
    with pytest.raises(BadInput, match=r'^"a" must be a list, not an object\.$'):
        read_optional_list({"a": {}}, "a")


@pytest.mark.parametrize(("names", "expected"), [(None, None), ([], ()), (["Maya", "Ben", "Maya"], ("Ben", "Maya"))])
def test_witnesses(names: object, expected: tuple[str, ...] | None) -> None:
    assert read_witnesses({"witnesses": names}) == expected


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("Maya", '"witnesses" must be a list of names, not text.'),
        (["Maya", 3], '"witnesses" must hold names only, not a number.'),
        (["Maya", ""], '"witnesses" holds an empty name.'),
    ],
)
def test_bad_witnesses(names: object, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_witnesses({"witnesses": names})
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("item", "kept", "expected"),
    [
        ({}, {}, NO_ATTRIBUTES),
        ({"at": None, "id": None, "hidden": None, "extra": None}, {}, NO_ATTRIBUTES),
        ({"at": "2026-01-01T00:00:00Z"}, {}, Attributes("2026-01-01T00:00:00Z")),
        ({"at": 1685961000}, {}, Attributes("2023-06-05T10:30:00+00:00")),
        ({"id": 7}, {}, Attributes(None, "7")),
        ({"id": "7"}, {}, Attributes(None, "7")),
        ({"hidden": True}, {}, Attributes(hidden=True)),
        ({"extra": {"a": 1}}, {"b": 2}, Attributes(extra={"a": 1, "b": 2})),
        ({"extra": {"a": 1, "a_": 2}}, {"a": 3}, Attributes(extra={"a": 1, "a_": 2, "a__": 3})),
    ],
)
def test_attributes(item: dict[str, Any], kept: dict[str, Any], expected: Attributes) -> None:
    assert read_attributes(item, kept) == expected


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        ({"at": True}, '"at" must be a time, not true.'),
        ({"at": []}, '"at" must be a time, not a list.'),
        ({"id": False}, '"id" must be text or a number, not false.'),
        ({"id": {}}, '"id" must be text or a number, not an object.'),
        ({"hidden": "yes"}, '"hidden" must be true or false, not text.'),
        ({"hidden": 0}, '"hidden" must be true or false, not a number.'),
        ({"extra": [1]}, '"extra" must be an object, not a list.'),
    ],
)
def test_bad_attributes(item: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_attributes(item, {})
    assert str(caught.value) == sentence
