"""What text may be stored, and how it is made so.

Every store must give back the same text it was given. Lone surrogates cannot be encoded and NUL ends strings in
places we do not control, so both are replaced by U+FFFD on the way in and counted, for the caller to be told.
"""

from __future__ import annotations

import math
import re

from previously.core.errors import BadInput

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""A message larger than this is refused: it is a file that went astray, and would stall every reader of the story."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> tuple[str, int]:
    """Return the text with NUL and lone surrogates replaced, and how many were."""
    if text.isascii() and "\x00" not in text:
        return text, 0
    return _UNSTORABLE.subn(REPLACEMENT, text)


MAX_JSON_DEPTH = 200
"""Deeper nesting than any client writes, and shallow enough for every JSON reader that may meet it again."""


def clean_json(value: object, depth: int = 0) -> tuple[object, int]:
    """Return a JSON value with `clean` applied to every string in it, keys included. Deeper than `MAX_JSON_DEPTH`:
    refused."""
    if depth > MAX_JSON_DEPTH:
        raise BadInput(f"A value is nested more than {MAX_JSON_DEPTH} levels deep.")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        cleaned = [clean_json(item, depth + 1) for item in value]
        return [item for item, _ in cleaned], sum(count for _, count in cleaned)
    if isinstance(value, dict):
        result: dict[str, object] = {}
        total = 0
        for key, item in value.items():
            new_key, in_key = clean(str(key))
            result[new_key], in_item = clean_json(item, depth + 1)
            total += in_key + in_item
        return result, total
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"{value} is not a number that can be stored.")
    return value, 0
