"""A table of word vectors for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from previously.recall.vectors import DIMENSIONS, Floats


class Letters:
    """A table in which a word is the letters it has, turned by so many."""

    dimensions = DIMENSIONS

    def __init__(self, turned: int = 0) -> None:
        self.name = f"letters {turned}"
        self._turned = turned

    def summed(self, words: Sequence[str], weights: Sequence[float] | None = None) -> Floats:
        made = np.zeros(DIMENSIONS, np.float32)
        for word, weight in zip(words, weights or [1.0] * len(words), strict=True):
            for letter in word.lower():
                made[(ord(letter) + self._turned) % DIMENSIONS] += weight
        return made
