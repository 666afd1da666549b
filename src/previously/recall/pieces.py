"""Vectors of words from vectors of their pieces.

Owns `PieceTable`, a `WordTable` over a fixed set of word pieces. Words are split here, by joining: what makes a known
piece is put together, the commonest first. The numbers are read elsewhere (`models.word_vectors`) and given.

What must stay true: the same word always gives the same vector, on every machine; a word of any length or script has
one, if only zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from previously.recall.vectors import Floats

PieceRows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float16]]

_WORD_START = "\u2581"
"""What a piece begins with that stands at the front of a word."""

_LONGEST_SPLIT = 24
"""Letters split at a time: splitting takes the square of them, and pieces are hardly ever longer than eight."""


class PieceTable:
    """A `WordTable` over word pieces: the vector of a word is the sum of those of its pieces, so that a rare word,
    which has several, weighs more than a common one."""

    def __init__(self, name: str, rows: PieceRows, pieces: Mapping[str, int]) -> None:
        self.name = name
        self._rows = rows
        self._pieces = pieces
        self._split = lru_cache(maxsize=65_536)(self._split_anew)

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        return int(self._rows.shape[1])

    def summed(self, words: Sequence[str], weights: Sequence[float] | None = None) -> Floats:
        """The sum of the words' vectors, each times its weight."""
        split = [self._split(word) for word in words]
        numbers = [number for pieces in split for number in pieces]
        rows = self._rows[numbers].astype(np.float32) if numbers else np.zeros((0, self.dimensions), np.float32)
        if weights is None:
            return np.asarray(rows.sum(axis=0), np.float32)
        each = [weight for pieces, weight in zip(split, weights, strict=True) for _ in pieces]
        return np.asarray(np.asarray(each, np.float32) @ rows, np.float32)

    def _split_anew(self, word: str) -> tuple[int, ...]:
        """The numbers of a word's pieces. Neighbours are joined, the commonest pair (lowest number) first, until no
        two make a piece; what is no piece, a rare character, is left out."""
        if len(word) > _LONGEST_SPLIT:
            parts = [word[at : at + _LONGEST_SPLIT] for at in range(0, len(word), _LONGEST_SPLIT)]
            return tuple(number for part in parts for number in self._split_anew(part))
        known = self._pieces
        parts = [_WORD_START, *word]
        while len(parts) > 1:
            joined = [known.get(left + right, len(known)) for left, right in pairwise(parts)]
            best = min(joined)
            if best == len(known):
                break
            at = joined.index(best)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return tuple(known[part] for part in parts if part in known and part != _WORD_START)
