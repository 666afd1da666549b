"""Keys: the words that call an entry up.

Owns which keys are worth keeping. What must stay true: the name comes first; no other key is generic, too long or there
twice in another spelling; earlier keys stay before later ones; refining twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from previously.core.scripts import casefold
from previously.text.stopwords import is_generic

MOST_KEYS = 8
"""Seed 002 asks for 2 to 8."""
LONGEST_KEY = 32
"""Characters of a key."""

MOST_WORDS = 4
"""Words of a key: what is longer hardly ever occurs in a text."""

_SPELLINGS = str.maketrans({"’": "'", "‘": "'", "`": "'", "–": "-", "—": "-", "‐": "-", "‑": "-", "“": '"', "”": '"'})
_MARKS = " \t\"'.,;:!?*()[]"
_ARTICLES = ("the ", "a ", "an ")


@lru_cache(maxsize=16384)
def key_of(text: str) -> str:
    """What two spellings of one key or name have in common: case, Unicode form, quotes, dashes and articles aside."""
    # Only what stands around it: the apostrophe of "Orla's" is part of the name.
    found = casefold(text.translate(_SPELLINGS)).strip(_MARKS)
    for article in _ARTICLES:
        if found.startswith(article) and len(found) > len(article):
            return found.removeprefix(article).strip(_MARKS)
    return found


def refined(name: str, keywords: Iterable[str]) -> tuple[str, ...]:
    """The name and the best of these keys, in order."""
    kept = {key_of(name): " ".join(name.split())}
    for word in keywords:
        key = " ".join(word.split()).strip(_MARKS)
        if key and is_useful(key):
            kept.setdefault(key_of(key), key)
    return tuple(kept.values())[:MOST_KEYS]


def is_useful(key: str) -> bool:
    """Whether a key says something in particular and may be met in a text."""
    return len(key) <= LONGEST_KEY and len(key.split()) <= MOST_WORDS and not is_generic(key)
