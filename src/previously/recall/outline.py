"""The outline of a path: which entry stands where, who spoke when, and where sessions begin.

Owns the join of the index to a path. The index is kept by entry; an `Outline` is made for one path (the ids of its
entries, in order) and says of every position what ranking has to know before it looks at any word. A *session* is a run
of messages told in one go: it begins where the source says so (`extra.session`), else after a pause. A *page* is a
session, cut where it grows long.

An entry that is not on the path, is not indexed, or that the reader may not know has no part in anything: not as a hit,
not as a neighbour, not in a count. Positions are those of the path; an entry that stands on it twice is found at its
last place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from previously.recall.index import FACT, Block, Ids, Records, join_blocks, make_speaker_key
from previously.text.times import MINUTES_A_DAY

Positions: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

GAP_MINUTES = 6 * 60
"""A pause after which people have slept, or at least done something else."""

PAGE_MESSAGES = 100
"""A session is cut into pages of so many messages."""

_MOST_SPREAD = 16
"""Ids that lie so many times wider than there are entries are looked up by searching, not in a table."""


class PathEntries:
    """The ids of a path's entries, in order, and where each stands. Entries never change under a head: whoever knows
    that two heads are the same may keep this."""

    def __init__(self, entries: Iterable[int] | Ids) -> None:
        self.ids: Ids = np.asarray(entries if isinstance(entries, np.ndarray) else list(entries), np.int64)
        self._first = int(self.ids.min()) if len(self.ids) else 0
        span = int(self.ids.max()) - self._first + 1 if len(self.ids) else 0
        self._table: Ids | None = None
        if span <= _MOST_SPREAD * len(self.ids) + 1:
            # One more than needed at either end: what is before the first or after the last looks there.
            self._table = np.full(span + 2, -1, np.int64)
            self._table[self.ids - (self._first - 1)] = np.arange(len(self.ids))
        else:
            self._order = np.argsort(self.ids, kind="stable")
            self._sorted = self.ids[self._order]

    def __len__(self) -> int:
        return len(self.ids)

    def positions_of(self, entries: Ids) -> Positions:
        """Return the last position of each of these entries; -1 for one that is not on the path."""
        if self._table is not None:
            return np.take(self._table, entries - (self._first - 1), mode="clip")
        at = np.searchsorted(self._sorted, entries, side="right") - 1
        return np.where(self._sorted[at] == entries, self._order[at], -1)


@dataclass(frozen=True, slots=True)
class Outline:
    """A path as ranking needs to know it. Make it with `outlined`."""

    entries: PathEntries
    records: Records
    """The facts of the story's entries, in the order they were kept."""
    where: Positions
    """For each position the number of its record."""
    known: Mask
    """True where there is something that may be found."""
    sessions: Positions
    """The positions at which sessions begin, the first at 0."""
    mean_terms: float
    """Terms that a message has on average."""
    messages: int
    """The number of positions that are known."""
    pages: Positions = field(init=False)
    """The positions at which pages begin."""

    def __post_init__(self) -> None:
        ends = [*self.sessions[1:].tolist(), len(self)]
        starts = [
            start
            for first, end in zip(self.sessions.tolist(), ends, strict=True)
            for start in range(first, max(end, first + 1), PAGE_MESSAGES)
        ]
        object.__setattr__(self, "pages", np.asarray(starts, np.int64))

    def __len__(self) -> int:
        return len(self.known)

    def facts(self, positions: Positions) -> Records:
        """Return the facts of these positions, all of which are known."""
        return self.records[self.where[positions]]

    def session_of(self, positions: Positions) -> Positions:
        """Return the number of the session each position is in."""
        return np.searchsorted(self.sessions, positions, side="right") - 1

    def session_at(self, position: int) -> int:
        return bisect_right(self.sessions, position) - 1

    def days(self) -> Positions:
        """Return the ordinal of the day of each position; 0 where it is not known."""
        return _column(self.records, self.where, self.known, "minute") // MINUTES_A_DAY

    @property
    def newest_day(self) -> int | None:
        """Return the day of the newest message that has one: "today", as far as the story knows."""
        if not self.records["minute"].any():
            return None
        days = self.days()
        timed = np.flatnonzero(days)
        return int(days[timed[-1]]) if len(timed) else None

    @property
    def short_size(self) -> float:
        """Return the tokens, about, of a message that a quarter of the others are no longer than."""
        sizes = self.records["size"][self.where[self.known]]
        return float(np.percentile(sizes, 25)) if len(sizes) else 0.0

    def speaking(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of these names that speak on the path, sorted."""
        asked = sorted({name for name in names if name})
        speaks = _column(self.records, self.where, self.known, "speaker") if asked else np.zeros(0, np.int64)
        # A comparison each: a question names few, and to sort the speakers of a long path takes longer.
        return tuple(name for name in asked if (speaks == make_speaker_key(name)).any())


def make_outline(
    entries: PathEntries, blocks: Sequence[Block], *, allowed: Mask | None = None, until: int | None = None
) -> Outline:
    """Return the outline of a path from the blocks of facts of its story. `allowed` says of each position whether the
    reader may know it; positions from `until` on are as if they were not there."""
    ids, records = join_blocks(blocks, FACT)
    positions = entries.positions_of(ids)
    where = np.full(len(entries), -1, np.int64)
    if len(positions) and positions.min() >= 0:  # a story without branches
        where[positions] = np.arange(len(positions))
    else:
        on_path = np.flatnonzero(positions >= 0)
        where[positions[on_path]] = on_path
    where = where[: None if until is None else max(until, 0)]
    known = where >= 0
    if allowed is not None:
        known &= allowed[: len(known)]
    messages = int(np.count_nonzero(known))
    total = int(records["length"][where if messages == len(known) else where[known]].sum(dtype=np.int64))
    sessions = _session_starts(records, where, known)
    return Outline(entries, records, where, known, sessions, total / max(messages, 1), messages)


def make_mask(positions: Collection[int] | Positions, length: int) -> Mask:
    """Return a mask of these positions; those that are not on the path say nothing."""
    places = positions if isinstance(positions, np.ndarray) else np.fromiter(positions, np.int64)
    mask = np.zeros(length, np.bool_)
    mask[places[(places >= 0) & (places < length)]] = True
    return mask


def _column(records: Records, where: Positions, known: Mask, name: str) -> Positions:
    """One fact of every position; 0 where nothing is known."""
    if not len(records):
        return np.zeros(len(where), np.int64)
    values: Positions = records[name][where].astype(np.int64)
    values[~known] = 0
    return values


def _session_starts(records: Records, where: Positions, known: Mask) -> Positions:
    """Return where sessions begin among the known messages. One that has no time is told at that of the one before."""
    rows = np.flatnonzero(known)
    first = np.zeros(1, np.int64)
    if not len(rows) or not (records["session"].any() or records["minute"].any()):
        return first
    session = _column(records, where, known, "session")[rows]
    minute = _column(records, where, known, "minute")[rows]
    minute = minute[np.maximum.accumulate(np.where(minute > 0, np.arange(len(rows)), 0))]
    said = (session[1:] != 0) | (session[:-1] != 0)
    paused = (minute[:-1] > 0) & (minute[1:] - minute[:-1] >= GAP_MINUTES)
    starts = np.where(said, session[1:] != session[:-1], paused)
    return np.concatenate((first, rows[1:][starts]))
