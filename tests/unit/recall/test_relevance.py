"""A line of memory bears on a question by the rare words that it shares with it."""

from __future__ import annotations

import pytest

from previously.core.messages import message
from previously.recall.index import read_facts
from previously.recall.outline import PathEntries
from previously.recall.relevance import measure_relevance, weigh_terms
from tests.unit.recall.in_memory_index import InMemoryIndex

TOLD = ("Maya sleeps.", "Maya eats.", "Maya hides the brass key.", "Maya walks.", "Maya sings.")


def make_index(*texts: str) -> tuple[InMemoryIndex, PathEntries]:
    index = InMemoryIndex()
    for entry, text in enumerate(texts, 1):
        index.add(entry, read_facts(message("assistant", text)))
    return index, PathEntries(range(1, len(texts) + 1))


def test_a_rare_word_tells_more_than_a_name_that_is_everywhere() -> None:
    weights = weigh_terms(*make_index(*TOLD), "Where is Maya's brass key?")
    assert measure_relevance(weights, "The brass key lay in the well.") > 0.6
    assert measure_relevance(weights, "Maya was tired.") < 0.25
    assert measure_relevance(weights, "It rained.") == 0.0


def test_a_word_that_nobody_says_counts_against_a_line_that_lacks_it() -> None:
    weights = weigh_terms(*make_index(*TOLD), "Who taught Maya the violin?")
    assert measure_relevance(weights, "Maya was tired.") == pytest.approx(1 / 3, abs=0.1)
    assert measure_relevance(weights, "Bram taught her the violin.") > 0.6


def test_only_what_a_reader_may_know_decides_how_rare_a_word_is() -> None:
    index, path = make_index(*TOLD)
    seen = weigh_terms(index, path, "the brass key of Maya", allowed={0, 1})
    assert seen["brass"] == seen["maya"], "for them nobody has said brass: it weighs what the others do"


@pytest.mark.parametrize("question", ["", "?", "the"])
def test_a_question_without_words_has_no_relevance(question: str) -> None:
    assert measure_relevance(weigh_terms(*make_index(*TOLD), question), "Maya walks.") == 0.0
