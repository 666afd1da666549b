"""What recall asks of a store: that it catches up with what was written, and answers at one moment.

The index lags behind the transcript (docs/decisions/0015): nothing is indexed when a message is added. Before a
question is asked, `index` is called until nothing waits, or as often as there is time for; what is not indexed yet is
not found. What is computed and how hits are ranked is the business of `previously.recall`, the same for every store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # numpy is loaded when something is indexed or asked, not when a store is opened
    pass

T = TypeVar("T")

MOST_AT_ONCE = 1_000
"""Entries of a batch: a fraction of a second, of which other writers wait for a few hundredths."""

MOST_WAITING = 10_000
"""Entries that wait are counted up to here."""
