"""Choosing among hits under a budget, and writing them down as passages.

Owns two steps. `chosen` takes hits while they fit: a cheaper message before a dearer one of about the same score; and
the more a session has been given already, the less its next message is worth, so that one talkative evening does not
take everything. `passages` writes what was chosen, in the order of the story, each with its place, day and speaker.

Pure; the budget is never exceeded, by the caller's own counter; no position that is excluded or that the reader does
not know is ever chosen, whatever the hits say.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from previously.recall.outline import Outline
from previously.recall.rank import Hit, Why
from previously.text.times import render_day


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of taking a hit besides its room."""

    dearer: float = 0.15
    """Score that a message needs in addition each time it takes twice the room."""
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
    knows: Callable[[int], bool] | None = None,
    prices: Prices = PRICES,
) -> list[Hit]:
    """Return the hits to take, the most valued first. A position without a cost is not taken."""
    if budget <= 0:
        return []
    open_hits = [
        hit
        for hit in hits
        if hit.position in costs and hit.position not in excluded and (knows is None or knows(hit.position))
    ]
    worth = {hit.position: hit.score - prices.dearer * math.log2(max(costs[hit.position], 1e-3)) for hit in open_hits}
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
        held, number, hit = heapq.heappop(waiting)
        now = -value(hit)
        if now > held:
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
    knows: Callable[[int], bool] | None = None,
) -> list[Passage]:
    """Return what of the hits fits the budget, in the order of the story. `told` holds the messages of the hits,
    `count` says what a line takes in the view."""
    lines = {hit.position: render_line(hit.position, told[hit.position]) for hit in hits if hit.position in told}
    costs = {position: count(f"{line}\n") for position, line in lines.items()}
    taken = choose_hits(hits, budget_tokens, costs, outline, excluded=excluded, knows=knows)
    return [
        Passage(hit.position, lines[hit.position], costs[hit.position], hit.score, hit.why)
        for hit in sorted(taken, key=lambda hit: hit.position)
    ]


def render_line(position: int, told: Quoted) -> str:
    """Return a message as a passage: place, day, speaker, words."""
    place = f"message {position}" + (f", {day}" if (day := render_day(told.at)) else "")
    return f"[{place}] {told.speaker}: {told.text}" if told.speaker else f"[{place}] {told.text}"
