"""The fields of a message object, each checked for its shape.

A fault says which field is wrong, what was expected there and what stands there instead. Times are written in ISO 8601
where that is certain: one that names its zone keeps it; an epoch number becomes UTC; a written-out local time stays
local, without an offset. Anything else is kept as it was given: a guess would be worse than the file's own words.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from previously.core.errors import BadInput
from previously.core.json_values import kind, shown
from previously.core.messages import NO_ATTRIBUTES, Attributes, Role
from previously.core.patterns import lazy_pattern
from previously.text.times import MONTHS

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def refuse(field: str, expected: str, value: object) -> NoReturn:
    """Raise a `BadInput` that says what a field must be."""
    raise BadInput(f'"{field}" must be {expected}, not {kind(value)}.')


def drop_fields(item: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the object without these fields."""
    return {name: value for name, value in item.items() if name not in names}


def read_role(item: dict[str, Any]) -> tuple[Role, str | None]:
    """Return the role, and the word for it in the file where that is another."""
    word = item.get("role")
    if type(word) is not str:
        if "role" not in item:
            raise BadInput('"role" is missing.')
        refuse("role", "text", word)
    role = _ROLES.get(word)
    if role is None:
        raise BadInput(f'"role" must be one of {", ".join(_ROLES)}, not "{shown(word, 40)}".')
    return role, None if role == word else word


def read_optional_text(item: dict[str, Any], field: str) -> str | None:
    """Return the text of a field; None where it is absent, null or empty."""
    value = item.get(field)
    if value is not None and not isinstance(value, str):
        refuse(field, "text", value)
    return value or None


def read_optional_list(item: dict[str, Any], field: str) -> list[Any]:
    """Return the list of a field; empty where it is absent or null."""
    value = item.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        refuse(field, "a list", value)
    return value


def read_witnesses(item: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the names of who was there, sorted; None for everyone."""
    names = item["witnesses"]
    if names is None:
        return None
    if not isinstance(names, list):
        refuse("witnesses", "a list of names", names)
    for name in names:
        if not isinstance(name, str):
            raise BadInput(f'"witnesses" must hold names only, not {kind(name)}.')
    if "" in names:
        raise BadInput('"witnesses" holds an empty name.')
    return tuple(sorted(set(names)))


def read_attributes(item: dict[str, Any], kept: dict[str, Any]) -> Attributes:
    """Return time, id, hidden flag and extra, with `kept` put into extra."""
    extra = item.get("extra")
    if extra is None:
        extra = kept
    elif type(extra) is not dict:
        refuse("extra", "an object", extra)
    elif kept:
        extra = dict(extra)
        for name, value in kept.items():
            key = name
            while key in extra:
                key += "_"
            extra[key] = value
    at = item.get("at")
    source_id = item.get("id")
    hidden = item.get("hidden")
    if at is None and source_id is None and hidden is None and not extra:
        return NO_ATTRIBUTES
    if at is not None:
        if isinstance(at, bool) or not isinstance(at, str | int | float):
            refuse("at", "a time", at)
        at = parse_time(at) or None
    if source_id is not None and type(source_id) is not str:
        if isinstance(source_id, bool) or not isinstance(source_id, int | float):
            refuse("id", "text or a number", source_id)
        source_id = str(source_id)
    if hidden is not None and not isinstance(hidden, bool):
        refuse("hidden", "true or false", hidden)
    return Attributes(at, source_id, extra, bool(hidden))


_ISO = lazy_pattern(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")
_WRITTEN = lazy_pattern(
    r"([A-Za-z]{3,9})\.? (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d)(?::(\d\d))? ?([ap]m)?", re.IGNORECASE
)
_STAMPED = lazy_pattern(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m(?: ?(\d{1,2})s)?(?: ?(\d{1,3})ms)?")
_DIGITS = lazy_pattern(r"\d{9,13}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = range(10**8, 4_102_444_800)
"""1973 to 2099: a number in here is taken for seconds, a thousand times as large for milliseconds."""


def parse_time(value: str | int | float) -> str:
    """Return the time in ISO 8601, or the value as it was given where that is not certain."""
    if isinstance(value, str):
        text = value.strip()
        if _ISO.fullmatch(text):
            return value
        if _DIGITS.fullmatch(text):
            return _from_epoch(int(text)) or value
        return _from_words(text) or value
    return _from_epoch(value) or str(value)


def _from_epoch(number: int | float) -> str | None:
    if _SECONDS.start <= number < _SECONDS.stop:
        moment = _EPOCH + timedelta(seconds=number)
    elif _SECONDS.start * 1000 <= number < _SECONDS.stop * 1000:
        moment = _EPOCH + timedelta(milliseconds=number)
    else:
        return None
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def _from_words(text: str) -> str | None:
    if match := _WRITTEN.fullmatch(text):
        name, day, year, hour, minute, second, half = match.groups()
        month = next((n for n, full in enumerate(MONTHS, 1) if full.startswith(name.lower())), 0)
        hours = int(hour)
        if half:
            if not 1 <= hours <= 12:
                return None
            hours = hours % 12 + (12 if half.lower() == "pm" else 0)
        fraction = None
    elif match := _STAMPED.fullmatch(text):
        year, number, day, hour, minute, second, fraction = match.groups()
        month, hours = int(number), int(hour)
    else:
        return None
    try:
        moment = datetime(int(year), month, int(day), hours, int(minute), int(second or 0), int(fraction or 0) * 1000)
    except ValueError:
        return None
    return moment.isoformat(timespec="milliseconds" if fraction else "seconds")
