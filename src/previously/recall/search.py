"""Answering a question: what a store has to give, and the steps from there to hits.

Owns `StoryIndex`, the seam between recall and a store. A store gives blocks and vectors of one story, as they were
kept when entries were written; everything that decides what is found, and in which order, happens here and below, so
that all stores give the same answer. `find` is the usual way; `outline_of`, `understand` and `search` are its steps.

What must stay true: nothing is found that is not on the path given, that comes at or after `until`, that the witness
was not there for, or that is excluded; the answer does not depend on the order in which a store gives blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from previously.recall.address import mentioned
from previously.recall.blocks import POSTING, Block, joined
from previously.recall.candidates import candidates
from previously.recall.index import EVERYONE, witness_term
from previously.recall.lexical import lexical, on_path
from previously.recall.outline import Mask, Outline, PathEntries, mask_of, outlined
from previously.recall.query import Query, clipped, understand
from previously.recall.rank import WEIGHTS, Hit, Weights, rank, wanted_vector
from previously.recall.vectors import WordTable, rows_of

MOST_HITS = 200


class StoryIndex(Protocol):
    """The index of one story, whatever branch its entries are on."""

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:
        """The blocks of postings of these terms, in any order; a term that nobody says may be left out."""
        ...

    def facts(self) -> Sequence[Block]:
        """The blocks of facts, in any order."""
        ...

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:
        """The vectors of these entries; one that has none is left out."""
        ...

    def speakers(self) -> Iterable[str]:
        """The names that speak in the story."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """An answer: how the text was understood, the path it was asked of, and the hits, best first."""

    query: Query
    outline: Outline
    hits: Sequence[Hit]


def find(
    index: StoryIndex,
    path: PathEntries,
    text: str,
    table: WordTable | None = None,
    *,
    asker: str | None = None,
    asked: str | None = None,
    today: int | None = None,
    witness: str | None = None,
    allowed: Collection[int] | None = None,
    excluded: Collection[int] = (),
    until: int | None = None,
    most: int = MOST_HITS,
) -> Found:
    """The best hits for a text. `asker` and `asked` are who asks whom ("I" and "you"); `today` is the day it is asked
    on, else that of the newest message. Only what `witness` was there for, only `allowed` positions and only those
    before `until` have a part in it; `excluded` ones (already in the view) are known, but no hits."""
    outline = outline_of(index, path, witness=witness, allowed=allowed, until=until)
    query = understand(
        text,
        speakers=outline.speaking(mentioned(clipped(text), tuple(index.speakers()))),
        asker=asker,
        asked=asked,
        today=outline.newest_day if today is None else today,
    )
    return Found(query, outline, search(index, outline, query, table, excluded=excluded, most=most))


def outline_of(
    index: StoryIndex,
    path: PathEntries,
    *,
    witness: str | None = None,
    allowed: Collection[int] | None = None,
    until: int | None = None,
) -> Outline:
    """The outline of a path as one reader of the story may know it."""
    mask: Mask | None = None if allowed is None else mask_of(allowed, len(path))
    if witness is not None:
        there = _witnessed(index, path, witness)
        mask = there if mask is None else mask & there
    return outlined(path, index.facts(), allowed=mask, until=until)


def search(
    index: StoryIndex,
    outline: Outline,
    query: Query,
    table: WordTable | None = None,
    *,
    excluded: Collection[int] = (),
    most: int = MOST_HITS,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """The best hits of a path for a query, best first; none for an empty query."""
    if query.empty or not outline.messages:
        return []
    postings = on_path(index.postings(query.lookups), outline)
    words = lexical(query.terms, postings, outline)
    wanted = wanted_vector(query, words, table, outline.messages)
    positions = candidates(query, outline, words)
    entries: list[int] = outline.entries.ids[positions].tolist()
    vectors = rows_of(entries, index.vectors(entries) if wanted is not None else {})
    return rank(
        query, outline, words, postings, positions, vectors, wanted, excluded=excluded, most=most, weights=weights
    )


def _witnessed(index: StoryIndex, path: PathEntries, witness: str) -> Mask:
    terms = (EVERYONE, witness_term(witness))
    found = [joined(blocks, POSTING)[0] for blocks in index.postings(terms).values()]
    entries = np.concatenate(found) if found else np.zeros(0, np.int64)
    return mask_of(path.positions_of(entries), len(path))
