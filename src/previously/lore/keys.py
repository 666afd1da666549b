"""Keys: the words that call an entry up, and how they are compared with a text.

Of keywords only those worth it are kept: the name first, no other that is generic, too long or there twice in another
spelling. A plain key is compared in Unicode's composed form and, unless it is case-sensitive, whatever its case:
`STRASSE` is found in `Straße`. A whole-word key is never found in the middle of a word: `Ann` not in `Anna`, `é` not in
`été`. Letters, digits, marks and the underscore make words; in scripts that are written without spaces, and in Korean,
whose particles follow a name without one, words have no edges to look for. As SillyTavern does it (`quirks`), a key
with a space is found anywhere, and only the letters of English make words.

A key and a text are prepared by the same rule, so that equal letters are equal. A match begins and ends between two
characters of the text, never inside one that casefolding made longer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from previously.core.json_values import clean
from previously.core.patterns import lazy_pattern
from previously.core.scripts import JAMO, OTHER_SPACELESS, SPACELESS, casefold
from previously.lore.regexes import parse_regex
from previously.text.stopwords import is_generic

MOST_KEYWORDS = 8
"""Seed 002 asks for 2 to 8."""


LONGEST_KEYWORD = 32
"""Characters of a key: about what four long words take."""


MOST_KEYWORD_WORDS = 4
"""Words of a key: what is longer hardly ever occurs in a text."""


_SPELLINGS = str.maketrans({"’": "'", "‘": "'", "`": "'", "–": "-", "—": "-", "‐": "-", "‑": "-", "“": '"', "”": '"'})


_MARKS = " \t\"'.,;:!?*()[]"


_ARTICLES = ("the ", "a ", "an ")


@lru_cache(maxsize=16384)
def normalize_name(text: str) -> str:
    """Return what two spellings of a key or name share: case, Unicode form, quotes, dashes and articles aside."""
    # Only what stands around it: the apostrophe of "Orla's" is part of the name.
    name = casefold(text.translate(_SPELLINGS)).strip(_MARKS)
    for article in _ARTICLES:
        if name.startswith(article) and len(name) > len(article):
            return name.removeprefix(article).strip(_MARKS)
    return name


def refine_keywords(name: str, keywords: Iterable[str]) -> tuple[str, ...]:
    """Return the name and the best of these keys, in order; refining twice changes nothing."""
    keywords_by_name = {normalize_name(name): " ".join(name.split())}
    for word in keywords:
        key = " ".join(word.split()).strip(_MARKS)
        if key and is_useful_keyword(key):
            keywords_by_name.setdefault(normalize_name(key), key)
    return tuple(keywords_by_name.values())[:MOST_KEYWORDS]


def is_useful_keyword(key: str) -> bool:
    """Return whether a key says something in particular and may be met in a text."""
    return len(key) <= LONGEST_KEYWORD and len(key.split()) <= MOST_KEYWORD_WORDS and not is_generic(key)


class Comparison(IntEnum):
    """The way a key is compared with a text. Numbers, since keys are looked up by the thousand."""

    CASEFOLD = 0
    """Whatever its case."""
    EXACT = 1
    REGEX = 2
    NEVER = 3
    """It cannot be searched for."""


class SearchKey(NamedTuple):
    """A key ready to be searched for. Equal keys find the same, whichever entry they belong to."""

    compared: Comparison
    text: str
    """The prepared letters, or RE2's pattern, or why it cannot be searched for."""
    whole: bool = False


def prepare_key(
    written: str, *, case_sensitive: bool = False, whole_words: bool = True, quirks: bool = False
) -> SearchKey:
    """Return a key as an entry holds it, ready to be searched for."""
    trimmed = clean(written)[0].strip()
    if not trimmed:
        return SearchKey(Comparison.NEVER, "it is empty")
    regex = parse_regex(trimmed) if trimmed.startswith("/") else None
    if regex is not None and not regex.fault:
        return SearchKey(Comparison.REGEX, regex.pattern)
    if regex is not None and not quirks:
        return SearchKey(Comparison.NEVER, regex.fault)
    compared = Comparison.EXACT if case_sensitive else Comparison.CASEFOLD
    whole = whole_words and not (quirks and any(map(str.isspace, trimmed)))
    return SearchKey(compared, make_comparable(trimmed, compared, quirks=quirks), whole)


def make_comparable(text: str, compared: Comparison, *, quirks: bool = False) -> str:
    """Return the letters of a text as keys of that kind are compared with them."""
    if compared is not Comparison.CASEFOLD:
        return text if quirks or text.isascii() else unicodedata.normalize("NFC", text)
    if quirks or text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text ready to be searched in."""

    text: str
    inside: frozenset[int] = frozenset()
    """Places that lie inside one character of what was given."""


def prepare_text(text: str, compared: Comparison, *, quirks: bool = False) -> PreparedText:
    """Return a text as keys of that kind are compared with it."""
    comparable = make_comparable(text, compared, quirks=quirks)
    if quirks or compared is not Comparison.CASEFOLD or text.isascii():
        return PreparedText(comparable)
    composed = unicodedata.normalize("NFC", text)
    return PreparedText(comparable, frozenset() if len(comparable) == len(composed) else _inside(composed))


# Characters that casefolding may make longer, some neighbours included: ß, ŉ, ligatures, Greek with iota.
_MAY_GROW = lazy_pattern("[\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1fff\ufb00-\ufb17]")


def _inside(composed: str) -> frozenset[int]:
    """Return the places of the casefolded text that lie inside one character of the composed one."""
    places: list[int] = []
    grown = 0
    for match in _MAY_GROW.finditer(composed):
        length = len(match[0].casefold())
        at = match.start() + grown
        places.extend(range(at + 1, at + length))
        grown += length - 1
    return frozenset(places)


_WITHOUT_EDGES = lazy_pattern(f"[\u0e00{SPACELESS}{JAMO}{OTHER_SPACELESS}]")


@lru_cache(maxsize=8_192)
def is_word_character(character: str) -> bool:
    """Return whether a character and such a neighbour are parts of one word."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if _WITHOUT_EDGES.match(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M") or character in "\N{ZWNJ}\N{ZWJ}"


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether the words at both edges of a match are whole."""
    return not (
        (start > 0 and is_word_character(text[start - 1]) and is_word_character(text[start]))
        or (end < len(text) and is_word_character(text[end]) and is_word_character(text[end - 1]))
    )


def is_whole_ascii_word(text: str, start: int, end: int) -> bool:
    """Return the same as SillyTavern sees it: no English letter, digit or underscore beside the match."""
    return not ((start > 0 and _is_ascii_word(text[start - 1])) or (end < len(text) and _is_ascii_word(text[end])))


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
