"""One look at each word.

Owns how a line falls into words, and what can be said of a word by itself: its key, its stem, the cue lists it is
on, how rare it is. What must stay true: a line is taken apart once, and everything after it works on these words;
what is known of a word is a pure function of its spelling, so that it can be kept from line to line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from previously.folds.builtin.cues import KINDS, NUMBER_WORDS
from previously.folds.builtin.vocabulary import FUNCTION_WORDS, rarity, stem

_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0980-\u0983\u09be-\u09cd\u0b3e-\u0bcd"
WORD = re.compile(rf"[^\W\d_]+(?:[{_MARKS}]+[^\W\d_]*)*(?:['’\-][^\W\d_]+)*")
_WORDS = re.compile(f"({WORD.pattern})")
_ASCII_WORDS = re.compile(r"([A-Za-z]+(?:['\-][A-Za-z]+)*)")
_POSSESSIVE = re.compile(r"['’]s?$")
_JOINTS = re.compile(r"['\-]")
_LONGEST_COUNTED = 40
_SHORTEST_COUNTED = 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word as spelled, and what it is counted under.

    `capital`: written as names are. `stem`: empty when the word is too common, too short or too long to count.
    `kinds`: the cue lists it is on; "twenty-two" is on the list of numbers too.
    """

    spelled: str
    lower: str
    key: str
    stem: str
    kinds: tuple[str, ...]
    rarity: float
    capital: bool


@dataclass(frozen=True, slots=True)
class Wording:
    """A text, its words in order, and what stands before each of them."""

    text: str
    words: list[Word]
    gaps: list[str]


def worded(text: str) -> Wording:
    """Take a text apart."""
    parts = (_ASCII_WORDS if text.isascii() else _WORDS).split(text)
    return Wording(text, list(map(word_of, parts[1::2])), parts[:-1:2])


@lru_cache(maxsize=8192)
def word_of(spelled: str) -> Word:
    """What can be said of a word without its neighbours."""
    lower = spelled.lower()
    stemmed = stem(lower)
    counts = _SHORTEST_COUNTED <= len(lower) <= _LONGEST_COUNTED and lower not in FUNCTION_WORDS
    return Word(
        spelled=spelled,
        lower=lower,
        key=key_of(spelled),
        stem=stemmed if counts else "",
        kinds=KINDS.get(lower) or _kinds_of_compound(lower),
        rarity=rarity(stemmed),
        capital=is_capitalised(spelled),
    )


def _kinds_of_compound(word: str) -> tuple[str, ...]:
    return () if NUMBER_WORDS.isdisjoint(_JOINTS.split(word)) else ("numbers",)


@lru_cache(maxsize=2048)
def keys_in(name: str) -> tuple[str, ...]:
    """The keys of the words of a name, each once, in order."""
    return tuple(dict.fromkeys(key_of(word) for word in WORD.findall(name)))


def key_of(word: str) -> str:
    """What a name is counted under: lower case, no possessive."""
    return word.lower() if "'" not in word and "’" not in word else without_possessive(word).lower()


def without_possessive(word: str) -> str:
    """ "Odalys's" -> "Odalys"."""
    return _POSSESSIVE.sub("", word)


def is_capitalised(word: str) -> bool:
    """A capital first and something lower after it; shouting is no name, a short acronym may be."""
    return word[0].isupper() and (len(word) <= 4 or not word.isupper())
