"""The kinds of commitment, and what all of them have in common: a time they are bound to, a doubt that undoes them.

What must stay true: every pattern here is looked for in lower-case English with straight apostrophes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from previously.folds.builtin import cues


class Tie(Enum):
    """What kind of commitment a sentence makes."""

    VOW = auto()
    BARE_VOW = auto()
    """ "I promise." or "You have my word.": what is promised stands before it."""
    DEBT = auto()
    SECRET = auto()
    DEADLINE = auto()
    THREAT = auto()


@dataclass(frozen=True, slots=True)
class Opening:
    """A commitment that a sentence makes, and where in the sentence it is worded."""

    tie: Tie
    at: int


_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|next)"
_WHEN = re.compile(
    rf"\b(?:by|before|until|till|at|on|no later than) (?:the )?(?:{_ORDINAL} |full |new |next ){{0,2}}(?:bell|hour|"
    rf"watch|night|day|light|tide|moon|"
    r"snow|snows|rains?|frost)\b"
    r"|\b(?:by|before|until|till|on|due) (?:the )?(?:\d{1,2}(?:st|nd|rd|th)?|[a-z]*-?(?:first|second|third|fourth|"
    r"fifth|sixth|seventh|"
    r"eighth|ninth|tenth|eleventh|twelfth|teenth|tieth))\b(?! (?:floor|step|door|ring|page|house|chair))"
)
UNSURE_BEFORE = re.compile(
    r"\b(?:maybe|perhaps|might|wish|kidding|joking|if|unless|wonder|doubt|not sure|would|could)\b[^,]*$"
)


FUTURE = re.compile(
    r"\b(?:will|shall|won't|shan't|would|wouldn't|going to|gonna|never again|must|can have)\b|'ll\b|\w'd\b"
)


def is_bound(low: str) -> bool:
    """Whether a time is set."""
    return bool(cues.DEADLINE.search(low) or _WHEN.search(low))


def without_time(text: str) -> str:
    """A sentence without the time it is bound to: what is done is rarely told with its deadline."""
    return _WHEN.sub(" ", cues.DEADLINE.sub(" ", text.lower())) if text.isascii() else text
