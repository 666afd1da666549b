"""Lines that a model noted, as an index of their own: a line that speaks of what is asked brings its messages.

A question and the message that answers it may share no word: "Is the roof mended?" and "The last slate is on." The note
between them says both. Lines are ranked as messages are, by words and by meaning, and what a line scores is passed on
to the messages that it names. Nothing of a line is shown: it only says where to look.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from previously.core.note import NotedLine
from previously.recall.index import Block, MessageFacts, index_entry
from previously.recall.outline import PathEntries
from previously.recall.query import Query
from previously.recall.search import read_outline, search
from previously.recall.vectors import WordTable

MOST_LINES = 40
"""Lines that pass their score on, the best: a question is about one matter, and a matter has some ten lines."""


class NotedLines:
    """The noted lines of one story at one moment."""

    def __init__(self, lines: Sequence[NotedLine], table: WordTable | None) -> None:
        self._lines = lines
        self._table = table
        self._postings: dict[str, dict[int, bytearray]] = {}
        self._facts: dict[int, bytearray] = {}
        self._vectors: dict[int, bytes] = {}
        for number, line in enumerate(lines):
            # Each line is a session of its own: those beside it speak of other things.
            indexed = index_entry(number, MessageFacts(line.text, session=str(number)), table)
            for term, record in indexed.postings.items():
                self._postings.setdefault(term, {}).setdefault(indexed.block, bytearray()).extend(record)
            self._facts.setdefault(indexed.block, bytearray()).extend(indexed.facts)
            if indexed.vector:
                self._vectors[number] = indexed.vector
        self._outline = read_outline(self, PathEntries(range(len(lines)))) if lines else None

    def find_places(self, query: Query) -> dict[int, float]:
        """Return the positions of the messages that lines about a question name, each with the best score of these."""
        places: dict[int, float] = {}
        if self._outline is None:
            return places
        for hit in search(self, self._outline, query, self._table, most=MOST_LINES):
            for position in self._lines[hit.position].positions:
                places[position] = max(places.get(position, 0.0), hit.score)
        return places

    def postings(self, terms: Collection[str]) -> Mapping[str, Sequence[Block]]:
        return {term: list(self._postings[term].items()) for term in terms if term in self._postings}

    def facts(self) -> Sequence[Block]:
        return list(self._facts.items())

    def vectors(self, entries: Sequence[int]) -> Mapping[int, bytes]:
        return {entry: self._vectors[entry] for entry in entries if entry in self._vectors}

    def speakers(self) -> Iterable[str]:
        return ()
