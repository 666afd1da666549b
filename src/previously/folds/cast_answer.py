"""What a model wants changed in a character's memory, read from its answer.

Owns the shapes that count: the JSON object that was asked for, the same in lines like YAML, facts named by number or in
words, and a whole list of facts where a change was asked for. What must stay true: reading is total and linear; what is
no text and no number is passed over; an answer with none of the fields is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from previously.core.cast import one_line
from previously.core.text import clean
from previously.folds.checks import Refused
from previously.folds.json_answer import LONGEST_ANSWER, MOST_BRACKETS, object_in, refuse_shape, text_in

MOST_ITEMS = 40
"""How many items of one list are looked at: four times what a character keeps."""

_SUMMARIES = ("summary", "new_summary")
_ADDS = ("add", "added", "add_facts", "new_facts", "facts_to_add")
_REMOVES = ("remove", "removed", "remove_facts", "delete", "facts_to_remove")
_UPDATES = ("update", "updated", "update_facts", "updates", "facts_to_update")
_WHOLE = ("key_facts", "facts", "keyfacts")
_NAMES = ("character", "name", "character_name")
_WRAPPERS = ("memory", "diff", "changes", "result", "answer")
_FIELDS = frozenset((*_SUMMARIES, *_ADDS, *_REMOVES, *_UPDATES, *_WHOLE))

_NUMBER = re.compile(r"(?:fact|no\.?|number|#)?\s*#?(\d{1,3})\.?", re.I)
_LISTED = re.compile(r"\s*(?:\d{1,2}[.)]|[-*•])\s+(?=\S)")
_FIELD_LINE = re.compile(r"\s*[\"'*]*(?P<key>[A-Za-z_ ]{2,24}?)[\"'*]*\s*:[\"'*]*(?:\s+(?P<value>.*))?$")
_ITEM_LINE = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(?P<item>.*)$")
_PAIR = re.compile(r"\s*[\"']?(?P<key>old|new|from|to)[\"']?\s*:\s*(?P<value>.*)$", re.I)
_EMPTY = frozenset({"[]", "{}", "none", "null", "nothing", "n/a", "-", "(none)", "empty", "~"})

Pointed = str | int
"""A fact as an answer names it: by its words, or by its number in the list, from 1."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an answer wants."""

    summary: str = ""
    add: tuple[str, ...] = ()
    remove: tuple[Pointed, ...] = ()
    update: tuple[tuple[Pointed, str], ...] = ()
    """What a fact said, and what it says now."""
    whole: tuple[str, ...] = ()
    """The facts as they should be, where all of them were given."""
    about: str = ""
    """Whose memory it says it is."""

    @property
    def is_empty(self) -> bool:
        """Whether it wants nothing: no answer to what was asked, and likely cut off."""
        return not (self.summary or self.add or self.remove or self.update or self.whole)


def wanted_in(answer: str) -> Wanted | Refused:
    """What an answer wants, or why it cannot be read."""
    if answer.count("{") + answer.count("[") > MOST_BRACKETS:
        return refuse_shape("it is nothing but brackets")
    found = object_in(answer)
    if isinstance(found, Refused) or not _fields_of(found):
        lines = _from_lines(answer) if len(answer) <= LONGEST_ANSWER else {}
        if not lines:
            return found if isinstance(found, Refused) else refuse_shape("it has none of the fields asked for")
        found = lines
    fields = _fields_of(found)
    return Wanted(
        summary=" ".join(clean(text_in(_first(fields, _SUMMARIES)))[0].split()),
        add=_texts(_first(fields, _ADDS)),
        remove=_pointed(_first(fields, _REMOVES)),
        update=_updates(_first(fields, _UPDATES)),
        whole=_texts(_first(fields, _WHOLE)),
        about=one_line(text_in(_first(fields, _NAMES))),
    )


def _fields_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by their plain names, out of a wrapping they may be in; empty where there are none of ours."""
    fields = {_plain(key): value for key, value in given.items()}
    if _FIELDS.isdisjoint(fields):
        inner = [fields.get(name) for name in _WRAPPERS] + (list(fields.values()) if len(fields) == 1 else [])
        for one in inner:
            if isinstance(one, dict):
                found = {_plain(key): value for key, value in one.items()}
                if not _FIELDS.isdisjoint(found):
                    return {**{name: fields[name] for name in _NAMES if name in fields}, **found}
        return {}
    return fields


def _plain(key: object) -> str:
    return "_".join(str(key).casefold().replace("-", " ").replace("_", " ").split())


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _items(given: object) -> list[object]:
    if isinstance(given, dict):
        return list(given.values())[:MOST_ITEMS]
    return list(given)[:MOST_ITEMS] if isinstance(given, list) else [given] if given is not None else []


def _texts(given: object) -> tuple[str, ...]:
    lines = (one_line(_LISTED.sub("", _said(one), count=1)) for one in _items(given))
    return tuple(line for line in lines if line and line.casefold() not in _EMPTY)


def _said(given: object) -> str:
    if isinstance(given, dict):
        return next((given[key] for key in ("text", "fact", "new") if isinstance(given.get(key), str)), "")
    return given if isinstance(given, str) else ""


def _pointed(given: object) -> tuple[Pointed, ...]:
    return tuple(found for one in _items(given) if (found := _as_pointed(one)) is not None)


def _as_pointed(given: object) -> Pointed | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, dict):
        given = next((given[key] for key in ("text", "fact", "old", "number", "id") if key in given), None)
        if isinstance(given, int) and not isinstance(given, bool):
            return given
    if not isinstance(given, str):
        return None
    number = _NUMBER.fullmatch(given.strip())
    if number:
        return int(number[1])
    line = one_line(_LISTED.sub("", given, count=1))
    return line if line and line.casefold() not in _EMPTY else None


def _updates(given: object) -> tuple[tuple[Pointed, str], ...]:
    if isinstance(given, dict) and not {"old", "new", "from", "to"}.isdisjoint(given):
        given = [given]
    elif isinstance(given, dict):
        given = [{"old": old, "new": new} for old, new in given.items()]
    found: list[tuple[Pointed, str]] = []
    for one in _items(given):
        if isinstance(one, str):  # new words of something that is not named
            found += [("", text) for text in _texts([one])]
        if not isinstance(one, dict):
            continue
        old = _as_pointed(next((one[key] for key in ("old", "from", "number", "id") if key in one), None))
        new = _texts([next((one[key] for key in ("new", "to", "text") if key in one), None)])
        if new:
            found.append(("" if old is None else old, new[0]))
    return tuple(found)


def _from_lines(answer: str) -> dict[str, Any]:
    """The fields in an answer of lines: `key: value`, and items below a key."""
    fields: dict[str, Any] = {}
    key = ""
    for line in answer.replace("```", "\n").splitlines():
        pair = _PAIR.match(re.sub(r"^\s*[-*•]\s+", "", line))
        if pair and key in _UPDATES:
            _put_pair(fields.setdefault(key, []), pair["key"].casefold(), _unquoted(pair["value"]))
            continue
        named = _FIELD_LINE.match(line)
        name = _plain(named["key"]) if named else ""
        if named and (name in _FIELDS or name in _NAMES):
            key, value = name, _unquoted(named["value"] or "")
            fields[key] = value if key in (*_SUMMARIES, *_NAMES) else _in_brackets(value)
            continue
        item = _ITEM_LINE.match(line)
        if item and isinstance(fields.get(key), list):
            fields[key].append(_unquoted(item["item"]))
        elif key in _SUMMARIES and line.strip():
            fields[key] = f"{fields[key]} {_unquoted(line)}".strip()
    return {name: value for name, value in fields.items() if value} if not _FIELDS.isdisjoint(fields) else {}


def _in_brackets(value: str) -> list[str]:
    """The items of a list on one line."""
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
        items = re.findall(r'"([^"]*)"', value) if '"' in value else value.split(",")
        return [item for one in items if (item := _unquoted(one))]
    return [value] if value else []


def _put_pair(pairs: list[Any], key: str, value: str) -> None:
    if not pairs or not isinstance(pairs[-1], dict) or key in pairs[-1]:
        pairs.append({})
    pairs[-1][key] = value


def _unquoted(text: str) -> str:
    text = text.strip().rstrip(",").strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return "" if text in (">", "|", ">-", "|-") or text.casefold() in _EMPTY else text
