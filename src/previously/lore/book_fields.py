"""The fields of an entry in the files that hold books: where each stands, how it is read, how it is written back.

A file's object is kept as it was read, in `Entry.extra`. To write an entry, only those fields of the object are
changed whose reading is no longer what the entry says. So what we do not know, what we read in a simpler way than it
was written (null for false, true for 1), and the order of the fields all stay.

What must stay true: an entry that was not changed is written exactly as it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from previously.core.errors import BadInput
from previously.lore.entries import Entry, Logic

Path = tuple[str, ...]
OURS = ("extensions", "previously")
"""Where we keep, in other people's files, what they have no field for."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A flag without which another field counts as empty."""

    path: Path
    absent: bool = True
    """What it is taken for where it does not stand."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an entry in a file."""

    attribute: str
    path: Path
    read: Callable[[str, Any], Any]
    """Takes the field's name and what stands there, never null."""
    write: Callable[[Any], Any] = lambda value: value
    otherwise: Path = ()
    """Where it is read when `path` has nothing."""
    switch: Switch | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of file, by its fields."""

    name: str
    fields: tuple[Field, ...]
    template: Mapping[str, Any]
    """A new entry, before anything is said of it."""


DEFAULTS = Entry("", "")
LARGEST = 2**53
"""Larger numbers are not exact in every reader of JSON."""


def value_of(given: Mapping[str, Any], field: Field) -> Any:
    """What an object says of a field, as an entry holds it."""
    if field.switch is not None:
        on = at(given, field.switch.path)
        if not (field.switch.absent if on is None else flag(field.switch.path[-1], on)):
            return getattr(DEFAULTS, field.attribute)
    for path in filter(None, (field.path, field.otherwise)):
        found = at(given, path)
        if found is not None:
            return field.read(path[-1], found)
    return getattr(DEFAULTS, field.attribute)


def values_of(given: Mapping[str, Any], form: Form, uid: str) -> dict[str, Any]:
    """All that an object says of an entry. One that gives no name goes by its comment, its first key or its uid."""
    values = {field.attribute: value_of(given, field) for field in form.fields}
    first_key = next((key.strip() for key in values["keys"] if key.strip()), "")
    values["name"] = values["name"] or values["comment"].strip() or first_key or f"entry {uid}"
    return values


def patched(given: Mapping[str, Any], form: Form, entry: Entry) -> dict[str, Any]:
    """The object, changed so that it says what the entry says, and nowhere else."""
    made = dict(given)
    for field in form.fields:
        wanted = getattr(entry, field.attribute)
        is_name = field.attribute == "name"  # the last one: it may follow from the others
        if wanted != (values_of(made, form, entry.uid)["name"] if is_name else value_of(made, field)):
            put(made, field.path, field.write(wanted))
            if field.switch is not None:
                put(made, field.switch.path, True)
    return made


def at(given: object, path: Path) -> Any:
    """What stands at a path of an object; None where there is nothing."""
    for step in path:
        if not isinstance(given, Mapping):
            return None
        given = given.get(step)
    return given


def put(given: dict[str, Any], path: Path, value: object) -> None:
    """Put a value at a path, without touching the objects on the way: they may be shared."""
    first, *rest = path
    if rest:
        inner = given.get(first)
        inner = dict(inner) if isinstance(inner, Mapping) else {}
        put(inner, tuple(rest), value)
        value = inner
    given[first] = value


def refuse(name: str, expected: str, value: object) -> NoReturn:
    """Say that a field is not what it must be."""
    raise BadInput(f'"{name}" must be {expected}, not {kind(value)}.')


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    words = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else words.get(type(value), f"a {type(value).__name__}")


def text(name: str, value: object) -> str:
    """A text."""
    return value if isinstance(value, str) else refuse(name, "text", value)


def texts(name: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple):
        refuse(name, "a list of texts", value)
    for one in value:
        if not isinstance(one, str):
            refuse(name, "a list of texts", one)
    return tuple(value)


def flag(name: str, value: object) -> bool:
    """True or false; 1 and 0 will do."""
    if value is True or value is False or (type(value) in (int, float) and value in (0, 1)):
        return bool(value)
    return refuse(name, "true or false", value)


def opposite_flag(name: str, value: object) -> bool:
    """The opposite of true or false."""
    return not flag(name, value)


def number(name: str, value: object) -> float:
    """A number, also one that is written as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            refuse(name, "a number", value)
        value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(name, "a number", value)
    if not -LARGEST <= value <= LARGEST:  # true for what is no number as well
        raise BadInput(f'"{name}" must be a number of ordinary size.')
    return value


def whole(name: str, value: object) -> int:
    """A whole number; what is behind the point is left out."""
    return int(number(name, value))


def level(name: str, value: object) -> int:
    """A level of recursion, of which true is the first."""
    return int(value) if isinstance(value, bool) else whole(name, value)


def logic(name: str, value: object) -> Logic:
    """One of the four logics, by its number."""
    if whole(name, value) not in tuple(Logic):
        raise BadInput(f'"{name}" must be 0, 1, 2 or 3, not {value}.')
    return Logic(whole(name, value))
