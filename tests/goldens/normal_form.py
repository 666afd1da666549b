"""What goldens keep of a value: nothing that differs from run to run, and little of what is long.

Ids are numbered in the order in which an answer names them, so that one version more in a store changes one answer and
not all of them.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

IDS = {
    "id",
    "version",
    "before",
    "replaces",
    "old",
    "new",
    "pin",
    "scope",
    "committed",
    "refused",
    "restored",
    "unpinned",
}
"""Keys whose numbers are ids of rows. A chapter's scope is an id written as text; others are names, and stay. The
digest of a whole story is numbered too: it covers the times of versions."""

CLOCK = {"at", "created", "seconds", "freed_bytes", "python", "sqlite", "detail", "key", "ending"}
"""Keys whose values come from the clock, the machine or chance. `at` stays where it is a time of the story itself,
which lies in another year than any run."""

STORY_YEARS = ("2025-", "2026-04")
"""How the times that the corpora themselves hold begin."""

_ID_IN_TEXT = re.compile(r"\b(version|pin) (\d+)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)")
_DRAWN = re.compile(r"(</?recalled) [a-z]{10}>")
_STAMP = re.compile(r"\d{8}-\d{6}")

LONG_LIST = 24
"""A longer list is kept as its length, its ends and a hash: a page of it says what it is, and a story of 5,000
messages would take megabytes."""

ENDS = 2
LONG_TEXT = 240
"""A longer text is kept as its beginning and a hash, for the same reason."""


def hash_of(value: object) -> str:
    """Return a short hash of a JSON value: 12 digits, since nobody attacks these."""
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:12]


def remove_mark(text: str) -> str:
    """Return a text without the letters of a story's mark, which are drawn."""
    return _DRAWN.sub(r"\1>", text)


def normalise(value: Any, directory: str) -> Any:
    """Return the value without ids, times, durations, keys and the place where it was made."""
    numbers: dict[str, str] = {}

    def numbered(row: str) -> str:
        return numbers.setdefault(row, f"<id {len(numbers) + 1}>")

    def cleaned(text: str) -> str:
        text = remove_mark(text.replace(directory, "<directory>"))
        text = _ID_IN_TEXT.sub(lambda match: f"{match[1]} {numbered(match[2])}", text)
        text = _TIME.sub(lambda match: match[0] if match[0].startswith(STORY_YEARS) else "<time>", text)
        return _STAMP.sub("<stamp>", text)

    def visit(item: Any, key: str) -> Any:
        if isinstance(item, dict):
            return {cleaned(name): visit(inside, name) for name, inside in item.items()}
        if isinstance(item, list):
            return [visit(inside, key) for inside in item]
        if (key in IDS and type(item) is int) or (
            key == "scope" and isinstance(item, str) and re.fullmatch(r"-?\d+", item)
        ):
            return numbered(str(item))
        if key == "digest" and isinstance(item, str):
            return numbered(item)
        if key in CLOCK and item is not None and not (isinstance(item, str) and item.startswith(STORY_YEARS)):
            return f"<{key}>"
        return cleaned(item) if isinstance(item, str) else item

    return visit(value, "")


def shorten(value: Any) -> Any:
    """Return the value with long lists and long texts as counts, ends and hashes."""
    if isinstance(value, dict):
        return {key: shorten(inside) for key, inside in value.items()}
    if isinstance(value, list):
        if len(value) <= LONG_LIST:
            return [shorten(inside) for inside in value]
        ends = {"first": value[:ENDS], "last": value[-ENDS:]}
        return {"count": len(value), "hash": hash_of(value), **{name: shorten(part) for name, part in ends.items()}}
    if isinstance(value, str) and len(value) > LONG_TEXT:
        return f"{value[:60]} <{len(value)} characters, {hash_of(value)}>"
    return value
