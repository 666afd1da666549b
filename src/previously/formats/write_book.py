"""Lore as other programs read it: World Info files, and the books of character cards.

A book that came from a file of the same kind is written as it came, field by field. What another program has no field
for (our kinds and names) stands in `extensions.previously`, where reading finds it again.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import parse_object
from previously.lore.books import CHARACTER_BOOK, OURS, WORLD_INFO, find_book, find_book_form
from previously.lore.entry import KeyedEntry

FORMS = (WORLD_INFO, CHARACTER_BOOK)

_PNG = b"\x89PNG\r\n\x1a\n"
_CARD_KEYWORDS = (b"chara", b"ccv3")
"""The names of the texts in which a picture holds a card: as V2 and as V3."""

_UNSET = 0, "", None, False
"""Values of an entry's fields that its file would have too, had nobody set them."""


def write_book(form: str, name: str, entries: Sequence[KeyedEntry], given: object = None) -> dict[str, Any]:
    """Return a book in one of the forms. `given` is the parsed file it came from: what is of the same form stays."""
    if form not in FORMS:
        raise BadInput(f"A book is written as {' or '.join(FORMS)}, not as {form!r}.")
    if isinstance(given, Mapping) and find_book_form(given) == form:
        return dict(given)
    if form == WORLD_INFO:
        numbers = _number_entries(entries)
        return {
            "entries": {str(uid): _write_world_info(uid, entry) for uid, entry in zip(numbers, entries, strict=True)}
        }
    data = {"name": name, "extensions": {}, "entries": [_write_card_entry(at, one) for at, one in enumerate(entries)]}
    return {"spec": "lorebook_v3", "data": data}


def _number_entries(entries: Sequence[KeyedEntry]) -> list[int]:
    """Return the numbers that entries have in World Info: their own where they have one, since chats refer to them."""
    own = [_find_number(entry.uid) for entry in entries]
    taken = {number for number in own if number is not None}
    free = (number for number in range(len(entries) + len(taken)) if number not in taken)
    seen: set[int] = set()
    numbers: list[int] = []
    for number in own:
        chosen = number if number is not None and number not in seen else next(free)
        seen.add(chosen)
        numbers.append(chosen)
    return numbers


def _find_number(uid: str) -> int | None:
    last = uid.rpartition("/")[2]
    return int(last) if last.isascii() and last.isdecimal() and len(last) < 10 else None


def _write_world_info(uid: int, entry: KeyedEntry) -> dict[str, Any]:
    """Return an entry with every field that SillyTavern writes, in its order."""
    return {
        "uid": uid,
        "key": list(entry.keys),
        "keysecondary": list(entry.secondary),
        "comment": entry.comment or entry.name,
        "content": entry.content,
        "constant": entry.constant,
        "vectorized": False,
        "selective": True,
        "selectiveLogic": int(entry.logic),
        "addMemo": True,
        "order": entry.order,
        "position": 0,
        "disable": not entry.enabled,
        "ignoreBudget": entry.ignore_budget,
        "excludeRecursion": entry.exclude_recursion,
        "preventRecursion": entry.prevent_recursion,
        "delayUntilRecursion": entry.delay_until_recursion,
        "probability": entry.probability,
        "useProbability": True,
        "depth": 4,
        "role": 0,
        "group": "",
        "groupOverride": False,
        "groupWeight": 100,
        "useGroupScoring": None,
        "scanDepth": entry.scan_depth,
        # Null lets the reader's own setting decide, and false is what nobody said here.
        "caseSensitive": entry.case_sensitive or None,
        "matchWholeWords": None if entry.whole_words else False,
        "automationId": "",
        "sticky": entry.sticky or None,
        "cooldown": entry.cooldown or None,
        "delay": entry.delay or None,
        "displayIndex": uid,
        OURS[0]: {OURS[1]: _write_ours(entry)},
    }


def _write_card_entry(place: int, entry: KeyedEntry) -> dict[str, Any]:
    extensions = {
        "position": 0,
        "selectiveLogic": int(entry.logic),
        "exclude_recursion": entry.exclude_recursion,
        "prevent_recursion": entry.prevent_recursion,
        "delay_until_recursion": entry.delay_until_recursion,
        "probability": entry.probability,
        "useProbability": True,
        "scan_depth": entry.scan_depth,
        "match_whole_words": None if entry.whole_words else False,
        "case_sensitive": entry.case_sensitive or None,
        "ignore_budget": entry.ignore_budget,
        "sticky": entry.sticky or None,
        "cooldown": entry.cooldown or None,
        "delay": entry.delay or None,
        OURS[1]: _write_ours(entry),
    }
    return {
        "id": place,
        "name": entry.name,
        "keys": list(entry.keys),
        "secondary_keys": list(entry.secondary),
        "comment": entry.comment or entry.name,
        "content": entry.content,
        "constant": entry.constant,
        "selective": bool(entry.secondary),
        "insertion_order": entry.order,
        "enabled": entry.enabled,
        "use_regex": True,
        "position": "before_char",
        "extensions": {key: value for key, value in extensions.items() if key == OURS[1] or value not in _UNSET},
    }


def _write_ours(entry: KeyedEntry) -> dict[str, Any]:
    return {"type": entry.type, "name": entry.name}


def put_into_card(card: bytes, book: Mapping[str, Any]) -> bytes:
    """Return a character card, JSON or PNG, with this book in place of its own."""
    if not card.startswith(_PNG):
        try:
            return json.dumps(_embed(parse_object(card.decode()), book), ensure_ascii=False, indent=4).encode()
        except UnicodeDecodeError:
            raise BadInput("This is no character card: neither a PNG picture nor JSON in UTF-8.") from None
    chunks = list(_read_chunks(card))
    if not any(_find_keyword(kind, data) for kind, data in chunks):
        raise BadInput("This picture holds no character card.")
    written = [(kind, _embed_chunk(kind, data, book)) for kind, data in chunks]
    return _PNG + b"".join(_write_chunk(kind, data) for kind, data in written)


def _embed(card: dict[str, Any], book: Mapping[str, Any]) -> dict[str, Any]:
    data = card.get("data")
    if not isinstance(data, dict):
        raise BadInput('This is no character card of version 2 or 3: it has no "data".')
    return card | {"data": data | {"character_book": find_book(book)}}


def _embed_chunk(kind: bytes, data: bytes, book: Mapping[str, Any]) -> bytes:
    keyword = _find_keyword(kind, data)
    if not keyword:
        return data
    try:
        card = parse_object(base64.b64decode(data[len(keyword) + 1 :], validate=True).decode())
    except (ValueError, UnicodeDecodeError):
        raise BadInput("The card in this picture cannot be read.") from None
    text = json.dumps(_embed(card, book), ensure_ascii=False)
    return keyword + b"\0" + base64.b64encode(text.encode())


def _find_keyword(kind: bytes, data: bytes) -> bytes:
    keyword = data.partition(b"\0")[0].lower()
    return data.partition(b"\0")[0] if kind == b"tEXt" and keyword in _CARD_KEYWORDS else b""


def _read_chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_PNG)
    while place + 12 <= len(picture):
        (size,) = struct.unpack(">I", picture[place : place + 4])
        kind, data = picture[place + 4 : place + 8], picture[place + 8 : place + 8 + size]
        (told,) = struct.unpack(">I", picture[place + 8 + size : place + 12 + size] or bytes(4))
        if len(data) < size or zlib.crc32(kind + data) != told:
            break
        yield kind, data
        place += 12 + size
        if kind == b"IEND":
            return
    raise BadInput("This PNG picture is damaged.")


def _write_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
