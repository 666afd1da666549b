"""Entries of lore as text and back, so that a snapshot of them can be kept.

What must stay true: reading what was written gives the same entries; the same entries are the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from previously.lore.statements import Statement
from previously.lore.things import Key, LoreEntry, Suggestion


def lore_text(entries: Mapping[Key, LoreEntry]) -> str:
    """All entries as canonical JSON, in their order."""
    listed = [entry_json(one) for one in entries.values()]
    return json.dumps(listed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def lore_of(text: str) -> dict[Key, LoreEntry]:
    """The entries in a text that `lore_text` wrote."""
    listed = [entry_of(one) for one in json.loads(text)] if text else []
    return {one.key: one for one in listed}


def entry_json(entry: LoreEntry) -> dict[str, Any]:
    """One entry; what is empty takes no room."""
    written: dict[str, Any] = {
        "aliases": list(entry.aliases),
        "keywords": list(entry.keywords),
        "statements": [_statement_json(one) for one in entry.statements],
        "superseded": [_statement_json(one) for one in entry.superseded],
        "retired": entry.retired,
        "locked": sorted(entry.locked),
        "suggestions": [[one.field, one.text, one.source] for one in entry.suggestions],
    }
    kept = {field: value for field, value in written.items() if value}
    return {"name": entry.name, "type": entry.type, "touched": entry.touched, **kept}


def entry_of(given: Mapping[str, Any]) -> LoreEntry:
    """The entry that `entry_json` wrote."""
    return LoreEntry(
        name=given["name"],
        type=given["type"],
        aliases=tuple(given.get("aliases", ())),
        keywords=tuple(given.get("keywords", ())),
        statements=tuple(_statement_of(one) for one in given.get("statements", ())),
        superseded=tuple(_statement_of(one) for one in given.get("superseded", ())),
        touched=given["touched"],
        retired=given.get("retired", False),
        locked=frozenset(given.get("locked", ())),
        suggestions=tuple(Suggestion(*one) for one in given.get("suggestions", ())),
    )


def _statement_json(one: Statement) -> list[Any]:
    return [one.text, one.source, one.by, *([] if one.again is None else [one.again])]


def _statement_of(given: list[Any]) -> Statement:
    return Statement(*given)
