"""Ranking: how much each message says about what is asked, and why.

The one order in which every store gives its hits. `score_words` is BM25 over a path, for messages and for the pages
they stand in: a message counts for more where its page speaks of what is asked. `choose_candidates` keeps a question on
a story of 100,000 messages about as cheap as on one of 10,000: vectors are read and compared for few messages only. Of
a long path these are the best by words and those of the days that were named, the neighbours of all these, and an even
sample that tells what the story's messages have in common. So in a long story a message that shares no word with the
question, nor stands near one that does, is not found. `rank` then scores a message by its own words and meaning, by its
neighbours' (a reply is found by what it replies to), and by who said it, when, on which page, and whether it says when.
`Weights` are the constants of that sum; they were set on other people's conversations, and no single story is tuned to.

All input is values, all output deterministic, ties going to the later message. Scores depend on what stands on the
path, not on how a store keeps it; every hit can say what it was found by; without vectors words alone carry the same
weight; growing the path by a message hardly moves the sample.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from previously.recall.index import POSTING, Block, Records, join_blocks
from previously.recall.outline import Outline, Positions
from previously.recall.query import Query
from previously.recall.vectors import Floats, Packed, WordTable, measure_likeness, scale_to_unit
from previously.text.times import measure_nearness


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
    """True where that which the story's messages have in common is taken out before they are compared."""
    beside: float = 0.25
    two_away: float = 0.25
    answer: float = 0.2
    """The share that a question passes on to the message after it."""
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
    """The reasons for a hit. Shares of its score, except for the terms."""

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


def make_query_vector(query: Query, words: Lexical, table: WordTable | None, length: int) -> Floats | None:
    """Return the question's vector: its words by how rare they are in this story. None without a table or a known
    word."""
    if table is None or not query.words:
        return None
    unheard = float(np.log1p(2.0 * length + 1.0))
    rare = [words.rarity.get(term, unheard) for _, term in query.words]
    vector = scale_to_unit(table.summed([word for word, _ in query.words], rare))
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
    """Return the best of these positions, best first. `vectors` has a row for each of them, zero where there is none;
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
    near = weights.day * score_days(query, outline)[positions]
    by_page = weights.page * words.pages[positions]
    says_when = weights.says_when * facts["time_words"].astype(np.float32) / 2
    total = own + by_neighbours + by_speaker + near + by_page
    # Rounded, so that the last bits, in which machines differ, decide nothing.
    scores = np.round((total + says_when).astype(np.float64), 5)
    scores[total <= 0] = -np.inf
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
    alike = measure_likeness(vectors, wanted, sampled)
    terms = facts["length"].astype(np.float32)
    return np.asarray(weights.meaning * alike * terms / np.maximum(terms + weights.few_words, 1), np.float32)


def _by_neighbours(own: Floats, session: Positions, positions: Positions, facts: Records, weights: Weights) -> Floats:
    """Return what the messages before and after, in the same session, pass on."""
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
    matched: list[list[str]] = [[] for _ in places]
    for term in query.terms:
        if term in postings:
            said = np.zeros(length, np.bool_)
            said[postings[term].positions] = True
            for number in np.flatnonzero(said[places]).tolist():
                matched[number].append(term)
    return [tuple(terms) for terms in matched]


_K1, _B = 0.9, 0.6
_PAGE_K1, _PAGE_B = 1.5, 0.75


@dataclass(frozen=True, slots=True)
class Postings:
    """The places where a term stands on the path, how often it is said there, and how long each of those messages
    is."""

    positions: Positions
    counts: Floats
    lengths: Floats


@dataclass(frozen=True, slots=True)
class Lexical:
    """Scores of every position of a path by its words, from 0 to 1."""

    scores: Floats
    pages: Floats
    rarity: Mapping[str, float]
    """For each looked-up term how rare it is on the path."""


def place_postings(blocks: Mapping[str, Sequence[Block]], outline: Outline) -> dict[str, Postings]:
    """Return the postings of these terms that stand on the path and may be known; a term that nobody says is left
    out."""
    placed: dict[str, Postings] = {}
    for term, kept in blocks.items():
        entries, records = join_blocks(kept, POSTING)
        positions = outline.entries.positions_of(entries)
        rows = np.flatnonzero((positions >= 0) & (positions < len(outline)))
        rows = rows[outline.known[positions[rows]]]
        if len(rows):
            counts, lengths = records["count"][rows], records["length"][rows]
            placed[term] = Postings(positions[rows], counts.astype(np.float32), lengths.astype(np.float32))
    return placed


def measure_rarity(count: int, total: int) -> float:
    """Return the weight of a term that stands in `count` of `total` messages; never negative."""
    return math.log(1 + (max(total - count, 0) + 0.5) / (count + 0.5))


def score_words(terms: Collection[str], postings: Mapping[str, Postings], outline: Outline) -> Lexical:
    """Return every position scored by these terms. Postings of further terms only tell how rare those are."""
    scores = np.zeros(len(outline), np.float32)
    starts = outline.pages
    sizes = np.diff(np.append(starts, len(outline)))
    crowd = _PAGE_K1 * (1 - _PAGE_B + _PAGE_B * sizes / max(float(sizes.mean()), 1.0))
    page_of = np.repeat(np.arange(len(starts)), np.maximum(sizes, 0))
    by_page = np.zeros(len(starts), np.float32)
    rare = {term: measure_rarity(len(posting.positions), outline.messages) for term, posting in postings.items()}
    for term in dict.fromkeys(terms):
        if term not in postings:
            continue
        posting = postings[term]
        spread = _K1 * (1 - _B + _B * posting.lengths / max(outline.mean_terms, 1.0))
        scores[posting.positions] += rare[term] * posting.counts / (posting.counts + spread)
        on_page = np.bincount(page_of[posting.positions], weights=posting.counts, minlength=len(starts))
        weight = measure_rarity(int(np.count_nonzero(on_page)), len(starts))
        by_page += (weight * on_page * (_PAGE_K1 + 1) / (on_page + crowd)).astype(np.float32)
    highest = float(scores.max(initial=0.0))
    return Lexical(scores / highest if highest else scores, _set_apart(by_page)[page_of], rare)


def _set_apart(pages: Floats) -> Floats:
    """Scores of pages from 0 for the poorest to 1 for the richest; all equal ones tell nothing apart."""
    low, high = float(pages.min()), float(pages.max())
    return np.asarray((pages - low) / (high - low), np.float32) if high > low else np.zeros_like(pages)


WHOLE_PATH = 2_000
"""A path of at most so many messages is looked at whole."""

BEST_BY_WORDS = 200
"""With neighbours and sample about a thousand vectors are read, as for a path of a thousand messages; 300 found no more
on CRD3 (13,795 messages)."""

BEST_BY_DAY = 300
SAMPLE = 256
REACH = 2
"""The distance up to which a message is a neighbour: a reply, and the reply to it."""


def sample_step(length: int) -> int:
    """Return every so-many-th message belongs to the sample: a power of two, so that it seldom changes."""
    step = 1
    while length // step > SAMPLE:
        step *= 2
    return step


def choose_candidates(query: Query, outline: Outline, words: Lexical) -> Positions:
    """Return the positions that ranking compares by meaning."""
    length = len(outline)
    if length <= WHOLE_PATH:
        return np.flatnonzero(outline.known)
    core = _best(words.scores, BEST_BY_WORDS)
    if query.days:
        core = np.concatenate((core, _best(score_days(query, outline), BEST_BY_DAY)))
    looked_at = np.zeros(length, np.bool_)
    looked_at[:: sample_step(length)] = True
    for distance in range(-REACH, REACH + 1):
        looked_at[np.clip(core + distance, 0, length - 1)] = True
    return np.flatnonzero(looked_at & outline.known)


def score_days(query: Query, outline: Outline) -> Floats:
    """Return how near each position lies to the days the query names, from 0 to 1."""
    if not query.days:
        return np.zeros(len(outline), np.float32)
    days, where = np.unique(outline.days(), return_inverse=True)
    near = [measure_nearness(query.days, day) if day else 0.0 for day in days.tolist()]
    return np.asarray(near, np.float32)[where]


def _best(scores: Floats, most: int) -> Positions:
    """Return the positions of the highest scores above zero; of equal ones the earlier."""
    scored = np.flatnonzero(scores > 0)
    if len(scored) > most:
        floor = np.partition(scores[scored], -most)[-most]
        above = scored[scores[scored] > floor]
        scored = np.concatenate((above, scored[scores[scored] == floor][: most - len(above)]))
    return scored
