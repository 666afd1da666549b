"""Recall in a story: messages found again, for whoever searches and for the turn a view is made of.

What must stay true: nothing is found that is not on the path, nor anything that the one who reads did not witness; a
hidden message is shown to whoever searches, and in no view. The index catches up before it is asked; where that cannot
be, what it has is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Role
from previously.core.path import OnPath, Span
from previously.core.tokens import Counter
from previously.storage.store import Store, StoryKey
from previously.view.reader import Reader
from previously.view.turn import Recalled, render_text

if TYPE_CHECKING:  # numpy is loaded when something is asked, not before
    from previously.recall.outline import Outline, PathEntries
    from previously.recall.passages import Quoted
    from previously.recall.rank import Hit, Why
    from previously.recall.search import SearchResult, StoryIndex
    from previously.recall.vectors import WordTable

TOP = 10
"""How many messages a search gives if nobody says how many."""

MOST_FOUND = 200
"""How many messages a search gives at most."""

MOST_FOR_A_VIEW = 24
"""How many hits are read for a view; its budget holds few of them."""

WORTH_SHOWING = 0.5
"""A passage is put into a view if it scores at least this part of the best one."""

BEYOND_SHARE = 2
"""Where nothing else takes the room, passages may take twice their share: one question in ninety more is answered from
2,000 tokens. It is free in this turn alone, and what is put into the newest message leaves the prefix as it is."""

MOST_BEYOND_TOKENS = 1_200
"""But no more than this: a message must not drown in what is put before it, and more answered no further question."""

LONG_QUERY = 15
"""A passage must hold a fifth of the terms that it was looked up by, but need not hold more than a fifth of these."""

FEW_WORDS = 4
"""A message with fewer words is looked up together with the one before it."""

CAUGHT_UP_FOR_A_VIEW = 1_000
"""How many new messages are indexed before a view; more are left to `search`, and to the views after it."""


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
    """What it takes in a view, its place and its speaker included."""
    terms: tuple[str, ...]
    """What of the query it was found by."""
    highlights: tuple[tuple[int, int], ...]
    """Where in its text that stands: starts and ends."""
    hidden: bool


def recall_ceiling(share_tokens: int) -> int:
    """How many tokens passages may take where there is room, given their share of a view."""
    return max(share_tokens, min(BEYOND_SHARE * share_tokens, MOST_BEYOND_TOKENS))


async def catch_up(store: Store, key: StoryKey, most: int | None = None) -> int:
    """Index what was written since, all of it or so many messages at most; how many wait."""
    table = _table()
    waiting = await store.index(key, table, most=most) if most else await store.index(key, table)
    while waiting and not most:
        waiting = await store.index(key, table)
    return waiting


async def try_to_catch_up(store: Store, key: StoryKey) -> None:
    """The same for a view, which goes out in any case."""
    try:
        await catch_up(store, key, CAUGHT_UP_FOR_A_VIEW)
    except StoreProblem:
        return


async def search(
    store: Store,
    key: StoryKey,
    query: str,
    top: int | None,
    budget_tokens: int | None,
    reader: Reader,
    counter: Counter,
    *,
    dated: bool,
) -> list[SearchHit]:
    """The best hits for a query, best first; with a budget and no `top`, as many as it holds. To be called at one
    moment."""
    if top is not None and top < 1:
        raise BadInput(f"A search for {top} messages finds none; give a positive number.")
    if top is None:
        top = TOP if budget_tokens is None else MOST_FOUND
    branch = await store.branch(key)
    most = MOST_FOUND if budget_tokens or reader.name else min(top, MOST_FOUND)
    found = await store.recall(
        key, branch.name, lambda index, path: _find(index, path, query, allowed=_allowed(reader), most=most)
    )
    found.query.checked()
    hits = [(hit, await _at(store, key, branch.name, hit.position)) for hit in found.hits]
    hits = [(hit, item) for hit, item in hits if reader.witnessed(item)]
    costs = {hit.position: _cost(_line(item, dated=dated), counter) for hit, item in hits}
    if budget_tokens is not None:
        hits = _within(hits, budget_tokens, costs, found.outline)
    return [_hit(hit, item, costs[hit.position]) for hit, item in hits[:top]]


async def recalled_for(
    store: Store,
    key: StoryKey,
    branch: str,
    seen: Sequence[OnPath],
    turn: OnPath,
    reader: Reader,
    budget_tokens: int,
    counter: Counter,
    until: int,
    *,
    dated: bool,
) -> list[Recalled]:
    """What is found again for a turn, the best first, within a budget: nothing of what the reader has seen anyway, and
    nothing from `until` on. Only what they have seen decides what is looked for."""
    if budget_tokens <= 0:
        return []
    earlier = [item.entry.message for item in seen if item.position < turn.position]
    said = turn.entry.message
    text = said.text
    if len(text.split()) < FEW_WORDS and earlier:
        text = f"{earlier[-1].text}\n{text}"
    asked = next((one.speaker for one in reversed(earlier) if one.speaker not in (None, said.speaker)), None)
    excluded = {item.position for item in seen}

    def work(index: StoryIndex, path: PathEntries) -> SearchResult:
        return _find(
            index, path, text, asker=said.speaker, asked=asked, allowed=_allowed(reader), excluded=excluded,
            until=until, most=MOST_FOR_A_VIEW,
        )  # fmt: skip

    found = await store.recall(key, branch, work)
    best = found.hits[0].score if found.hits else 0.0
    fewest = max(1, min(len(found.query.terms), LONG_QUERY) // 5)
    hits = [hit for hit in found.hits if hit.score >= WORTH_SHOWING * best and len(hit.why.terms) >= fewest]
    items = {hit.position: await _at(store, key, branch, hit.position) for hit in hits}
    hits = [hit for hit in hits if _may_be_shown(items[hit.position], reader)]
    told = {position: _told(item, dated=dated) for position, item in items.items()}
    return _passages(hits, told, budget_tokens, counter, found.outline, excluded)


async def retold(
    store: Store, key: StoryKey, branch: str, recalled: Sequence[Recalled], reader: Reader | None, *, dated: bool
) -> list[Recalled]:
    """The same passages with their words; with a reader, only those that may be shown to them now."""
    if not recalled:
        return []
    found = [(one, await _at(store, key, branch, one.span.first)) for one in recalled]
    found = [(one, item) for one, item in found if reader is None or _may_be_shown(item, reader)]
    return [replace(one, text=_line(item, dated=dated)) for one, item in found]


def _find(
    index: StoryIndex,
    path: PathEntries,
    text: str,
    *,
    asker: str | None = None,
    asked: str | None = None,
    allowed: Collection[int] | None = None,
    excluded: Collection[int] = (),
    until: int | None = None,
    most: int,
) -> SearchResult:
    from previously.recall.search import find

    return find(
        index, path, text, _table(), asker=asker, asked=asked, allowed=allowed, excluded=excluded, until=until,
        most=most,
    )  # fmt: skip


def _passages(
    hits: Sequence[Hit],
    told: dict[int, Quoted],
    budget_tokens: int,
    counter: Counter,
    outline: Outline,
    excluded: Collection[int],
) -> list[Recalled]:
    from previously.recall.passages import make_passages

    found = make_passages(hits, told, budget_tokens, lambda line: _cost(line, counter), outline, excluded=excluded)
    best_first = sorted(found, key=lambda one: (-one.score, one.position))
    return [
        Recalled(Span(one.position, one.position), one.line, round(one.score, 4), _reason(one.why, one.line))
        for one in best_first
    ]


def _within(
    hits: list[tuple[Hit, OnPath]], budget_tokens: int, costs: Mapping[int, int], outline: Outline
) -> list[tuple[Hit, OnPath]]:
    from previously.recall.passages import choose_hits

    items = {hit.position: item for hit, item in hits}
    return [(hit, items[hit.position]) for hit in choose_hits([hit for hit, _ in hits], budget_tokens, costs, outline)]


def _hit(hit: Hit, item: OnPath, tokens: int) -> SearchHit:
    from previously.text.words import find_places

    text = _text(item)
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
    )


def _reason(why: Why, line: str) -> str:
    """What a passage was found by, in words."""
    from previously.text.words import find_places

    parts = {
        "words": why.by_words,
        "meaning": why.by_meaning,
        "neighbours": why.by_neighbours,
        "speaker": why.by_speaker,
        "day": why.by_day,
        "page": why.by_page,
    }
    whole = sum(part for part in parts.values() if part > 0) or 1.0
    told = ", ".join(f"{name} {part / whole:.0%}" for name, part in parts.items() if part / whole >= 0.05)
    words = list(dict.fromkeys(line[start:end] for start, end in find_places(line, why.terms)))
    return f"recalled by {told}; found: {', '.join(words[:6])}"


async def _at(store: Store, key: StoryKey, branch: str, position: int) -> OnPath:
    (item,) = await store.path(key, branch, position, position)
    return item


def _cost(line: str, counter: Counter) -> int:
    """What a line takes in a view, with its break."""
    return counter.tokens(render_text(line) + "\n")


def _line(item: OnPath, *, dated: bool) -> str:
    from previously.recall.passages import render_line

    return render_line(item.position, _told(item, dated=dated))


def _told(item: OnPath, *, dated: bool) -> Quoted:
    from previously.recall.passages import Quoted

    return Quoted(_text(item), item.entry.message.speaker, item.entry.attributes.at if dated else None)


def _text(item: OnPath) -> str:
    """What there is to read of a message: captions and results of tools included."""
    from previously.recall.index import read_facts

    return item.entry.message.text or read_facts(item.entry.message).text


def _allowed(reader: Reader) -> Collection[int] | None:
    """Return the positions that a reader may know of; None for all of them."""
    if not reader.name or reader.presence is None or reader.presence.knows_all(reader.name):
        return None
    return reader.presence.positions(reader.name)


def _may_be_shown(item: OnPath, reader: Reader) -> bool:
    entry = item.entry
    if entry.attributes.hidden or entry.message.role is Role.SYSTEM:
        return False
    return bool(_text(item).strip()) and reader.witnessed(item)


def _table() -> WordTable | None:
    from previously.models.word_vectors import load_word_table

    return load_word_table()
