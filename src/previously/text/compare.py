"""Comparison of texts: telling words that they share, words in a row, changes word by word, and words of removed text
that still stand in one.

Every function is total; lists come in the order of the text. Scripts without spaces are compared by pairs of
characters, or one at a time where the order of all is. What the kept words hold too, in any case or spelling of a
number, is no residue; a word that only the removed ones have is always found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from previously.core.patterns import lazy_pattern
from previously.core.scripts import HANGUL, IDEOGRAPHS, KANA, KATAKANA_LETTERS, SOUTH_EAST_ASIAN
from previously.text.language import find_language
from previously.text.numbers import COUNTS, find_numbers, find_values
from previously.text.sentences import QUOTED
from previously.text.stems import stem
from previously.text.stopwords import list_stop_words
from previously.text.word_lists import load_lists
from previously.text.words import CONTENT_RUN, WORD, make_key, make_keys, strip_possessive

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


def measure_overlap(text: str, source: str) -> Overlap:
    grams = find_grams(text)
    there = set(find_grams(source))
    longest = run = copied = 0
    for gram in grams:
        run = run + 1 if gram in there else 0
        copied += run > 0
        longest = max(longest, run)
    return Overlap(copied / len(grams) if grams else 0.0, longest + GRAM - 1 if longest else 0)


_PIECES = lazy_pattern(r"\S+\s*|\s+")


class ChangeKind(StrEnum):
    """The fate of a run of words."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class WordChange:
    """A run of words and what became of it."""

    kind: ChangeKind
    text: str


def diff_words(old: str, new: str) -> list[WordChange]:
    """Return the runs in order. What is the same or removed makes the old text, what is the same or added the new one;
    the space behind a word belongs to it, and counts as the new text has it."""
    before, after = _PIECES.findall(old), _PIECES.findall(new)
    matcher = SequenceMatcher(None, [piece.strip() for piece in before], [piece.strip() for piece in after], False)
    changes: list[WordChange] = []
    for what, old_first, old_end, new_first, new_end in matcher.get_opcodes():
        if what == "equal":
            changes.append(WordChange(ChangeKind.SAME, "".join(after[new_first:new_end])))
            continue
        if old_end > old_first:
            changes.append(WordChange(ChangeKind.REMOVED, "".join(before[old_first:old_end])))
        if new_end > new_first:
            changes.append(WordChange(ChangeKind.ADDED, "".join(after[new_first:new_end])))
    return changes


def find_common_front(text: str, other: str) -> str:
    """Return what two texts begin with."""
    longest = min(len(text), len(other))
    return text[: next((at for at in range(longest) if text[at] != other[at]), longest)]


_LEAST = 4
"""Letters from which a word is distinctive; shorter ones count where they have a capital."""

_WHOLE = lazy_pattern(f"[{KATAKANA_LETTERS}]{{2,}}|[{HANGUL}]{{2,}}")
_PAIRS = lazy_pattern(f"[{IDEOGRAPHS}]{{2,}}|[{SOUTH_EAST_ASIAN}]{{2,}}")
"""Scripts in which nothing parts the words: compared two signs at a time."""


def find_residue(removed: Sequence[str], kept: Sequence[str], text: str) -> list[str]:
    """Return words, numbers and quotations of the removed words that the kept ones lack and the text still has."""
    gone, left = "\n".join(removed), "\n".join(kept)
    return list(dict.fromkeys([*_words(gone, left, text), *_numbers(gone, left, text), *_quotes(gone, left, text)]))


def _words(gone: str, left: str, text: str) -> list[str]:
    kept, standing = make_keys(left), make_keys(text)
    words = [
        strip_possessive(word)
        for word in WORD.findall(gone)
        if (key := make_key(word)) in standing
        and key not in kept
        and key not in list_stop_words()
        and not CONTENT_RUN.search(word)
        and (len(key) >= _LEAST or (word[0].isupper() and len(key) > 1))
    ]
    pieces = [run[at : at + 2] for run in _PAIRS.findall(gone) for at in range(len(run) - 1)] + _WHOLE.findall(gone)
    return words + [piece for piece in pieces if piece in text and piece not in left]


def _numbers(gone: str, left: str, text: str) -> list[str]:
    language = find_language(f"{left}\n{gone}") or "English"
    kept, standing = find_values(left, language), find_values(text, language)
    numbers = [one for one in find_numbers(gone, language) if one.value in standing and one.value not in kept]
    return [one.written for one in numbers if one.value > COUNTS and one.sure]


def _quotes(gone: str, left: str, text: str) -> list[str]:
    kept, standing = f" {' '.join(split_tokens(left))} ", f" {' '.join(split_tokens(text))} "
    quotes: list[str] = []
    for match in QUOTED.finditer(gone):
        flat = f" {' '.join(split_tokens(match.group()))} "
        if flat.count(" ") > 2 and flat in standing and flat not in kept:
            quotes.append(match.group()[1:-1].strip())
    return quotes
