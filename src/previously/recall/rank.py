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
from typing import TypeAlias

import numpy as np

from previously.recall.index import POSTING, Block, Records, join_blocks
from previously.recall.outline import Outline, Positions
from previously.recall.query import Query
from previously.recall.scenes import LEAST_TERMS, score_scenes, spread_places
from previously.recall.vectors import Floats, Packed, Rows, WordTable, compare_vectors, scale_to_unit
from previously.text.times import measure_nearness
from previously.text.words import list_time_words


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
    scene: float = 0.6
    """Only of a long text that asks nothing."""
    broad_terms: float = 8.0
    """A text of more terms than this asks for many things a little: its hits score less, in proportion, so that the
    room that each takes counts for more."""
    says_when: float = 0.15
    alike_to_best: float = 0.3
    """The part that the best few hits have in a second look by meaning: what stands with the answer is like it, and not
    always like the question (Rocchio)."""
    noted: float = 0.25
    """The part of its score that a noted line passes on to its messages: with 0.15 to 0.35 more is found of the exam in
    every way it is asked, and with more than 0.6 less."""


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
    by_notes: float = 0.0
    tells: float = 0.0
    """The amount that its words tell: the rarity of those of the question that it holds, 1 for a word that stands
    nowhere else, and for one that the story dwells on. No share of the score: it says whether a hit is worth anything,
    however much better it is than others."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found."""

    position: int
    score: float
    why: Why


def make_query_vector(query: Query, words: Lexical, table: WordTable | None, length: int) -> Floats | None:
    """Return the question's vector: its words by how rare they are in this story; of what stands beside the question
    only words of the story. None without a table or a known word."""
    if table is None or not query.words:
        return None
    unheard = float(np.log1p(2.0 * length + 1.0))
    rare = [
        words.rarity.get(term, 0.0) * ASIDE if term in query.aside else words.rarity.get(term, unheard)
        for _, term in query.words
    ]
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
    noted: Mapping[int, float] = {},
    excluded: Collection[int] = (),
    most: int = 200,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """Return the best of these positions, best first. `vectors` has a row for each of them, zero where there is none;
    `noted` has the scores of lines that name some; `excluded` ones count as neighbours but are never hits."""
    if not len(positions):
        return []
    facts = outline.facts(positions)
    by_words = np.asarray(weights.words * words.scores[positions] ** weights.sharpness, np.float32)
    by_speaker = _by_speaker(query, facts, weights)
    near = weights.day * score_days(query, outline)[positions]
    by_page = weights.page * words.pages[positions]
    tells_of_scene = weights.scene > 0 and not query.asks and len(query.terms) >= LEAST_TERMS
    if tells_of_scene:
        places_of = {term: postings[term].positions for term in query.terms if term in postings}
        by_page += weights.scene * score_scenes(places_of, words.rarity, outline)[positions]
    by_notes = np.zeros(len(positions), np.float32)
    if noted:
        by_notes += np.asarray([weights.noted * noted.get(place, 0.0) for place in positions.tolist()], np.float32)
    given = by_speaker + near + by_page + by_notes
    asked = len(query.terms) - (1.0 - ASIDE) * len(query.aside)
    kin = _pair_neighbours(outline.session_of(positions), positions, facts, weights)
    if wanted is None or not weights.meaning or not vectors.any():
        # Words alone carry what both would.
        by_words *= (weights.words + weights.meaning) / weights.words / 2
        by_meaning = np.zeros_like(by_words)
    else:
        compared = compare_vectors(
            vectors, np.flatnonzero((positions % sample_step(len(outline)) == 0) & weights.common)
        )
        said = facts["length"].astype(np.float32)
        trusted = weights.meaning * said / np.maximum(said + weights.few_words, 1)
        short = min(1.0, weights.full_terms / max(1.0, asked))
        by_words *= short
        own = by_words + trusted * compared.measure_likeness(wanted)
        best = np.argsort(-(own + _by_neighbours(own, kin) + given), kind="stable")[:BEST_FEW]
        like = scale_to_unit(scale_to_unit(vectors[best].astype(np.float32)).sum(axis=0))
        turned = np.asarray(wanted + weights.alike_to_best * short * like, np.float32)
        by_meaning = np.asarray(trusted * compared.measure_likeness(turned), np.float32)
    own = by_words + by_meaning
    by_neighbours = _by_neighbours(own, kin)
    says_when = weights.says_when * facts["time_words"].astype(np.float32) / 2
    total = own + by_neighbours + given
    # Rounded, so that the last bits, in which machines differ, decide nothing.
    scores = np.round((total + says_when).astype(np.float64), 5)
    scores[total <= 0] = -np.inf
    if excluded:
        scores[np.isin(positions, np.fromiter(excluded, np.int64))] = -np.inf
    best = _best_first(scores, positions, most)
    ranked = scores[best]
    if tells_of_scene:
        best, ranked = spread_places(best, scores, positions, outline)
    ranked = np.round(ranked * min(1.0, weights.broad_terms / max(1.0, asked)), 5)
    places = positions[best]
    matched = _matched(query, postings, places, len(outline))
    content = _weigh_content(query, words, postings, outline.messages)
    tells = np.asarray([_sum_content(content, terms, query.translated) for terms in matched], np.float32)
    shares = np.stack((by_words, by_meaning, by_neighbours, by_speaker, near, by_page, by_notes), axis=1)[best]
    reasons = np.round(np.column_stack((shares, tells)).astype(np.float64), 4).tolist()
    return [
        Hit(place, score, Why(terms, *reason))
        for place, score, terms, reason in zip(places.tolist(), ranked.tolist(), matched, reasons, strict=True)
    ]


def _weigh_content(query: Query, words: Lexical, postings: Mapping[str, Postings], messages: int) -> dict[str, float]:
    """Return how much each content word of a question tells in this story, by its term: "today" tells nothing."""
    most = math.log(messages + 1) or 1.0
    small = {term for term, word in query.translated.items() if not word}
    content = ({term for _, term in query.words} & words.rarity.keys()) - list_time_words() - small
    alone = len({term for _, term in query.words} - query.aside) == 1
    told = {
        term: 1.0 if _is_dwelt_on(postings[term].positions, messages, alone=alone) else words.rarity[term] / most
        for term in content
    }
    return {term: share * (ASIDE if term in query.aside else 1.0) for term, share in told.items()}


def _sum_content(content: Mapping[str, float], terms: Sequence[str], translated: Mapping[str, str]) -> float:
    """Return how much these terms tell together. Of several meanings of one word, the one that tells most counts."""
    if not translated:
        return sum(content.get(term, 0.0) for term in terms)
    told: dict[str, float] = {}
    for term in terms:
        word = translated.get(term, term)
        told[word] = max(told.get(word, 0.0), content.get(term, 0.0))
    return sum(told.values())


def _is_dwelt_on(positions: Positions, messages: int, *, alone: bool) -> bool:
    """Return whether the story speaks of a word at length in a few places, or again and again if it is `alone` in a
    question, as of a thing that matters in it: "key", and not "look", which stands everywhere, nor "hot", which is said
    in passing."""
    if alone and LEAST_ALONE <= len(positions) <= messages * MOST_ALONE_SHARE:
        return True
    if not LEAST_DWELT <= len(positions) <= messages * MOST_DWELT_SHARE:
        return False
    places = 1 + int(np.count_nonzero(np.diff(np.sort(positions)) > SAME_PLACE))
    return len(positions) >= DWELT_A_PLACE * places


def _best_first(scores: Floats, positions: Positions, most: int) -> Positions:
    """Rows by score, those of equal score by position, later first; what may not be a hit is left out."""
    rows = np.flatnonzero(np.isfinite(scores))
    if len(rows) > 4 * most > 0:
        floor = np.partition(scores[rows], -most)[-most]
        rows = rows[scores[rows] >= floor]
    return rows[np.lexsort((-positions[rows], -scores[rows]))][:most]


Kin: TypeAlias = list[tuple[Rows, Rows, Floats, Floats]]
"""Rows that stand beside each other, earlier and later, and what the later and the earlier pass on."""


def _pair_neighbours(session: Positions, positions: Positions, facts: Records, weights: Weights) -> Kin:
    """Return which rows pass on how much to which: the messages before and after, in the same session."""
    size = facts["size"].astype(np.float32)
    kin: Kin = []
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
        near = np.minimum(1.0, distance * weights.reach_tokens / np.maximum(apart, 1.0)) ** 2
        fading: Floats = np.asarray(near, np.float32)
        answered: Floats = np.asarray(weights.answer * facts["asks"][pairs] * (distance == 1), np.float32)
        kin.append((pairs, after, weight * fading, (weight + answered) * fading))
    return kin


def _by_neighbours(own: Floats, kin: Kin) -> Floats:
    """Return what the messages before and after pass on."""
    passed = np.zeros_like(own)
    for before, after, back, on in kin:
        passed[before] += back * own[after]
        passed[after] += on * own[before]
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


def score_words(
    terms: Collection[str],
    postings: Mapping[str, Postings],
    outline: Outline,
    aside: Collection[str] = (),
) -> Lexical:
    """Return every position scored by these terms, those `aside` weighing less. Postings of further terms only tell how
    rare those are."""
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
        share = ASIDE if term in aside else 1.0
        scores[posting.positions] += share * rare[term] * posting.counts / (posting.counts + spread)
        on_page = np.bincount(page_of[posting.positions], weights=posting.counts, minlength=len(starts))
        weight = share * measure_rarity(int(np.count_nonzero(on_page)), len(starts))
        by_page += (weight * on_page * (_PAGE_K1 + 1) / (on_page + crowd)).astype(np.float32)
    highest = float(scores.max(initial=0.0))
    # Of the richest page, not from poorest to richest: of two pages that say nearly the same, none is worth a point.
    richest = float(by_page.max(initial=0.0))
    return Lexical(scores / highest if highest else scores, (by_page / (richest or 1.0))[page_of], rare)


ASIDE = 0.6
"""The weight of what stands beside a question: it may say what the question is about, and may be small talk. With 0.3
small talk around a question cost less, and questions that a message leads up to found less."""

BEST_FEW = 5
"""Hits that are taken for the answer when meaning is looked at again."""

LEAST_DWELT, MOST_DWELT_SHARE = 3, 0.1
"""Messages that hold a word which a story dwells on, at least, and their share of all at most."""

SAME_PLACE, DWELT_A_PLACE = 8, 2
"""Messages that lie so near are one place; a word that is dwelt on stands in two of a place on average. These numbers
were set on four stories with 380 turns of small talk and 500 questions; their neighbours do about as well."""

LEAST_ALONE, MOST_ALONE_SHARE = 5, 0.07
"""The same of a word that is all that a question holds ("Where is the key now?"). With 4, or with a share of 0.1, small
talk recalled in 12 turns of 100."""

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


def choose_candidates(query: Query, outline: Outline, words: Lexical, noted: Collection[int] = ()) -> Positions:
    """Return the positions that ranking compares by meaning; those `noted` are among them."""
    length = len(outline)
    if length <= WHOLE_PATH:
        return np.flatnonzero(outline.known)
    core = _best(words.scores, BEST_BY_WORDS)
    if query.days:
        core = np.concatenate((core, _best(score_days(query, outline), BEST_BY_DAY)))
    if noted:
        core = np.concatenate((core, np.fromiter((place for place in noted if place < length), np.int64)))
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
