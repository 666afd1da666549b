"""Words that tell nothing by themselves, for each use its own list.

Small words tell a language apart, stop words say nothing of what a text is about, index stop words are in every
message and every question, filler words carry no picture, and a generic key would fire on every page.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold
from previously.text.numbers import is_number_word
from previously.text.times import MONTHS, SEASONS, WEEKDAYS
from previously.text.word_lists import load_lists, load_words

_WORDLESS = lazy_pattern(r"[\W_]+")


@cache
def list_small_words() -> Mapping[str, frozenset[str]]:
    """Return the small words of each language that is told by them: those in Latin script."""
    return {name: load_words("small_words", name) for name in load_lists("small_words") if name not in ("", "Russian")}


@cache
def list_stop_words() -> frozenset[str]:
    """Return the words of the commoner languages that carry no content of their own."""
    languages = ("English", "German", "French", "Spanish", "Portuguese", "Italian", "Dutch", "Russian")
    return frozenset().union(*(load_words("small_words", language) for language in languages))


@cache
def list_index_stop_words() -> frozenset[str]:
    """Return the words that are not looked up. The list is short on purpose: BM25 weighs the rest down."""
    return load_words("stop_words", "index")


@cache
def list_filler_words() -> frozenset[str]:
    """Return the words that do not turn a vector, stop words included; most of them are looked up all the same."""
    return list_index_stop_words() | load_words("stop_words", "filler")


@lru_cache(maxsize=4096)
def is_generic(key: str) -> bool:
    """Return whether a key says nothing in particular: only small words, things, places, times and numbers, or no
    word. One telling word makes it a good key."""
    return all(_is_generic_word(word) for word in _WORDLESS.split(casefold(key)) if word)


def _is_generic_word(word: str) -> bool:
    if word.isdigit() or (len(word) == 1 and word.isascii()) or is_number_word(word):
        return True
    return word in load_words("stop_words", "generic") or word in _calendar_words()


@cache
def _calendar_words() -> frozenset[str]:
    """Return the names of days, months and seasons. May is a name as often."""
    return frozenset({*WEEKDAYS, *MONTHS, *SEASONS}) - {"may"}
