"""The paths that recall was asked of last, and their stories' indexes, kept in the memory of a process. Used by any
thread.

Owns which are kept and for how long; how they are read, and checked against what a path is now, is the business of
`index_reading`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from previously.storage.tables.kept_index import KeptIndexes
from previously.storage.tables.records import StoryKey

if TYPE_CHECKING:
    from previously.recall.blocks import Ids
    from previously.recall.outline import PathEntries

MOST_PATHS = 16
"""Paths that are kept: two or three megabytes each where a story has 100,000 messages."""


@dataclass(frozen=True, slots=True)
class KeptPath:
    """A path: its nodes, and the entries of these."""

    begun: str | None
    """When its story was begun: after a story was forgotten its ids may be given again."""
    nodes: Ids
    entries: PathEntries


class KeptPaths:
    """Paths by story and branch, the one asked of longest ago goes first."""

    def __init__(self) -> None:
        self.indexes = KeptIndexes()
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
