"""What a text still holds of words that were removed from its story.

Owns the audit after an amend: names, numbers and quotations that occur only in the removed words. What must stay true:
what the kept words hold too, in any case or spelling of a number, is no residue; everyday words never are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from previously.folds.builtin.names import KATAKANA, WORD, key_of
from previously.folds.builtin.vocabulary import is_ordinary
from previously.folds.checks.echo import tokens_of
from previously.folds.checks.language import STOP_WORDS
from previously.folds.checks.traces import keys_of, numbers_in, quotes_in

_SMALL = frozenset({"0", "1", "2", "3"})
"""Numbers a summary counts with by itself: "the two of them", "a third time"."""

_LEAST_QUOTED = 2


def residue(removed: Sequence[str], kept: Sequence[str], text: str) -> tuple[str, ...]:
    """Names, numbers and quotations of the removed words that the kept ones do not have and the text still has."""
    gone = "\n".join(removed)
    left = "\n".join(kept)
    return tuple(dict.fromkeys([*_names(gone, left, text), *_numbers(gone, left, text), *_quotes(gone, left, text)]))


def _names(gone: str, left: str, text: str) -> list[str]:
    kept = keys_of(left)
    standing = keys_of(text)
    found: list[str] = []
    for match in WORD.finditer(gone):
        word = match.group()
        key = key_of(word)
        if len(key) < 2 or not word[0].isupper() or key in kept or key not in standing:
            continue
        if is_ordinary(key) or key in STOP_WORDS:
            continue
        found.append(re.sub(r"['’]s?$", "", word))
    return found + [name for name in KATAKANA.findall(gone) if name not in left and name in text]


def _numbers(gone: str, left: str, text: str) -> list[str]:
    kept = set(numbers_in(left))
    standing = set(numbers_in(text))
    return [number for number in numbers_in(gone) if number in standing and number not in kept and number not in _SMALL]


def _quotes(gone: str, left: str, text: str) -> list[str]:
    kept = f" {' '.join(tokens_of(left))} "
    standing = f" {' '.join(tokens_of(text))} "
    found: list[str] = []
    for quote in quotes_in(gone):
        tokens = tokens_of(quote)
        flat = f" {' '.join(tokens)} "
        if len(tokens) >= _LEAST_QUOTED and flat in standing and flat not in kept:
            found.append(quote)
    return found
