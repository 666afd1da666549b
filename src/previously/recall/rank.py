"""Ranking: how much each message says about what is asked, and why.

Owns the one order in which every store gives its hits. A message is scored by its own words and meaning, then by
its neighbours' (a reply is found by what it replies to), then by who said it, when, on which page, and whether it says
when. `Weights` are the constants of that sum; they were set on other people's conversations, and no single story is
tuned to.

What must stay true: pure and deterministic, ties going to the later message; every hit can say what it was found by,
and was found by something; without vectors words alone carry the same weight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from previously.recall.blocks import Records
from previously.recall.candidates import by_day, sample_step
from previously.recall.lexical import Lexical, Postings
from previously.recall.outline import Outline, Positions
from previously.recall.query import Query
from previously.recall.vectors import Floats, Packed, WordTable, likeness, unit


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of the sum."""

    words: float = 0.7
    sharpness: float = 1.8
    """The power of the score by words: above 1, a few good matches stand out from many fair ones."""
    full_terms: float = 6.0
    """Of a text of more terms than this the score by words weighs less, in proportion: many words match somewhere, and
    meaning is the better guide."""
    meaning: float = 1.8
    few_words: float = 3.0
    """A message of so many terms gets half of its likeness: one word alone is like too much."""
    common: bool = True
    """Whether what the story's messages have in common is taken out before they are compared."""
    beside: float = 0.25
    two_away: float = 0.25
    answer: float = 0.2
    """What a question passes on to the message after it."""
    reach_tokens: float = 60.0
    """From this distance on neighbours fade: long messages stand for themselves."""
    speaker: float = 0.6
    """Shared by all speakers that are named."""
    day: float = 0.9
    page: float = 0.4
    says_when: float = 0.15


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Why:
    """What a hit was found by. Shares of its score, except for the terms."""

    terms: tuple[str, ...]
    by_words: float
    by_meaning: float
    by_neighbours: float
    by_speaker: float
    by_day: float
    by_page: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found."""

    position: int
    score: float
    why: Why


def wanted_vector(query: Query, words: Lexical, table: WordTable | None, length: int) -> Floats | None:
    """The question's vector: its words by how rare they are in this story. None without a table or a known word."""
    if table is None or not query.words:
        return None
    unheard = float(np.log1p(2.0 * length + 1.0))
    rare = [words.rarity.get(term, unheard) for _, term in query.words]
    vector = unit(table.summed([word for word, _ in query.words], rare))
    return vector if vector.any() else None


def rank(
    query: Query,
    outline: Outline,
    words: Lexical,
    postings: Mapping[str, Postings],
    positions: Positions,
    vectors: Packed,
    wanted: Floats | None,
    *,
    excluded: Collection[int] = (),
    most: int = 200,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """The best of these positions, best first. `vectors` has a row for each of them, zero where there is none;
    `excluded` ones count as neighbours but are never hits."""
    if not len(positions):
        return []
    facts = outline.facts(positions)
    by_words = np.asarray(weights.words * words.scores[positions] ** weights.sharpness, np.float32)
    by_meaning = _by_meaning(len(outline), positions, facts, vectors, wanted, weights)
    if by_meaning is None:
        # Words alone carry what both would.
        by_words *= (weights.words + weights.meaning) / weights.words / 2
        by_meaning = np.zeros_like(by_words)
    else:
        by_words *= min(1.0, weights.full_terms / max(1, len(query.terms)))
    own = by_words + by_meaning
    by_neighbours = _by_neighbours(own, outline.session_of(positions), positions, facts, weights)
    by_speaker = _by_speaker(query, facts, weights)
    near = weights.day * by_day(query, outline)[positions]
    by_page = weights.page * words.pages[positions]
    says_when = weights.says_when * facts["time_words"].astype(np.float32) / 2
    found = own + by_neighbours + by_speaker + near + by_page
    # Rounded, so that the last bits, in which machines differ, decide nothing.
    scores = np.round((found + says_when).astype(np.float64), 5)
    scores[found <= 0] = -np.inf
    if excluded:
        scores[np.isin(positions, np.fromiter(excluded, np.int64))] = -np.inf
    best = _best_first(scores, positions, most)
    places = positions[best]
    shares = np.stack((by_words, by_meaning, by_neighbours, by_speaker, near, by_page), axis=1)[best]
    return [
        Hit(place, score, Why(terms, *shared))
        for place, score, terms, shared in zip(
            places.tolist(),
            scores[best].tolist(),
            _matched(query, postings, places, len(outline)),
            np.round(shares.astype(np.float64), 4).tolist(),
            strict=True,
        )
    ]


def _best_first(scores: Floats, positions: Positions, most: int) -> Positions:
    """Rows by score, those of equal score by position, later first; what may not be a hit is left out."""
    rows = np.flatnonzero(np.isfinite(scores))
    if len(rows) > 4 * most > 0:
        floor = np.partition(scores[rows], -most)[-most]
        rows = rows[scores[rows] >= floor]
    return rows[np.lexsort((-positions[rows], -scores[rows]))][:most]


def _by_meaning(
    length: int, positions: Positions, facts: Records, vectors: Packed, wanted: Floats | None, weights: Weights
) -> Floats | None:
    if wanted is None or not weights.meaning or not vectors.any():
        return None
    sampled = np.flatnonzero((positions % sample_step(length) == 0) & weights.common)
    alike = likeness(vectors, wanted, sampled)
    terms = facts["length"].astype(np.float32)
    return np.asarray(weights.meaning * alike * terms / np.maximum(terms + weights.few_words, 1), np.float32)


def _by_neighbours(own: Floats, session: Positions, positions: Positions, facts: Records, weights: Weights) -> Floats:
    """What the messages before and after, in the same session, pass on."""
    size = facts["size"].astype(np.float32)
    passed = np.zeros_like(own)
    for distance, weight in ((1, weights.beside), (2, weights.two_away)):
        later = np.searchsorted(positions, positions + distance)
        later[later == len(positions)] = 0
        pairs = np.flatnonzero((positions[later] == positions + distance) & (session[later] == session))
        after = later[pairs]
        apart = (size[pairs] + size[after]) / 2
        if distance == 2:
            # A message between them that is not known takes no room.
            between = after - pairs == 2
            apart[between] += size[pairs[between] + 1]
        fading = np.minimum(1.0, distance * weights.reach_tokens / np.maximum(apart, 1.0)) ** 2
        passed[pairs] += weight * fading * own[after]
        passed[after] += weight * fading * own[pairs]
        if distance == 1:
            passed[after] += weights.answer * fading * own[pairs] * facts["asks"][pairs]
    return passed


def _by_speaker(query: Query, facts: Records, weights: Weights) -> Floats:
    keys = np.asarray(query.speaker_keys, np.uint32)
    return np.asarray(np.isin(facts["speaker"], keys) * (weights.speaker / max(1, len(keys))), np.float32)


def _matched(query: Query, postings: Mapping[str, Postings], places: Positions, length: int) -> list[tuple[str, ...]]:
    """For each of these places the terms of the query that stand there."""
    found: list[list[str]] = [[] for _ in places]
    for term in query.terms:
        if term in postings:
            said = np.zeros(length, np.bool_)
            said[postings[term].positions] = True
            for number in np.flatnonzero(said[places]).tolist():
                found[number].append(term)
    return [tuple(terms) for terms in found]
