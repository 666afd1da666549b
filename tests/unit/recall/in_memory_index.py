"""An index in memory: blocks and vectors in dictionaries. It shows what the tables of any store have to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from previously.recall.index import (
    FACT,
    POSTING,
    Block,
    IndexedEntry,
    MessageFacts,
    change_times,
    find_block,
    index_entry,
    remove_records,
)
from previously.recall.vectors import WordTable


class InMemoryIndex:
    """The index of one story."""

    def __init__(self) -> None:
        self._postings: dict[str, dict[int, bytearray]] = {}
        self._facts: dict[int, bytearray] = {}
        self._vectors: dict[int, bytes] = {}
        self._entries: dict[int, str | None] = {}
        self._speakers: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: int, facts: MessageFacts, table: WordTable | None = None) -> None:
        """Index an entry. Entries are immutable: an id that is known keeps what it has."""
        if entry not in self._entries:
            self.keep(index_entry(entry, facts, table), facts.speaker)

    def keep(self, indexed: IndexedEntry, speaker: str | None = None) -> None:
        """Keep an entry that is not known yet: each record goes to the end of its block."""
        for term, record in indexed.postings.items():
            self._postings.setdefault(term, {}).setdefault(indexed.block, bytearray()).extend(record)
        self._facts.setdefault(indexed.block, bytearray()).extend(indexed.facts)
        if indexed.vector:
            self._vectors[indexed.entry] = indexed.vector
        if speaker:
            self._speakers[speaker] += 1
        self._entries[indexed.entry] = speaker

    def keep_vectors(self, vectors: Mapping[int, bytes]) -> None:
        self._vectors.update(vectors)

    def drop_vectors(self) -> None:
        """Leave all vectors away: another table gives others."""
        self._vectors.clear()

    def retime(self, times: Mapping[int, tuple[int, int]]) -> None:
        """Give entries another minute and session. One that is not known is no error."""
        for entry, time in times.items():
            if entry in self._entries:
                block = find_block(entry)
                self._facts[block] = bytearray(change_times(self._facts[block], {entry: time}))

    def remove(self, entry: int) -> None:
        """Cut every record of an entry out. One that is not known is no error."""
        if entry not in self._entries:
            return
        block = find_block(entry)
        self._facts[block] = bytearray(remove_records(self._facts[block], (entry,), FACT))
        for term in [term for term, blocks in self._postings.items() if block in blocks]:
            left = remove_records(self._postings[term][block], (entry,), POSTING)
            if left:
                self._postings[term][block] = bytearray(left)
            else:
                del self._postings[term][block]
                if not self._postings[term]:
                    del self._postings[term]
        self._vectors.pop(entry, None)
        speaker = self._entries.pop(entry)
        if speaker:
            self._speakers[speaker] -= 1

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:
        return {term: list(self._postings[term].items()) for term in terms if term in self._postings}

    def facts(self) -> Sequence[Block]:
        return list(self._facts.items())

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:
        return {entry: self._vectors[entry] for entry in entries if entry in self._vectors}

    def speakers(self) -> Iterable[str]:
        return [name for name, messages in self._speakers.items() if messages]
