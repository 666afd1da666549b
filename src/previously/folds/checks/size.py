"""How long an answer may be.

Owns the ceilings. The target is soft, twice the target is not; a fold that gives back more than it was given has not
folded. What must stay true: a short answer to a short question is never too long.
"""

from __future__ import annotations

from collections import Counter

from previously.core.words import count_words
from previously.text.sentences import whole_sentences

CEILING = 2
"""An answer may be this many times its target."""

SLACK = 30
"""Words any answer may have, however little there was to read: names and a verb take room."""

GROWTH = 1.05
"""Saying who says what takes a word here and there."""

_AGAIN = 3
_REPEATED = 0.4


def over_ceiling(words: int, target_words: int) -> bool:
    """Whether an answer ran away from its target."""
    return target_words > 0 and words > max(CEILING * target_words, SLACK)


def grows(words: int, words_read: int) -> bool:
    """Whether an answer is longer than all it was made from."""
    return words > GROWTH * words_read + SLACK


def goes_round(text: str) -> bool:
    """Whether an answer says the same sentences over and over, as small models do when they find no end."""
    sentences = [" ".join(sentence.lower().split()) for sentence in whole_sentences(text)]
    counted = Counter(sentence for sentence in sentences if count_words(sentence) >= 4)
    if not counted:
        return False
    repeated = sum(count_words(sentence) * times for sentence, times in counted.items() if times >= _AGAIN)
    return repeated >= _REPEATED * max(count_words(text), 1)
