"""JSON values: parsed strictly from outside, made such that every store gives them back, and dataclasses as plain JSON.

JSON is read as strictly as other programs will read it again: NaN and infinite numbers are refused, since nothing else
accepts them. Of a key given twice the last one counts, as in JavaScript and every common reader. A fault is a
`BadInput` without a place; the caller knows the file and the line.

Lone surrogates cannot be encoded and NUL ends strings in places we do not control, so both are replaced by U+FFFD on
the way in and counted, for the caller to be told. Dataclasses of texts, numbers, tuples, sets and mappings are written
and read by their annotations: `read_plain(kind, make_plain(value)) == value`, and what does not fit raises
`ValueError`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from previously.core.errors import BadInput
from previously.core.patterns import lazy_pattern

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""A message larger than this is refused: it is a file that went astray, and would stall every reader of the story."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = lazy_pattern("[\x00\ud800-\udfff]")


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


TOO_DEEP = "the JSON is nested too deeply."


class BrokenJson(BadInput):
    """Not JSON; `line` counts from 1 within the text, `follows` says that a whole value came before the fault,
    `cut_off` that only its end is missing."""

    def __init__(self, sentence: str, line: int, follows: bool, *, cut_off: bool = False) -> None:
        self.line = line
        self.follows = follows
        self.cut_off = cut_off
        super().__init__(sentence)


def parse_json(text: str, what: str) -> Any:
    """The JSON value in the text. `what` names the text in a fault: "line" or "file"."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _broken(error, what) from None
    except RecursionError:
        raise BadInput(TOO_DEEP) from None
    except ValueError:
        raise BadInput("a number has too many digits.") from None


def parse_next(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins there, and where it ends; `BadInput` without more if there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except ValueError:
        raise BadInput("this is not valid JSON.") from None


def parse_object(line: str) -> dict[str, Any]:
    value = parse_json(line, "line")
    if type(value) is not dict:
        raise BadInput(f"the line must hold an object, not {kind(value)}.")
    return value


def _broken(error: json.JSONDecodeError, what: str) -> BrokenJson:
    line, follows = error.lineno, error.msg == "Extra data"
    if follows:
        return BrokenJson(f"more text follows the end of the JSON value (column {error.colno}).", line, follows)
    rest = error.doc[error.pos :].rstrip()
    if error.msg.startswith("Unterminated string") or _CUT_OFF.fullmatch(rest):
        end = error.doc.rstrip().count("\n") + 1
        return BrokenJson(f"the {what} is cut off (not valid JSON).", end, follows, cut_off=True)
    reason = error.msg.removesuffix(" at").rstrip(": ")
    return BrokenJson(
        f"the {what} is not valid JSON at column {error.colno}: {reason[:1].lower()}{reason[1:]}.", line, follows
    )


_CUT_OFF = lazy_pattern(r"|,|-|\.|[eE][+-]?|tr?u?|fa?l?s?|nu?l?|\\?u[0-9a-fA-F]{0,4}")
"""The rest after the place of the fault when it is the end that is missing."""


def _not_a_number(constant: str) -> NoReturn:
    raise BadInput(f"the number {constant} is not allowed in JSON.")


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise BadInput(f"the number {shown(digits, 40)} is too large.")
    return value


_DECODER = json.JSONDecoder(parse_constant=_not_a_number, parse_float=_number)


def kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def shown(text: str, limit: int = 200) -> str:
    """The text as it may stand in a sentence: on one line, printable, and not without end."""
    if not text.isprintable():
        text = ascii(text)
    return text if len(text) <= limit else f"{text[:limit]}…"
