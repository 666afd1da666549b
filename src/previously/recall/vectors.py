"""Vectors of meaning: adding words up, packing, comparing.

A message's vector is the sum of its content words' vectors, packed to one byte a number; a question's words weigh by
how rare they are in the story. Before two are compared, what all messages of the story have in common is taken out of
both: it tells nothing. `PieceTable` makes the vectors of words from those of their pieces, which are read elsewhere
(`models.word_vectors`) and given.

The same input gives the same numbers on every machine. A word of any length or script has a vector, if only zero; a
text without a known word has none, and is like nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np

Floats: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Packed: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int8]]
Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]

DIMENSIONS = 256

LONGEST_SUM = 2_000
"""Words of a message that count for its vector: more do not turn it any further."""


class WordTable(Protocol):
    """A table of the vectors of words. What it gives must depend on the words alone."""

    @property
    def name(self) -> str:
        """Return what tells it from tables that give other vectors."""

    @property
    def dimensions(self) -> int: ...

    def summed(self, words: Sequence[str], weights: Sequence[float] | None = None) -> Floats:
        """Return the sum of the words' vectors, each times its weight."""


def pack_vector(table: WordTable | None, words: Sequence[str]) -> bytes:
    """Return the vector of these words, one signed byte a number; empty where no word is known."""
    if table is None or not words:
        return b""
    summed = table.summed(words[:LONGEST_SUM])
    largest = float(np.abs(summed).max())
    if largest == 0.0:
        return b""
    numbers: Packed = np.rint(summed * (127.0 / largest)).astype(np.int8)
    return numbers.tobytes()


def scale_to_unit(vectors: Floats) -> Floats:
    """Each vector at length one; a zero vector stays zero."""
    norms = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return np.asarray(vectors / np.where(norms == 0, 1, norms), np.float32)


@dataclass(frozen=True, slots=True)
class Compared:
    """Packed vectors made ready to be compared with several others: what the sampled ones have in common is taken out
    of each comparison. A zero vector is like nothing."""

    rows: Floats
    scales: Floats
    """The factor that makes a cosine of each product."""
    common: Floats

    def measure_likeness(self, wanted: Floats) -> Floats:
        """Return the cosine of each vector with the wanted one, without what is common."""
        wanted = scale_to_unit(wanted - float(wanted @ self.common) * self.common)
        # Not by matrix product: that wakes the threads of a linear algebra library, which costs more than it saves.
        return np.asarray(np.einsum("ij,j->i", self.rows, wanted) * self.scales, np.float32)


def compare_vectors(vectors: Packed, sampled: Rows) -> Compared:
    """Return these vectors ready to be compared; the `sampled` rows tell what all have in common."""
    rows = vectors.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    norms[norms == 0] = np.inf
    common = scale_to_unit(np.asarray((rows[sampled] / norms[sampled, None]).sum(axis=0), np.float32))
    along = np.einsum("ij,j->i", rows, common) / norms
    # Taking the common part out of a unit vector leaves this length.
    left = np.sqrt(np.maximum(1.0 - along * along, 1e-6))
    return Compared(rows, np.asarray(1.0 / (norms * left), np.float32), common)


def read_rows(entries: Sequence[int], vectors: Mapping[int, bytes]) -> Packed:
    """Return the packed vectors of these entries, a row each; zero for an entry that has none, or one of another
    size."""
    none = bytes(DIMENSIONS)
    each = [vectors.get(entry, none) for entry in entries]
    joined = b"".join([one if len(one) == DIMENSIONS else none for one in each])
    return np.frombuffer(joined, np.int8).reshape(len(entries), DIMENSIONS)


PieceRows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float16]]

_WORD_START = "\u2581"
"""Begins a piece that stands at the front of a word."""

_LONGEST_SPLIT = 24
"""Letters split at a time: splitting takes the square of them, and pieces are hardly ever longer than eight."""


_COMMON = 1e-3
"""A piece that makes up this part of all text weighs half (the constant that smooth inverse frequency is known by)."""

_SAMPLED = 16
"""Every so-many-th piece tells what all have in common: to read all of them would take longer than a question."""


class PieceTable:
    """A `WordTable` over word pieces: the vector of a word is the sum of those of its pieces, so that a rare word,
    which has several, weighs more than a common one.

    What all pieces have in common is taken out of each. Pieces are numbered from the commonest on, so a piece's number
    tells how common it is (Zipf's law), and common ones weigh less.
    """

    def __init__(self, name: str, rows: PieceRows, pieces: Mapping[str, int]) -> None:
        self.name = name
        numbers = np.arange(len(rows), dtype=np.float32)
        share = 1.0 / (numbers + 3.0) / np.log(len(rows) + 2.0)
        self._weights = np.asarray(_COMMON / (_COMMON + share), np.float32)
        self._middle = rows[::_SAMPLED].astype(np.float32).mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
        self._rows = rows
        self._pieces = pieces
        self._split = lru_cache(maxsize=65_536)(self._split_anew)

    @property
    def dimensions(self) -> int:
        return int(self._rows.shape[1])

    def summed(self, words: Sequence[str], weights: Sequence[float] | None = None) -> Floats:
        """Return the sum of the words' vectors, each times its weight."""
        split = [self._split(word) for word in words]
        numbers: list[int] = [number for pieces in split for number in pieces]
        rows = (self._rows[numbers].astype(np.float32) - self._middle) * self._weights[numbers, None]
        if weights is None:
            return np.asarray(rows.sum(axis=0), np.float32)
        each = [weight for pieces, weight in zip(split, weights, strict=True) for _ in pieces]
        return np.asarray(np.asarray(each, np.float32) @ rows, np.float32)

    def _split_anew(self, word: str) -> tuple[int, ...]:
        """Return the numbers of a word's pieces. Neighbours are joined, the commonest pair (lowest number) first, until
        no two make a piece; what is no piece, a rare character, is left out."""
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
