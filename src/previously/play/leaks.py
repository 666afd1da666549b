"""Leaks: words in a character's prompt that they neither witnessed nor brought along.

Pure. Every run of a few words that was said, or stands in a game's files, belongs to those who may know it. A prompt
about somebody that holds a run which is not theirs is a leak, whatever way it came. Nothing is planted, so that it
works with any model; by chance two texts hardly share eight words in a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from previously.core.scripts import casefold
from previously.play.game import Game, describe_person

RUN_WORDS = 8
"""Words in a row that are taken for the same text. Six were shared by chance when a strong model played twenty turns
("on the night of the flood"), seven once, eight never."""


SENTENCE_WORDS = 5
"""Words of a whole sentence that is taken for the same, though it is shorter: a beat may be."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Words that somebody was shown and could not know."""

    name: str
    words: str


class LeakWatch:
    """Knows who may know which words."""

    def __init__(self, game: Game) -> None:
        self._knowers: dict[str, set[str]] = {}
        for chapter in game.chapters.values():
            for text in (chapter.summary, *chapter.beats, chapter.completion.when):
                self.hear(text, ())
        for rule in game.world.rules:
            self.hear(rule, ())
        for person in game.characters.values():
            self.hear(describe_person(game, person), (person.name,))
        self.hear(game.world.setting, [person.name for person in game.characters.values()])

    def hear(self, text: str, witnesses: Iterable[str]) -> None:
        """Note that these people know a text; others may have known it before."""
        names = set(witnesses)
        for run in _find_runs(text):
            self._knowers.setdefault(run, set()).update(names)

    def find_leaks(self, name: str, prompt: str) -> list[Leak]:
        """Return the words of a prompt that this character may not know: of words that overlap, the first."""
        leaks: list[Leak] = []
        skip = 0
        for run in _find_runs(prompt):
            if skip:
                skip -= 1
            elif run in self._knowers and name not in self._knowers[run]:
                leaks.append(Leak(name, run))
                skip = RUN_WORDS - 1
        return leaks


def _find_runs(text: str) -> list[str]:
    """Return every run of a text. None goes beyond a sentence or line: what stands side by side in a prompt was often
    said apart."""
    runs: list[str] = []
    for sentence in re.split(r"[.!?:;\n\[\]<>\"“”]", casefold(text)):
        words = re.findall(r"\w+", sentence)
        if SENTENCE_WORDS <= len(words) < RUN_WORDS:
            runs.append(" ".join(words))
        runs += [" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)]
    return runs
