"""A line taken apart, once.

Owns what every later step needs of a line: its words, its stems, how many words of each cue list it has, its
length, and whether it is about the story at all. What must stay true: all of it depends on the line alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from previously.core.words import count_words
from previously.folds.builtin.cues import LISTS
from previously.folds.builtin.reading import Line
from previously.folds.builtin.terms import stems_in
from previously.folds.builtin.words import Wording, worded


@dataclass(frozen=True, slots=True)
class Parsed:
    """A line with its words; `rare` is the sum of their rarities, `size` the line's length as targets count it."""

    line: Line
    wording: Wording
    stems: list[str]
    kinds: dict[str, int]
    rare: float
    size: int
    table_talk: bool

    @property
    def text(self) -> str:
        """The line with straight apostrophes."""
        return self.wording.text

    @property
    def likeness(self) -> tuple[str, ...]:
        """Who says it and every word but numbers: what near-duplicates have in common."""
        words = [word.lower for word in self.wording.words if "numbers" not in word.kinds]
        return (self.line.speaker or "", *words)


def parsed(line: Line) -> Parsed:
    """Take a line apart."""
    wording = worded(line.text.replace("’", "'"))
    kinds = dict.fromkeys(LISTS, 0)
    rare = 0.0
    for word in wording.words:
        rare += word.rarity
        for kind in word.kinds:
            kinds[kind] += 1
    talk = is_table_talk(kinds["rules"], kinds["show"], len(wording.words))
    return Parsed(line, wording, stems_in(wording), kinds, rare, count_words(line.text), talk)


def is_table_talk(rules: int, show: int, words: int) -> bool:
    """Whether a line with so many words of rules and of the show is about those instead of the story."""
    return rules >= 2 or show >= 2 or (rules + show > 0 and words < 8)
