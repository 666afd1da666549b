"""The progress of a story's index, and the way changes to its entries reach the index. Called inside a transaction.

The index lags behind the transcript (docs/decisions/0015): nothing is indexed when a message is added. Before a
question is asked, `index` is called until nothing waits, or as often as there is time for; an entry that is not indexed
yet is not found. `previously.recall` decides what is computed and how hits are ranked, the same for every store.

This module owns the row of a story in `recall_state`. The indexer reads entries first, computes, and writes later: it
keeps its result only if this row is still the one it read. So every change to an entry (`forget`, `gc`, new attributes)
cuts or replaces what is kept of it and changes the row. A story that was never indexed has no row, and nothing to be
changed; the indexer makes the row before it reads the first entry.

An entry up to `through` has its records, exactly once, unless it was forgotten; rows of blocks behind that of
`through`, and vectors behind `vectors_through`, count as if they were not there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace

from previously.core.messages import Attributes
from previously.storage.tables.records import IndexState, StoryKey
from previously.storage.tables.session import Session


def read_state(session: Session, key: StoryKey) -> tuple[str | None, IndexState | None]:
    """Return the time at which the story was begun, None if it is not there; and the state of its index, None if it has
    none."""
    row = session.one("recall_state", key.values)
    if row is None:
        return None, None
    begun, *state = row
    return begun, None if state[0] is None else IndexState(*state)


def keep_state(session: Session, key: StoryKey, state: IndexState) -> None:
    """Keep the row of a story that has one."""
    session.run("set_recall_state", {**asdict(state), **key.values})


def forget_entries(session: Session, key: StoryKey, entries: Collection[int]) -> None:
    """Cut what is kept of entries out of the index, after they were forgotten."""
    _, state = read_state(session, key)
    if state is not None:
        from previously.storage.tables.recall_cuts import cut_entries  # brings numpy

        keep_state(session, key, cut_entries(session, key, state, entries))


def delete_entries(session: Session, key: StoryKey, entries: Collection[int]) -> None:
    """The same after entries were deleted. Their ids may be given again, so that none may count as indexed."""
    if not entries:
        return
    forget_entries(session, key, entries)
    _, state = read_state(session, key)
    newest = session.one("newest_entry", key.values)
    if state is not None and newest is not None:
        through, vectors_through = min(state.through, newest[0]), min(state.vectors_through, newest[0])
        keep_state(session, key, replace(state, through=through, vectors_through=vectors_through))


def change_attributes(session: Session, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
    """Give what is kept of entries the times of their new attributes."""
    _, state = read_state(session, key)
    if state is not None and changes:
        from previously.storage.tables.recall_cuts import change_entry_times  # brings numpy

        keep_state(session, key, change_entry_times(session, key, state, changes))


MOST_AT_ONCE = 1_000
"""Entries of a batch: a fraction of a second, of which other writers wait for a few hundredths."""

MOST_WAITING = 10_000
"""More than that many waiting entries are not counted: an exact number helps nobody, and counting takes time."""
