"""Whose names are in a sentence, asked of the whole story only when it matters.

Owns the book of names behind the comparisons. To know one name every sentence of the story is read, and most folds
settle nothing and repeat nothing: so the book is opened at the first question. What must stay true: the answers are
those of a book that read everything from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from previously.folds.builtin.names import WORD, NameBook
from previously.folds.builtin.reading import Line
from previously.folds.builtin.traces import APART, folded, name_parts, names_in
from previously.folds.builtin.words import worded
from previously.text.sentences import split_sentences

_LINKS = frozenset({"al", "du", "di", "del"})
"""Small words that a name may have inside, and that count as part of it."""

_INSIDE_NAMES = _LINKS | {"of", "the", "de", "la", "van", "von", "der"}
_LONGEST_NAME = 5
"""The words of the longest run that a book takes for one name; a longer one is none."""


def nameable(text: str) -> frozenset[str]:
    """The words of an ASCII text that may be part of a name there, as `People.terms_in` would give them."""
    return frozenset(folded(word.key) for word in worded(text).words if word.capital or word.spelled in _LINKS)


def capitals_in(text: str) -> frozenset[str]:
    """The keys of the words with a capital that are sure to be part of a name here if the book has them for names.
    None of so many that they may make up a run too long to be one."""
    words = [word for word in worded(text).words if word.capital or word.spelled in _INSIDE_NAMES]
    if len(words) > _LONGEST_NAME:
        return frozenset()
    return frozenset(word.key for word in words if word.capital and name_parts(word.key) == [word.key])


class People:
    """Everyone and everything with a name in these sentences."""

    def __init__(self, speakers: Iterable[str], sentences: Sequence[str]) -> None:
        self._speakers = list(speakers)
        self._unread = NameBook((), self._speakers)
        self._sentences = sentences
        self._read: NameBook | None = None
        self._sure: dict[frozenset[str], frozenset[str]] = {}
        self._terms: dict[str, frozenset[str]] = {}

    def _book(self) -> NameBook:
        if self._read is None:
            self._read = NameBook((), self._speakers)
            self._read.read(APART.join(self._sentences))
        return self._read

    def terms_in(self, text: str) -> frozenset[str]:
        """The names of a text, each word of them as it is compared."""
        found = self._terms.get(text)
        if found is None:
            names = names_in(self._book(), text)
            found = self._terms[text] = frozenset().union(*map(self.terms_of, names))
        return found

    def surely_in(self, capitals: frozenset[str]) -> frozenset[str]:
        """Those of a text's `capitals_in` that are names whatever the story says, as `terms_in` gives them: speakers
        always are, and only of them does a book know that has read nothing."""
        found = self._sure.get(capitals)
        if found is None:
            names = filter(self._unread.is_name, capitals)
            found = self._sure[capitals] = frozenset(map(folded, names))
        return found

    @staticmethod
    def terms_of(name: str) -> frozenset[str]:
        """The telling words of a name as they are compared."""
        return frozenset(folded(part) for part in name_parts(name))

    def subject(self, lines: Sequence[Line]) -> str | None:
        """Whom the last sentence of narration that names someone first begins with: the next "she" is most likely
        the same."""
        return next(filter(None, map(self._begins_with, reversed(lines))), None)

    def _begins_with(self, line: Line) -> str | None:
        first = WORD.match(line.text) if line.speaker is None else None
        if first is None or not self._book().is_name(first.group().lower()):
            return None
        return first.group() if len(split_sentences(line.text)) == 1 else None
