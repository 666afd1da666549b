"""Quote or flag: where each sentence of an answer comes from.

Owns the search for the message and the words that support a sentence. What must stay true: what is found is a message
that really holds these words; what has no support is only marked, never refused for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from previously.core.words import count_words
from previously.folds.builtin.names import NameBook
from previously.folds.checks.material import Material, book_of, material_of
from previously.folds.checks.traces import content_of, has_name, names_in, numbers_in
from previously.folds.checks.verdict import Asked
from previously.text.sentences import whole_sentences

NEAR = 0.25
"""The share of a sentence's telling words that one message has to have."""

ANYWHERE = 0.45
"""The share that all that was read has to have: a recap gathers one sentence from several messages."""

_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Support:
    """A sentence of an answer, the message that holds most of its words, and those words.

    `message` counts the messages of the delta from 0; None stands for the earlier text. No words = no support.
    """

    sentence: str
    message: int | None
    words: tuple[str, ...]


def find_support(asked: Asked, text: str) -> tuple[Support, ...]:
    """For each sentence of the text the message that supports it best."""
    material = material_of(asked)
    found = supports(material, text, book_of(material, text))
    place = _positions(asked, material)
    return tuple(Support(one.sentence, None if one.message is None else place[one.message], one.words) for one in found)


def unverified(material: Material, text: str, book: NameBook) -> tuple[str, ...]:
    """The sentences that nothing supports, in order."""
    return tuple(one.sentence for one in supports(material, text, book) if not one.words)


def supports(material: Material, text: str, book: NameBook) -> tuple[Support, ...]:
    """As `find_support`, with messages counted among those told."""
    holders = _holders(material)
    results: list[Support] = []
    for sentence in whole_sentences(text):
        if count_words(sentence) < _LEAST_WORDS:
            continue
        results.append(_support(sentence, holders, material, book))
    return tuple(results)


@lru_cache(maxsize=2)
def _holders(material: Material) -> Mapping[str, Sequence[int]]:
    """For each telling word and number the sources that hold it: 0 is the earlier text, the messages follow."""
    holders: dict[str, list[int]] = {}
    for number, source in enumerate([material.previous, *material.texts]):
        said = f"{material.told[number - 1].speaker or ''} {source}" if number else source
        for term in dict.fromkeys([*content_of(said), *(f"#{value}" for value in numbers_in(said))]):
            holders.setdefault(term, []).append(number)
    return holders


def _support(sentence: str, holders: Mapping[str, Sequence[int]], material: Material, book: NameBook) -> Support:
    spelled: dict[str, str] = {}
    for word in sentence.split():
        for term in content_of(word):
            spelled.setdefault(term, word.strip(".,;:!?\"“”'’()"))
    terms = list(dict.fromkeys(content_of(sentence)))
    numbers = [f"#{value}" for value in dict.fromkeys(numbers_in(sentence)) if len(value) > 1]
    nothing = Support(sentence, None, ())
    if any(number not in holders for number in numbers):
        return nothing
    if any(not has_name(name, material.story, material.keys) for name in names_in(book, sentence)):
        return nothing
    if not terms:
        return Support(sentence, None, (sentence,)) if not numbers else nothing
    hits: Counter[int] = Counter()
    for term in [*terms, *numbers]:
        hits.update(holders.get(term, ()))
    if not hits:
        return nothing
    anywhere = sum(1 for term in [*terms, *numbers] if term in holders)
    best, most = min(hits.items(), key=lambda item: (-item[1], item[0]))
    total = len(terms) + len(numbers)
    if most < NEAR * total or anywhere < ANYWHERE * total:
        return nothing
    words = tuple(spelled.get(term, term.lstrip("#")) for term in [*terms, *numbers] if best in holders.get(term, ()))
    return Support(sentence, best - 1 if best else None, words)


def _positions(asked: Asked, material: Material) -> list[int]:
    """Where each told message stands in the delta."""
    positions: list[int] = []
    waiting = iter(enumerate(asked.delta))
    for told in material.told:
        positions.append(next(index for index, message in waiting if message is told))
    return positions
