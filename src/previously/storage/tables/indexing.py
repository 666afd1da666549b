"""Indexing what is new, in batches. Called inside a snapshot or a transaction.

A batch is read and computed where nobody waits for it (`read_batch`), then written in one short transaction
(`keep_batch`), which keeps it only if the story's state is still that in which it was read. What a batch says of a term
in a block is joined before it is written, so that a thousand messages touch a row once and not for each message.

What must stay true: an entry is never indexed twice, whoever else is at it; after a crash the index is what it was
before or after a batch. A new `INDEX_VERSION` begins at the first entry: a block is emptied when it is first written
to, and what was not written to yet lies behind `through`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from previously.recall.blocks import block_of
from previously.recall.index import INDEX_VERSION, facts_of_entry, index_entry
from previously.recall.vectors import WordTable
from previously.storage.recall_store import MOST_WAITING
from previously.storage.rows import entry_of
from previously.storage.tables.index_state import IndexState, keep_state, read_state, values_of
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Session


@dataclass(frozen=True, slots=True)
class Batch:
    """What is new of some entries, joined by block."""

    read: IndexState | None
    """The state in which it was read."""
    start: IndexState
    """The state it goes on from: that, without what does not count any more."""
    end: IndexState
    postings: Mapping[tuple[int, str], bytes | bytearray]
    """By block and term, what is appended."""
    facts: Mapping[int, bytes | bytearray]
    vectors: Sequence[tuple[int, bytes]]
    speakers: Collection[str]
    waiting: int
    """How many entries are not indexed after it."""


def read_batch(session: Session, key: StoryKey, table: WordTable | None, most: int) -> Batch | None:
    """The next entries that are not indexed, `most` at most, as the index keeps them; None if there are none."""
    begun, read = read_state(session, key)
    if begun is None:
        return None
    start = _start(read, table)
    if read is None:
        return Batch(None, start, start, {}, {}, (), (), 0)
    after = start.through if table is None else min(start.through, start.vectors_through)
    rows = session.rows("entries_to_index", {"after": after, "most": most, **values_of(key)})
    if not rows and start == read:
        return None
    postings: defaultdict[tuple[int, str], bytearray] = defaultdict(bytearray)
    facts: defaultdict[int, bytearray] = defaultdict(bytearray)
    vectors: list[tuple[int, bytes]] = []
    speakers: set[str] = set()
    last = after
    for row in rows:
        entry = entry_of(row)
        indexed = index_entry(entry.id, facts_of_entry(entry), table)
        if entry.id > start.through:
            for term, record in indexed.postings.items():
                postings[indexed.block, term] += record
            facts[indexed.block] += indexed.facts
            speakers |= {entry.message.speaker} if entry.message.speaker else set()
        if indexed.vector and entry.id > start.vectors_through:
            vectors.append((entry.id, indexed.vector))
        last = entry.id
    end = replace(
        start,
        through=max(start.through, last),
        vectors_through=start.vectors_through if table is None else max(start.vectors_through, last),
    )
    waiting = 0
    if len(rows) == most:
        counted = session.one("count_to_index", {"after": last, "most": MOST_WAITING, **values_of(key)})
        waiting = counted[0] if counted else 0
    return Batch(read, start, end, postings, facts, vectors, speakers, waiting)


def keep_batch(session: Session, key: StoryKey, batch: Batch) -> bool:
    """Write a batch; False if it has to be read anew, because the story was indexed, or changed, meanwhile."""
    _, now = read_state(session, key)
    if now is None:
        session.run("insert_recall_state", {"version": INDEX_VERSION, **values_of(key)})
    if now is None or now != batch.read:
        return False
    start, end = batch.start, batch.end
    own = {"first": block_of(start.through) + 1, "last": block_of(end.through), **values_of(key)}
    session.run("delete_postings", own)
    session.run("delete_facts", own)
    session.many(
        "append_posting",
        ((key.owner, key.story, block, term, data) for (block, term), data in sorted(batch.postings.items())),
    )
    session.many("append_facts", ((key.owner, key.story, block, data) for block, data in sorted(batch.facts.items())))
    own |= {"first": start.vectors_through + 1, "last": end.vectors_through}
    session.run("delete_vectors", own)
    session.many("insert_vector", ((key.owner, key.story, entry, data) for entry, data in batch.vectors))
    session.many("insert_speaker", ((key.owner, key.story, name) for name in sorted(batch.speakers)))
    keep_state(session, key, end)
    return True


def _start(state: IndexState | None, table: WordTable | None) -> IndexState:
    """The state to go on from: what another version made does not count, nor do the vectors of another table."""
    if state is None:
        return IndexState(INDEX_VERSION)
    if state.version != INDEX_VERSION:
        state = IndexState(INDEX_VERSION, changes=state.changes)
    if table is not None and table.name != state.word_table:
        state = replace(state, word_table=table.name, vectors_through=-1)
    return state
