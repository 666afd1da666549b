"""Counting words in any script.

Owns one number: how many words a text has. Targets and thresholds all over the package are stated in words, so the
count has to mean about the same in English, Japanese and Thai. The count is zero exactly for text without a visible
character, never negative, and linear in the text.
"""

import re

from previously.core.alphabets import IDEOGRAPHS, KANA, SOUTH_EAST_ASIAN

# Scripts written without spaces. Two ideographs or kana, and about four letters of Thai, Lao, Khmer or Burmese,
# carry what one spaced word does.
_DENSE = re.compile(f"[{IDEOGRAPHS}{KANA}]+")
_LOOSE = re.compile(f"[{SOUTH_EAST_ASIAN}]+")
_DENSE_PER_WORD = 2
_LOOSE_PER_WORD = 4

_SPACELESS = re.compile(f"{_DENSE.pattern}|{_LOOSE.pattern}")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


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
