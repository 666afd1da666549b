"""Which messages are worth a closer look.

Owns the step that keeps a question on a story of 100,000 messages about as cheap as on one of 10,000: vectors are read
and compared for few messages only. A short path is looked at whole. Of a long one come the best by words and those of
the days that were named, the neighbours of all these, and an even sample that tells what the story's messages have in
common. So in a long story a message that shares no word with the question, nor stands near one that does, is not found.

What must stay true: pure; positions come sorted, each once, all of them known; growing the path by a message hardly
moves the sample.
"""

from __future__ import annotations

import numpy as np

from previously.recall.dates import nearness
from previously.recall.lexical import Lexical
from previously.recall.outline import Outline, Positions
from previously.recall.query import Query
from previously.recall.vectors import Floats

WHOLE_PATH = 2_000
"""A path of at most so many messages is looked at whole."""

BEST_BY_WORDS = 200
"""With neighbours and sample about a thousand vectors are read, as for a path of a thousand messages; 300 found no more
on CRD3 (13,795 messages)."""

BEST_BY_DAY = 300
SAMPLE = 256
REACH = 2
"""How far a neighbour can be."""


def sample_step(length: int) -> int:
    """Every so-many-th message belongs to the sample: a power of two, so that it seldom changes."""
    step = 1
    while length // step > SAMPLE:
        step *= 2
    return step


def candidates(query: Query, outline: Outline, words: Lexical) -> Positions:
    """The positions that ranking compares by meaning."""
    length = len(outline)
    if length <= WHOLE_PATH:
        return np.flatnonzero(outline.known)
    core = _best(words.scores, BEST_BY_WORDS)
    if query.days:
        core = np.concatenate((core, _best(by_day(query, outline), BEST_BY_DAY)))
    looked_at = np.zeros(length, np.bool_)
    looked_at[:: sample_step(length)] = True
    for distance in range(-REACH, REACH + 1):
        looked_at[np.clip(core + distance, 0, length - 1)] = True
    return np.flatnonzero(looked_at & outline.known)


def by_day(query: Query, outline: Outline) -> Floats:
    """How near each position lies to the days the query names, from 0 to 1."""
    if not query.days:
        return np.zeros(len(outline), np.float32)
    days, where = np.unique(outline.days(), return_inverse=True)
    near = [nearness(query.days, day) if day else 0.0 for day in days.tolist()]
    return np.asarray(near, np.float32)[where]


def _best(scores: Floats, most: int) -> Positions:
    """The positions of the highest scores above zero; of equal ones the earlier."""
    scored = np.flatnonzero(scores > 0)
    if len(scored) > most:
        floor = np.partition(scores[scored], -most)[-most]
        above = scored[scores[scored] > floor]
        scored = np.concatenate((above, scored[scores[scored] == floor][: most - len(above)]))
    return scored
