"""The bundled role-play: nine speakers, and questions as its player would ask them, many in the first person."""

from __future__ import annotations

import pytest

from benchmarks.recall_data import harbour
from benchmarks.recall_pieces import count_pieces
from previously.models.word_vectors import load_word_table
from previously.recall.index import MessageFacts
from previously.recall.outline import PathEntries
from previously.recall.search import Quoted, find, make_passages
from tests.unit.recall.in_memory_index import InMemoryIndex


@pytest.mark.parametrize(("vectors", "at_least"), [(True, 0.7), (False, 0.65)])
def test_what_the_player_asks_for_is_found(vectors: bool, at_least: float) -> None:
    table = load_word_table() if vectors else None
    if vectors and table is None:
        pytest.skip("the extra recall is not installed")
    (story,) = harbour().conversations
    index = InMemoryIndex()
    told = {}
    for entry, turn in enumerate(story.turns):
        index.add(entry, MessageFacts(turn.text, turn.speaker, turn.at), table)
        told[entry] = Quoted(turn.text, turn.speaker, turn.at)
    path = PathEntries(range(len(story.turns)))
    shares = []
    for question in story.questions:
        found = find(index, path, question.text, table, asker=story.asker)
        taken = make_passages(found.hits, told, 1_000, lambda line: -(-len(line) // 4), found.outline)
        assert sum(passage.tokens for passage in taken) <= 1_000
        shares.append(sum(passage.position in question.gold for passage in taken) / len(question.gold))
    assert sum(shares) / len(shares) >= at_least


def test_evidence_that_shares_a_rare_word_with_its_question_is_found() -> None:
    if load_word_table() is None:
        pytest.skip("the extra recall is not installed")
    data = harbour()
    figures = count_pieces(data, data.conversations[0])
    assert figures["reachable"] == 100
    assert figures["rare"]["found"] >= 0.95 * figures["rare"]["pieces"] > 30
