"""The summarizers the built-in writer is compared with, all rolling: (recap + batch) in, recap out.

`lead` keeps the first words, `tail` the newest, `random` seeded sentences; LexRank, TextRank and LSA are sumy's, with
a tokenizer of our own because sumy's default downloads data. The baselines share one sentence
splitter and see no speakers; the built-in writer gets the messages with their speakers and splits them itself. All
have the same target. LSA builds on sets, so its figures move a little with the hash seed.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.summarizers.lsa import LsaSummarizer
from sumy.summarizers.text_rank import TextRankSummarizer

Rewriter = Callable[[list[str], list[str], int], list[str]]
"""Recap sentences, new sentences, target words -> recap sentences."""

_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(A-Z0-9])")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


def sentences(text: str) -> list[str]:
    """A plain sentence splitter, shared by the baselines."""
    return [piece.strip() for piece in _SENTENCE.split(" ".join(text.split())) if _WORD.search(piece)]


class OwnTokenizer:
    """What sumy asks of a tokenizer, without downloaded data."""

    language = "english"

    def to_words(self, sentence: str) -> tuple[str, ...]:
        """Lower-case words."""
        return tuple(word.lower() for word in _WORD.findall(sentence))


def lead(recap: list[str], batch: list[str], target: int) -> list[str]:
    """The first sentences of the story."""
    return _fit([*recap, *batch], range(len(recap) + len(batch)), target)


def tail(recap: list[str], batch: list[str], target: int) -> list[str]:
    """The newest sentences."""
    pool = [*recap, *batch]
    return _fit(pool, range(len(pool) - 1, -1, -1), target)


def seeded_random(seed: int) -> Rewriter:
    """Sentences drawn at random, the same ones for the same seed."""
    generator = random.Random(seed)

    def draw(recap: list[str], batch: list[str], target: int) -> list[str]:
        pool = [*recap, *batch]
        order = list(range(len(pool)))
        generator.shuffle(order)
        return _fit(pool, order, target)

    return draw


def sumy_system(name: str) -> Rewriter:
    """One of sumy's summarizers by name, ranking the pool afresh at each batch."""
    summarizer = {"LexRank": LexRankSummarizer, "TextRank": TextRankSummarizer, "LSA": LsaSummarizer}[name]()
    tokenizer = OwnTokenizer()

    def rank(recap: list[str], batch: list[str], target: int) -> list[str]:
        document = ObjectDocumentModel([Paragraph([Sentence(text, tokenizer) for text in [*recap, *batch]])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [str(sentence) for sentence in summarizer(document, _while_they_fit(target))]

    return rank


def _while_they_fit(target: int) -> Callable[[Sequence[Any]], list[Any]]:
    """sumy takes "how many" as a function of its ranked sentences: as many as fit the words."""

    def take(ranked: Sequence[Any]) -> list[Any]:
        kept = set(_taken([str(info.sentence) for info in ranked], range(len(ranked)), target))
        return [info for index, info in enumerate(ranked) if index in kept]

    return take


def _fit(pool: list[str], order: Iterable[int], target: int) -> list[str]:
    """Sentences taken in `order` while they fit the target, given back in story order."""
    return [pool[index] for index in sorted(_taken(pool, order, target))]


def _taken(pool: Sequence[str], order: Iterable[int], target: int) -> list[int]:
    taken: list[int] = []
    words = 0
    for index in order:
        cost = len(pool[index].split())
        if words + cost <= target:
            taken.append(index)
            words += cost
    return taken
