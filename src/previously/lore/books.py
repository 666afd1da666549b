"""Books of lore as files hold them: parse whatever form they have.

Four forms are known by their shape: SillyTavern's World Info (`entries` is an object), the book of a character card
(a list), alone, inside a card or as `lorebook_v3`, and our own plain list of `{"name", "type", "keywords",
"content"}`. World Info and card books hold nearly the same under other names; what a card's entry has no field for
stands in its `extensions`. A book that cannot be parsed is refused with one sentence that names the entry. No entry is
renumbered, since chats refer to the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

from previously.core.errors import BadInput
from previously.core.json_values import shown
from previously.core.scripts import casefold
from previously.lore.entry import EVERYBODY, CharacterFilter, EntryPosition, KeyedEntry, SecondaryLogic

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
    changes: tuple[BookChange, ...] = ()
    """The differences from the book of that name that was kept before."""
    status: str = ""
    """`added`, `updated` or `unchanged`, where it was kept."""


@dataclass(frozen=True, slots=True)
class BookChange:
    """One field of an entry that is not what it was. A whole entry that came or went has the field "entry"."""

    uid: str
    entry: str
    """Its name, as it is now."""
    field: str
    before: Any
    after: Any


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


def find_fields(given: object) -> Fields:
    """Return the fields that entries of a book have in its form."""
    form = find_book_form(given)
    return {WORLD_INFO: _WORLD_INFO, CHARACTER_BOOK: _CHARACTER_BOOK}.get(form, _PLAIN)


def list_raw_entries(given: object) -> list[Any]:
    """Return the entries of a book as its file has them, in the order in which `parse_book` gives them."""
    book = find_book(given)
    entries = book if isinstance(book, list) else book.get("entries")
    return list(entries.values()) if isinstance(entries, Mapping) else list(entries or ())


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
        said = _find_said(fields, tuple(given))
        values = {field.attribute: field.value_in(given) for field in said}
    except BadInput as error:
        raise BadInput(f"The entry {shown(uid)} cannot be read: {error}") from None
    if fields is not _PLAIN and values.get("content", "").startswith("@@"):
        values["directives"], values["decorators"], values["content"] = split_directives(values["content"])
    if fields is not _PLAIN and is_renamed(given):
        values["name"] = ""
    if not values.get("name"):
        first_key = next((key.strip() for key in values.get("keys", ()) if key.strip()), "")
        values["name"] = values.get("comment", "").strip() or first_key or f"entry {uid}"
    return KeyedEntry(uid=uid, book=book, **values)


@lru_cache(maxsize=256)
def _find_said(fields: Fields, keys: tuple[str, ...]) -> Fields:
    """Return the fields of which an object with these keys says something: the others have their usual values. Entries
    of one book nearly all have the same keys."""
    return tuple(field for field in fields if field.is_said_in(keys))


def is_renamed(given: Mapping[str, Any]) -> bool:
    """Return whether an entry that we gave a name was named otherwise since: other programs write their names into the
    comment, and leave alone what is ours."""
    if OURS[0] not in given:
        return False
    named, comment = _find_value(given, (*OURS, "name")), given.get("comment")
    written = _find_value(given, (*OURS, "comment"))
    return isinstance(named, str) and bool(comment) and comment != (named if written is None else written)


_OBEYED = ("activate", "dont_activate")
"""The directives that mean something here, and in SillyTavern."""


def split_directives(content: str) -> tuple[str, tuple[str, ...], str]:
    """Return the lines before a content that begin with @@, the names of those that are obeyed, and the rest. A line
    that begins with @@@ counts only where nobody knows the line above it."""
    names: list[str] = []
    begun, unknown = 0, False
    for line in content.splitlines(keepends=True):
        if not line.startswith("@@"):
            break
        begun += len(line)
        is_fallback = line.startswith("@@@")
        name = line.strip().lstrip("@").partition(" ")[0]
        if is_fallback and not unknown:
            continue
        unknown = name not in _OBEYED
        if not unknown:
            names.append(name)
    return content[:begun], tuple(names), content[begun:]


def _find_value(given: object, path: JsonPath) -> Any:
    """Return what stands at a path of an object; None where there is nothing."""
    for step in path:
        if type(given) is not dict and not isinstance(given, Mapping):
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


def _read_texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        _refuse(name, "a list of texts", value)
    for item in value:
        if not isinstance(item, str):
            _refuse(name, "a list of texts", item)
    return tuple(value)


def _text_or_texts(name: str, value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _read_texts(name, value)


def _read_flag(name: str, value: object) -> bool:
    """Return true or false; 1 and 0 will do."""
    if value is True or value is False or (type(value) in (int, float) and value in (0, 1)):
        return bool(value)
    return _refuse(name, "true or false", value)


def _read_opposite_flag(name: str, value: object) -> bool:
    return not _read_flag(name, value)


def _number(name: str, value: object) -> float:
    """Return a number, also one that is written as text."""
    if type(value) is int and -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return value  # as nearly all are
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


def _read_whole(name: str, value: object) -> int:
    """Return a whole number; the digits behind the point are dropped."""
    return int(_number(name, value))


def _read_level(name: str, value: object) -> int:
    """Return a level of recursion, of which true is the first."""
    return int(value) if isinstance(value, bool) else _read_whole(name, value)


def _read_logic(name: str, value: object) -> SecondaryLogic:
    logic = _LOGICS.get(_read_whole(name, value))
    if logic is None:
        raise BadInput(f'"{name}" must be 0, 1, 2 or 3, not {value}.')
    return logic


def _read_position(name: str, value: object) -> EntryPosition:
    """Return a position, by number or in the words of character cards."""
    if isinstance(value, str) and not value.strip().isdecimal():
        return EntryPosition.BEFORE_CHARACTER if value == "before_char" else EntryPosition.AFTER_CHARACTER
    position = _POSITIONS.get(_read_whole(name, value))
    if position is None:
        raise BadInput(f'"{name}" must be from 0 to {max(EntryPosition)}, not {value}.')
    return position


_LOGICS = {logic.value: logic for logic in SecondaryLogic}
_POSITIONS = {position.value: position for position in EntryPosition}


def _read_groups(name: str, value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(str.strip, _text(name, value).split(",")))))


def _read_characters(name: str, value: object) -> CharacterFilter:
    """Return the characters that an entry is for; what is no object says nothing, as in SillyTavern."""
    if not isinstance(value, Mapping):
        return EVERYBODY
    names, tags = (_read_texts(f"{name}.{key}", value.get(key) or []) for key in ("names", "tags"))
    exclude = _read_flag(f"{name}.isExclude", value.get("isExclude") or False)
    return CharacterFilter(names, tags, exclude) if names or tags else EVERYBODY


_DEFAULTS = KeyedEntry("", "")


@dataclass(frozen=True, slots=True, eq=False)
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

    @property
    def takes_texts(self) -> bool:
        """True if its value is a list of texts."""
        return self.parse in (_read_texts, _text_or_texts)

    def is_said_in(self, keys: Collection[str]) -> bool:
        """Return whether an object with these keys may say something of the field."""
        return self.path[0] in keys or (bool(self.otherwise) and self.otherwise[0] in keys)

    def is_on(self, given: Mapping[str, Any]) -> bool:
        """Return whether the switch of the field lets it count."""
        flag = _find_value(given, self.switch)
        return self.switch_default if flag is None else _read_flag(self.switch[-1], flag)

    def value_in(self, given: Mapping[str, Any]) -> Any:
        """Return what an object says of the field, as an entry holds it."""
        if self.switch and not self.is_on(given):
            return getattr(_DEFAULTS, self.attribute)
        value = given.get(self.path[0]) if len(self.path) == 1 else _find_value(given, self.path)
        if value is not None:
            return self.parse(self.path[-1], value)
        if self.otherwise and (value := _find_value(given, self.otherwise)) is not None:
            return self.parse(self.otherwise[-1], value)
        return getattr(_DEFAULTS, self.attribute)


Fields = tuple[BookField, ...]
"""The fields of one form of file."""

_TYPE = BookField("type", (*OURS, "type"), _text)

_WORLD_INFO: Fields = (
    BookField("keys", ("key",), _read_texts),
    BookField("secondary", ("keysecondary",), _read_texts, switch=("selective",)),
    BookField("comment", ("comment",), _text),
    BookField("content", ("content",), _text),
    BookField("constant", ("constant",), _read_flag),
    BookField("logic", ("selectiveLogic",), _read_logic),
    BookField("order", ("order",), _number),
    BookField("enabled", ("disable",), _read_opposite_flag),
    BookField("ignore_budget", ("ignoreBudget",), _read_flag),
    BookField("exclude_recursion", ("excludeRecursion",), _read_flag),
    BookField("prevent_recursion", ("preventRecursion",), _read_flag),
    BookField("delay_until_recursion", ("delayUntilRecursion",), _read_level),
    BookField("probability", ("probability",), _number, switch=("useProbability",)),
    BookField("scan_depth", ("scanDepth",), _read_whole),
    BookField("case_sensitive", ("caseSensitive",), _read_flag),
    BookField("whole_words", ("matchWholeWords",), _read_flag),
    BookField("sticky", ("sticky",), _read_whole),
    BookField("cooldown", ("cooldown",), _read_whole),
    BookField("delay", ("delay",), _read_whole),
    BookField("position", ("position",), _read_position),
    BookField("depth", ("depth",), _read_whole),
    BookField("role", ("role",), _read_whole),
    BookField("outlet", ("outletName",), _text),
    BookField("groups", ("group",), _read_groups),
    BookField("group_override", ("groupOverride",), _read_flag),
    BookField("group_weight", ("groupWeight",), _number),
    BookField("group_scoring", ("useGroupScoring",), _read_flag),
    BookField("characters", ("characterFilter",), _read_characters),
    BookField("triggers", ("triggers",), _read_texts),
    BookField("match_persona_description", ("matchPersonaDescription",), _read_flag),
    BookField("match_character_description", ("matchCharacterDescription",), _read_flag),
    BookField("match_character_personality", ("matchCharacterPersonality",), _read_flag),
    BookField("match_character_depth_prompt", ("matchCharacterDepthPrompt",), _read_flag),
    BookField("match_scenario", ("matchScenario",), _read_flag),
    BookField("match_creator_notes", ("matchCreatorNotes",), _read_flag),
    BookField("vectorized", ("vectorized",), _read_flag),
    _TYPE,
    BookField("name", (*OURS, "name"), _text),
)

_CHARACTER_BOOK: Fields = (
    BookField("keys", ("keys",), _read_texts),
    BookField("secondary", ("secondary_keys",), _read_texts, switch=("selective",), switch_default=False),
    BookField("comment", ("comment",), _text),
    BookField("content", ("content",), _text),
    BookField("constant", ("constant",), _read_flag),
    BookField("logic", ("extensions", "selectiveLogic"), _read_logic),
    BookField("order", ("insertion_order",), _number),
    BookField("enabled", ("enabled",), _read_flag),
    BookField("ignore_budget", ("extensions", "ignore_budget"), _read_flag),
    BookField("exclude_recursion", ("extensions", "exclude_recursion"), _read_flag),
    BookField("prevent_recursion", ("extensions", "prevent_recursion"), _read_flag),
    BookField("delay_until_recursion", ("extensions", "delay_until_recursion"), _read_level),
    BookField("probability", ("extensions", "probability"), _number, switch=("extensions", "useProbability")),
    BookField("scan_depth", ("extensions", "scan_depth"), _read_whole),
    BookField("case_sensitive", ("extensions", "case_sensitive"), _read_flag, otherwise=("case_sensitive",)),
    BookField("whole_words", ("extensions", "match_whole_words"), _read_flag),
    BookField("sticky", ("extensions", "sticky"), _read_whole),
    BookField("cooldown", ("extensions", "cooldown"), _read_whole),
    BookField("delay", ("extensions", "delay"), _read_whole),
    BookField("position", ("extensions", "position"), _read_position, otherwise=("position",)),
    BookField("depth", ("extensions", "depth"), _read_whole),
    BookField("role", ("extensions", "role"), _read_whole),
    BookField("outlet", ("extensions", "outlet_name"), _text),
    BookField("groups", ("extensions", "group"), _read_groups),
    BookField("group_override", ("extensions", "group_override"), _read_flag),
    BookField("group_weight", ("extensions", "group_weight"), _number),
    BookField("group_scoring", ("extensions", "use_group_scoring"), _read_flag),
    BookField("characters", ("extensions", "character_filter"), _read_characters),
    BookField("triggers", ("extensions", "triggers"), _read_texts),
    BookField("match_persona_description", ("extensions", "match_persona_description"), _read_flag),
    BookField("match_character_description", ("extensions", "match_character_description"), _read_flag),
    BookField("match_character_personality", ("extensions", "match_character_personality"), _read_flag),
    BookField("match_character_depth_prompt", ("extensions", "match_character_depth_prompt"), _read_flag),
    BookField("match_scenario", ("extensions", "match_scenario"), _read_flag),
    BookField("match_creator_notes", ("extensions", "match_creator_notes"), _read_flag),
    BookField("vectorized", ("extensions", "vectorized"), _read_flag),
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
