"""Threads: open questions, promises, debts, threats, deadlines and secrets, as a reduce over the items of notes.

A thread is named by what opened it and goes on under that name whatever its words become. An item that names a thread
which is not there is taken for the one open thread that says nearly the same: after an edit the note that opened it
was made anew, in words of its own. Where there is no such thread, or several, the item does nothing and is listed. An
item that names a thread by its words alone (scenes, analyses and files of earlier versions) means just these words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt

from previously.core.note import ThreadChange, ThreadItem, thread_id
from previously.core.scripts import casefold
from previously.core.tokens import estimate_tokens
from previously.text.compare import find_terms
from previously.text.numbers import find_values
from previously.text.words import find_words

DORMANT_AFTER = 200
"""Messages after which an untouched question sleeps: the older half of a long scene, three folds or more ago."""

MOST_UNMATCHED = 40
"""Items without a thread that are remembered, the newest: enough to see what an edit has cut off."""

MOST_EARLIER_WORDS = 8
"""Earlier words of a thread that are kept at hand: it is hardly reworded more often. All stand in the notes."""

MOST_SETTLED = 100
"""Settled threads that are kept at hand: those of the last few chapters. All of them stand in the notes."""

SAME_THREAD = 0.6
"""Share of the telling words, of the longer of two wordings, that make them one thread. Of the 68 threads that one set
of the exam's recorded answers opened, 48 found theirs in the other set so, and none a wrong one; two different threads
of one answer shared less than half."""

MOST_OPEN = 200
"""Open threads that are kept, those touched last: a view shows a few dozen, a model is shown 25."""

RARE_SHARE = 4
"""A word that stands in more than a quarter of the threads is a leading person's name and tells none of them apart."""

MOST_SHOWN = 25
"""Open threads that a model is shown by number: beyond that it loses count of them."""

PERSON = "person"


class ThreadStatus(StrEnum):
    """The status of a thread."""

    OPEN = "open"
    RESOLVED = "resolved"
    DORMANT = "dormant"


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread, open or settled."""

    id: str
    text: str
    opened: int
    touched: int
    settled: int | None = None
    """The position at which it was settled."""
    outcome: str = ""
    """Its end; empty where nobody said."""
    by: str = "model"
    """The author: `model`, `builtin`, or `person` for what a person opened or reworded."""
    due: str = ""
    """By when, in the words of the person who said so."""
    earlier: tuple[str, ...] = ()
    """Its words before, the newest last."""
    owner: str = ""
    """Whose it is, where a person said so: who promised, who owes, who asks."""

    @property
    def line(self) -> str:
        """Return the thread as it is told: its words, and whose it is and by when, where a person said so."""
        details = "; ".join(one for one in (self.owner, self.due) if one)
        return f"{self.text} ({details})" if details else self.text

    @property
    def is_question(self) -> bool:
        return self.text.rstrip().endswith(("?", "？"))


@dataclass(frozen=True, slots=True)
class UnmatchedItem:
    """An item that could not be applied to the threads there are; or, of a person's thread, must not be."""

    change: ThreadChange
    thread: str
    """The thread it names; empty where it names one by its words."""
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Threads:
    """All threads of a path, in the order in which they were opened."""

    threads: tuple[Thread, ...] = ()
    unmatched: tuple[UnmatchedItem, ...] = ()
    """Items that name a thread that is not there."""
    suggestions: tuple[UnmatchedItem, ...] = ()
    """Items that would change a thread that a person wrote."""

    def find(self, ident: str, words: str = "") -> Thread | None:
        """Return the thread of that id that has or had those words, else the newest one that says them, else the one
        of that id."""
        named = next((one for one in self.threads if ident and one.id == ident), None)
        if named and (not words or casefold(words) in map(casefold, (named.text, *named.earlier))):
            return named
        worded = [one for one in self.threads if words and casefold(one.text) == casefold(words)]
        return next((one for one in reversed(worded) if one.settled is None), worded[-1] if worded else named)

    def put(self, thread: Thread) -> Threads:
        """Return the threads with one in place of that of the same id, or behind all others."""
        if any(one.id == thread.id for one in self.threads):
            return replace(self, threads=tuple(thread if one.id == thread.id else one for one in self.threads))
        return replace(self, threads=(*self.threads, thread))

    def drop(self, ident: str) -> Threads:
        """Return the threads without that of this id."""
        return replace(self, threads=tuple(one for one in self.threads if one.id != ident))


NO_THREADS = Threads()


def reduce_threads(threads: Threads, items: Iterable[tuple[int, int, ThreadItem]], key: bytes, by: str) -> Threads:
    """Return the threads after the items of one note, each with its index and position. `key` is that of its span."""
    by_id = {one.id: one for one in threads.threads}
    unmatched = list(threads.unmatched)
    items = list(items)
    named = {item.thread for _, _, item in items}
    for _, position, item in items:
        text = " ".join(item.text.split())
        thread = by_id.get(item.thread) if item.thread else _find_same_words(by_id.values(), text)
        if thread is None and item.was:
            thread = find_by_words([one for one in by_id.values() if one.id not in named], item.was)
        if item.change is ThreadChange.NEW:
            thread = thread or Thread(item.thread or thread_id(key, text), text, position, position, by=by)
            if text:
                by_id[thread.id] = replace(thread, touched=max(thread.touched, position))
        elif thread is None:
            unmatched.append(UnmatchedItem(item.change, item.thread, text, position))
        elif item.change is ThreadChange.NOW:
            by_id[thread.id] = reword_thread(replace(thread, settled=None, outcome=""), text, position)
        else:
            # A thread that is named by its own words says nothing of how it ended.
            outcome = text if casefold(text) != casefold(thread.text) else ""
            touched = max(thread.touched, position)
            by_id[thread.id] = replace(thread, settled=position, outcome=outcome, touched=touched)
    return replace(threads, threads=_drop_oldest(by_id.values()), unmatched=tuple(unmatched[-MOST_UNMATCHED:]))


def reword_thread(thread: Thread, text: str, position: int) -> Thread:
    """Return the thread in other words; those it had are kept."""
    touched = max(thread.touched, position)
    if not text or casefold(text) == casefold(thread.text):
        return replace(thread, touched=touched)
    earlier = (*thread.earlier, thread.text)[-MOST_EARLIER_WORDS:]
    return replace(thread, text=text, touched=touched, earlier=earlier)


def _find_same_words(threads: Iterable[Thread], text: str) -> Thread | None:
    """Return the open thread that says just that."""
    words = casefold(text)
    return next((one for one in threads if one.settled is None and words and casefold(one.text) == words), None)


def find_by_words(threads: Iterable[Thread], text: str) -> Thread | None:
    """Return the one open thread that says that, or nearly that; None where several do."""
    still_open = [one for one in threads if one.settled is None]
    same = [one for one in still_open if casefold(text) in map(casefold, (one.text, *one.earlier))]
    near = same or [one for one in still_open if any(_say_the_same(text, words) for words in (one.text, *one.earlier))]
    return near[0] if len(near) == 1 else None


def _say_the_same(text: str, other: str) -> bool:
    """Return whether two wordings share most of their telling words, and neither gives another number."""
    terms, others = set(find_terms(text)), set(find_terms(other))
    numbers, other_numbers = find_values(text), find_values(other)
    alike = len(terms & others) >= SAME_THREAD * max(len(terms), len(others)) > 0
    return alike and (numbers <= other_numbers or other_numbers <= numbers)


def _drop_oldest(threads: Iterable[Thread]) -> tuple[Thread, ...]:
    listed = list(threads)
    settled = sorted((one for one in listed if one.settled is not None), key=lambda one: (one.settled or 0, one.id))
    still_open = sorted((one for one in listed if one.settled is None), key=lambda one: (one.touched, one.id))
    gone = {one.id for one in (*settled[:-MOST_SETTLED], *still_open[:-MOST_OPEN])}
    return tuple(one for one in listed if one.id not in gone)


def find_status(thread: Thread, now: int, dormant_after: int = DORMANT_AFTER) -> ThreadStatus:
    """Return the status of a thread where the path is `now` messages long.

    Only questions fall asleep: nothing says of other words whether they are a promise, and a promise must not be
    forgotten for being old. What a person wrote never sleeps.
    """
    if thread.settled is not None:
        return ThreadStatus.RESOLVED
    asleep = thread.is_question and thread.by != PERSON and now - thread.touched > dormant_after
    return ThreadStatus.DORMANT if asleep else ThreadStatus.OPEN


def rank_threads(threads: Sequence[Thread], now: int, dormant_after: int = DORMANT_AFTER) -> tuple[Thread, ...]:
    """Return the threads that are not settled, those that matter most first: a person's, then all that are no
    questions, then the newest; what sleeps comes last."""

    def order(thread: Thread) -> tuple[bool, bool, bool, int, str]:
        asleep = find_status(thread, now, dormant_after) is ThreadStatus.DORMANT
        return asleep, thread.by != PERSON, thread.is_question, -thread.touched, thread.id

    return tuple(sorted((one for one in threads if one.settled is None), key=order))


def choose_shown_threads(
    threads: Sequence[Thread], now: int, about: str = "", most: int = MOST_SHOWN, most_tokens: int | None = None
) -> tuple[Thread, ...]:
    """Return the open threads that a model is shown, the oldest first: all, or where there are too many those of which
    the text that they are read beside says most, then those that matter most. What is not shown cannot be settled."""
    ranked = rank_threads(threads, now)
    words = _long_words(about)
    own = {thread.id: _long_words(thread.text) for thread in ranked}
    spread = Counter(word for held in own.values() for word in held)
    rare = {word for word, number in spread.items() if number * RARE_SHARE <= len(ranked)} & words

    def nearness(thread: Thread) -> float:
        """A long thread shares more words by chance."""
        return len(own[thread.id] & rare) / sqrt(max(1, len(own[thread.id])))

    nearest = sorted(ranked, key=nearness, reverse=True)  # and those alike by rank
    chosen: set[str] = set()
    room = most_tokens
    for thread in nearest[:most]:
        cost = estimate_tokens(thread.text)
        if room is not None and cost > room:
            continue
        room = None if room is None else room - cost
        chosen.add(thread.id)
    return tuple(thread for thread in sorted(threads, key=lambda thread: thread.opened) if thread.id in chosen)


_SHORTEST_WORD = 4
"""Shorter words are mostly articles and the like, in the languages that have them."""


def _long_words(text: str) -> set[str]:
    return {word for word in find_words(casefold(text)) if len(word) >= _SHORTEST_WORD}


def list_awake_threads(threads: Sequence[Thread], now: int, dormant_after: int = DORMANT_AFTER) -> tuple[Thread, ...]:
    """Return the threads that a view tells, by rank, those asleep left out."""
    return tuple(
        one
        for one in rank_threads(threads, now, dormant_after)
        if find_status(one, now, dormant_after) is not ThreadStatus.DORMANT
    )
