"""What recall costs: CPU time of a question in a warm process on generated stories, and of indexing a message."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.recall_data import DataSet
from previously.demo.long_story import generate_story
from previously.models.word_vectors import load_word_table
from previously.recall.index import MessageFacts, index_entry
from previously.recall.outline import PathEntries
from previously.recall.search import find
from previously.recall.vectors import WordTable
from tests.unit.recall.in_memory_index import InMemoryIndex

SIZES = (10_000, 100_000)

QUESTIONS = (
    "Who has the brass key?",
    "What did Tess promise Orsa about the lantern?",
    "Where was the letter hidden?",
    "How many crowns were paid for the silver comb?",
    "When will they meet at the Salt Stairs?",
    "Who was seen at the charcoal kilns, and what did they carry?",
    "Nobody told me that somebody had been living at the Weir House; what do we know about the house, who was there, "
    "and when did the lights go out?",
)


def speed(sizes: Sequence[int]) -> dict[str, Any]:
    """CPU milliseconds of a question on generated stories, and of indexing one of their messages."""
    table = load_word_table()
    by_size: dict[str, Any] = {}
    for size in sizes:
        index = InMemoryIndex()
        story = [MessageFacts(str(one["content"]), str(one["name"])) for one in generate_story(size)]
        started = time.process_time()
        for at, facts in enumerate(story):
            index.add(at, facts, table)
        indexing = (time.process_time() - started) / size
        path = PathEntries(range(size))
        times: list[float] = []
        for question in QUESTIONS * 6:
            started = time.process_time()
            find(index, path, question, table)
            times.append(time.process_time() - started)
        warm = times[len(QUESTIONS) :]
        by_size[str(size)] = {
            "query_ms": round(1000 * statistics.median(warm), 2),
            "query_p95_ms": round(1000 * statistics.quantiles(warm, n=20)[-1], 2),
            "index_ms": round(1000 * indexing, 3),
            "bytes": round(statistics.fmean(_bytes(at, facts, table) for at, facts in enumerate(story[:1_000]))),
        }
        print(f"speed: {size:,} messages", file=sys.stderr, flush=True)
    medians = [figures["query_ms"] for figures in by_size.values()]
    return by_size | {"ratio": round(medians[-1] / medians[0], 2)}


def _bytes(entry: int, facts: MessageFacts, table: WordTable | None) -> int:
    """How many bytes are kept of a message."""
    indexed = index_entry(entry, facts, table)
    return sum(map(len, indexed.postings.values())) + len(indexed.facts) + len(indexed.vector)


def indexing(data: DataSet) -> float:
    """CPU milliseconds of indexing one message of a data set."""
    table = load_word_table()
    turns = [turn for conversation in data.conversations for turn in conversation.turns]
    started = time.process_time()
    for turn in turns:
        index_entry(0, MessageFacts(turn.text, turn.speaker, turn.at), table)
    return round(1000 * (time.process_time() - started) / len(turns), 3)
