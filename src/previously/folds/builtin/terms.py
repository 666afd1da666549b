"""What a line is about, as countable terms.

Owns stems and numbers. Words in scripts without spaces become overlapping pairs of characters. What must stay
true: terms come in the order of the text, so nothing downstream depends on the order of a set.
"""

from __future__ import annotations

import re

from previously.folds.builtin.cues import NUMBER_WORDS
from previously.folds.builtin.words import Wording

_SPACELESS = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}"
)
_DIGIT = re.compile(r"\d")
NUMBER = re.compile(rf"\b\d+(?:[.,:]\d+)*\b|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b")
"""A number in lower-case text."""


def stems_in(wording: Wording) -> list[str]:
    """The stems of a line's content words, in order, repeats included."""
    found = [word.stem for word in wording.words if word.stem]
    if not wording.text.isascii():
        for run in _SPACELESS.findall(wording.text):
            found += [run[index : index + 2] for index in range(len(run) - 1)]
    return found


def numbers_in(text: str, *, in_words: bool) -> list[str]:
    """The numbers of a line as terms of their own, marked so that they meet no stem.

    `in_words`: some word of the line is a number; without it only digits are looked for in plain text.
    """
    if not in_words and text.isascii() and not _DIGIT.search(text):
        return []
    return [f"#{number}" for number in NUMBER.findall(text.lower())]
