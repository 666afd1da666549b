"""The state as one person may know it, and the facts it holds for them.

It is the same reduce, over the items of notes whose messages they witnessed. An item follows the presence of its
message, and one that names no message that of the whole span. But a note is written by somebody who knows all: presence
alone would tell a guest the secret that was kept at his table. So what was written in sight of an earlier wording,
description or value is for those who knew that one, and a thread is for those between whom it is. What somebody learnt
is theirs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from previously.core.cast import MOST_FACTS, WITNESSED, Fact, cut_line
from previously.core.note import (
    Aspect,
    LearntItem,
    LoreItem,
    Note,
    PresenceItem,
    StateItem,
    ThreadChange,
    ThreadItem,
    said_key,
)
from previously.core.scripts import casefold
from previously.lore.entry import EntryKey
from previously.lore.keys import normalize_name
from previously.lore.merge import find_entry, find_short_names
from previously.lore.state import PlacedNote, State, apply_note
from previously.lore.threads import Thread, find_by_words
from previously.text.words import WORD, strip_possessive

_TOLD_ANEW = frozenset({Aspect.PLACE, Aspect.HOLDER, Aspect.TIME})


def apply_note_for(
    state: State, noted: PlacedNote, knows: Callable[[int], bool], is_self: Callable[[str], bool]
) -> State:
    """Return what somebody may know after one more note. `knows` says of a position whether they may know of it,
    `is_self` of a name whether it is theirs."""
    note, length = noted.note, noted.last - noted.first + 1
    known = [knows(noted.first + offset) for offset in range(length)]

    def is_known(at: int | None) -> bool:
        return all(known) if at is None else 0 <= at < length and known[at]

    lore, veiled = _select_lore(state, note.lore, lambda one: all(map(is_known, one.at or (None,))))
    values, hidden = _select_values(state.veiled, note.state, is_known)
    theirs = Note(
        threads=tuple(_select_threads(state, [one for one in note.threads if is_known(one.at)], is_self)),
        state=values,
        present=tuple(one for one in note.present if _is_all_known(one, known)),
        learnt=tuple(_select_learnt(note.learnt, is_self)),
        lore=lore,
        players=tuple(one for one in note.players if is_known(one.at)),
        wishes=tuple(one for one in note.wishes if is_known(one.at)),
    )
    return replace(apply_note(state, replace(noted, note=theirs)), veiled=veiled | hidden)


def _select_threads(state: State, items: Iterable[ThreadItem], is_self: Callable[[str], bool]) -> Iterable[ThreadItem]:
    """Yield the items that concern threads as somebody knows them: those opened in their sight to which they are a
    party, and what became of these. New words of another one tell what was opened without them."""
    known = {one.id for one in state.threads.threads}
    for item in items:
        if item.change is ThreadChange.NEW or not item.thread:
            if any(is_self(strip_possessive(word)) for word in WORD.findall(_take_head(item.text))):
                yield item
        elif item.thread in known or (item.was and find_by_words(state.threads.threads, item.was)):
            yield item


def _take_head(text: str) -> str:
    """Return who a thread is between: what stands before its colon, since behind it may stand from whom it is kept. A
    question without one is between nobody: who asks it is whoever wrote the note."""
    mark = re.search("[:：?？]", text)
    return text[: mark.start()] if mark and mark[0] in ":：" else "" if mark else text


def _select_values(
    veiled: frozenset[EntryKey], items: Iterable[StateItem], is_known: Callable[[int | None], bool]
) -> tuple[tuple[StateItem, ...], frozenset[EntryKey]]:
    """Return the values that somebody may know, and the things and aspects of which they missed one. Where something is
    and who has it is told anew each time; what somebody holds and how they are sums up what was before."""
    hidden, values = set(veiled), list[StateItem]()
    for item in items:
        place = f"{normalize_name(item.thing)}/{item.aspect.value}"
        if is_known(item.at) and (place not in hidden or item.aspect in _TOLD_ANEW):
            values.append(item)
        else:
            hidden.add(place)
    return tuple(values), frozenset(hidden)


def _select_lore(
    state: State, items: Iterable[LoreItem], is_known: Callable[[LoreItem], bool]
) -> tuple[tuple[LoreItem, ...], frozenset[EntryKey]]:
    """Return the descriptions that somebody may know, and the names of things of which they may not. What a description
    was written in sight of may have been taken back since: then only its key is left to compare."""
    hidden, descriptions = set(state.veiled), list[LoreItem]()
    for item in items:
        names = {normalize_name(item.name), *map(normalize_name, find_short_names(item.name, item.keywords))}
        theirs = find_entry(state.lore, item.name)
        in_sight = not item.in_sight_of or (theirs is not None and said_key(theirs.content) == item.in_sight_of)
        if in_sight and is_known(item) and hidden.isdisjoint(names):
            descriptions.append(item)
        else:
            hidden |= names
    return tuple(descriptions), frozenset(hidden)


def _select_learnt(items: Iterable[LearntItem], is_self: Callable[[str], bool]) -> Iterable[LearntItem]:
    for item in items:
        names = tuple(name for name in item.names if is_self(name))
        if names:
            yield replace(item, names=names)


def _is_all_known(item: PresenceItem, known: list[bool]) -> bool:
    return 0 <= item.first <= item.last < len(known) and all(known[item.first : item.last + 1])


LONGEST_FACT = 400
"""Characters of a fact that is looked through: as long as a thread or a line of the state may be."""


class FactWeight(IntEnum):
    """The subject of a fact, the most important first: what somebody was told is known from nowhere else, what is open
    matters longer than how things stand, and what a thing is can be looked up."""

    TOLD = 0
    THREAD = 1
    STATE = 2
    LORE = 3
    SETTLED = 4


class KnownFact(NamedTuple):
    """A fact and what it is of."""

    weight: FactWeight
    fact: Fact


def collect_facts(state: State, is_self: Callable[[str], bool]) -> list[KnownFact]:
    """Return all that somebody knows, by a state that holds what they may know: the most important first, of those the
    newest. `is_self` says of a name whether it is theirs."""
    facts: dict[str, KnownFact] = {}
    for known in sorted(_list_facts(state, is_self), key=lambda one: (one.weight, -one.fact.since)):
        facts.setdefault(casefold(known.fact.text), known)
    return list(facts.values())


def choose_key_facts(known: list[KnownFact], *, without: frozenset[FactWeight] = frozenset()) -> tuple[Fact, ...]:
    """Return the few facts that are told of somebody, what is settled aside."""
    chosen = [one.fact for one in known if one.weight not in without | {FactWeight.SETTLED}]
    return tuple(Fact(cut_line(one.text), one.since, one.source) for one in chosen[:MOST_FACTS])


def _list_facts(state: State, is_self: Callable[[str], bool]) -> Iterator[KnownFact]:
    for learner in state.learnt.values():
        if is_self(learner.name):
            yield from (KnownFact(FactWeight.TOLD, fact) for fact in learner.facts)
    for thread in state.threads.threads:
        yield _of_thread(thread)
    for value in state.current.standing:
        yield KnownFact(FactWeight.STATE, _make_fact(value.text, value.position))
    for entry in state.known:
        if entry.content:
            since = max(entry.sources, default=entry.touched)
            yield KnownFact(FactWeight.LORE, _make_fact(f"{entry.name}: {entry.content}", since))


def _of_thread(thread: Thread) -> KnownFact:
    if thread.settled is None:
        return KnownFact(FactWeight.THREAD, _make_fact(thread.text, thread.touched))
    outcome = f": {thread.outcome}" if thread.outcome else ""
    return KnownFact(FactWeight.SETTLED, _make_fact(f"{thread.text}{outcome}", thread.settled))


def _make_fact(text: str, since: int) -> Fact:
    return Fact(cut_line(text, LONGEST_FACT), since, WITNESSED)
