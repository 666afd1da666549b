"""Books of lore as files hold them: parse whatever form they have.

Four forms are known by their shape: SillyTavern's World Info (`entries` is an object), the book of a character card
(a list), alone, inside a card or as `lorebook_v3`, and our own plain list of `{"name", "type", "keywords",
"content"}`. World Info and card books hold nearly the same under other names; what a card's entry has no field for
stands in its `extensions`. A book that cannot be parsed is refused with one sentence that names the entry. No entry is
renumbered, since chats refer to the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from previously.core.errors import BadInput
from previously.core.json_values import shown
from previously.core.scripts import casefold
from previously.lore.entry import KeyedEntry, SecondaryLogic

JsonPath = tuple[str, ...]

LARGEST_NUMBER = 2**53
"""Larger numbers are not exact in every reader of JSON."""

WORLD_INFO, CHARACTER_BOOK = "world-info", "character-book"
"""The names of the forms that other programs read."""

OURS = ("extensions", "previously")
"""The object that holds, in other programs' files, what they have no field for."""


@dataclass(frozen=True, slots=True)
class LoreBook:
    """A set of entries, as a file holds them."""

    name: str
    entries: tuple[KeyedEntry, ...]


def parse_book(given: object, name: str = "") -> LoreBook:
    """Return the book in a parsed file; `name` is the file's, and wins over the one inside."""
    book = find_book(given)
    if isinstance(book, list):
        return LoreBook(name, _parse_list(book, name or "story", _PLAIN, name))
    for key, value, kind in _UNKNOWN_FORMS:
        if key in book and value in (None, book[key]):
            raise BadInput(f"This is {kind}; only World Info, character books and plain lists of entries are read.")
    entries = book.get("entries")
    name = name or (book["name"] if isinstance(book.get("name"), str) else "")
    prefix = name or "book"
    if isinstance(entries, Mapping):
        parsed = tuple(_parse_entry(one, f"{prefix}/{uid}", name, _WORLD_INFO) for uid, one in entries.items())
        return LoreBook(name, parsed)
    if isinstance(entries, list):
        fields = _WORLD_INFO if _has_world_info(entries) else _CHARACTER_BOOK
        return LoreBook(name, _parse_list(entries, prefix, fields, name))
    raise BadInput(f'A book must hold "entries" as an object or a list, not {_describe(entries)}.')


def find_book_form(given: object) -> str:
    """Return the name of a book's form; empty for a plain list of entries."""
    book = find_book(given)
    if isinstance(book, list):
        return ""
    entries = book.get("entries")
    return WORLD_INFO if isinstance(entries, Mapping) or _has_world_info(entries) else CHARACTER_BOOK


def find_book(given: object) -> Mapping[str, Any] | list[Any]:
    """Return the book in a parsed file: alone, or inside a card."""
    if isinstance(given, list):
        return given
    if not isinstance(given, Mapping):
        raise BadInput(f"A book must be an object or a list of entries, not {_describe(given)}.")
    data = given.get("data")
    if "entries" in given or not isinstance(data, Mapping):
        return given
    if given.get("spec") == "lorebook_v3":
        return data
    book = data.get("character_book")
    if not isinstance(book, Mapping):
        raise BadInput("This character card has no book.")
    return book


def _has_world_info(entries: object) -> bool:
    """Return whether a list holds entries of World Info: nobody else names keys "key"."""
    return isinstance(entries, list) and any(isinstance(one, Mapping) and "key" in one for one in entries)


def _parse_list(given: Sequence[object], prefix: str, fields: Fields, book: str) -> tuple[KeyedEntry, ...]:
    """Return the entries of a list, each under a uid of its own."""
    entries: dict[str, KeyedEntry] = {}
    for place, item in enumerate(given):
        uid = f"{prefix}/{_find_number(item, place)}"
        entry = _parse_entry(item, uid, book, fields)
        if fields is _PLAIN:
            uid = f"{prefix}/{entry.type}/{casefold(entry.name).replace(' ', '-')}"
        free, count = uid, 1
        while free in entries:
            count += 1
            free = f"{uid}-{count}"
        entries[free] = entry if entry.uid == free else replace(entry, uid=free)
    return tuple(entries.values())


def _find_number(given: object, place: int) -> object:
    """Return the id by which an entry of a list is known, or else its place."""
    number = given.get("id", given.get("uid")) if isinstance(given, Mapping) else None
    return place if number is None or isinstance(number, bool) or not isinstance(number, int | str) else number


def _parse_entry(given: object, uid: str, book: str, fields: Fields) -> KeyedEntry:
    """Return the entry of an object. One that gives no name goes by its comment, its first key or its uid."""
    try:
        if not isinstance(given, Mapping):
            raise BadInput(f"it must be an object, not {_describe(given)}.")
        if fields is _PLAIN and not _text("name", given.get("name")).strip():
            raise BadInput('"name" is empty.')
        values = {field.attribute: field.value_in(given) for field in fields}
    except BadInput as error:
        raise BadInput(f"The entry {shown(uid)} cannot be read: {error}") from None
    first_key = next((key.strip() for key in values["keys"] if key.strip()), "")
    values["name"] = values["name"] or values["comment"].strip() or first_key or f"entry {uid}"
    return KeyedEntry(uid=uid, book=book, **values)


def _value_at(given: object, path: JsonPath) -> Any:
    """Return what stands at a path of an object; None where there is nothing."""
    for step in path:
        if not isinstance(given, Mapping):
            return None
        given = given.get(step)
    return given


def _refuse(name: str, expected: str, value: object) -> NoReturn:
    raise BadInput(f'"{name}" must be {expected}, not {_describe(value)}.')


def _describe(value: object) -> str:
    """Return the kind of a JSON value in words."""
    words = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else words.get(type(value), f"a {type(value).__name__}")


def _text(name: str, value: object) -> str:
    return value if isinstance(value, str) else _refuse(name, "text", value)


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        _refuse(name, "a list of texts", value)
    for item in value:
        if not isinstance(item, str):
            _refuse(name, "a list of texts", item)
    return tuple(value)


def _text_or_texts(name: str, value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _texts(name, value)


def _flag(name: str, value: object) -> bool:
    """Return true or false; 1 and 0 will do."""
    if value is True or value is False or (type(value) in (int, float) and value in (0, 1)):
        return bool(value)
    return _refuse(name, "true or false", value)


def _opposite_flag(name: str, value: object) -> bool:
    return not _flag(name, value)


def _number(name: str, value: object) -> float:
    """Return a number, also one that is written as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            _refuse(name, "a number", value)
        value = int(value) if value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(name, "a number", value)
    if not -LARGEST_NUMBER <= value <= LARGEST_NUMBER:  # true for NaN as well
        raise BadInput(f'"{name}" must be a number of ordinary size.')
    return value


def _whole(name: str, value: object) -> int:
    """Return a whole number; the digits behind the point are dropped."""
    return int(_number(name, value))


def _level(name: str, value: object) -> int:
    """Return a level of recursion, of which true is the first."""
    return int(value) if isinstance(value, bool) else _whole(name, value)


def _logic(name: str, value: object) -> SecondaryLogic:
    if _whole(name, value) not in tuple(SecondaryLogic):
        raise BadInput(f'"{name}" must be 0, 1, 2 or 3, not {value}.')
    return SecondaryLogic(_whole(name, value))


_DEFAULTS = KeyedEntry("", "")


@dataclass(frozen=True, slots=True)
class BookField:
    """One field of an entry in a file."""

    attribute: str
    path: JsonPath
    parse: Callable[[str, Any], Any]
    """Takes the field's name and its value, never null."""
    otherwise: JsonPath = ()
    """The path that counts when `path` has nothing."""
    switch: JsonPath = ()
    """The path of a flag without which the field counts as empty."""
    switch_default: bool = True
    """The value of the flag where it is absent."""

    def value_in(self, given: Mapping[str, Any]) -> Any:
        """Return what an object says of the field, as an entry holds it."""
        if self.switch:
            flag = _value_at(given, self.switch)
            if not (self.switch_default if flag is None else _flag(self.switch[-1], flag)):
                return getattr(_DEFAULTS, self.attribute)
        for path in filter(None, (self.path, self.otherwise)):
            value = _value_at(given, path)
            if value is not None:
                return self.parse(path[-1], value)
        return getattr(_DEFAULTS, self.attribute)


Fields = tuple[BookField, ...]
"""The fields of one form of file."""

_TYPE = BookField("type", (*OURS, "type"), _text)

_WORLD_INFO: Fields = (
    BookField("keys", ("key",), _texts),
    BookField("secondary", ("keysecondary",), _texts, switch=("selective",)),
    BookField("comment", ("comment",), _text),
    BookField("content", ("content",), _text),
    BookField("constant", ("constant",), _flag),
    BookField("logic", ("selectiveLogic",), _logic),
    BookField("order", ("order",), _number),
    BookField("enabled", ("disable",), _opposite_flag),
    BookField("ignore_budget", ("ignoreBudget",), _flag),
    BookField("exclude_recursion", ("excludeRecursion",), _flag),
    BookField("prevent_recursion", ("preventRecursion",), _flag),
    BookField("delay_until_recursion", ("delayUntilRecursion",), _level),
    BookField("probability", ("probability",), _number, switch=("useProbability",)),
    BookField("scan_depth", ("scanDepth",), _whole),
    BookField("case_sensitive", ("caseSensitive",), _flag),
    BookField("whole_words", ("matchWholeWords",), _flag),
    BookField("sticky", ("sticky",), _whole),
    BookField("cooldown", ("cooldown",), _whole),
    BookField("delay", ("delay",), _whole),
    _TYPE,
    BookField("name", (*OURS, "name"), _text),
)

_CHARACTER_BOOK: Fields = (
    BookField("keys", ("keys",), _texts),
    BookField("secondary", ("secondary_keys",), _texts, switch=("selective",), switch_default=False),
    BookField("comment", ("comment",), _text),
    BookField("content", ("content",), _text),
    BookField("constant", ("constant",), _flag),
    BookField("logic", ("extensions", "selectiveLogic"), _logic),
    BookField("order", ("insertion_order",), _number),
    BookField("enabled", ("enabled",), _flag),
    BookField("ignore_budget", ("extensions", "ignore_budget"), _flag),
    BookField("exclude_recursion", ("extensions", "exclude_recursion"), _flag),
    BookField("prevent_recursion", ("extensions", "prevent_recursion"), _flag),
    BookField("delay_until_recursion", ("extensions", "delay_until_recursion"), _level),
    BookField("probability", ("extensions", "probability"), _number, switch=("extensions", "useProbability")),
    BookField("scan_depth", ("extensions", "scan_depth"), _whole),
    BookField("case_sensitive", ("extensions", "case_sensitive"), _flag, otherwise=("case_sensitive",)),
    BookField("whole_words", ("extensions", "match_whole_words"), _flag),
    BookField("sticky", ("extensions", "sticky"), _whole),
    BookField("cooldown", ("extensions", "cooldown"), _whole),
    BookField("delay", ("extensions", "delay"), _whole),
    _TYPE,
    BookField("name", (*OURS, "name"), _text, otherwise=("name",)),
)

_PLAIN: Fields = (
    BookField("keys", ("keywords",), _text_or_texts, otherwise=("name",)),
    BookField("content", ("content",), _text),
    BookField("type", ("type",), _text),
    BookField("comment", ("comment",), _text),
    BookField("name", ("name",), _text),
)

_UNKNOWN_FORMS = (
    ("lorebookVersion", None, "a NovelAI lorebook"),
    ("kind", "memory", "an Agnai memory book"),
    ("type", "risu", "a Risu lorebook"),
)
"""Books of other programs: the field that tells them, its value (None = any) and their name."""
