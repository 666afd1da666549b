"""Telling words: what two wordings of one thing have in common.

What must stay true: every function is total and linear in its text, and lists come in the order of the text. Scripts
without spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from previously.text.language import STOP_WORDS

WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
SPACELESS = re.compile("[\u3005\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e01-\u0e7f]+")
"""Runs that carry content where no spaces part the words; hiragana mostly holds them together."""

_KANA = re.compile("[\u3040-\u30ff]")
_POSSESSIVE = re.compile(r"['’]s?$")
_ENDING = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|s|en|er|em|e|y)$")
_FAMILIES = (
    "promise promised promises promising swear swears swore sworn vow vows vowed oath pledge pledged versprach "
    "versprochen verspricht promis promet promit prometió promete prometeu обещал обещала обещает обещание",
    "owe owes owed owing debt debts schuldet schulden doit dette deuda dívida долг долга",
    "hide hides hid hidden conceal concealed",
    "give gives gave given",
    "die died dies dead",
    "find finds found",
)
_FAMILY = {word: f"~{number}" for number, words in enumerate(_FAMILIES) for word in words.split()}
"""Words of one meaning whose forms no ending explains."""

_PREFIX = 5
"""Letters by which words of one family are still told from others."""


@lru_cache(maxsize=16_384)
def key_of(word: str) -> str:
    """What a word is looked up by: lower case, no accents, no possessive."""
    word = _POSSESSIVE.sub("", word.casefold())
    if word.isascii():
        return word
    bare = (mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark))
    return unicodedata.normalize("NFC", "".join(bare))


def keys_of(text: str) -> frozenset[str]:
    """Every word of a text as it is looked up, the parts of hyphenated ones too."""
    words = set(WORD.findall(text))
    parts = {part for word in words if "-" in word for part in word.split("-")}
    return frozenset(map(key_of, words | parts))


def content_of(text: str) -> list[str]:
    """The telling words of a text as comparable terms, in order, repeats included."""
    terms = [term for word in WORD.findall(text) for term in _terms_of(word)]
    if not text.isascii():
        for run in SPACELESS.findall(text):
            terms += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
    return terms


@lru_cache(maxsize=16_384)
def _terms_of(word: str) -> tuple[str, ...]:
    if SPACELESS.search(word) or _KANA.search(word):
        return ()
    parts = [part for part in word.split("-") if len(part) >= 3 and part.casefold() not in STOP_WORDS]
    return tuple(_FAMILY.get(part.casefold()) or _ENDING.sub("", key_of(part))[:_PREFIX] for part in parts)
