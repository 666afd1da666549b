"""Keys as they are searched for: their letters made comparable, and the edges of words.

A plain key is compared in Unicode's composed form and, unless it is case-sensitive, whatever its case: `STRASSE` is
found in `Straße`. A whole-word key is never found in the middle of a word: `Ann` not in `Anna`, `é` not in `été`.
Letters, digits, marks and the underscore make words; in scripts that are written without spaces, and in Korean, whose
particles follow a name without one, words have no edges to look for. As SillyTavern does it (`quirks`), a key with a
space is found anywhere, and only the letters of English make words.

What must stay true: a key and a text are prepared by the same rule, so that equal letters are equal; and a match
begins and ends between two characters of the text, never inside one that case folding made longer.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from previously.core.text import clean
from previously.lore.regexes import parse_regex


class Comparison(IntEnum):
    """How a key is compared with a text. Numbers, since keys are looked up by the thousand."""

    FOLDED = 0
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
    """A key as an entry holds it, made ready."""
    trimmed = clean(written)[0].strip()
    if not trimmed:
        return SearchKey(Comparison.NEVER, "it is empty")
    regex = parse_regex(trimmed) if trimmed.startswith("/") else None
    if regex is not None and not regex.fault:
        return SearchKey(Comparison.REGEX, regex.pattern)
    if regex is not None and not quirks:
        return SearchKey(Comparison.NEVER, regex.fault)
    compared = Comparison.EXACT if case_sensitive else Comparison.FOLDED
    whole = whole_words and not (quirks and any(map(str.isspace, trimmed)))
    return SearchKey(compared, make_comparable(trimmed, compared, quirks=quirks), whole)


def make_comparable(text: str, compared: Comparison, *, quirks: bool = False) -> str:
    """The letters of a text as keys of that kind are compared with them."""
    if compared is not Comparison.FOLDED:
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
    """A text as keys of that kind are compared with it."""
    made = make_comparable(text, compared, quirks=quirks)
    if quirks or compared is not Comparison.FOLDED or text.isascii():
        return PreparedText(made)
    composed = unicodedata.normalize("NFC", text)
    return PreparedText(made, frozenset() if len(made) == len(composed) else _inside(composed))


# Characters that case folding may make longer, some neighbours included: ß, ŉ, ligatures, Greek with iota.
_MAY_GROW = re.compile("[\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1fff\ufb00-\ufb17]")


def _inside(composed: str) -> frozenset[int]:
    """The places of the folded text that lie inside one character of the composed one."""
    places: list[int] = []
    grown = 0
    for found in _MAY_GROW.finditer(composed):
        length = len(found[0].casefold())
        at = found.start() + grown
        places.extend(range(at + 1, at + length))
        grown += length - 1
    return frozenset(places)


_WITHOUT_EDGES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"  # Thai to Tai Viet
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u3130\u31a0-\u31ff"  # radicals, kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\uff66-\uff9f\U00016fe0-\U00018dff\U0001b000-\U0001b2ff"
    "\U00020000-\U0003ffff]"
)


@lru_cache(maxsize=8_192)
def is_word_character(character: str) -> bool:
    """Whether a character and such a neighbour are parts of one word."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if _WITHOUT_EDGES.match(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M") or character in "\N{ZWNJ}\N{ZWJ}"


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether the words at both edges of a match are whole."""
    return not (
        (start > 0 and is_word_character(text[start - 1]) and is_word_character(text[start]))
        or (end < len(text) and is_word_character(text[end]) and is_word_character(text[end - 1]))
    )


def is_whole_ascii_word(text: str, start: int, end: int) -> bool:
    """The same as SillyTavern sees it: no English letter, digit or underscore beside the match."""
    return not ((start > 0 and _is_ascii_word(text[start - 1])) or (end < len(text) and _is_ascii_word(text[end])))


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
