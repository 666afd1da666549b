"""The residue: words in a text that were removed from its story.

What the kept words hold too, in any case or spelling of a number, is no residue. A word that only the removed ones have
is always found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from previously.core.scripts import HANGUL, IDEOGRAPHS, KATAKANA_LETTERS, SOUTH_EAST_ASIAN
from previously.text.compare import split_tokens
from previously.text.language import find_language
from previously.text.numbers import COUNTS, find_numbers, find_values
from previously.text.sentences import QUOTED
from previously.text.stopwords import list_stop_words
from previously.text.words import CONTENT_RUN, WORD, make_key, make_keys, strip_possessive

_LEAST = 4
"""Letters from which a word is distinctive; shorter ones count where they have a capital."""

_WHOLE = re.compile(f"[{KATAKANA_LETTERS}]{{2,}}|[{HANGUL}]{{2,}}")
_PAIRS = re.compile(f"[{IDEOGRAPHS}]{{2,}}|[{SOUTH_EAST_ASIAN}]{{2,}}")
"""Scripts in which nothing parts the words: compared two signs at a time."""


def find_residue(removed: Sequence[str], kept: Sequence[str], text: str) -> list[str]:
    """Return words, numbers and quotations of the removed words that the kept ones lack and the text still has."""
    gone, left = "\n".join(removed), "\n".join(kept)
    return list(dict.fromkeys([*_words(gone, left, text), *_numbers(gone, left, text), *_quotes(gone, left, text)]))


def _words(gone: str, left: str, text: str) -> list[str]:
    kept, standing = make_keys(left), make_keys(text)
    found = [
        strip_possessive(word)
        for word in WORD.findall(gone)
        if (key := make_key(word)) in standing
        and key not in kept
        and key not in list_stop_words()
        and not CONTENT_RUN.search(word)
        and (len(key) >= _LEAST or (word[0].isupper() and len(key) > 1))
    ]
    pieces = [run[at : at + 2] for run in _PAIRS.findall(gone) for at in range(len(run) - 1)] + _WHOLE.findall(gone)
    return found + [piece for piece in pieces if piece in text and piece not in left]


def _numbers(gone: str, left: str, text: str) -> list[str]:
    language = find_language(f"{left}\n{gone}") or "English"
    kept, standing = find_values(left, language), find_values(text, language)
    numbers = [one for one in find_numbers(gone, language) if one.value in standing and one.value not in kept]
    return [one.written for one in numbers if one.value > COUNTS and one.sure]


def _quotes(gone: str, left: str, text: str) -> list[str]:
    kept, standing = f" {' '.join(split_tokens(left))} ", f" {' '.join(split_tokens(text))} "
    found: list[str] = []
    for match in QUOTED.finditer(gone):
        flat = f" {' '.join(split_tokens(match.group()))} "
        if flat.count(" ") > 2 and flat in standing and flat not in kept:
            found.append(match.group()[1:-1].strip())
    return found
