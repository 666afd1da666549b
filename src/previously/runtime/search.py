"""Recall in a story: messages found again, for whoever searches and for the turn a view is made of.

Nothing is found that is not on the path, nor anything that the one who reads did not witness; a hidden message is shown
to whoever searches, and in no view. The index catches up before it is asked; where that cannot be, what it has is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Role
from previously.core.note import NotedLine
from previously.core.path import OnPath, Span
from previously.core.snapshot import Snapshot, read_run
from previously.core.tokens import Counter
from previously.runtime.story_moment import StoryMoment
from previously.storage.store import Store, StoryKey
from previously.storage.tables import Tables
from previously.view.reader import Reader
from previously.view.turn import Recalled, render_text

if TYPE_CHECKING:  # numpy is loaded when something is asked, not before
    from previously.recall.note_lines import NotedLines
    from previously.recall.outline import Outline
    from previously.recall.query import Query
    from previously.recall.rank import Hit, Why
    from previously.recall.search import Quoted, SearchResult
    from previously.recall.vectors import WordTable

TOP = 10
"""Messages that a search gives if nobody says how many: a screen holds them."""

MOST_FOUND = 200
"""Messages that a search gives at most: ranking more would cost more than anybody reads."""

MOST_FOR_A_VIEW = 24
"""Hits that are read for a view; its budget holds few of them."""

WORTH_SHOWING = 0.5
"""A passage is put into a view if it scores at least this part of the best one."""

BEYOND_SHARE = 2
"""Passages may take twice their share where nothing else takes the room: one question in ninety more is answered from
2,000 tokens. It is free in this turn alone, and what is put into the newest message leaves the prefix as it is."""

MOST_BEYOND_TOKENS = 1_200
"""But no more than this: a message must not drown in what is put before it, and more answered no further question."""

LONG_QUERY = 15
"""A passage must hold a fifth of the terms that it was looked up by, but need not hold more than a fifth of these."""

FEW_WORDS = 4
"""A question with fewer words is looked up together with the end of the message before it."""

TELLS_FOR_A_QUESTION, TELLS_FOR_A_TURN = 0.85, 1.7
"""The least that the words of a passage tell (`Why.tells`) before anything is recalled: a rare word of the story, where
something is asked; two, where nothing is. Small talk then recalls something in one turn of ten, and questions in 95 of
100; with 0.75 one turn of eight did."""

FEW_ALONE = 8
"""A passage with fewer words is shown with what it replies to: "Under the third step." says nothing alone."""

BESIDE_SHARE = 0.9
"""The part of a passage that its neighbours are worth: they are taken after it, and before what hardly fits."""

MOST_WORDS_TOLD = 6
"""Words that a reason names of those a passage was found by: a line of them."""

FEW = 64
"""Messages that are indexed within a write: some tens of milliseconds, no longer than other writers wait anyhow."""

CAUGHT_UP_FOR_A_VIEW = 1_000
"""New messages that are indexed before a view: a tenth of a second. More are left to `search` and to later views."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message that was found."""

    position: int
    id: str | None
    """The id it has in the file or client it came from."""
    speaker: str | None
    at: str | None
    text: str
    score: float
    tokens: int
    """The tokens it takes in a view, its place and its speaker included."""
    terms: tuple[str, ...]
    """The terms of the query that it was found by."""
    highlights: tuple[tuple[int, int], ...]
    """The places of these in its text: starts and ends."""
    hidden: bool
    story: str = ""
    """The story it is in, where that is one that came before."""
    only_alike: bool = False
    """True where it holds no word of the query, and neither its speaker nor its day led to it: it is merely the nearest
    in meaning, be it by what was noted of it."""
    picked: bool = False
    """True where a model chose it among what was found."""


def compute_recall_ceiling(share_tokens: int) -> int:
    """Return how many tokens passages may take where there is room, given their share of a view."""
    return max(share_tokens, min(BEYOND_SHARE * share_tokens, MOST_BEYOND_TOKENS))


async def catch_up(
    store: Store, key: StoryKey, most: int | None = None, progress: Callable[[int, int], None] | None = None
) -> int:
    """Index what was written since, all of it or so many messages at most; return how many wait. `progress` is told how
    many of those that waited after the first batch are done."""
    table = _load_word_table()
    waiting = await store.index(key, table, most=most) if most else await store.index(key, table)
    total = waiting
    while waiting and not most:
        if progress:
            progress(total - waiting, total)
        waiting = await store.index(key, table)
    return waiting


async def try_to_catch_up(
    store: Store, key: StoryKey, *, writes: bool = True, also: Callable[[Tables], object] | None = None
) -> None:
    """Do the same for a view, which goes out in any case: a few messages in one write, together with `also`. Where
    nothing else is written (not `writes`), the store is asked first whether anything waits."""
    table = _load_word_table()

    def write(tables: Tables) -> int:
        if also:
            also(tables)
        return tables.index(key, table, FEW)

    with suppress(StoreProblem):
        if not writes or await store.write(key, write) > 0:
            await catch_up(store, key, CAUGHT_UP_FOR_A_VIEW)


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """A search as it is ordered: the query, and how much of what it finds is wanted."""

    query: str
    top: int | None
    """The most hits; None for as many as usual, or as the budget holds."""
    budget_tokens: int | None
    counter: Counter
    dated: bool
    """True where lines say when they were written."""
    least_share: float = 0.0
    """If more than 0: only what holds enough of the query's words and scores at least this part of the best."""
    beside: Sequence[str] = ()
    """Other words for the same, each looked up with a share of its own."""
    picked: Sequence[SearchHit] = ()
    """Hits that come before all others, in this order, as far as they fit."""

    @property
    def most(self) -> int:
        """Return the most hits that are wanted."""
        return self.top or (TOP if self.budget_tokens is None else MOST_FOUND)


def search(moment: StoryMoment, wanted: SearchOrder, reader: Reader, excluded: Collection[int] = ()) -> list[SearchHit]:
    """Return the best hits in a story, best first; with a budget and no `top`, as many as it holds. Those at `excluded`
    are left out."""
    top, budget = wanted.top, wanted.budget_tokens
    if top is not None and top < 1:
        raise BadInput(f"A search for {top} messages finds none; give a positive number.")
    most = MOST_FOUND if budget or reader.name else min(wanted.most + len(excluded), MOST_FOUND)
    result = _find(moment, wanted.query, reader, most=most)
    result.query.checked()
    if wanted.beside:
        result = _join_found(result, [_find(moment, line, reader, most=most) for line in wanted.beside], most)
    found = choose_worth(result, wanted.least_share) if wanted.least_share else result.hits
    hits = [(hit, _read_at(moment.snapshot, hit.position)) for hit in found if hit.position not in excluded]
    hits = [(hit, item) for hit, item in hits if reader.witnessed(item)]
    costs = {hit.position: _count_line(_render_line(item, dated=wanted.dated), wanted.counter) for hit, item in hits}
    if budget is not None:
        hits = _choose_within(hits, budget, costs, result.outline)
    return [_make_hit(hit, item, costs[hit.position]) for hit, item in hits[: wanted.most]]


def search_all(moment: StoryMoment, wanted: SearchOrder, reader: Reader) -> list[SearchHit]:
    """Return the same from a story and those it continues; in each, only what the reader witnessed there. Those that
    were picked come first."""
    first = _take_fitting([replace(hit, picked=True) for hit in wanted.picked], wanted.budget_tokens)[: wanted.most]
    if len(first) == wanted.most:
        return first
    rest = wanted
    if first:
        budget = wanted.budget_tokens
        left = None if budget is None else budget - sum(hit.tokens for hit in first)
        rest = replace(wanted, top=wanted.most - len(first), budget_tokens=left)

    def list_picked(story: str) -> set[int]:
        return {hit.position for hit in wanted.picked if hit.story == story}

    hits = search(moment, rest, moment.find_reader(reader), list_picked(""))
    before = list_earlier(moment, reader)
    if not before:
        return [*first, *hits]
    for earlier, there in before:
        found = search(earlier, rest, there, list_picked(earlier.name))
        hits += [replace(hit, story=earlier.name) for hit in found]
    hits.sort(key=lambda hit: -hit.score)
    worth = [hit for hit in hits if hit.score >= wanted.least_share * hits[0].score]
    return [*first, *_take_fitting(worth, rest.budget_tokens)][: wanted.most]


def _take_fitting(hits: Sequence[SearchHit], budget_tokens: int | None) -> list[SearchHit]:
    """Return those of the hits that fit, one after the other."""
    taken: list[SearchHit] = []
    for hit in hits:
        if budget_tokens is None or hit.tokens <= budget_tokens:
            budget_tokens = None if budget_tokens is None else budget_tokens - hit.tokens
            taken.append(hit)
    return taken


def list_earlier(moment: StoryMoment, reader: Reader) -> list[tuple[StoryMoment, Reader]]:
    """Return the stories that a story continues, the newest first, each with what the reader may know of there.
    Whoever was not there has nothing from there; who was told of it there was not either."""
    listed: list[tuple[StoryMoment, Reader]] = []
    earlier = moment.find_earlier()
    while earlier is not None:
        if not reader.name or earlier.read_presence().has(reader.name):
            listed.append((earlier, earlier.find_reader(reader)))
        earlier = earlier.find_earlier()
    return listed


def list_keys(moment: StoryMoment) -> list[StoryKey]:
    """Return the story, and those it continues."""
    earlier = moment.find_earlier()
    return [moment.key, *(list_keys(earlier) if earlier else ())]


def recall_for_turn(
    moment: StoryMoment,
    seen: Sequence[OnPath],
    turn: OnPath,
    reader: Reader,
    budget_tokens: int,
    counter: Counter,
    until: int,
    *,
    dated: bool,
) -> list[Recalled]:
    """Return what is found again for a turn, the best first, within a budget: nothing of what the reader has seen
    anyway, nothing from `until` on, and nothing for small talk. Only what they have seen decides what is looked for."""
    from previously.recall.query import asks, join_question

    if budget_tokens <= 0:
        return []
    earlier = [item.entry.message for item in seen if item.position < turn.position]
    message = turn.entry.message
    text, asking = message.text, asks(message.text)
    if len(text.split()) < FEW_WORDS and asking and earlier:
        text, asking = join_question(earlier[-1].text, text)
    asked = next((other.speaker for other in reversed(earlier) if other.speaker not in (None, message.speaker)), None)
    excluded = {item.position for item in seen}
    result = _find(
        moment, text, reader, asker=message.speaker, asked=asked, excluded=excluded, until=until, most=MOST_FOR_A_VIEW
    )
    hits = choose_worth(result, WORTH_SHOWING)
    if not tells_enough(result.query, hits, asked=asking):
        return []
    allowed = list_allowed(reader)
    items = {hit.position: _read_at(moment.snapshot, hit.position) for hit in hits}
    around = {
        beside: hit
        for hit in reversed(hits)
        for beside in _list_around(items[hit.position])
        if 0 <= beside < until and beside not in items and (allowed is None or beside in allowed)
    }
    items |= {beside: _read_at(moment.snapshot, beside) for beside in around}
    hits += [_pass_on(hit, beside) for beside, hit in around.items()]
    hits = [hit for hit in hits if _may_be_shown(items[hit.position], reader)]
    quoted = {position: _quote(item, dated=dated) for position, item in items.items()}
    return _make_passages(hits, quoted, budget_tokens, counter, result.outline, excluded)


def read_recalled(
    snapshot: Snapshot, recalled: Sequence[Recalled], reader: Reader | None, *, dated: bool
) -> list[Recalled]:
    """Return the same passages with their words; with a reader, only those that may be shown to them now."""
    read = [(passage, _read_at(snapshot, passage.span.first)) for passage in recalled]
    shown = [(passage, item) for passage, item in read if reader is None or _may_be_shown(item, reader)]
    return [replace(passage, text=_render_line(item, dated=dated)) for passage, item in shown]


def _list_around(item: OnPath) -> list[int]:
    """Return the positions without which a message says little: the one that a short one replies to, and the one that
    answers a question."""
    from previously.recall.query import asks

    text = _read_text(item)
    before = [item.position - 1] if len(text.split()) < FEW_ALONE else []
    return [*before, item.position + 1] if asks(text) else before


def _pass_on(hit: Hit, beside: int) -> Hit:
    """Return the hit of a message that is shown for the sake of another, and is worth a little less."""
    from previously.recall.rank import Hit, Why

    score = round(BESIDE_SHARE * hit.score, 5)
    return Hit(beside, score, Why((), 0.0, 0.0, score, 0.0, 0.0, 0.0))


def choose_worth(result: SearchResult, least_share: float) -> list[Hit]:
    """Return the hits that score enough and hold enough of the question's words, or that a note about it names."""
    best = result.hits[0].score if result.hits else 0.0
    fewest = max(1, min(len(result.query.terms), LONG_QUERY) // 5)
    return [
        hit
        for hit in result.hits
        if hit.score >= least_share * best and (len(hit.why.terms) >= fewest or hit.why.by_notes)
    ]


def tells_enough(query: Query, hits: Sequence[Hit], *, asked: bool) -> bool:
    """Return whether what was looked up has to do with the story. A question has, too, that names who speaks in it, or
    that a passage holds all telling words of, however common they are there."""
    if max((hit.why.tells for hit in hits), default=0.0) >= (TELLS_FOR_A_QUESTION if asked else TELLS_FOR_A_TURN):
        return True
    content = {term for _, term in query.words} - query.aside
    return asked and (bool(query.speakers) or (len(content) > 1 and any(content <= {*hit.why.terms} for hit in hits)))


def _find(
    moment: StoryMoment,
    text: str,
    reader: Reader,
    *,
    asker: str | None = None,
    asked: str | None = None,
    excluded: Collection[int] = (),
    until: int | None = None,
    most: int,
) -> SearchResult:
    from previously.models.dictionaries import load_word_books
    from previously.recall.search import find

    return find(
        *moment.recall(), text, _load_word_table(), asker=asker, asked=asked, allowed=list_allowed(reader),
        excluded=excluded, until=until, notes=_index_lines(moment.read_note_lines(reader)), most=most,
        books=load_word_books(),
    )  # fmt: skip


def _join_found(result: SearchResult, beside: Sequence[SearchResult], most: int) -> SearchResult:
    """Return what was found for a query together with what was found for other words for it."""
    from previously.recall.search import merge_hits

    return replace(result, hits=merge_hits([result.hits, *(other.hits for other in beside)], most))


MOST_INDEXED = 32
"""Stories and readers whose noted lines are kept indexed: as many as lore."""


@lru_cache(maxsize=MOST_INDEXED)
def _index_lines(lines: tuple[NotedLine, ...]) -> NotedLines:
    from previously.recall.note_lines import NotedLines

    return NotedLines(lines, _load_word_table())


def _make_passages(
    hits: Sequence[Hit],
    quoted: dict[int, Quoted],
    budget_tokens: int,
    counter: Counter,
    outline: Outline,
    excluded: Collection[int],
) -> list[Recalled]:
    from previously.recall.search import make_passages

    passages = make_passages(
        hits, quoted, budget_tokens, lambda line: _count_line(line, counter), outline, excluded=excluded
    )
    best_first = sorted(passages, key=lambda passage: (-passage.score, passage.position))
    return [
        Recalled(
            Span(passage.position, passage.position),
            passage.line,
            round(passage.score, 4),
            _say_reason(passage.why, passage.line),
        )
        for passage in best_first
    ]


def _choose_within(
    hits: list[tuple[Hit, OnPath]], budget_tokens: int, costs: Mapping[int, int], outline: Outline
) -> list[tuple[Hit, OnPath]]:
    from previously.recall.search import choose_hits

    items = {hit.position: item for hit, item in hits}
    return [(hit, items[hit.position]) for hit in choose_hits([hit for hit, _ in hits], budget_tokens, costs, outline)]


def _make_hit(hit: Hit, item: OnPath, tokens: int) -> SearchHit:
    from previously.text.words import find_places

    text = _read_text(item)
    return SearchHit(
        hit.position,
        item.entry.attributes.source_id,
        item.entry.message.speaker,
        item.entry.attributes.at,
        text,
        round(hit.score, 4),
        tokens,
        hit.why.terms,
        find_places(text, hit.why.terms),
        item.entry.attributes.hidden,
        only_alike=not (hit.why.terms or hit.why.by_speaker or hit.why.by_day),
    )


def _say_reason(why: Why, line: str) -> str:
    """Return what a passage was found by, in words."""
    from previously.text.words import iterate_places

    parts = {
        "words": why.by_words,
        "meaning": why.by_meaning,
        "neighbours": why.by_neighbours,
        "speaker": why.by_speaker,
        "day": why.by_day,
        "page": why.by_page,
        "memory": why.by_notes,
    }
    whole = sum(part for part in parts.values() if part > 0) or 1.0
    ways = ", ".join(f"{name} {part / whole:.0%}" for name, part in parts.items() if part / whole >= 0.05)
    words: dict[str, None] = {}
    for start, end in iterate_places(line, why.terms):
        words[line[start:end]] = None
        if len(words) == MOST_WORDS_TOLD:
            break
    return f"recalled by {ways}" + (f"; found: {', '.join(words)}" if words else "")


def _read_at(snapshot: Snapshot, position: int) -> OnPath:
    return read_run(snapshot, position, position)[0]


def _count_line(line: str, counter: Counter) -> int:
    """Return what a line takes in a view, with its break."""
    return counter.tokens(render_text(line) + "\n")


def _render_line(item: OnPath, *, dated: bool) -> str:
    from previously.recall.search import render_line

    return render_line(item.position, _quote(item, dated=dated))


def _quote(item: OnPath, *, dated: bool) -> Quoted:
    from previously.recall.search import Quoted

    return Quoted(_read_text(item), item.entry.message.speaker, item.entry.attributes.at if dated else None)


def _read_text(item: OnPath) -> str:
    """Return what there is to read of a message: captions and results of tools included."""
    from previously.recall.index import read_facts

    return item.entry.message.text or read_facts(item.entry.message).text


def list_allowed(reader: Reader) -> Collection[int] | None:
    """Return the positions that a reader may know of; None for all of them."""
    if not reader.name or reader.presence is None or reader.presence.knows_all(reader.name):
        return None
    return reader.presence.positions(reader.name)


def _may_be_shown(item: OnPath, reader: Reader) -> bool:
    entry = item.entry
    if entry.attributes.hidden or entry.message.role is Role.SYSTEM:
        return False
    return bool(_read_text(item).strip()) and reader.witnessed(item)


def _load_word_table() -> WordTable | None:
    from previously.models.word_vectors import load_word_table

    return load_word_table()
