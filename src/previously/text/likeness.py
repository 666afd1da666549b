"""Likeness of wordings: which of several things a person means by some words of one.

People write from memory: "the blanket" for "that blanket", a part of a name, a letter too many. Each way of being alike
is looser than the one before it, and the first that any wording passes decides; so a looser one never outvotes a
closer one, and a word never means two things where it is the very name of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from previously.core.scripts import casefold
from previously.text.stems import stem
from previously.text.stopwords import list_index_stop_words, list_stop_words
from previously.text.words import find_words, make_key

LONG_WORD = 8
"""Letters from which a word may have two slips: shorter ones would become other words ("stone", "stove", "store")."""
SLIPPED_WORD = 4
"""Letters from which a word may have one: of three letters one is a third of the word."""


def find_alike(wanted: str, things: Sequence[Sequence[str]]) -> list[int]:
    """Return which things, each given by its wordings, these words mean: none, one, or several alike."""
    for is_alike in (_is_same, _has_same_words, _is_part, _has_words, _has_nearly_words):
        alike = [at for at, wordings in enumerate(things) if any(is_alike(wanted, one) for one in wordings)]
        if alike:
            return alike
    return []


def _is_same(wanted: str, wording: str) -> bool:
    return casefold(wanted) == casefold(wording)


def _has_same_words(wanted: str, wording: str) -> bool:
    words = list_telling_words(wanted)
    return bool(words) and words == list_telling_words(wording)


def _is_part(wanted: str, wording: str) -> bool:
    return bool(wanted.strip()) and casefold(wanted) in casefold(wording)


def _has_words(wanted: str, wording: str) -> bool:
    return _has_each(wanted, wording, str.__eq__)


def _has_nearly_words(wanted: str, wording: str) -> bool:
    return _has_each(wanted, wording, is_slip)


def _has_each(wanted: str, wording: str, is_alike: Callable[[str, str], bool]) -> bool:
    words, others = list_telling_words(wanted), list_telling_words(wording)
    return bool(words) and all(any(is_alike(word, other) for other in others) for word in words)


def list_telling_words(text: str) -> list[str]:
    """Return the words of a text by which it is known, in their one form: articles, pointing words and the like aside,
    unless it has no others."""
    words = [make_key(word) for word in find_words(text)]
    telling = [word for word in words if word not in list_stop_words() and word not in list_index_stop_words()]
    return [stem(word) for word in telling or words]


def is_slip(word: str, other: str) -> bool:
    """Return whether one word is the other with a slip of the hand: a letter wrong, missing, too many, or two of them
    swapped. Numbers have none."""
    if word == other:
        return True
    shorter = min(len(word), len(other))
    if shorter < SLIPPED_WORD or not (word.isalpha() and other.isalpha()):
        return False
    most = 2 if shorter >= LONG_WORD else 1
    return abs(len(word) - len(other)) <= most and _count_slips(word, other) <= most


def _count_slips(word: str, other: str) -> int:
    """Return the number of single slips that make one word of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        two_before, before, row = before, row, [at]
        for to, its in enumerate(other, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != its))
            if at > 1 and to > 1 and letter == other[to - 2] and word[at - 2] == its:
                cost = min(cost, two_before[to - 2] + 1)
            row.append(cost)
    return row[-1]
