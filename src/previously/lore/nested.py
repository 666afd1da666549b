"""Keys that end in other keys, and those in others again.

An automaton names, at each letter of the text, every key that ends there. In ordinary lore that is one or two; a book
made for the purpose (`a`, `aa`, `aaa` and so on) would bring up millions. So where more than `MOST_NESTED` keys end
in each other, those beyond are set apart and looked for one at a time.

What must stay true: no letter of a text ends more than `MOST_NESTED` keys of the automaton, and a key that is set
apart is found where the automaton would have found it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from previously.lore.keys import PreparedText

MOST_NESTED = 8
"""How many keys of an automaton may end at one letter of a text."""

_ENGLISH_WORD = re.compile("[0-9A-Za-z_]+")


def find_nested(texts: Iterable[str]) -> list[str]:
    """The texts that end in too many of the others."""
    apart: list[str] = []
    endings: list[str] = []  # read backwards, each the beginning of the next
    for backwards in sorted(text[::-1] for text in texts):
        while endings and not backwards.startswith(endings[-1]):
            endings.pop()
        if len(endings) < MOST_NESTED:
            endings.append(backwards)
        else:
            apart.append(backwards[::-1])
    return apart


def find_first_place(key: str, given: PreparedText, alone: Callable[[str, int, int], bool] | None) -> int | None:
    """Where a key first occurs in a text, as whole words if `alone` says what those are; None if it does not."""
    text, inside = given.text, given.inside
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        within = at in inside or end in inside
        if not within and (alone is None or alone(text, at, end)):
            return at
        after = at + 1
        if alone is not None and at > 0 and _ENGLISH_WORD.match(text, at - 1):
            word = _ENGLISH_WORD.match(text, at)
            after = word.end() if word else after  # whatever begins inside the same word is no whole word either
        at = text.find(key, after)
    return None
