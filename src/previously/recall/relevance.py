"""Relevance: how much of what a question asks for stands in one line of memory.

Messages are ranked among themselves (`recall.rank`), and the best of them is always found. A line of memory is shown as
what the story says, so it must speak of what is asked by itself, and not merely more than other lines. The measure is
the share of the question's words that the line holds, each word weighed by how rare it is in the story: in "what did
Maya do with the brass key", "brass" and "key" tell more than the name of somebody who is in every scene.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from previously.recall.outline import PathEntries
from previously.recall.query import clip_query
from previously.recall.rank import measure_rarity, place_postings
from previously.recall.search import StoryIndex, read_outline
from previously.text.words import read_terms

TermWeights = Mapping[str, float]
"""The words of a question as they are compared, each with how much it tells."""


def weigh_terms(
    index: StoryIndex, path: PathEntries, question: str, *, allowed: Collection[int] | None = None
) -> TermWeights:
    """Return the words of a question and how rare each is in the story. A word that no message holds weighs as much as
    the others do on average: it may be a word of the question's own for something that is told, or ask for what is not.
    Only `allowed` positions have a part in it."""
    terms = dict.fromkeys(read_terms(clip_query(question)).terms)
    outline = read_outline(index, path, allowed=allowed)
    placed = place_postings(index.postings(tuple(terms)), outline)
    said = {term: measure_rarity(len(posting.positions), outline.messages) for term, posting in placed.items()}
    average = sum(said.values()) / len(said) if said else 1.0
    return {term: said.get(term, average) for term in terms}


def measure_relevance(weights: TermWeights, line: str) -> float:
    """Return the share, from 0 to 1, of what a question asks for that a line holds."""
    whole = sum(weights.values())
    return sum(weights[term] for term in weights.keys() & set(read_terms(line).terms)) / whole if whole else 0.0
