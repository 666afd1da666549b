"""Scenes: a long text that asks nothing tells of one stretch of the story, and that stretch is looked for.

A paragraph that retells a scene shares a few words with many messages, and many different words with those of the scene
taken together. `score_scenes` says of every place how many different rare words of the text stand around it.
`spread_places` then takes hits from different parts of a scene: the messages beside the best say what it says.

Both look at sessions that are longer than a page only: a shorter one is a page, which ranking knows already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from previously.recall.outline import PAGE_MESSAGES, Mask, Outline, Positions

Floats: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

LEAST_TERMS = 10
"""Terms of a text that tells of a scene: a shorter one names something."""

_STEP = 8
"""Messages that are counted together, for speed."""

_REACH = 40
"""Messages before and after a place that belong to its scene: with 80 as many were found as without scenes."""

_BESIDE = 3
_LESS_BESIDE = 0.3
"""Messages within three of a better hit score so much less; ten instead of three found fewer."""


def score_scenes(said: Mapping[str, Positions], rarity: Mapping[str, float], outline: Outline) -> Floats:
    """Return how much of a text's rare words stand around each place, from 0 to 1, sharpened. `said` has the places of
    each word."""
    steps = len(outline) // _STEP + 1
    around = _REACH // _STEP
    each = np.arange(steps)
    first, last = np.maximum(each - around, 0), np.minimum(each + around + 1, steps)
    told = np.zeros(steps, np.float32)
    for term, places in said.items():
        there = np.zeros(steps + 1, np.int64)
        there[places // _STEP + 1] = 1
        before = np.cumsum(there)
        told += rarity[term] * (before[last] > before[first])
    scores = (told / (told.max() or 1.0)) ** 2
    return np.asarray(scores[np.arange(len(outline)) // _STEP] * _find_long_sessions(outline), np.float32)


def spread_places(rows: Positions, scores: Floats, positions: Positions, outline: Outline) -> tuple[Positions, Floats]:
    """Return these rows in a new order with their new scores, best first: what stands beside a better one counts
    less."""
    apart = _find_long_sessions(outline)[positions[rows]]
    left = {int(place): float(score) for place, score in zip(positions[rows], scores[rows], strict=True)}
    row_of = {int(place): int(row) for place, row in zip(positions[rows], rows, strict=True)}
    spread = {int(place) for place in positions[rows][apart]}
    order: list[int] = []
    found: list[float] = []
    while left:
        place = max(left, key=lambda one: (left[one], one))
        order.append(row_of[place])
        found.append(left.pop(place))
        for beside in range(place - _BESIDE, place + _BESIDE + 1) if place in spread else ():
            if beside in left:
                left[beside] -= _LESS_BESIDE
    return np.asarray(order, np.int64), np.asarray(found, np.float64)


def _find_long_sessions(outline: Outline) -> Mask:
    """Return which places are in a session that is longer than a page."""
    lengths = np.diff(np.append(outline.sessions, len(outline)))
    return np.repeat(lengths > PAGE_MESSAGES, lengths)
