"""The bridge between languages: a question in one about a story told in another.

Words of a question that the story does not have are looked up in a dictionary (a `WordBook`, which is read elsewhere
and given), and what they mean in the story's language is looked for in their place. No language is named or guessed: a
question whose words the story mostly has needs no bridge, and of a word's meanings those are taken that the story has.

Pure. Without a dictionary, or where it does not help, the query stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Protocol

from previously.recall.query import Query
from previously.text.words import WORD, read_terms

MOST_MEANINGS = 2
"""Meanings of a word that are looked for: with four, a fifth of what German questions gained was lost again."""

MOST_LOOKED_AT = 12
"""Meanings that the story is asked for: the first are the usual ones."""

LEAST_SHARE = 0.5
"""A dictionary is asked if it has this share of all words of a question: one of another language has its loan words."""

MOST_WORDS = 32
"""Words of a question that tell its language."""

USUAL_MEANINGS = 4
"""Of the first so many meanings one is a small word where a word holds sentences together in its own language ("es":
it, "du": you). Its other meanings ("E flat") are looked for, and tell nothing. A rare meaning does not count: "Weg" is
a way, and also "away"."""


class WordBook(Protocol):
    """A dictionary from one language to another."""

    def has(self, word: str) -> bool:
        """Return whether a word stands in it as it is written."""

    def translate(self, word: str) -> tuple[str, ...]:
        """Return what a word means in the other language, the usual meanings first; nothing for a word it has not."""


def bridge_query(
    text: str, query: Query, find_heard: Callable[[Collection[str]], Collection[str]], books: Sequence[WordBook]
) -> Query:
    """Return the query of a text with its words in the language of the story, by the dictionary that has most of them;
    as it is where the story has them itself. `find_heard` says which of some terms the story has."""
    if not books or not query.words:
        return query
    heard = set(find_heard(query.lookups))
    # A name is the same in all languages, so that the story has it says nothing.
    telling = {term for word, term in query.words if not (term in heard and word[:1].isupper())}
    if 2 * len(heard & telling) >= len(telling):
        return query
    said = list(dict.fromkeys(WORD.findall(text)))[:MOST_WORDS]
    books = [book for book in books if sum(map(book.has, said)) >= LEAST_SHARE * len(said)]
    meanings = [{word: _list_meanings(book, word) for word, _ in query.words} for book in books]
    had = set(find_heard({term for each in meanings for found in each.values() for _, term in found}))
    known = [{word: [one for one in found if one[1] in had] for word, found in each.items()} for each in meanings]
    counts = [sum(map(bool, each.values())) for each in known]
    # One chance meaning, a word that looks the same in both, is no bridge.
    if not any(counts) or 3 * max(counts) < len(telling - heard):
        return query
    chosen = counts.index(max(counts))
    book, best = books[chosen], known[chosen]
    terms = [term for term in query.terms if term in heard]
    words: list[tuple[str, str]] = []
    aside = set(query.aside)
    translated: dict[str, str] = {}
    for word, term in query.words:
        found = best[word][:MOST_MEANINGS]
        words += [(word, term)] * (term in heard) + found
        terms += [own for _, own in found]
        translated.update((own, "" if _is_small(book, word) else word) for _, own in found)
        if term in aside:
            aside.update(own for _, own in found)
    return replace(
        query,
        terms=tuple(dict.fromkeys(terms)),
        words=tuple(dict.fromkeys(words)),
        aside=frozenset(aside),
        translated=translated,
    )


def _is_small(book: WordBook, word: str) -> bool:
    """Return whether a word holds sentences together: one of its usual meanings has no content."""
    usual = book.translate(word)[:USUAL_MEANINGS]
    return any(WORD.search(meaning) and not read_terms(meaning).content for meaning in usual)


def _list_meanings(book: WordBook, word: str) -> list[tuple[str, str]]:
    """Return the words that a word means, each with its term. Meanings of several words ("split second" for "Moment")
    count where there is no other: half of one is another word."""
    said = [read_terms(meaning).content for meaning in book.translate(word)[:MOST_LOOKED_AT]]
    said = [parts for parts in said if len(parts) == 1] or said
    found: dict[tuple[str, str], None] = {}
    for part in (part for parts in said for part in parts):
        found |= dict.fromkeys((part, term) for term in read_terms(part).terms[:1])
    return list(found)
