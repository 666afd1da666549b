"""What a line is about, as countable terms.

Owns stems and numbers. Words in scripts without spaces become overlapping pairs of characters. What must stay
true: terms come in the order of the text, so nothing downstream depends on the order of a set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from previously.folds.builtin.vocabulary import FUNCTION_WORDS, stem

_SPACELESS = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}"
)
_LONGEST = 40
_SHORTEST = 3

NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty "
    "thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million dozen".split()
)
NUMBER = re.compile(rf"\b\d+(?:[.,:]\d+)*\b|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b", re.I)


def stems_in(tokens: Iterable[str], text: str) -> list[str]:
    """The stems of a line's content words, in order, repeats included."""
    found = [stem(token) for token in tokens if _SHORTEST <= len(token) <= _LONGEST and token not in FUNCTION_WORDS]
    if not text.isascii():
        for run in _SPACELESS.findall(text):
            found += [run[index : index + 2] for index in range(len(run) - 1)]
    return found


def numbers_in(text: str) -> list[str]:
    """The numbers of a line as terms of their own, marked so that they meet no stem."""
    return [f"#{number.lower()}" for number in NUMBER.findall(text)]
