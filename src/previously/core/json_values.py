"""Values that every store gives back as they were given: text, JSON, and dataclasses as plain JSON.

Lone surrogates cannot be encoded and NUL ends strings in places we do not control, so both are replaced by U+FFFD on
the way in and counted, for the caller to be told. Dataclasses of texts, numbers, tuples, sets and mappings are written
and read by their annotations: `read_plain(kind, make_plain(value)) == value`, and what does not fit raises
`ValueError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from previously.core.errors import BadInput

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""A message larger than this is refused: it is a file that went astray, and would stall every reader of the story."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> tuple[str, int]:
    """Return the text with NUL and lone surrogates replaced, and how many were."""
    if text.isascii() and "\x00" not in text:
        return text, 0
    return _UNSTORABLE.subn(REPLACEMENT, text)


MAX_JSON_DEPTH = 200
"""Deeper nesting than any client writes, and shallow enough for every JSON reader that may meet it again."""


def clean_json(value: object, depth: int = 0) -> tuple[object, int]:
    """Return a JSON value with `clean` applied to every string in it, keys included. Deeper than `MAX_JSON_DEPTH`:
    refused."""
    if depth > MAX_JSON_DEPTH:
        raise BadInput(f"A value is nested more than {MAX_JSON_DEPTH} levels deep.")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        cleaned = [clean_json(item, depth + 1) for item in value]
        return [item for item, _ in cleaned], sum(count for _, count in cleaned)
    if isinstance(value, dict):
        result: dict[str, object] = {}
        total = 0
        for key, item in value.items():
            new_key, in_key = clean(str(key))
            result[new_key], in_item = clean_json(item, depth + 1)
            total += in_key + in_item
        return result, total
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"{value} is not a number that can be stored.")
    return value, 0


T = TypeVar("T")


def make_plain(value: Any) -> Any:
    """Return the value as JSON can hold it. Fields that have their default are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        given = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: make_plain(item) for name, item, default in given if item != default}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): make_plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(make_plain, value))
    if isinstance(value, list | tuple):
        return [make_plain(item) for item in value]
    return value


def read_plain(kind: type[T], plain: Any) -> T:
    """Return the value of that kind."""
    return cast(T, _read(kind, plain))


def _read(kind: Any, plain: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return plain
    if origin in (Union, UnionType):
        if plain is None and NoneType in inner:
            return None
        return _read(next(one for one in inner if one is not NoneType), plain)
    if origin in (tuple, frozenset):
        if not isinstance(plain, list):
            raise ValueError(f"a list was expected, not {type(plain).__name__}")
        if origin is tuple and inner[-1] is not Ellipsis:
            return tuple(_read(one, item) for one, item in zip(inner, plain, strict=True))
        return origin(_read(inner[0], item) for item in plain)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(plain, dict):
            raise ValueError(f"an object was expected, not {type(plain).__name__}")
        return {_read(inner[0], key): _read(inner[1], item) for key, item in plain.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(plain, dict):
            raise ValueError(f"an object was expected, not {type(plain).__name__}")
        hints = _hints(kind)
        unknown = plain.keys() - hints.keys()
        if unknown:
            raise ValueError(f"{kind.__name__} has no {sorted(unknown)[0]!r}")
        try:
            return kind(**{name: _read(hints[name], item) for name, item in plain.items()})
        except TypeError as error:
            raise ValueError(str(error)) from None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(plain)
    if not isinstance(plain, kind) or (isinstance(plain, bool) and kind is not bool):
        if kind is float and isinstance(plain, int):
            return float(plain)
        raise ValueError(f"{kind.__name__} was expected, not {type(plain).__name__}")
    return plain


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
