"""Ranking by words: BM25 over a path, for messages and for the pages they stand in.

Owns the arithmetic on postings. A message counts for more where its page speaks of what is asked. All input is values:
the postings of the query's terms, joined to the path, and the path's outline.

What must stay true: pure; scores depend on what stands on the path, not on how a store keeps it; positions without
any of the terms score zero.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from previously.recall.blocks import POSTING, Block, joined
from previously.recall.outline import Outline, Positions
from previously.recall.vectors import Floats

_K1, _B = 0.9, 0.6
_PAGE_K1, _PAGE_B = 1.5, 0.75


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a term stands on the path, how often it is said there, and how long each of those messages is."""

    positions: Positions
    counts: Floats
    lengths: Floats


@dataclass(frozen=True, slots=True)
class Lexical:
    """What words say of every position of a path, from 0 to 1."""

    scores: Floats
    pages: Floats
    rarity: Mapping[str, float]
    """For each looked-up term how rare it is on the path."""


def on_path(blocks: Mapping[str, Sequence[Block]], outline: Outline) -> dict[str, Postings]:
    """The postings of these terms that stand on the path and may be known; a term that nobody says is left out."""
    found: dict[str, Postings] = {}
    for term, kept in blocks.items():
        entries, records = joined(kept, POSTING)
        positions = outline.entries.positions_of(entries)
        rows = np.flatnonzero((positions >= 0) & (positions < len(outline)))
        rows = rows[outline.known[positions[rows]]]
        if len(rows):
            counts, lengths = records["count"][rows], records["length"][rows]
            found[term] = Postings(positions[rows], counts.astype(np.float32), lengths.astype(np.float32))
    return found


def rarity(count: int, total: int) -> float:
    """The weight of a term that stands in `count` of `total` messages; never negative."""
    return math.log(1 + (max(total - count, 0) + 0.5) / (count + 0.5))


def lexical(terms: Collection[str], postings: Mapping[str, Postings], outline: Outline) -> Lexical:
    """Every position scored by these terms. Postings of further terms only tell how rare those are."""
    scores = np.zeros(len(outline), np.float32)
    starts = outline.pages
    sizes = np.diff(np.append(starts, len(outline)))
    crowd = _PAGE_K1 * (1 - _PAGE_B + _PAGE_B * sizes / max(float(sizes.mean()), 1.0))
    page_of = np.repeat(np.arange(len(starts)), np.maximum(sizes, 0))
    by_page = np.zeros(len(starts), np.float32)
    rare = {term: rarity(len(found.positions), outline.messages) for term, found in postings.items()}
    for term in dict.fromkeys(terms):
        if term not in postings:
            continue
        found = postings[term]
        spread = _K1 * (1 - _B + _B * found.lengths / max(outline.mean_terms, 1.0))
        scores[found.positions] += rare[term] * found.counts / (found.counts + spread)
        on_page = np.bincount(page_of[found.positions], weights=found.counts, minlength=len(starts))
        weight = rarity(int(np.count_nonzero(on_page)), len(starts))
        by_page += (weight * on_page * (_PAGE_K1 + 1) / (on_page + crowd)).astype(np.float32)
    highest = float(scores.max(initial=0.0))
    return Lexical(scores / highest if highest else scores, _set_apart(by_page)[page_of], rare)


def _set_apart(pages: Floats) -> Floats:
    """Scores of pages from 0 for the poorest to 1 for the richest; all equal ones tell nothing apart."""
    low, high = float(pages.min()), float(pages.max())
    return np.asarray((pages - low) / (high - low), np.float32) if high > low else np.zeros_like(pages)
