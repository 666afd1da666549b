"""Words that two texts share in a row.

What must stay true: no text raises, and the work is linear in both texts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GRAM = 6
"""Words in a row that two texts do not share by chance."""

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e7f]|[^\W_]+")


class Shared(NamedTuple):
    """How much of a text stands in another."""

    share: float
    """Of its runs of `GRAM` words."""
    longest: int
    """Words of its longest run."""


def tokens_of(text: str) -> list[str]:
    """Words in lower case; in scripts without spaces, characters."""
    return _TOKEN.findall(text.lower())


def grams_of(text: str) -> list[tuple[str, ...]]:
    """All runs of `GRAM` words of a text, in order."""
    tokens = tokens_of(text)
    return list(zip(*(tokens[start:] for start in range(GRAM)), strict=False))


def shared(text: str, source: str, without: str = "") -> Shared:
    """How much of a text stands in a source; what also stands in `without` does not count."""
    grams = grams_of(text)
    there = set(grams_of(source)).difference(grams_of(without))
    longest = run = copied = 0
    for gram in grams:
        run = run + 1 if gram in there else 0
        copied += run > 0
        longest = max(longest, run)
    return Shared(copied / len(grams) if grams else 0.0, longest + GRAM - 1 if longest else 0)
