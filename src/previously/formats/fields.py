"""The fields of a message object, each checked for its shape.

A fault says which field is wrong, what was expected there and what was found instead.
"""

from __future__ import annotations

from typing import Any, NoReturn

from previously.core.errors import BadInput
from previously.core.json_values import kind, shown
from previously.core.messages import NO_ATTRIBUTES, Attributes, Role
from previously.formats.times import iso_time

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def refuse(field: str, expected: str, value: object) -> NoReturn:
    """Say that a field is not what it must be."""
    raise BadInput(f'"{field}" must be {expected}, not {kind(value)}.')


def role_of(item: dict[str, Any]) -> tuple[Role, str | None]:
    """The role, and the word for it in the file where that is another."""
    word = item.get("role")
    if type(word) is not str:
        if "role" not in item:
            raise BadInput('"role" is missing.')
        refuse("role", "text", word)
    role = _ROLES.get(word)
    if role is None:
        raise BadInput(f'"role" must be one of {", ".join(_ROLES)}, not "{shown(word, 40)}".')
    return role, None if role == word else word


def optional_text(item: dict[str, Any], field: str) -> str | None:
    """The text of a field; None where it is absent, null or empty."""
    value = item.get(field)
    if value is not None and not isinstance(value, str):
        refuse(field, "text", value)
    return value or None


def optional_list(item: dict[str, Any], field: str) -> list[Any]:
    """The list of a field; empty where it is absent or null."""
    value = item.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        refuse(field, "a list", value)
    return value


def witnesses_of(item: dict[str, Any]) -> tuple[str, ...] | None:
    """Who was there, sorted; None = everyone."""
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


def attributes_of(item: dict[str, Any], kept: dict[str, Any]) -> Attributes:
    """Time, id, hidden flag and extra, with `kept` put into extra."""
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
        at = iso_time(at) or None
    if source_id is not None and type(source_id) is not str:
        if isinstance(source_id, bool) or not isinstance(source_id, int | float):
            refuse("id", "text or a number", source_id)
        source_id = str(source_id)
    if hidden is not None and not isinstance(hidden, bool):
        refuse("hidden", "true or false", hidden)
    return Attributes(at, source_id, extra, bool(hidden))
