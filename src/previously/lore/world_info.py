"""Books in files: read whatever form they have, write them back without losing a field.

Four forms are known by their shape: SillyTavern's World Info (`entries` is an object), the book of a character card
(a list), alone, inside a card or as `lorebook_v3`, and our own plain list of `{"name", "type", "keywords",
"content"}`. All of this is about parsed JSON; where it comes from and goes to is for others.

What must stay true: a book that was not changed is written as it was read, fields and their order included; no entry
is renumbered, since chats refer to the numbers; and what cannot be read is refused with one sentence that names the
entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from previously.core.errors import BadInput
from previously.core.scripts import casefold
from previously.lore.book_fields import Field, Form, kind, patched, text, texts, values_of
from previously.lore.book_forms import CHARACTER_BOOK, WORLD_INFO, character_book_object, fresh, world_info_object
from previously.lore.entries import Entry


def _text_or_texts(name: str, value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else texts(name, value)


PLAIN = Form(
    "plain",
    (
        Field("keys", ("keywords",), _text_or_texts, list, otherwise=("name",)),
        Field("content", ("content",), text),
        Field("type", ("type",), text),
        Field("comment", ("comment",), text),
        Field("name", ("name",), text),
    ),
    {"name": "", "type": "lore", "keywords": [], "content": ""},
)

_OTHERS = (
    ("lorebookVersion", None, "a NovelAI lorebook"),
    ("kind", "memory", "an Agnai memory book"),
    ("type", "risu", "a Risu lorebook"),
)


@dataclass(frozen=True, slots=True)
class Book:
    """A set of entries, as a file holds them."""

    name: str
    entries: tuple[Entry, ...]
    form: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The fields around the entries; `entries` stands empty among them, to keep its place."""


def read_book(given: object, name: str = "") -> Book:
    """The book in a parsed file; `name` is the file's, and wins over the one inside."""
    found = _book_inside(given)
    if isinstance(found, list):
        return Book(name, _listed(found, name or "story", PLAIN, name), PLAIN.name)
    for key, value, what in _OTHERS:
        if key in found and value in (None, found[key]):
            raise BadInput(f"This is {what}; only World Info, character books and plain lists of entries are read.")
    entries = found.get("entries")
    name = name or (found["name"] if isinstance(found.get("name"), str) else "")
    around = {key: {} if key == "entries" else value for key, value in found.items()}
    if isinstance(entries, Mapping):
        made = tuple(_entry(one, f"{name or 'book'}/{uid}", name, WORLD_INFO) for uid, one in entries.items())
        return Book(name, made, WORLD_INFO.name, around)
    if isinstance(entries, list):
        form = WORLD_INFO if _is_world_info(entries) else CHARACTER_BOOK
        return Book(name, _listed(entries, name or "book", form, name), form.name, around)
    raise BadInput(f'A book must hold "entries" as an object or a list, not {kind(entries)}.')


def world_info(book: Book) -> dict[str, Any]:
    """The book as a World Info file holds it."""
    numbers = _numbers(book.entries)
    entries: dict[str, Any] = {}
    for one, uid in zip(book.entries, numbers, strict=True):
        key = one.uid.removeprefix(f"{one.book or 'book'}/") if one.form == WORLD_INFO.name else str(uid)
        made = world_info_object(one, uid)
        if key in entries:  # two books in one: the number is taken
            key, made["uid"] = str(uid), uid
        entries[key] = made
    return _around(book, WORLD_INFO) | {"entries": entries}


def character_book(book: Book) -> dict[str, Any]:
    """The book as a character card holds it."""
    numbers = _numbers(book.entries)
    entries = [character_book_object(one, uid) for one, uid in zip(book.entries, numbers, strict=True)]
    return _around(book, CHARACTER_BOOK) | {"entries": entries}


def plain_list(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Entries as our own plain list: name, type, keywords, content. What else they say is not in it."""
    return [patched(one.extra if one.form == PLAIN.name else fresh(PLAIN), PLAIN, one) for one in entries]


def rewritten(given: object, book: Book) -> Any:
    """The parsed file with this book in place of its own, in the form the file has."""
    if isinstance(given, Mapping) and "entries" not in given and isinstance(given.get("data"), Mapping):
        if given.get("spec") == "lorebook_v3":
            return {**given, "data": character_book(book)}
        return {**given, "data": {**given["data"], "character_book": character_book(book)}}
    found = _book_inside(given)
    if isinstance(found, list):
        return plain_list(book.entries)
    return world_info(book) if _is_world_info(found.get("entries")) else character_book(book)


def _book_inside(given: object) -> Mapping[str, Any] | list[Any]:
    """The object or list that holds the entries."""
    if isinstance(given, list):
        return given
    if not isinstance(given, Mapping):
        raise BadInput(f"A book must be an object or a list of entries, not {kind(given)}.")
    data = given.get("data")
    if "entries" in given or not isinstance(data, Mapping):
        return given
    if given.get("spec") == "lorebook_v3":
        return data
    book = data.get("character_book")
    if not isinstance(book, Mapping):
        raise BadInput("This character card has no book.")
    return book


def _listed(given: Sequence[object], prefix: str, form: Form, book: str = "") -> tuple[Entry, ...]:
    """The entries of a list, each under a uid of its own."""
    made: dict[str, Entry] = {}
    for place, one in enumerate(given):
        uid = f"{prefix}/{_number_in(one, place)}"
        entry = _entry(one, uid, book, form)
        if form is PLAIN:
            uid = f"{prefix}/{entry.type}/{casefold(entry.name).replace(' ', '-')}"
        free, count = uid, 1
        while free in made:
            count += 1
            free = f"{uid}-{count}"
        made[free] = entry if entry.uid == free else replace(entry, uid=free)
    return tuple(made.values())


def _entry(given: object, uid: str, book: str, form: Form) -> Entry:
    try:
        if not isinstance(given, Mapping):
            raise BadInput(f"it must be an object, not {kind(given)}.")
        if form is PLAIN and not text("name", given.get("name")).strip():
            raise BadInput('"name" is empty.')
        values = values_of(given, form, uid)
    except BadInput as error:
        raise BadInput(f"The entry {uid} cannot be read: {error}") from None
    return Entry(uid=uid, book=book, form=form.name, extra=given, **values)


def _is_world_info(entries: object) -> bool:
    """Whether these are entries of World Info: an object, or a list of what only it has."""
    if isinstance(entries, list):
        return any(isinstance(one, Mapping) and "key" in one for one in entries)
    return isinstance(entries, Mapping)


def _number_in(given: object, place: int) -> object:
    """What an entry of a list is called by: its id, or its place."""
    found = given.get("id", given.get("uid")) if isinstance(given, Mapping) else None
    return place if found is None or isinstance(found, bool) or not isinstance(found, int | str) else found


def _numbers(entries: Sequence[Entry]) -> list[int]:
    """A number for each entry: the one it has, else the lowest that is free."""
    taken: set[int] = set()
    wanted: list[int | None] = []
    for one in entries:
        last = one.uid.rpartition("/")[2]
        number = int(last) if last.isascii() and last.isdecimal() and len(last) < 16 else None
        wanted.append(number if number not in taken else None)
        taken |= {number} if number is not None else set()
    made: list[int] = []
    free = 0
    for given in wanted:
        while given is None and free in taken:
            free += 1
        made.append(free if given is None else given)
        taken.add(made[-1])
    return made


def _around(book: Book, form: Form) -> dict[str, Any]:
    """The fields around the entries: as they were read, or as few as the form needs."""
    if book.form == form.name:
        return dict(book.extra)
    kept = {key: value for key, value in book.extra.items() if key != "entries"}
    if book.name:
        kept.setdefault("name", book.name)
    return {"entries": {}} | kept
