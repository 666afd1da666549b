"""Parts of indexes and paths that recall has read, kept in the memory of a process. Used by any thread.

A block that is behind the last indexed entry does not change, unless what is known of an entry does, and then the
story's row in `recall_state` says so. So a turn reads the newest block, and the blocks of words that were not asked for
lately: at 100,000 messages a view took twice the time of one at 1,000 while all of them were read for each question.

The blocks kept under a stamp are those that a snapshot of that stamp would read, up to the block given. This module
decides what is kept and for how long; `recall_index` reads it and checks it against the path as it is now.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from previously.storage.tables.records import StoryKey

if TYPE_CHECKING:
    from previously.recall.index import Block, Ids
    from previously.recall.outline import PathEntries


MOST_INDEXES = 16
"""Stories of which something is kept: as many as paths."""

MOST_POSTING_BYTES = 4_000_000
"""Bytes of postings kept of a story: some eighty words that every fifth of 100,000 messages says."""

MOST_VECTORS = 8_192
"""Vectors kept of a story, a quarter of a kilobyte each: those of four or five questions, and the sample that all of
them are compared with."""

Stamp: TypeAlias = tuple[str | None, int, int, str]
"""The time at which the story was begun, the index's version, its count of changes, and whose vectors it has."""


@dataclass(frozen=True, slots=True)
class Complete:
    """The blocks below one that is not complete yet; blocks that hold nothing are not there."""

    below: int = 0
    blocks: tuple[Block, ...] = ()

    def upto(self, last: int, read: Sequence[Block]) -> tuple[list[Block], Complete]:
        """Return all blocks up to one, given those read from where this ends on, and what of them is complete."""
        blocks = [*(block for block in self.blocks if block[0] < last), *read]
        if last <= self.below:
            return blocks, self
        return blocks, Complete(last, tuple(block for block in blocks if block[0] < last))


NOTHING = Complete()


class KeptIndex:
    """The parts of one story's index that were read under one stamp."""

    def __init__(self, stamp: Stamp) -> None:
        self.stamp = stamp
        self.facts = NOTHING
        self._postings: OrderedDict[str, Complete] = OrderedDict()
        self._vectors: OrderedDict[int, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def postings(self, term: str) -> Complete:
        """Return what is kept of a term."""
        with self._lock:
            return self._postings.get(term, NOTHING)

    def keep_postings(self, found: Mapping[str, Complete]) -> None:
        """Keep postings in place of what was kept of their terms; of too many, those asked for longest ago go."""
        with self._lock:
            for term, complete in found.items():
                self._bytes += _measure(complete) - _measure(self._postings.pop(term, NOTHING))
                self._postings[term] = complete
            while self._bytes > MOST_POSTING_BYTES:
                self._bytes -= _measure(self._postings.popitem(last=False)[1])

    def vectors(self, entries: Sequence[int]) -> dict[int, bytes]:
        """Return those of these vectors that are kept."""
        with self._lock:
            return {entry: self._vectors[entry] for entry in entries if entry in self._vectors}

    def keep_vectors(self, found: Mapping[int, bytes]) -> None:
        """Keep vectors; of too many, those read longest ago go."""
        with self._lock:
            self._vectors.update(found)
            while len(self._vectors) > MOST_VECTORS:
                self._vectors.popitem(last=False)


class KeptIndexes:
    """Indexes by story; the one asked longest ago goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[StoryKey, KeptIndex] = OrderedDict()
        self._lock = Lock()

    def get(self, key: StoryKey, stamp: Stamp) -> KeptIndex:
        """Return what is kept of a story's index under this stamp; nothing of what was kept under another."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.stamp != stamp:
                kept = self._kept[key] = KeptIndex(stamp)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_INDEXES:
                self._kept.popitem(last=False)
            return kept

    def forget(self, key: StoryKey) -> None:
        """Keep nothing of a story any more."""
        with self._lock:
            self._kept.pop(key, None)


def _measure(complete: Complete) -> int:
    # A block costs its bytes and some hundred more for the objects around them.
    return sum(len(data) + 100 for _, data in complete.blocks)


MOST_PATHS = 16
"""A path takes two or three megabytes where a story has 100,000 messages: so all of them stay below 50 MB."""


@dataclass(frozen=True, slots=True)
class KeptPath:
    """A path: its nodes, and the entries of these."""

    begun: str | None
    """The time at which its story was begun: after a story was forgotten its ids may be given again."""
    nodes: Ids
    entries: PathEntries


class KeptPaths:
    """Paths by story and branch, the one asked of longest ago goes first."""

    def __init__(self) -> None:
        self.indexes: KeptIndexes = KeptIndexes()
        self._kept: OrderedDict[tuple[StoryKey, str], KeptPath] = OrderedDict()
        self._lock = Lock()

    def get(self, key: StoryKey, branch: str) -> KeptPath | None:
        """The path as it was when it was last asked of."""
        with self._lock:
            return self._kept.get((key, branch))

    def keep(self, key: StoryKey, branch: str, path: KeptPath) -> None:
        """Keep it, in place of what was kept of the branch."""
        with self._lock:
            self._kept[key, branch] = path
            self._kept.move_to_end((key, branch))
            while len(self._kept) > MOST_PATHS:
                self._kept.popitem(last=False)

    def forget(self, key: StoryKey) -> None:
        """Keep no path of a story any more, and nothing of its index."""
        self.indexes.forget(key)
        with self._lock:
            for known in [one for one in self._kept if one[0] == key]:
                del self._kept[known]
