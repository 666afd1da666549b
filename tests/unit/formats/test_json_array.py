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
from previously.formats.json_array import UnevenList, split_array

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@given(st.lists(VALUES, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_a_list_in_pieces_of_any_size(values: list[Any], size: int, indent: int | None, ascii_only: bool) -> None:
    data = f" {json.dumps(values, indent=indent, ensure_ascii=ascii_only)}\n".encode("utf-8", "replace")
    assert list(split_array(cut(data, size))) == json.loads(data)


@given(st.text('[]{}",:0123e-. \nanult', max_size=12), st.integers(1, 5))
def test_what_is_no_list_is_told_from_one(text: str, size: int) -> None:
    try:
        value = parse_json(text, "file")
    except BadInput:
        value = None
    if isinstance(value, list):
        assert list(split_array(cut(text.encode(), size))) == value
    else:
        with pytest.raises(UnevenList):
            list(split_array(cut(text.encode(), size)))


@pytest.mark.parametrize("data", [b'["\xff"]', b"[1] 2", b"[1,]", b"[NaN]", b"[1e999]", b"[" * 100_000])
def test_a_list_with_a_fault(data: bytes) -> None:
    with pytest.raises(UnevenList):
        list(split_array(cut(data, 1000)))
