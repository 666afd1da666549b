"""The index: every entry of a story, ready for the next turn.

A value like any other: a change gives a new index and leaves the old one as it was. Entries stand in segments that
grow by a factor; a new entry starts a small segment, and a segment is built anew together with newer ones only when
those have grown to a fair part of its size. So adding an entry to thousands is cheap, and a text is still read only a
few times.

What must stay true: however an index came about, it finds what an index built anew from its entries finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from previously.lore.entries import KeyedEntry
from previously.lore.segments import EntryKeys, IndexSegment, build_segment

GROWTH = 4
"""An older segment is more than this many times as large as the next newer one."""


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """Where an entry stands."""

    rank: int
    """Its place among all entries; an entry that changes keeps it."""
    segment: int | None
    """The number of its segment; None for one that cannot fire."""


@dataclass(frozen=True, slots=True)
class LoreIndex:
    """All entries of a story, by uid, and the segments that find them."""

    entries: Mapping[str, KeyedEntry]
    placed: Mapping[str, EntryPlace]
    segments: tuple[IndexSegment, ...]
    """Oldest and largest first."""
    levels: Mapping[int, int]
    """How many entries wait for each level of recursion."""
    quirks: bool = False
    """Whether keys are matched as SillyTavern matches them."""

    def with_entries(self, changed: Iterable[KeyedEntry] = (), removed: Iterable[str] = ()) -> LoreIndex:
        """The index after some entries were added, changed or removed."""
        entries, placed, levels = dict(self.entries), dict(self.placed), dict(self.levels)
        fresh: dict[str, KeyedEntry] = {}
        for uid in removed:
            old = entries.pop(uid, None)
            if old is not None:
                placed.pop(uid)
                _count(levels, old, -1)
        rank = next(reversed(placed.values())).rank + 1 if placed else 0
        for entry in changed:
            old = entries.get(entry.uid)
            entries[entry.uid] = entry
            if old is not None:
                _count(levels, old, -1)
            _count(levels, entry, 1)
            if old is not None and _indexed_fields(old) == _indexed_fields(entry):
                if entry.uid in fresh:
                    fresh[entry.uid] = entry
                continue
            if old is None:
                placed[entry.uid] = EntryPlace(rank, None)
                rank += 1
            else:
                placed[entry.uid] = EntryPlace(placed[entry.uid].rank, None)
            fresh.pop(entry.uid, None)
            if can_fire(entry):
                fresh[entry.uid] = entry
        return LoreIndex(entries, placed, self._grown(entries, placed, fresh), levels, self.quirks)

    def _grown(
        self, entries: Mapping[str, KeyedEntry], placed: dict[str, EntryPlace], fresh: dict[str, KeyedEntry]
    ) -> tuple[IndexSegment, ...]:
        """The segments with a new one for what is fresh, in which newer ones that it outweighs are taken up."""
        kept = [segment for segment in self.segments if any(_lives(placed, segment, uid) for uid in segment.keyed)]
        if not fresh:
            return tuple(kept)
        gathered = dict(fresh)
        while kept and len(kept[-1].keyed) <= GROWTH * len(gathered):
            older = kept.pop()
            gathered = {uid: entries[uid] for uid in older.keyed if _lives(placed, older, uid)} | gathered
        number = max((segment.number for segment in self.segments), default=-1) + 1
        for uid in gathered:
            placed[uid] = EntryPlace(placed[uid].rank, number)
        return (*kept, build_segment(gathered.values(), number, quirks=self.quirks))

    def owners(self, segment: IndexSegment, uids: Iterable[str]) -> Iterator[str]:
        """Those of a segment's entries that still stand there."""
        return (uid for uid in uids if _lives(self.placed, segment, uid))

    def keyed(self, uid: str) -> EntryKeys | None:
        """The keys of an entry; None for one that cannot fire."""
        number = self.placed[uid].segment
        for segment in reversed(self.segments):
            if segment.number == number:
                return segment.keyed[uid]
        return None

    @property
    def deepest(self) -> int:
        """The largest scan depth that an entry names."""
        return max((segment.deepest for segment in self.segments), default=0)


def build_index(entries: Iterable[KeyedEntry], *, quirks: bool = False) -> LoreIndex:
    """An index of these entries; of two with one uid the later counts."""
    return LoreIndex({}, {}, (), {}, quirks).with_entries(entries)


def can_fire(entry: KeyedEntry) -> bool:
    """Whether an entry can ever be of use: others need not be looked for."""
    return entry.enabled and not entry.is_blank


def _lives(placed: Mapping[str, EntryPlace], segment: IndexSegment, uid: str) -> bool:
    found = placed.get(uid)
    return found is not None and found.segment == segment.number


def _count(levels: dict[int, int], entry: KeyedEntry, by: int) -> None:
    """Keep count of the entries that wait for a level of recursion."""
    level = entry.delay_until_recursion
    if level > 0 and can_fire(entry):
        levels[level] = levels.get(level, 0) + by
        if not levels[level]:
            del levels[level]


def _indexed_fields(entry: KeyedEntry) -> tuple[object, ...]:
    """What of an entry its segment holds: an entry that changes elsewhere need not be placed anew."""
    return (
        can_fire(entry),
        entry.keys,
        entry.secondary,
        entry.case_sensitive,
        entry.whole_words,
        entry.scan_depth,
        entry.constant,
    )
