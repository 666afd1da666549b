"""Scripts of writing: their ranges in Unicode, texts whatever their case, and words counted in any of them.

The ranges are parts of a character class, to be joined in a pattern: `[{IDEOGRAPHS}{KANA}]`. Targets and thresholds all
over the package are stated in words, so `count_words` has to mean about the same in English, Japanese and Thai. It is
zero exactly for text without a visible character, and linear in the text.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from previously.core.patterns import lazy_pattern

IDEOGRAPHS = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3031-\u3035\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
KATAKANA = "\u30a0-\u30ff"
KATAKANA_LETTERS = "\u30a1-\u30fa\u30fc"
"""Without the dot that parts the words of a name."""

HANGUL = "\u3130-\u318f\uac00-\ud7af"
JAMO = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\uffa0-\uffdc"
"""The parts that syllables of Hangul are made of."""

SOUTH_EAST_ASIAN = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\uaa60-\uaa7f"
"""Thai, Lao, Burmese, Khmer and Tai: no space parts their words, and no mark ends their sentences."""

SPACELESS = f"{IDEOGRAPHS}{KANA}{HANGUL}{SOUTH_EAST_ASIAN}"
"""Scripts in which a word need not end where a space stands."""

OTHER_SPACELESS = (
    "\u1a20-\u1aaf\u3100-\u3130\u31a0-\u31ef\ua000-\ua4cf\ua9e0-\ua9ff\uaa80-\uaadf"
    "\U00016fe0-\U00018dff\U0001b000-\U0001b2ff"
)
"""Tai Tham, Bopomofo, Yi, Tangut and their like: rare, but a key may be written in them."""

CYRILLIC = "\u0400-\u04ff"


@lru_cache(maxsize=8_192)
def casefold(text: str) -> str:
    """Return a text as it is compared: whatever its case, spacing and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


# Scripts written without spaces. Two ideographs or kana, and about four letters of Thai, Lao, Khmer or Burmese,
# carry what one spaced word does.
_DENSE = lazy_pattern(f"[{IDEOGRAPHS}{KANA}]+")
_LOOSE = lazy_pattern(f"[{SOUTH_EAST_ASIAN}]+")
_DENSE_PER_WORD = 2
_LOOSE_PER_WORD = 4

_SPACELESS = lazy_pattern(f"{_DENSE.pattern}|{_LOOSE.pattern}")
_LETTER_OR_DIGIT = lazy_pattern(r"[^\W_]")


def count_words(text: str) -> int:
    """Words in ``text``: whitespace-separated ones, and in scripts without spaces one per two ideographs or kana
    and one per four letters of Thai and its neighbours."""
    if text.isascii() or not _SPACELESS.search(text):
        return len(text.split())
    return sum(_words_in_token(token) for token in text.split())


def _words_in_token(token: str) -> int:
    words = 0
    rest: list[str] = []
    end = 0
    for run in _SPACELESS.finditer(token):
        rest.append(token[end : run.start()])
        end = run.end()
        length = run.end() - run.start()
        per_word = _DENSE_PER_WORD if _DENSE.match(token, run.start()) else _LOOSE_PER_WORD
        words += -(-length // per_word)
    rest.append(token[end:])
    # "3人" is two words' worth, but "。" or "「" beside ideographs is none of its own.
    words += sum(1 for piece in rest if _LETTER_OR_DIGIT.search(piece))
    return max(words, 1)
