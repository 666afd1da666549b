"""Lore as other programs read it: World Info files, and the books of character cards.

A book that came from a file of the same kind is written as it came, field by field; one of the other kind is converted
field by field. What another program has no field for (our kinds and names) stands in `extensions.previously`, where
reading finds it again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from previously.core.errors import BadInput
from previously.core.json_values import parse_object
from previously.formats.convert_book import convert_book, convert_to_card
from previously.formats.png_texts import PNG, find_card_keyword, read_card_text, read_chunks, write_chunk
from previously.lore.book_changes import write_filter
from previously.lore.books import CHARACTER_BOOK, OURS, WORLD_INFO, find_book, find_book_form
from previously.lore.entry import KeyedEntry

FORMS = (WORLD_INFO, CHARACTER_BOOK)


def write_book(form: str, name: str, entries: Sequence[KeyedEntry], given: object = None) -> dict[str, Any]:
    """Return a book in one of the forms. `given` is the parsed file it came from: what is of the same form stays."""
    if form not in FORMS:
        raise BadInput(f"A book is written as {' or '.join(FORMS)}, not as {form!r}.")
    if isinstance(given, Mapping) and find_book_form(given) == form:
        return dict(given)
    if isinstance(given, Mapping):
        return convert_book(given, form, name)
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
        "content": entry.directives + entry.content,
        "constant": entry.constant,
        "vectorized": entry.vectorized,
        "selective": True,
        "selectiveLogic": int(entry.logic),
        "addMemo": True,
        "order": entry.order,
        "position": int(entry.position),
        "disable": not entry.enabled,
        "ignoreBudget": entry.ignore_budget,
        "excludeRecursion": entry.exclude_recursion,
        "preventRecursion": entry.prevent_recursion,
        "delayUntilRecursion": entry.delay_until_recursion,
        "probability": entry.probability,
        "useProbability": True,
        "depth": entry.depth,
        "role": entry.role,
        "outletName": entry.outlet,
        "group": ", ".join(entry.groups),
        "groupOverride": entry.group_override,
        "groupWeight": entry.group_weight,
        "useGroupScoring": entry.group_scoring,
        "scanDepth": entry.scan_depth,
        # Null lets the reader's own setting decide, and false is what nobody said here.
        "caseSensitive": entry.case_sensitive or None,
        "matchWholeWords": None if entry.whole_words else False,
        "automationId": "",
        "sticky": entry.sticky or None,
        "cooldown": entry.cooldown or None,
        "delay": entry.delay or None,
        "triggers": list(entry.triggers),
        "matchPersonaDescription": entry.match_persona_description,
        "matchCharacterDescription": entry.match_character_description,
        "matchCharacterPersonality": entry.match_character_personality,
        "matchCharacterDepthPrompt": entry.match_character_depth_prompt,
        "matchScenario": entry.match_scenario,
        "matchCreatorNotes": entry.match_creator_notes,
        "characterFilter": write_filter(entry.characters),
        "displayIndex": uid,
        OURS[0]: {OURS[1]: _write_ours(entry)},
    }


def _write_card_entry(place: int, entry: KeyedEntry) -> dict[str, Any]:
    return convert_to_card(str(place), _write_world_info(place, entry)) | {"name": entry.name}


def _write_ours(entry: KeyedEntry) -> dict[str, Any]:
    """Return what other programs have no field for. The comment beside a name that differs from it tells whether the
    entry was named otherwise since."""
    ours = {"type": entry.type, "name": entry.name}
    return ours if entry.comment in ("", entry.name) else ours | {"comment": entry.comment}


def put_into_card(card: bytes, book: Mapping[str, Any]) -> bytes:
    """Return a character card, JSON or PNG, with this book in place of its own."""
    if find_book_form(book) != CHARACTER_BOOK:
        raise BadInput("A card holds a book as character-book, not as world-info.")
    if not card.startswith(PNG):
        try:
            return json.dumps(_embed(parse_object(card.decode()), book), ensure_ascii=False, indent=4).encode()
        except UnicodeDecodeError:
            raise BadInput("This is no character card: neither a PNG picture nor JSON in UTF-8.") from None
    chunks = list(read_chunks(card))
    if not any(find_card_keyword(kind, data) for kind, data in chunks):
        raise BadInput("This picture holds no character card.")
    return PNG + b"".join(write_chunk(*_embed_chunk(kind, data, book)) for kind, data in chunks)


def _embed(card: dict[str, Any], book: Mapping[str, Any]) -> dict[str, Any]:
    data = card.get("data")
    if not isinstance(data, dict):
        raise BadInput('This is no character card of version 2 or 3: it has no "data".')
    return card | {"data": data | {"character_book": find_book(book)}}


def _embed_chunk(kind: bytes, data: bytes, book: Mapping[str, Any]) -> tuple[bytes, bytes]:
    keyword = find_card_keyword(kind, data)
    if not keyword:
        return kind, data
    text = json.dumps(_embed(parse_object(read_card_text(kind, data)), book), ensure_ascii=False)
    return b"tEXt", keyword + b"\0" + base64.b64encode(text.encode())
