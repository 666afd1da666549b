"""The residue: words in a text that were removed from its story.

What the kept words hold too, in any case or spelling of a number, is no residue. A word that only the removed ones have
is always found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from previously.text.compare import tokens_of
from previously.text.language import STOP_WORDS, main_language
from previously.text.numbers import COUNTS, numbers_in, values_in
from previously.text.sentences import QUOTED
from previously.text.words import SPACELESS, WORD, key_of, keys_of

_LEAST = 4
"""Letters from which a word is distinctive; shorter ones count where they have a capital."""

_WHOLE = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\uac00-\ud7af]{2,}")
_PAIRS = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2,}|[\u0e01-\u0e7f]{2,}")
"""Scripts in which nothing parts the words: compared two signs at a time."""


def find_residue(removed: Sequence[str], kept: Sequence[str], text: str) -> list[str]:
    """Words, numbers and quotations of the removed words that the kept ones do not have and the text still has."""
    gone, left = "\n".join(removed), "\n".join(kept)
    return list(dict.fromkeys([*_words(gone, left, text), *_numbers(gone, left, text), *_quotes(gone, left, text)]))


def _words(gone: str, left: str, text: str) -> list[str]:
    kept, standing = keys_of(left), keys_of(text)
    found = [
        re.sub(r"['’]s?$", "", word)
        for word in WORD.findall(gone)
        if (key := key_of(word)) in standing
        and key not in kept
        and key not in STOP_WORDS
        and not SPACELESS.search(word)
        and (len(key) >= _LEAST or (word[0].isupper() and len(key) > 1))
    ]
    pieces = [run[at : at + 2] for run in _PAIRS.findall(gone) for at in range(len(run) - 1)] + _WHOLE.findall(gone)
    return found + [piece for piece in pieces if piece in text and piece not in left]


def _numbers(gone: str, left: str, text: str) -> list[str]:
    language = main_language(f"{left}\n{gone}") or "English"
    kept, standing = values_in(left, language), values_in(text, language)
    numbers = [one for one in numbers_in(gone, language) if one.value in standing and one.value not in kept]
    return [one.written for one in numbers if one.value > COUNTS and one.sure]


def _quotes(gone: str, left: str, text: str) -> list[str]:
    kept, standing = f" {' '.join(tokens_of(left))} ", f" {' '.join(tokens_of(text))} "
    found: list[str] = []
    for match in QUOTED.finditer(gone):
        flat = f" {' '.join(tokens_of(match.group()))} "
        if flat.count(" ") > 2 and flat in standing and flat not in kept:
            found.append(match.group()[1:-1].strip())
    return found
