"""The methods that `benchmarks.recall` compares. Each is given a conversation and answers its questions.

A baseline gives an order of all turns before the question's limit; it takes them in that order while they fit the
budget, leaving out what does not. *bm25s* is that package with its English stop words and Porter's stemmer; *wordllama*
is that package's own embedding and cosine; *BM25 + wordllama* adds both, each stretched to 0–1; *MiniLM* is the
transformer all-MiniLM-L6-v2 (`benchmarks.minilm`), alone and added to BM25 in the same way. All baselines read the line
that is charged, speaker and date included; ours is given those as facts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import bm25s
import numpy as np
from nltk.stem.porter import PorterStemmer

from benchmarks import minilm
from benchmarks.recall_data import Conversation, DataSet, Question
from previously.models.dictionaries import load_word_books
from previously.models.word_vectors import load_word_table
from previously.recall.bridge import bridge_query
from previously.recall.index import MessageFacts
from previously.recall.outline import Outline, PathEntries
from previously.recall.query import split_questions, understand
from previously.recall.rank import WEIGHTS, Weights
from previously.recall.search import PRICES, Prices, choose_hits, find_heard, merge_hits, read_outline, search
from tests.unit.recall.in_memory_index import InMemoryIndex

Scores: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float32]]
Answer: TypeAlias = tuple[list[int], list[int]]
"""The positions in order, best first, and those taken into the budget."""

Answering: TypeAlias = Callable[[Question], Answer]
Method: TypeAlias = Callable[[DataSet, Conversation], Answering]


@dataclass(frozen=True)
class Ours:
    """Recall as it ships, or with something switched off."""

    weights: Weights = WEIGHTS
    prices: Prices = PRICES
    vectors: bool = True
    speakers: bool = True
    books: bool = False
    """With the dictionaries that are installed."""

    def __call__(self, data: DataSet, conversation: Conversation) -> Answering:
        """Index the conversation once, then answer on the path up to each question."""
        table = load_word_table() if self.vectors else None
        index = indexed(conversation, self.vectors)
        names = tuple(sorted({turn.speaker for turn in conversation.turns})) if self.speakers else ()
        costs = {at: turn.cost for at, turn in enumerate(conversation.turns)}

        @lru_cache(maxsize=1)
        def path(limit: int) -> Outline:
            return read_outline(index, PathEntries(range(limit)))

        def answer(question: Question) -> Answer:
            queries = [
                understand(
                    part,
                    speakers=names,
                    asker=conversation.asker if self.speakers else None,
                    asked=(question.asked or conversation.asked) if self.speakers else None,
                    today=question.today,
                )
                for part in split_questions(question.text)
            ]
            shape = path(question.limit)
            if self.books:
                heard = partial(find_heard, index, shape)
                queries = [
                    bridge_query(part, query, heard, load_word_books())
                    for part, query in zip(split_questions(question.text), queries, strict=True)
                ]
            hits = merge_hits([search(index, shape, query, table, weights=self.weights) for query in queries])
            taken = choose_hits(hits, data.budget, costs, shape, prices=self.prices)
            return [hit.position for hit in hits], [hit.position for hit in taken]

        return answer


_INDEXES: dict[tuple[int, bool], tuple[Conversation, InMemoryIndex]] = {}


def indexed(conversation: Conversation, vectors: bool) -> InMemoryIndex:
    """The index of a conversation, made once."""
    key = (id(conversation), vectors)
    if key not in _INDEXES:
        index = InMemoryIndex()
        table = load_word_table() if vectors else None
        for at, turn in enumerate(conversation.turns):
            index.add(at, MessageFacts(turn.text, turn.speaker, turn.at, str(turn.session)), table)
        _INDEXES[key] = (conversation, index)
    return _INDEXES[key][1]


def baseline(scores_of: Callable[[Conversation], Callable[[Question], Scores]]) -> Method:
    """A method that only orders."""

    def method(data: DataSet, conversation: Conversation) -> Answering:
        scores = scores_of(conversation)

        def answer(question: Question) -> Answer:
            order: list[int] = np.argsort(-scores(question), kind="stable").tolist()
            taken: list[int] = []
            left = data.budget
            for at in order:
                if conversation.turns[at].cost <= left:
                    left -= conversation.turns[at].cost
                    taken.append(at)
            return order, taken

        return answer

    return method


def _recency(_: Conversation) -> Callable[[Question], Scores]:
    return lambda question: np.arange(question.limit, dtype=np.float32)


def _shown(conversation: Conversation) -> list[str]:
    return [turn.line for turn in conversation.turns]


def _bm25s(conversation: Conversation) -> Callable[[Question], Scores]:
    said = _tokens(_shown(conversation))

    @lru_cache(maxsize=1)
    def index(limit: int) -> Any:
        built = bm25s.BM25()
        built.index(said[:limit], show_progress=False)
        return built

    def scores(question: Question) -> Scores:
        asked = _tokens([question.text])[0]
        if not asked:
            return np.zeros(question.limit, np.float32)
        return np.asarray(index(question.limit).get_scores(asked), np.float32)

    return scores


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    stem = lru_cache(maxsize=None)(PorterStemmer().stem)
    found: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=lambda words: [stem(word) for word in words], return_ids=False,
        show_progress=False,
    )  # fmt: skip
    return found


def _wordllama(conversation: Conversation) -> Callable[[Question], Scores]:
    model = _wordllama_model()
    rows = _unit(model.embed(_shown(conversation)))
    return lambda question: np.asarray(rows[: question.limit] @ _unit(model.embed(question.text))[0], np.float32)


@lru_cache(maxsize=1)
def _wordllama_model() -> Any:
    logging.disable(logging.INFO)  # it turns the root logger on when imported
    from wordllama import WordLlama

    found = find_spec("wordllama")
    assert found is not None and found.submodule_search_locations
    return WordLlama.load(cache_dir=Path(found.submodule_search_locations[0]), disable_download=True, dim=256)


def _minilm(conversation: Conversation) -> Callable[[Question], Scores]:
    rows = minilm.embed(_shown(conversation))
    return lambda question: np.asarray(rows[: question.limit] @ minilm.embed([question.text])[0], np.float32)


def _added(*parts: Callable[[Conversation], Callable[[Question], Scores]]) -> Any:
    def scores_of(conversation: Conversation) -> Callable[[Question], Scores]:
        each = [part(conversation) for part in parts]
        return lambda question: np.asarray(sum(_to_one(scores(question)) for scores in each), np.float32)

    return scores_of


def _to_one(scores: Scores) -> Scores:
    low, high = float(scores.min()), float(scores.max())
    return np.asarray((scores - low) / (high - low), np.float32) if high > low else np.zeros_like(scores)


def _unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)


def methods(*, with_minilm: bool) -> dict[str, Method]:
    """All methods by name, in the order of the table."""
    found: dict[str, Method] = {
        "recency": baseline(_recency),
        "bm25s": baseline(_bm25s),
        "wordllama": baseline(_wordllama),
        "BM25 + wordllama": baseline(_added(_bm25s, _wordllama)),
    }
    if with_minilm:
        found["MiniLM"] = baseline(_minilm)
        found["BM25 + MiniLM"] = baseline(_added(_bm25s, _minilm))
    found |= {"ours, words only": Ours(vectors=False), "ours": Ours()}
    return found | ({"ours, with dictionaries": Ours(books=True)} if load_word_books() else {})
