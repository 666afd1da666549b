"""Which thread a text means: the same one again, the one it settles, those it has to do with.

Owns the comparisons. What must stay true: the same means the same people in the same order, the same numbers, and for a
promise, a debt, a threat, a secret or a deadline nothing on either side that the other denies; a text that fits two
threads equally well settles neither; the answer does not depend on anything but the threads and the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from previously.core.signals import folded
from previously.lore.thread_wording import ThreadKind, Wording, stemmed, wording

_FREE = frozenset({ThreadKind.QUESTION, ThreadKind.OTHER})
"""Kinds that bind nobody: they may be worded more loosely."""

_DUTIES = frozenset({ThreadKind.PROMISE, ThreadKind.DEBT, ThreadKind.DEADLINE})
_ALIKE = 0.75
_ALIKE_OF_LONGER = 0.6
_HALF = 0.5
_MOST_SEEN = 200
"""A word that so many threads share tells none of them from another."""

Described = tuple[str, tuple[str, ...], ThreadKind]
Asked = Callable[[int], bool]
"""A question about the thread at that place."""


class Board:
    """The threads by their words, so that a text is compared with few of them."""

    def __init__(self, threads: Iterable[Described]) -> None:
        self._wordings: list[Wording] = []
        self._texts: list[str] = []
        self._kinds: list[ThreadKind] = []
        self._by_term: dict[str, dict[int, None]] = {}
        for text, mentions, kind in threads:
            self.add(text, mentions, kind)

    def add(self, text: str, mentions: tuple[str, ...], kind: ThreadKind) -> None:
        """One more thread."""
        self._wordings.append(wording(text, mentions))
        self._texts.append(folded(text))
        self._kinds.append(kind)
        self._index(len(self._wordings) - 1)

    def put(self, index: int, text: str, mentions: tuple[str, ...], kind: ThreadKind) -> None:
        """Other words for a thread."""
        for term in _terms(self._wordings[index]):
            del self._by_term[term][index]
        self._wordings[index] = wording(text, mentions)
        self._texts[index] = folded(text)
        self._kinds[index] = kind
        self._index(index)

    def _index(self, index: int) -> None:
        for term in _terms(self._wordings[index]):
            self._by_term.setdefault(term, {})[index] = None

    def _near(self, about: Wording) -> list[int]:
        """The threads that share a word with a text, rare words first; in order."""
        found: set[int] = set()
        for places in sorted((self._by_term.get(term, {}) for term in _terms(about)), key=len):
            if found and len(places) > _MOST_SEEN:
                break
            found.update(places)
        return sorted(found)

    def same(
        self, text: str, mentions: tuple[str, ...], kind: ThreadKind, is_open: Callable[[int], bool]
    ) -> int | None:
        """The thread that says the same, an open one rather than a settled one, a closer one rather than a newer."""
        about = wording(text, mentions)
        plain = folded(text)
        best: tuple[bool, bool, int, int] | None = None
        for index in self._near(about):
            other = self._wordings[index]
            if self._texts[index] != plain and not _is_same(other, about, self._kinds[index], kind):
                continue
            shared = len(other.core & about.core) + len(set(other.names) & set(about.names))
            key = (is_open(index), self._texts[index] == plain, shared, index)
            best = max(best, key) if best else key
        return best[-1] if best else None

    def meant(
        self, text: str, mentions: tuple[str, ...], kind: ThreadKind, can_be: Callable[[int], bool]
    ) -> int | None:
        """The one thread that a text settles or speaks of; None where there is none, or no telling which."""
        about, plain = wording(text, mentions), folded(text)
        near = [index for index in self._near(about) if can_be(index)]
        exact = [index for index in near if self._texts[index] == plain]
        if exact:
            return exact[-1]
        scored = [(_fit(self._wordings[index], about), index) for index in near]
        best = max((score for score, _ in scored), default=0.0)
        if best > 0:
            fitting = [index for score, index in scored if score == best]
            return fitting[0] if len(fitting) == 1 else None
        named = [index for index in near if self._kinds[index] is kind and _by_names(self._wordings[index], about)]
        return named[0] if len(named) == 1 else None

    def touched(self, text: str, mentions: tuple[str, ...], can_be: Asked) -> list[int]:
        """The threads that something which happened has to do with."""
        about = wording(text, mentions)
        return [index for index in self._near(about) if can_be(index) and _fit(self._wordings[index], about) > 0]


def _terms(about: Wording) -> list[str]:
    """What a thread is found by."""
    return sorted({*about.core, *about.names, *map(stemmed, about.unsure)})


def _people(one: Wording, other: Wording) -> Sequence[str]:
    """Who is named in one text, as the other understands it: a first word that is a thing there is nobody here."""
    if not one.unsure:
        return one.names
    return [name for name in one.names if name not in one.unsure or stemmed(name) not in other.core]


def _words(one: Wording, other: Wording) -> frozenset[str]:
    """The telling words of one text, as the other understands it."""
    return one.core | {stem for stem in map(stemmed, one.unsure) if stem in other.core} if one.unsure else one.core


def _is_same(one: Wording, other: Wording, kind: ThreadKind, its_kind: ThreadKind) -> bool:
    if not _kinds_agree(kind, its_kind) or (one.asks and other.asks and one.asks != other.asks):
        return False
    if one.numbers and other.numbers and one.numbers != other.numbers:
        return False
    people, others = _people(one, other), _people(other, one)
    if not _people_agree(people, others):
        return False
    free = kind in _FREE and its_kind in _FREE
    words, said = _words(one, other), _words(other, one)
    if not words or not said:
        return not free and set(people) == set(others) and len(people) > 1 and one.denied == other.denied
    shared, fewest, most = len(words & said), *sorted((len(words), len(said)))
    if free:
        return shared >= _ALIKE * fewest and shared >= _ALIKE_OF_LONGER * most
    return one.denied == other.denied and shared == fewest and shared >= _HALF * most


def _kinds_agree(one: ThreadKind, other: ThreadKind) -> bool:
    return (
        one is other
        or ThreadKind.OTHER in (one, other)
        or (ThreadKind.DEADLINE in (one, other) and {one, other} <= _DUTIES)
    )


def _people_agree(one: Sequence[str], other: Sequence[str]) -> bool:
    """The same people, or some of them; where both name two, the first is the same: who gave a promise to whom."""
    if not (set(one) <= set(other) or set(other) <= set(one)):
        return False
    return len(one) < 2 or len(other) < 2 or one[0] == other[0]


def _fit(thread: Wording, about: Wording) -> float:
    """How much of a thread a text tells: 0 where it tells too little, of other people or of other numbers."""
    people, named = set(_people(thread, about)), set(_people(about, thread))
    if people and named and not people & named:
        return 0.0
    if thread.numbers and about.numbers and not thread.numbers & about.numbers:
        return 0.0
    matter = thread.matter or thread.core
    shared = len(matter & _words(about, thread))
    if not shared or shared < _HALF * len(matter):
        return 0.0
    if named - people and people - named:
        return 0.0  # done by or for someone else
    who = len(people & named) / len(people) if people else 0.0
    return shared / len(matter) + who + (len(thread.numbers & about.numbers) > 0)


def _by_names(thread: Wording, about: Wording) -> bool:
    """Whether a text names a tie by its people alone: "Maya's debt to Wren"."""
    return len(set(about.names)) > 1 and set(about.names) <= set(thread.names) and not about.core - thread.core
