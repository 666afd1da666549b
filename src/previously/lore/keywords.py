"""Keys: the words that call an entry up.

Owns which keys are worth keeping. What must stay true: the name comes first; no other key is generic, too long or there
twice in another spelling; earlier keys stay before later ones; refining twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from previously.core.generic_words import is_generic
from previously.core.signals import folded

MOST_KEYWORDS = 8
"""Seed 002 asks for 2 to 8."""
LONGEST_KEYWORD = 32
"""Characters of a key."""

MOST_KEYWORD_WORDS = 4
"""Words of a key: what is longer hardly ever occurs in a text."""

_SPELLINGS = str.maketrans({"’": "'", "‘": "'", "`": "'", "–": "-", "—": "-", "‐": "-", "‑": "-", "“": '"', "”": '"'})
_MARKS = " \t\"'.,;:!?*()[]"
_ARTICLES = ("the ", "a ", "an ")


@lru_cache(maxsize=16384)
def normalize_name(text: str) -> str:
    """What two spellings of one key or name have in common: case, Unicode form, quotes, dashes and articles aside."""
    # Only what stands around it: the apostrophe of "Orla's" is part of the name.
    found = folded(text.translate(_SPELLINGS)).strip(_MARKS)
    for article in _ARTICLES:
        if found.startswith(article) and len(found) > len(article):
            return found.removeprefix(article).strip(_MARKS)
    return found


def refine_keywords(name: str, keywords: Iterable[str]) -> tuple[str, ...]:
    """The name and the best of these keys, in order."""
    kept = {normalize_name(name): " ".join(name.split())}
    for word in keywords:
        key = " ".join(word.split()).strip(_MARKS)
        if key and is_useful_keyword(key):
            kept.setdefault(normalize_name(key), key)
    return tuple(kept.values())[:MOST_KEYWORDS]


def is_useful_keyword(key: str) -> bool:
    """Whether a key says something in particular and may be met in a text."""
    return len(key) <= LONGEST_KEYWORD and len(key.split()) <= MOST_KEYWORD_WORDS and not is_generic(key)
