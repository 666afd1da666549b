"""What one person knows, as facts with their sources: what they were told, and what they witnessed of threads, of how
things stand and of what things are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from previously.core.cast import MOST_FACTS, WITNESSED, Fact, cut_line
from previously.core.scripts import casefold
from previously.lore.state import State
from previously.lore.threads import Thread

LONGEST_KNOWN = 400
"""Characters of a fact that is looked through: as long as a thread or a line of the state may be."""


class Weight(IntEnum):
    """What a fact is of, the most important first: what somebody was told is known from nowhere else, what is open
    matters longer than how things stand, and what a thing is can be looked up."""

    TOLD = 0
    THREAD = 1
    STATE = 2
    LORE = 3
    SETTLED = 4


class KnownFact(NamedTuple):
    """A fact and what it is of."""

    weight: Weight
    fact: Fact


def facts_of(state: State, is_self: Callable[[str], bool]) -> list[KnownFact]:
    """Return all that somebody knows, by a state that holds what they may know: the most important first, of those the
    newest. `is_self` says of a name whether it is theirs."""
    found: dict[str, KnownFact] = {}
    for known in sorted(_facts(state, is_self), key=lambda one: (one.weight, -one.fact.since)):
        found.setdefault(casefold(known.fact.text), known)
    return list(found.values())


def key_facts(known: list[KnownFact], *, without: frozenset[Weight] = frozenset()) -> tuple[Fact, ...]:
    """Return the few facts that are told of somebody, what is settled aside."""
    told = [one.fact for one in known if one.weight not in without | {Weight.SETTLED}]
    return tuple(Fact(cut_line(one.text), one.since, one.source) for one in told[:MOST_FACTS])


def _facts(state: State, is_self: Callable[[str], bool]) -> Iterator[KnownFact]:
    for learner in state.learnt.values():
        if is_self(learner.name):
            yield from (KnownFact(Weight.TOLD, fact) for fact in learner.facts)
    for thread in state.threads.threads:
        yield _of_thread(thread)
    for held in state.current.standing:
        yield KnownFact(Weight.STATE, _fact(held.text, held.position))
    for entry in state.known:
        if entry.content:
            since = max(entry.sources, default=entry.touched)
            yield KnownFact(Weight.LORE, _fact(f"{entry.name}: {entry.content}", since))


def _of_thread(thread: Thread) -> KnownFact:
    if thread.settled is None:
        return KnownFact(Weight.THREAD, _fact(thread.text, thread.touched))
    outcome = f": {thread.outcome}" if thread.outcome else ""
    return KnownFact(Weight.SETTLED, _fact(f"{thread.text}{outcome}", thread.settled))


def _fact(text: str, since: int) -> Fact:
    return Fact(cut_line(text, LONGEST_KNOWN), since, WITNESSED)
