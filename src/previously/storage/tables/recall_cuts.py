"""Change the index's records of entries: cut them out, or give them other times. Called inside a transaction.

Afterwards nothing is left of an entry that was cut, in any block; records of others stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from previously.core.messages import Attributes
from previously.recall.index import FACT, INDEX_VERSION, POSTING, change_times, find_block, read_times, remove_records
from previously.storage.tables.records import IndexState, StoryKey
from previously.storage.tables.session import Session


def cut_entries(session: Session, key: StoryKey, state: IndexState, entries: Collection[int]) -> IndexState:
    """Cut entries out of every block that may hold something of them, whatever its term; return the new state."""
    for block, own in _group_by_block(entries).items():
        if _is_current(state, block):
            _cut_block(session, key, block, own)
        else:  # kept by another version, in a way that is not known here
            which = {"first": block, "last": block, **key.values}
            session.run("delete_postings", which)
            session.run("delete_facts", which)
    session.many("delete_vector", ((key.story, entry, key.owner) for entry in sorted(entries)))
    session.run("delete_silent_speakers", {"through": state.through, **key.values})
    changed = state if state.version == INDEX_VERSION else IndexState(INDEX_VERSION)
    return replace(changed, changes=state.changes + 1)


def change_entry_times(
    session: Session, key: StoryKey, state: IndexState, changes: Sequence[tuple[int, Attributes]]
) -> IndexState:
    """Give entries the times that their attributes say; return the new state."""
    new = {entry: read_times(attributes) for entry, attributes in changes}
    for block, own in _group_by_block(new).items():
        which = {"first": block, "last": block, **key.values}
        for _, data in session.rows("facts", which) if _is_current(state, block) else ():
            after = change_times(data, {entry: new[entry] for entry in own})
            if after != data:
                session.run("set_facts", (after, key.story, block, key.owner))
    return replace(state, changes=state.changes + 1)


def _cut_block(session: Session, key: StoryKey, block: int, entries: Collection[int]) -> None:
    gone: list[tuple[object, ...]] = []
    left: list[tuple[object, ...]] = []
    for term, data in session.rows("postings_of_block", {"block": block, **key.values}):
        after = remove_records(data, entries, POSTING)
        if not after:
            gone.append((key.story, block, term, key.owner))
        elif len(after) < len(data):
            left.append((after, key.story, block, term, key.owner))
    session.many("delete_posting", gone)
    session.many("set_posting", left)
    which = {"first": block, "last": block, **key.values}
    for _, data in session.rows("facts", which):
        after = remove_records(data, entries, FACT)
        if after:
            session.run("set_facts", (after, key.story, block, key.owner))
        else:
            session.run("delete_facts", which)


def _is_current(state: IndexState, block: int) -> bool:
    """Return whether the records of this block are of the index as it is now."""
    return state.version == INDEX_VERSION and block <= find_block(state.through)


def _group_by_block(entries: Iterable[int]) -> dict[int, list[int]]:
    blocks: defaultdict[int, list[int]] = defaultdict(list)
    for entry in entries:
        blocks[find_block(entry)].append(entry)
    return blocks
