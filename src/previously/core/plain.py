"""Values as plain JSON and back: dataclasses of texts, numbers, tuples, sets and mappings, by their annotations.

`from_plain(kind, to_plain(value)) == value`. What does not fit the kind raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Return the value as JSON can hold it. Fields that have their default are left out."""
    if is_dataclass(value) and not isinstance(value, type):
        given = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: to_plain(item) for name, item, default in given if item != default}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(to_plain, value))
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], plain: Any) -> T:
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
