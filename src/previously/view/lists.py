"""Lists: which lines of threads, state and lore a view has use for, beside its recap and its tail.

A small view tells of threads only what the recap does not, of persons only those the tail names and the recap does
not; of the state nothing whose thing the tail names, since the newest messages know better. A person's own lines are
never passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from previously.core.budgets import Row, scale_row
from previously.core.tokens import Counter
from previously.text.compare import find_terms
from previously.text.sentences import find_starts
from previously.text.words import CONTENT_RUN, find_words
from previously.view.memory import Remembered
from previously.view.view import Section

DATED = "dated"
"""The kind of a thread that names a day or an amount."""

PERSON = "person"
"""The kind of a line of lore about a person."""

SMALL = 3_000
"""Tokens up to which a budget is a small one: nearer to 2,000 than to 4,000."""

LARGE = 6_000
"""Tokens from which on a budget is a large one: nearer to 8,000 than to 4,000."""

LASTING = frozenset({"holder", "holds", "condition", "time", ""})
"""Aspects of the state that a view of middle size tells: places and offices are told by the recap or overtaken. Free
words have none."""

TOLD_SHARE = 2 / 3
"""A thread is told where one paragraph has two thirds of its telling words: names alone are fewer."""

PERSONS_TOKENS: Row = (0, 200, 400)
"""What lines about persons take: none at 2,000, where the recap says who people are, 16 of them at 8,000."""


@dataclass(frozen=True)
class Beside:
    """What stands in a view beside its lists."""

    budget_tokens: int
    recap: str
    """Empty if it is missing or only quotes: then every line is worth telling."""
    tail: str

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words of the tail."""
        return frozenset(find_words(self.tail))

    @cached_property
    def small_words(self) -> frozenset[str]:
        """Return them in lower case."""
        return frozenset(word.casefold() for word in self.words)

    @cached_property
    def in_recap(self) -> Beside:
        """Return the recap as something that names things."""
        return Beside(self.budget_tokens, "", self.recap)

    @cached_property
    def paragraphs(self) -> list[frozenset[str]]:
        """Return the telling words of each paragraph of the recap."""
        return [frozenset(find_terms(part)) for part in self.recap.split("\n\n")]


def choose_lines(memories: Sequence[Remembered], beside: Beside, counter: Counter) -> list[Remembered]:
    """Return the memories without lines that this view has no use for, and without persons beyond their share."""
    tests = {Section.THREADS: _tells_thread, Section.STATE: _tells_state, Section.LORE: _tells_person}
    found, persons = list[Remembered](), scale_row(beside.budget_tokens, PERSONS_TOKENS)
    for one in memories:
        test = tests.get(one.section)
        if test and not one.by_hand and not test(one, beside):
            continue
        persons -= counter.tokens(one.text) if one.kind == PERSON else 0
        if one.kind != PERSON or persons >= 0:
            found.append(one)
    return found


def first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    return text[: [*find_starts(text), len(text)][1]].strip()


def _tells_thread(line: Remembered, beside: Beside) -> bool:
    if beside.budget_tokens >= LARGE or not beside.recap:
        return True
    words = set(find_terms(line.text))
    if any(len(words & told) >= TOLD_SHARE * len(words) for told in beside.paragraphs):
        return False
    return beside.budget_tokens >= SMALL or line.kind == DATED


def _tells_state(line: Remembered, beside: Beside) -> bool:
    if _is_named(line.about, beside):
        return False
    return beside.budget_tokens >= LARGE or not beside.recap or line.kind in LASTING


def _tells_person(line: Remembered, beside: Beside) -> bool:
    if line.kind != PERSON or beside.budget_tokens >= LARGE:
        return True
    if beside.budget_tokens < SMALL:
        return False
    return _is_named(line.about, beside) and not _is_named(line.about, beside.in_recap)


def _is_named(thing: str, beside: Beside) -> bool:
    """Return whether the tail names a thing: a name by any of its words, as it is written; anything else by its last
    word, which says what it is ("Bram's knife" is named by "the knife")."""
    words = find_words(thing)
    if not words:
        return False
    if CONTENT_RUN.search(thing):
        return thing in beside.tail
    if len(words) > 1 and all(word[0].isupper() for word in words):
        return not beside.words.isdisjoint(words)
    return words[-1].casefold() in beside.small_words
