"""Write the index of a story in batches, and read it for recall. Called inside a snapshot or a transaction.

A batch is read and computed where nobody waits for it (`read_batch`), then written in one short transaction
(`keep_batch`), which keeps it only if the story's state is still that in which it was read. All that a batch says of a
term in a block is joined before it is written, so that a thousand messages touch a row once and not for each message.
An entry is never indexed twice, whoever else indexes; after a crash the index is as it was before or after a batch. A
new `INDEX_VERSION` begins at the first entry: a block is emptied when it is first written to, and blocks not written to
yet lie behind `through`.

To read the ids of a path takes as long as the path is; but a node always has the same messages before it. So a process
keeps the ids of a path with those of its nodes. Of a path that has changed it reads only the part after the last node
they have in common, which it finds by halving. Blocks of the index that do not change are kept too (`recall_cache`).
`read_path_entries` and `open_story_index` give the state at the moment of the snapshot, whatever was kept before.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from previously.recall.index import INDEX_VERSION, Block, Ids, find_block, index_entry, read_entry_facts
from previously.recall.outline import PathEntries
from previously.recall.search import EmptyIndex, StoryIndex
from previously.recall.vectors import WordTable
from previously.storage.tables.index_state import MOST_WAITING, keep_state, read_state
from previously.storage.tables.paths import Lines, Segment
from previously.storage.tables.recall_cache import KeptIndex, KeptIndexes, KeptPath, KeptPaths
from previously.storage.tables.records import IndexState, StoryKey
from previously.storage.tables.rows import read_entry
from previously.storage.tables.session import Row, Session
from previously.storage.tables.stories import BranchRow


@dataclass(frozen=True, slots=True)
class Batch:
    """The new records of some entries, joined by block."""

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
    """The number of entries that are not indexed after it."""


def read_batch(session: Session, key: StoryKey, table: WordTable | None, most: int) -> Batch | None:
    """The next entries that are not indexed, `most` at most, as the index keeps them; None if there are none."""
    begun, read = read_state(session, key)
    if begun is None:
        return None
    start = _choose_start(read, table)
    if read is None:
        return Batch(None, start, start, {}, {}, (), (), 0)
    after = start.through if table is None else min(start.through, start.vectors_through)
    rows = session.rows("entries_to_index", {"after": after, "most": most, **key.values})
    if not rows and start == read:
        return None
    postings: defaultdict[tuple[int, str], bytearray] = defaultdict(bytearray)
    facts: defaultdict[int, bytearray] = defaultdict(bytearray)
    vectors: list[tuple[int, bytes]] = []
    speakers: set[str] = set()
    last = after
    for row in rows:
        entry = read_entry(row)
        indexed = index_entry(entry.id, read_entry_facts(entry), table)
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
        counted = session.one("count_to_index", {"after": last, "most": MOST_WAITING, **key.values})
        waiting = counted[0] if counted else 0
    return Batch(read, start, end, postings, facts, vectors, speakers, waiting)


def keep_batch(session: Session, key: StoryKey, batch: Batch) -> bool:
    """Write a batch; False if it has to be read anew, because the story was indexed, or changed, meanwhile."""
    _, now = read_state(session, key)
    if now is None:
        session.run("insert_recall_state", {"version": INDEX_VERSION, **key.values})
    if now is None or now != batch.read:
        return False
    start, end = batch.start, batch.end
    own = {"first": find_block(start.through) + 1, "last": find_block(end.through), **key.values}
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


def _choose_start(state: IndexState | None, table: WordTable | None) -> IndexState:
    """The state to go on from: what another version made does not count, nor do the vectors of another table."""
    if state is None:
        return IndexState(INDEX_VERSION)
    if state.version != INDEX_VERSION:
        state = IndexState(INDEX_VERSION, changes=state.changes)
    if table is not None and table.name != state.word_table:
        state = replace(state, word_table=table.name, vectors_through=-1)
    return state


def open_story_index(session: Session, key: StoryKey, indexes: KeptIndexes) -> StoryIndex:
    """The index of a story; an empty one where it was not indexed, or by another version."""
    begun, state = read_state(session, key)
    if state is None or state.version != INDEX_VERSION:
        return EmptyIndex()
    kept = indexes.get(key, (begun, state.version, state.changes, state.word_table))
    return _TableIndex(session, key, state, kept)


class _TableIndex:
    """A `StoryIndex` on tables."""

    def __init__(self, session: Session, key: StoryKey, state: IndexState, kept: KeptIndex) -> None:
        self._session = session
        self._last = find_block(state.through)
        self._asked = key.values
        self._vectors_through = state.vectors_through
        self._kept = kept

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:
        """The blocks of postings of these terms."""
        kept = {term: self._kept.postings(term) for term in terms if _can_be_kept(term)}
        by_first: defaultdict[int, list[str]] = defaultdict(list)
        for term, complete in kept.items():
            by_first[min(complete.below, self._last)].append(term)
        read: defaultdict[str, list[Block]] = defaultdict(list)
        for first, asked in by_first.items():
            values = {**self._asked, "first": first, "last": self._last, "terms": json.dumps(asked, ensure_ascii=False)}
            for term, block, data in self._session.rows("postings", values):
                read[term].append((block, data))
        postings = {term: complete.upto(self._last, read[term]) for term, complete in kept.items()}
        self._kept.keep_postings({term: complete for term, (_, complete) in postings.items()})
        return {term: blocks for term, (blocks, _) in postings.items() if blocks}

    def facts(self) -> Sequence[Block]:
        """The blocks of facts."""
        kept = self._kept.facts
        values = {**self._asked, "first": min(kept.below, self._last), "last": self._last}
        found, self._kept.facts = kept.upto(
            self._last, [(number, data) for number, data in self._session.rows("facts", values)]
        )
        return found

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:
        """The vectors of these entries."""
        asked = [entry for entry in entries if entry <= self._vectors_through]
        vectors = self._kept.vectors(asked)
        missing = json.dumps([entry for entry in asked if entry not in vectors])
        values = {**self._asked, "last": self._vectors_through, "entries": missing}
        read: dict[int, bytes] = dict(self._session.rows("vectors", values))
        self._kept.keep_vectors(read)
        return vectors | read

    def speakers(self) -> Iterable[str]:
        """The names that speak in the story."""
        return [name for (name,) in self._session.rows("speakers", self._asked)]


def _can_be_kept(term: str) -> bool:
    """Return whether a database can hold the term. A question may hold others; a message never does."""
    return "\x00" not in term and not any("\ud800" <= letter <= "\udfff" for letter in term)


def read_path_entries(session: Session, key: StoryKey, branch: BranchRow, paths: KeptPaths) -> PathEntries:
    """The entries of a branch's path."""
    begun, _ = read_state(session, key)
    kept = paths.get(key, branch.name)
    if kept is None or kept.begun != begun:
        kept = KeptPath(begun, np.zeros(0, np.int64), PathEntries(()))
    path = _Path(session, key, branch)
    common = path.common(kept.nodes)
    if not common == len(kept.nodes) == branch.messages:
        rows = np.asarray(path.rows(common), np.int64).reshape(-1, 2)
        nodes = np.concatenate((kept.nodes[:common], rows[:, 0]))
        entries = np.concatenate((kept.entries.ids[:common], rows[:, 1]))
        kept = KeptPath(begun, nodes, PathEntries(entries))
    paths.keep(key, branch.name, kept)
    return kept.entries


class _Path:
    """The path of a branch, read through its lines."""

    def __init__(self, session: Session, key: StoryKey, branch: BranchRow) -> None:
        self._session = session
        self._owner = key.owner
        self._messages = branch.messages
        self._segments = Lines(session).segments(key, branch.line, 0, branch.messages - 1)

    def rows(self, first: int) -> list[Row]:
        """Node and entry of each position from one on."""
        found: list[Row] = []
        for segment in reversed(self._segments):
            if segment.last >= first:
                found += self._read(segment, max(first, segment.first), segment.last)
        return found

    def common(self, nodes: Ids) -> int:
        """Count the nodes that this path and another have in common, from the front. Looks at the end first: most paths
        have grown there, or have a few messages replaced."""
        low, high, step = 0, min(len(nodes), self._messages), 1  # the first `low` are in common, none from `high` on
        while low < high:
            at = max(low, high - step) if step else (low + high) // 2
            if self._read_node(at) == nodes[at]:
                low, step = at + 1, 0
            else:
                high, step = at, 2 * step
        return low

    def _read_node(self, depth: int) -> int:
        segment = next(one for one in self._segments if one.first <= depth)
        return int(self._read(segment, depth, depth)[0][0])

    def _read(self, segment: Segment, first: int, last: int) -> list[Row]:
        values = {"line": segment.line, "first": first, "last": last, "owner": self._owner}
        return self._session.rows("path_ids", values)
