"""The search: what a store has to give, and the steps from a question to hits and passages.

`StoryIndex` is the seam between recall and a store. A store gives blocks and vectors of one story, as they were kept
when entries were written; everything that decides what is found, and in which order, happens here and below, so that
all stores give the same answer. `find` is the usual way; `read_outline`, `understand` and `search` are its steps.

Nothing is found that is not on the path given, that comes at or after `until`, that the witness was not there for, or
that is excluded. The answer does not depend on the order in which a store gives blocks.

`choose_hits` takes hits while they fit a budget: a cheaper message before a dearer one of about the same score; and the
more a session has been given already, the less its next message is worth, so that one talkative evening does not take
everything. `make_passages` writes what was chosen, in the order of the story, each with its place, day and speaker.

The budget is never exceeded, by the caller's own counter; no position that is excluded is ever chosen,
whatever the hits say.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from previously.recall.bridge import WordBook, bridge_query
from previously.recall.index import (
    EVERYONE,
    POSTING,
    Block,
    join_blocks,
    make_witness_term,
)
from previously.recall.outline import Mask, Outline, PathEntries, make_mask, make_outline
from previously.recall.query import Query, clip_query, find_named, split_questions, understand
from previously.recall.rank import (
    WEIGHTS,
    Hit,
    Weights,
    Why,
    choose_candidates,
    make_query_vector,
    place_postings,
    rank,
    score_words,
)
from previously.recall.vectors import WordTable, read_rows
from previously.text.times import render_day

MOST_HITS = 200


class StoryIndex(Protocol):
    """The index of one story, whatever branch its entries are on."""

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:
        """Return the blocks of postings of these terms, in any order; a term that nobody says may be left out."""

    def facts(self) -> Sequence[Block]:
        """Return the blocks of facts, in any order."""

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:
        """Return the vectors of these entries; one that has none is left out."""

    def speakers(self) -> Iterable[str]:
        """Return the names that speak in the story."""


class PointingNotes(Protocol):
    """Notes that say from which messages they come."""

    def find_places(self, query: Query) -> Mapping[int, float]:
        """Return the positions that notes about a question name, each with a score."""


@dataclass(frozen=True, slots=True)
class SearchResult:
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
    notes: PointingNotes | None = None,
    most: int = MOST_HITS,
    books: Sequence[WordBook] = (),
) -> SearchResult:
    """Return the best hits for a text. `asker` and `asked` are who asks whom ("I" and "you"); `today` is the day it is
    asked on, else that of the newest message. Only what `witness` was there for, only `allowed` positions and only
    those before `until` have a part in it; `excluded` ones (already in the view) are known, but no hits. `notes` are
    what this reader knows, `books` dictionaries for a question in another language than the story."""
    outline = read_outline(index, path, witness=witness, allowed=allowed, until=until)
    speakers = outline.speaking(find_named(clip_query(text), tuple(index.speakers())))
    today = outline.newest_day if today is None else today

    def ask(part: str) -> Query:
        query = understand(part, speakers=speakers, asker=asker, asked=asked, today=today)
        return bridge_query(part, query, partial(find_heard, index, outline), books)

    found = [
        search(index, outline, one, table, noted=notes.find_places(one) if notes else {}, excluded=excluded, most=most)
        for one in map(ask, split_questions(text))
    ]
    return SearchResult(ask(text), outline, merge_hits(found, most))


def find_heard(index: StoryIndex, outline: Outline, terms: Collection[str]) -> Collection[str]:
    """Return those of the terms that a reader of the path has heard."""
    return place_postings(index.postings(terms), outline).keys()


def merge_hits(found: Sequence[Sequence[Hit]], most: int = MOST_HITS) -> list[Hit]:
    """Return the hits of several questions as one list, best first. The best of each score alike, so each has its share
    of what is taken; "And what do you think?" tells less than the others, and its hits count for less."""
    if len(found) == 1:
        return list(found[0])
    tells = [max((hit.why.tells for hit in hits), default=0.0) for hits in found]
    best: dict[int, Hit] = {}
    for hits, own in zip(found, tells, strict=True):
        share = own / max(tells) if any(tells) else 1.0
        for hit in hits:
            score = round(hit.score * share, 5)
            if hit.position not in best or score > best[hit.position].score:
                best[hit.position] = replace(hit, score=score)
    return sorted(best.values(), key=lambda hit: (-hit.score, -hit.position))[:most]


def read_outline(
    index: StoryIndex,
    path: PathEntries,
    *,
    witness: str | None = None,
    allowed: Collection[int] | None = None,
    until: int | None = None,
) -> Outline:
    """Return the outline of a path as one reader of the story may know it."""
    mask: Mask | None = None if allowed is None else make_mask(allowed, len(path))
    if witness is not None:
        there = _witnessed(index, path, witness)
        mask = there if mask is None else mask & there
    return make_outline(path, index.facts(), allowed=mask, until=until)


def search(
    index: StoryIndex,
    outline: Outline,
    query: Query,
    table: WordTable | None = None,
    *,
    noted: Mapping[int, float] = {},
    excluded: Collection[int] = (),
    most: int = MOST_HITS,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """Return the best hits of a path for a query, best first; none for an empty query. `noted` are positions that lines
    of memory about it name, with what these score."""
    if query.empty or not outline.messages:
        return []
    postings = place_postings(index.postings(query.lookups), outline)
    words = score_words(query.terms, postings, outline, query.aside)
    wanted = make_query_vector(query, words, table, outline.messages)
    positions = choose_candidates(query, outline, words, noted)
    entries: list[int] = outline.entries.ids[positions].tolist()
    vectors = read_rows(entries, index.vectors(entries) if wanted is not None else {})
    return rank(
        query, outline, words, postings, positions, vectors, wanted, noted=noted, excluded=excluded, most=most,
        weights=weights,
    )  # fmt: skip


def _witnessed(index: StoryIndex, path: PathEntries, witness: str) -> Mask:
    terms = (EVERYONE, make_witness_term(witness))
    blocks_of = [join_blocks(blocks, POSTING)[0] for blocks in index.postings(terms).values()]
    entries = np.concatenate(blocks_of) if blocks_of else np.zeros(0, np.int64)
    return make_mask(path.positions_of(entries), len(path))


class EmptyIndex:
    """The index of a story of which nothing is indexed."""

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:  # noqa: ARG002
        return {}

    def facts(self) -> Sequence[Block]:
        return ()

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:  # noqa: ARG002
        return {}

    def speakers(self) -> Iterable[str]:
        return ()


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of taking a hit besides its room."""

    dearer: float = 0.3
    """Score that a message needs in addition each time it takes twice the room."""
    from_tokens: float = 50.0
    """Up to this length a message is as cheap as any: short ones say less, and are no bargain. Where messages are long,
    as in a novel, that is the length that a quarter of them do not reach."""
    head_tokens: float = 8.0
    """Tokens that place, day and speaker take, about."""
    free_share: float = 0.1
    """Up to this share of the budget a session is given what it asks for."""
    session: float = 2.0
    """Score that the next message of a session would need in addition if the session had all of the budget."""


PRICES = Prices()


@dataclass(frozen=True, slots=True)
class Quoted:
    """A message as it was told."""

    text: str
    speaker: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A message found again, as a model will read it."""

    position: int
    line: str
    tokens: int
    score: float
    why: Why


def choose_hits(
    hits: Sequence[Hit],
    budget: float,
    costs: Mapping[int, float],
    outline: Outline,
    *,
    excluded: Collection[int] = (),
    prices: Prices = PRICES,
) -> list[Hit]:
    """Return the hits to take, the most valued first. A position without a cost is not taken."""
    if budget <= 0:
        return []
    open_hits = [hit for hit in hits if hit.position in costs and hit.position not in excluded]
    cheap = max(prices.from_tokens, outline.short_size + prices.head_tokens) if open_hits else prices.from_tokens
    worth = {
        hit.position: hit.score - prices.dearer * math.log2(max(costs[hit.position] / cheap, 1.0)) for hit in open_hits
    }
    session = {hit.position: outline.session_at(hit.position) for hit in open_hits}
    given: dict[int, float] = {}

    def value(hit: Hit) -> float:
        over = given.get(session[hit.position], 0.0) / budget - prices.free_share
        return worth[hit.position] - prices.session * max(0.0, over)

    # Values only sink, so one that is still right when it comes up is the highest.
    waiting = [(-value(hit), number, hit) for number, hit in enumerate(open_hits)]
    heapq.heapify(waiting)
    taken: list[Hit] = []
    left = budget
    while waiting:
        price, number, hit = heapq.heappop(waiting)
        now = -value(hit)
        if now > price:
            heapq.heappush(waiting, (now, number, hit))
        elif costs[hit.position] <= left:
            left -= costs[hit.position]
            given[session[hit.position]] = given.get(session[hit.position], 0.0) + costs[hit.position]
            taken.append(hit)
    return taken


def make_passages(
    hits: Sequence[Hit],
    told: Mapping[int, Quoted],
    budget_tokens: int,
    count: Callable[[str], int],
    outline: Outline,
    *,
    excluded: Collection[int] = (),
) -> list[Passage]:
    """Return what of the hits fits the budget, in the order of the story. `told` holds the messages of the hits,
    `count` says what a line takes in the view."""
    lines = {hit.position: render_line(hit.position, told[hit.position]) for hit in hits if hit.position in told}
    costs = {position: count(f"{line}\n") for position, line in lines.items()}
    taken = choose_hits(hits, budget_tokens, costs, outline, excluded=excluded)
    return [
        Passage(hit.position, lines[hit.position], costs[hit.position], hit.score, hit.why)
        for hit in sorted(taken, key=lambda hit: hit.position)
    ]


def render_line(position: int, quoted: Quoted) -> str:
    """Return a message as a passage: place, day, speaker, words."""
    place = f"message {position}" + (f", {day}" if (day := render_day(quoted.at)) else "")
    return f"[{place}] {quoted.speaker}: {quoted.text}" if quoted.speaker else f"[{place}] {quoted.text}"
