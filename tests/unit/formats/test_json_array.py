"""A large JSON list, one value after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from previously.core.errors import BadInput
from previously.core.json_values import parse_json
from previously.formats.json_array import ITEMS, UnevenList, split_document

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def split_values(data: bytes, size: int) -> list[Any]:
    """The values of a list."""
    pairs = list(split_document(cut(data, size), ()))
    if pairs[:1] != [("", ITEMS)]:
        raise UnevenList
    return [value for _, value in pairs[1:]]


@given(st.lists(VALUES, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_a_list_in_pieces_of_any_size(values: list[Any], size: int, indent: int | None, ascii_only: bool) -> None:
    data = f" {json.dumps(values, indent=indent, ensure_ascii=ascii_only)}\n".encode("utf-8", "replace")
    assert split_values(data, size) == json.loads(data)


@given(st.text('[]{}",:0123e-. \nanult', max_size=12), st.integers(1, 5))
def test_what_is_no_list_is_told_from_one(text: str, size: int) -> None:
    try:
        value = parse_json(text, "file")
    except BadInput:
        value = None
    if isinstance(value, list):
        assert split_values(text.encode(), size) == value
    else:
        with pytest.raises(UnevenList):
            split_values(text.encode(), size)


@pytest.mark.parametrize("data", [b'["\xff"]', b"[1] 2", b"[1,]", b"[NaN]", b"[1e999]", b"[" * 100_000])
def test_a_list_with_a_fault(data: bytes) -> None:
    with pytest.raises(UnevenList):
        split_values(data, 1000)


@given(
    st.dictionaries(st.text(max_size=3) | st.just("list"), VALUES | st.lists(VALUES), max_size=4), st.integers(1, 40)
)
def test_an_object_in_pieces_of_any_size(value: dict[str, Any], size: int) -> None:
    data = json.dumps(value, indent=1).encode()
    read: dict[str, Any] = {}
    for name, one in split_document(cut(data, size), ["list"]):
        if one is ITEMS:
            read[name] = []
        elif name == "list" and isinstance(value[name], list):
            read[name].append(one)
        else:
            read[name] = one
    assert list(read.items()) == list(json.loads(data).items())


@pytest.mark.parametrize(
    "text",
    ['{"list": [], "list": []}', '{"list": [1', '{"a" 1}', '{"a": 1,}', "{1: 2}", '{"a": 1} 2', '{"list": [1,]}', "1"],
)
def test_an_object_with_a_fault(text: str) -> None:
    with pytest.raises(UnevenList):
        list(split_document(cut(text.encode(), 3), ["list"]))


def test_of_a_field_that_is_no_list_the_last_one_counts() -> None:
    assert dict(split_document(cut(b'{"a": 1, "a": 2}', 3), ["list"])) == {"a": 2}
