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

from previously.core.json_values import clean
from previously.core.scripts import JAMO, OTHER_SPACELESS, SPACELESS
from previously.lore.regexes import regex_of


class Compared(IntEnum):
    """How a key is compared with a text. Numbers, since keys are looked up by the thousand."""

    FOLDED = 0
    """Whatever its case."""
    EXACT = 1
    REGEX = 2
    NEVER = 3
    """It cannot be searched for."""


class Key(NamedTuple):
    """A key ready to be searched for. Equal keys find the same, whichever entry they belong to."""

    compared: Compared
    text: str
    """The prepared letters, or RE2's pattern, or why it cannot be searched for."""
    whole: bool = False


def key_of(written: str, *, case_sensitive: bool = False, whole_words: bool = True, quirks: bool = False) -> Key:
    """A key as an entry holds it, made ready."""
    trimmed = clean(written)[0].strip()
    if not trimmed:
        return Key(Compared.NEVER, "it is empty")
    regex = regex_of(trimmed) if trimmed.startswith("/") else None
    if regex is not None and not regex.fault:
        return Key(Compared.REGEX, regex.pattern)
    if regex is not None and not quirks:
        return Key(Compared.NEVER, regex.fault)
    compared = Compared.EXACT if case_sensitive else Compared.FOLDED
    whole = whole_words and not (quirks and any(map(str.isspace, trimmed)))
    return Key(compared, comparable(trimmed, compared, quirks=quirks), whole)


def comparable(text: str, compared: Compared, *, quirks: bool = False) -> str:
    """The letters of a text as keys of that kind are compared with them."""
    if compared is not Compared.FOLDED:
        return text if quirks or text.isascii() else unicodedata.normalize("NFC", text)
    if quirks or text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text ready to be searched in."""

    text: str
    inside: frozenset[int] = frozenset()
    """Places that lie inside one character of what was given."""


def prepared(text: str, compared: Compared, *, quirks: bool = False) -> Prepared:
    """A text as keys of that kind are compared with it."""
    made = comparable(text, compared, quirks=quirks)
    if quirks or compared is not Compared.FOLDED or text.isascii():
        return Prepared(made)
    composed = unicodedata.normalize("NFC", text)
    return Prepared(made, frozenset() if len(made) == len(composed) else _inside(composed))


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


_WITHOUT_EDGES = re.compile(f"[\u0e00{SPACELESS}{JAMO}{OTHER_SPACELESS}]")


@lru_cache(maxsize=8_192)
def is_of_a_word(character: str) -> bool:
    """Whether a character and such a neighbour are parts of one word."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if _WITHOUT_EDGES.match(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M") or character in "\N{ZWNJ}\N{ZWJ}"


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether the words at both edges of a match are whole."""
    return not (
        (start > 0 and is_of_a_word(text[start - 1]) and is_of_a_word(text[start]))
        or (end < len(text) and is_of_a_word(text[end]) and is_of_a_word(text[end - 1]))
    )


def stands_alone_in_ascii(text: str, start: int, end: int) -> bool:
    """The same as SillyTavern sees it: no English letter, digit or underscore beside the match."""
    return not ((start > 0 and _is_ascii_word(text[start - 1])) or (end < len(text) and _is_ascii_word(text[end])))


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
