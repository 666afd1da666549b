"""Comparison of two texts: telling words that they share, and words in a row.

Every function is total and linear in its texts; lists come in the order of the text. Scripts without spaces are
compared by pairs of characters, or one at a time where the order of all is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from previously.core.patterns import lazy_pattern
from previously.core.scripts import IDEOGRAPHS, KANA, SOUTH_EAST_ASIAN
from previously.text.stems import stem
from previously.text.stopwords import list_stop_words
from previously.text.word_lists import load_lists
from previously.text.words import CONTENT_RUN, WORD, make_key

_KANA = lazy_pattern(f"[{KANA}]")
_TOKEN = lazy_pattern(rf"[{KANA}{IDEOGRAPHS}{SOUTH_EAST_ASIAN}]|[^\W_]+")

_PREFIX = 5
"""Letters by which words of one family are still told from others, in languages whose endings no rule takes off."""

_SHORTEST = 3
"""Letters of a word that may tell something; shorter ones are articles and the like."""

GRAM = 6
"""Words in a row that two texts do not share by chance."""


def find_terms(text: str) -> list[str]:
    """Return the telling words of a text as comparable terms, in order, repeats included."""
    terms = [term for word in WORD.findall(text) for term in _terms_of(word)]
    if not text.isascii():
        for run in CONTENT_RUN.findall(text):
            terms += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
    return terms


@lru_cache(maxsize=16_384)
def _terms_of(word: str) -> tuple[str, ...]:
    if CONTENT_RUN.search(word) or _KANA.search(word):
        return ()
    parts = [part for part in word.split("-") if len(part) >= _SHORTEST and part.casefold() not in list_stop_words()]
    return tuple(_families().get(part.casefold()) or stem(make_key(part))[:_PREFIX] for part in parts)


@cache
def _families() -> Mapping[str, str]:
    """Return a term for each word that has others of its meaning: promise, swear, vow."""
    lines = enumerate(load_lists("families")[""])
    return {word: f"~{number}" for number, words in lines for word in words.split()}


class Overlap(NamedTuple):
    """The part of a text that stands in another."""

    share: float
    """Of its runs of `GRAM` words."""
    longest: int
    """Words of its longest run."""


def split_tokens(text: str) -> list[str]:
    """Return the words of a text in lower case; in scripts without spaces, its characters."""
    return _TOKEN.findall(text.lower())


def find_grams(text: str) -> list[tuple[str, ...]]:
    """Return all runs of `GRAM` words of a text, in order."""
    tokens = split_tokens(text)
    return list(zip(*(tokens[start:] for start in range(GRAM)), strict=False))


def measure_overlap(text: str, source: str, without: str = "") -> Overlap:
    """Return how much of a text stands in a source; what also stands in `without` does not count."""
    grams = find_grams(text)
    there = set(find_grams(source)).difference(find_grams(without))
    longest = run = copied = 0
    for gram in grams:
        run = run + 1 if gram in there else 0
        copied += run > 0
        longest = max(longest, run)
    return Overlap(copied / len(grams) if grams else 0.0, longest + GRAM - 1 if longest else 0)
