"""Arithmetic on vectors of meaning: adding words up, packing, comparing.

Owns the dense side of recall. A message's vector is the sum of its content words' vectors, packed to one byte a number;
a question's words weigh by how rare they are in the story. Before two are compared, what all messages of the story
have in common is taken out of both: it tells nothing.

What must stay true: pure; the same input gives the same numbers; a text without a known word has no vector, and is like
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

Floats: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Packed: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int8]]
Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]

DIMENSIONS = 256

LONGEST_SUM = 2_000
"""Words of a message that count for its vector: more do not turn it any further."""


class WordTable(Protocol):
    """Where words have vectors. What it gives must depend on the words alone."""

    @property
    def name(self) -> str:
        """What tells it from tables that give other vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        ...

    def summed(self, words: Sequence[str], weights: Sequence[float] | None = None) -> Floats:
        """The sum of the words' vectors, each times its weight."""
        ...


def packed(table: WordTable | None, words: Sequence[str]) -> bytes:
    """The vector of these words, one signed byte a number; empty where no word is known."""
    if table is None or not words:
        return b""
    summed = table.summed(words[:LONGEST_SUM])
    largest = float(np.abs(summed).max())
    if largest == 0.0:
        return b""
    numbers: Packed = np.rint(summed * (127.0 / largest)).astype(np.int8)
    return numbers.tobytes()


def unit(vectors: Floats) -> Floats:
    """Each vector at length one; a zero vector stays zero."""
    norms = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return np.asarray(vectors / np.where(norms == 0, 1, norms), np.float32)


def likeness(vectors: Packed, wanted: Floats, sampled: Rows) -> Floats:
    """The cosine of each packed vector with the wanted one, after what the `sampled` rows have in common has been taken
    out of both. A zero vector is like nothing."""
    rows = vectors.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    norms[norms == 0] = np.inf
    common = unit(np.asarray((rows[sampled] / norms[sampled, None]).sum(axis=0), np.float32))
    wanted = unit(wanted - float(wanted @ common) * common)
    # Not by matrix product: that wakes the threads of a linear algebra library, which costs more than it saves here.
    along = np.einsum("ij,j->i", rows, common) / norms
    alike = np.einsum("ij,j->i", rows, wanted) / norms
    # Taking the common part out of a unit vector leaves this length.
    left = np.sqrt(np.maximum(1.0 - along * along, 1e-6))
    return np.asarray(alike / left, np.float32)


def rows_of(entries: Sequence[int], vectors: Mapping[int, bytes]) -> Packed:
    """The packed vectors of these entries, a row each; zero for an entry that has none, or one of another size."""
    none = bytes(DIMENSIONS)
    each = [vectors.get(entry, none) for entry in entries]
    joined = b"".join([one if len(one) == DIMENSIONS else none for one in each])
    return np.frombuffer(joined, np.int8).reshape(len(entries), DIMENSIONS)
