"""Who knows of something: the facts and sentences of each character that speak of it.

What must stay true: pure and deterministic; words are found whatever their case, accents, ending and Unicode form; who
knows most of what was asked comes first, and who knows nothing of it is not listed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from previously.core.cast import Fact, Knowledge
from previously.core.scripts import casefold
from previously.text.compare import find_terms
from previously.text.numbers import find_values
from previously.text.sentences import split_sentences
from previously.text.words import make_keys

LEAST_SHARE = 0.5
"""The share of the words asked for that a fact has to hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one character knows of what was asked: the best first."""

    name: str
    facts: tuple[Fact, ...]
    summary_sentences: tuple[str, ...]


def who_knows(knowledge: Mapping[str, Knowledge], terms: str) -> list[Row]:
    """A row for everyone who knows of it."""
    asked = _terms_of(terms)
    if not asked:
        return []
    ranked: list[tuple[float, int, str, Row]] = []
    for name, known in knowledge.items():
        facts = [(share, fact) for fact in known.facts if (share := _share(asked, fact.text))]
        said = [(share, one) for one in split_sentences(known.summary) if (share := _share(asked, one))]
        if not facts and not said:
            continue
        facts.sort(key=lambda one: (-one[0], -one[1].since))
        said.sort(key=lambda one: -one[0])
        best = max(share for share, _ in [*facts, *said])
        row = Row(name, tuple(fact for _, fact in facts), tuple(one for _, one in said))
        ranked.append((-best, -len(facts), casefold(name), row))
    return [row for *_, row in sorted(ranked, key=lambda one: one[:3])]


def _share(asked: frozenset[str], text: str) -> float:
    """The share of the words asked for that a text holds; 0 where that is too little."""
    held = _terms_of(text) | _words_of(text)
    share = len(asked & held) / len(asked)
    return share if share >= LEAST_SHARE else 0.0


def _terms_of(text: str) -> frozenset[str]:
    """The telling words and numbers of a text; all its words where none is telling."""
    text = unicodedata.normalize("NFKC", text)
    return frozenset([*find_terms(text), *(f"#{value:g}" for value in find_values(text))]) or _words_of(text)


def _words_of(text: str) -> frozenset[str]:
    text = unicodedata.normalize("NFKC", text).casefold()
    return make_keys(text) | frozenset(text.split())
