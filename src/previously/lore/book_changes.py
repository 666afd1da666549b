"""Changes of books: one field of an entry set by hand, and what a book says otherwise than the one before.

Entries are known by their uids, so an entry that got another name elsewhere is the same entry with one change. Fields
that another program adds with their usual values are no change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields as list_dataclass_fields
from typing import Any

from previously.core.errors import BadInput
from previously.lore.books import (
    OURS,
    BookChange,
    BookField,
    Fields,
    LoreBook,
    find_fields,
    is_renamed,
    list_raw_entries,
    parse_book,
    split_directives,
)
from previously.lore.entry import CharacterFilter, KeyedEntry
from previously.lore.keys import normalize_name

_COMPARED = tuple(
    field.name for field in list_dataclass_fields(KeyedEntry) if field.name not in ("uid", "book", "directives")
)

_SHOWN_ELSEWHERE = frozenset({"uid", "id", "displayIndex", "addMemo", "extensions", "position", "use_regex"})
"""Fields that say nothing of an entry: its number, how an editor shows it, and what is compared by its parts."""


WHOLE_ENTRY = "entry"


def compare_books(before: object, after: object, name: str) -> list[BookChange]:
    """Return what a book says otherwise than the one before, in the order of the new one; what is gone comes last."""
    old, new = _list_entries(before, name), _list_entries(after, name)
    known = find_fields(after)
    same_form = find_fields(before) is known
    changes: list[BookChange] = []
    for uid, (entry, raw) in new.items():
        if uid not in old:
            changes.append(BookChange(uid, entry.name, WHOLE_ENTRY, None, entry.content))
            continue
        changes += _compare_entries(old[uid][0], entry)
        changes += _compare_rest(entry, old[uid][1], raw, known) if same_form else ()
    gone = (entry for uid, (entry, _) in old.items() if uid not in new)
    return [*changes, *(BookChange(entry.uid, entry.name, WHOLE_ENTRY, entry.content, None) for entry in gone)]


def _list_entries(given: object, name: str) -> dict[str, tuple[KeyedEntry, Any]]:
    entries = parse_book(given, name).entries
    return {entry.uid: (entry, raw) for entry, raw in zip(entries, list_raw_entries(given), strict=True)}


def _compare_entries(old: KeyedEntry, new: KeyedEntry) -> list[BookChange]:
    changes = [
        BookChange(new.uid, new.name, name, getattr(old, name), getattr(new, name))
        for name in _COMPARED
        if getattr(old, name) != getattr(new, name)
    ]
    if any(change.field == "name" for change in changes):  # which goes by the comment, as a rule
        return [change for change in changes if change.field != "comment"]
    return changes


def _compare_rest(entry: KeyedEntry, old: Any, new: Any, fields: Fields) -> list[BookChange]:
    """Return the differences in fields that mean nothing here."""
    known = {path[0] for field in fields for path in (field.path, field.otherwise, field.switch) if path}
    changes: list[BookChange] = []
    for key in dict.fromkeys((*old, *new)):
        if key in known or key in _SHOWN_ELSEWHERE or old.get(key) == new.get(key):
            continue
        if key in old or new[key]:  # a new field that is empty is one that another program has by nature
            changes.append(BookChange(entry.uid, entry.name, key, old.get(key), new.get(key)))
    return changes


def change_book(given: object, name: str, entry: str, values: Mapping[str, Any]) -> tuple[Any, KeyedEntry]:
    """Return a book in which fields of one entry, by its name or uid, have other values, and nothing else differs; and
    the entry as it is then."""
    book = parse_book(given, name)
    place = _find_entry(book, entry)
    changed = json.loads(json.dumps(given))  # a copy: the book that was given stays as it is
    raw = list_raw_entries(changed)[place]
    for attribute, value in values.items():
        _set_field(raw, find_fields(changed), attribute, value)
    return changed, parse_book(changed, name).entries[place]


def _find_entry(book: LoreBook, wanted: str) -> int:
    for is_meant in (
        lambda entry: entry.uid == wanted,
        lambda entry: entry.name == wanted,
        lambda entry: normalize_name(entry.name) == normalize_name(wanted),
        lambda entry: entry.uid.rpartition("/")[2] == wanted,
    ):
        places = [place for place, entry in enumerate(book.entries) if is_meant(entry)]
        if len(places) > 1:
            uids = ", ".join(book.entries[place].uid for place in places[:5])
            raise BadInput(f"{wanted!r} could mean {len(places)} entries; name one by its uid: {uids}.")
        if places:
            return places[0]
    raise BadInput(f"There is no entry {wanted!r} in the book {book.name!r}.")


def _set_field(raw: dict[str, Any], fields: Fields, attribute: str, value: Any) -> None:
    known = {field.attribute: field for field in fields}
    if attribute not in known:
        raise BadInput(f"An entry of this book has no field {attribute!r}; there are {', '.join(known)}.")
    field = known[attribute]
    if attribute == "name":
        _set_name(raw, field, value)
        return
    if attribute == "content":
        value = _read_directives(raw) + value
    elif attribute == "groups" and not isinstance(value, str):
        value = ", ".join(value)
    elif isinstance(value, CharacterFilter):
        value = write_filter(value)
    elif field.path[-1] == "disable" and isinstance(value, bool):
        value = not value
    elif isinstance(value, tuple):
        value = list(value)
    elif isinstance(value, str) and field.takes_texts:
        value = [value]
    is_elsewhere = field.otherwise and _is_at(raw, field.otherwise) and not _is_at(raw, field.path)
    _set_at(raw, field.otherwise if is_elsewhere else field.path, value)
    if field.switch and not field.is_on(raw):
        _set_at(raw, field.switch, True)


def write_filter(characters: CharacterFilter) -> dict[str, Any]:
    """Return a filter as World Info has it."""
    return {"isExclude": characters.exclude, "names": list(characters.names), "tags": list(characters.tags)}


def _set_name(raw: dict[str, Any], field: BookField, name: str) -> None:
    """Give an entry a name where its form has one: elsewhere its comment is its name."""
    path = field.otherwise or field.path
    if path != (*OURS, "name") and (path[-1] in raw or field.path == ("name",)):
        _set_at(raw, path, name)
    else:
        raw["comment"] = name
    if _is_at(raw, (*OURS, "name")) and not is_renamed(raw):
        _set_at(raw, (*OURS, "name"), name)


def _read_directives(raw: Mapping[str, Any]) -> str:
    content = raw.get("content")
    return split_directives(content)[0] if isinstance(content, str) and content.startswith("@@") else ""


def _is_at(raw: Any, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(raw, Mapping) or step not in raw:
            return False
        raw = raw[step]
    return True


def _set_at(raw: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        inner = raw.get(step)
        if not isinstance(inner, dict):
            inner = raw[step] = {}
        raw = inner
    raw[path[-1]] = value
