"""What recall asks of a store: that it catches up with what was written, and answers at one moment.

The index lags behind the transcript (docs/decisions/0015): nothing is indexed when a message is added. Before a
question is asked, `index` is called until nothing waits, or as often as there is time for; what is not indexed yet is
not found. What is computed and how hits are ranked is the business of `previously.recall`, the same for every store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:  # numpy is loaded when something is indexed or asked, not when a store is opened
    from previously.recall.outline import PathEntries
    from previously.recall.search import StoryIndex
    from previously.recall.vectors import WordTable
    from previously.storage.store import StoryKey

T = TypeVar("T")

MOST_AT_ONCE = 1_000
"""Entries of a batch: a fraction of a second, of which other writers wait for a few hundredths."""

MOST_WAITING = 10_000
"""Entries that wait are counted up to here."""


class RecallStore(Protocol):
    """Keeps an index of what is said."""

    async def index(self, key: StoryKey, table: WordTable | None, *, most: int = MOST_AT_ONCE) -> int:
        """Index entries of the story that are not indexed yet, on whatever branch, the oldest first, `most` at most;
        how many still wait, counted up to `MOST_WAITING`. Without a table entries get no vectors; they get them when
        it is called with one. Not at one moment (`at_one_moment`): it writes."""

    async def recall(self, key: StoryKey, branch: str, work: Callable[[StoryIndex, PathEntries], T]) -> T:
        """What `work` makes of the story's index and the path of a branch, both of one moment. It is run where the
        store reads, which may be another thread, and asks nothing but what it is given."""
