"""The state of a story that goes on from another: its own, over what was known when the earlier one ended.

The two are never mixed in a store: what a story inherits is read where it is, each time. A description, a value or a
thread of the story's own stands in place of the inherited one of the same thing. Positions of what is inherited are
below 0: -1 is the last message of the earlier story.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from previously.core.cast import Fact, drop_repeats
from previously.core.people import People
from previously.core.scripts import casefold
from previously.lore.current_state import make_place_finder
from previously.lore.entry import EntryKey, LoreEntry
from previously.lore.merge import find_entry
from previously.lore.state import MOST_LEARNT, MOST_WISHES, Learner, State
from previously.lore.threads import Thread, find_by_words


def shift_state(state: State, by: int) -> State:
    """Return a state as one sees it from a story whose first message comes `by` messages after its own first."""
    threads = tuple(_shift_thread(thread, by) for thread in state.threads.threads if thread.settled is None)
    standing = tuple(replace(value, position=value.position - by) for value in state.current.standing)
    return State(
        {key: _shift_entry(entry, by) for key, entry in state.lore.items()},
        replace(state.threads, threads=threads, unmatched=(), suggestions=()),
        replace(state.current, items=standing, earlier=(), suggestions=()),
        {key: replace(one, first=one.first - by, last=one.last - by) for key, one in state.people.items()},
        tuple(replace(wish, position=wish.position - by) for wish in state.wishes),
        {key: _shift_learner(learner, by) for key, learner in state.learnt.items()},
        {key: replace(player, since=player.since - by) for key, player in state.players.items()},
    )


def add_learnt(state: State, name: str, facts: tuple[Fact, ...]) -> State:
    """Return a state in which somebody has learnt these facts too, before all others."""
    if not facts:
        return state
    key = casefold(name)
    own = state.learnt.get(key, Learner(name, ()))
    return replace(state, learnt={**state.learnt, key: _join_learners(Learner(own.name, facts), own)})


def inherit_state(earlier: State, own: State) -> State:
    """Return a story's own state over an earlier one that is shifted already."""
    place_of = make_place_finder({**earlier.lore, **own.lore})
    places = {place_of(value) for value in own.current.items}
    standing = tuple(value for value in earlier.current.items if place_of(value) not in places)
    threads = tuple(one for one in earlier.threads.threads if not _is_taken_up(one, own))
    wished = {casefold(wish.text) for wish in own.wishes}
    wishes = tuple(wish for wish in earlier.wishes if casefold(wish.text) not in wished)
    learnt = {key: learner for key, learner in earlier.learnt.items() if key not in own.learnt}
    for key, learner in own.learnt.items():
        learnt[key] = _join_learners(earlier.learnt[key], learner) if key in earlier.learnt else learner
    return replace(
        own,
        lore=_inherit_lore(earlier.lore, own.lore),
        threads=replace(own.threads, threads=(*threads, *own.threads.threads)),
        current=replace(own.current, items=(*standing, *own.current.items)),
        people=_join_people(earlier.people, own.people),
        wishes=(*wishes, *own.wishes)[-MOST_WISHES:],
        learnt=learnt,
        players={**{key: one for key, one in earlier.players.items() if key not in own.players}, **own.players},
    )


def _inherit_lore(
    earlier: Mapping[EntryKey, LoreEntry], own: Mapping[EntryKey, LoreEntry]
) -> dict[EntryKey, LoreEntry]:
    """Return the entries of both. One that the story describes itself has its words from there alone."""
    return {**{key: entry for key, entry in earlier.items() if find_entry(own, entry.name) is None}, **own}


def _is_taken_up(thread: Thread, own: State) -> bool:
    """Return whether the story has that thread by itself, open or settled: then it knows better."""
    if any(one.id == thread.id for one in own.threads.threads):
        return True
    return any(find_by_words([replace(one, settled=None)], thread.text) for one in own.threads.threads)


def _join_people(earlier: People, own: People) -> People:
    people = dict(earlier)
    for key, person in own.items():
        before = people.pop(key, None)
        people[key] = (
            replace(before, speaks=before.speaks or person.speaks, plays=before.plays or person.plays, last=person.last)
            if before
            else person
        )
    return people


def _join_learners(earlier: Learner, own: Learner) -> Learner:
    return Learner(own.name, drop_repeats([*earlier.facts, *own.facts])[-MOST_LEARNT:])


def _shift_entry(entry: LoreEntry, by: int) -> LoreEntry:
    sources = tuple(position - by for position in entry.sources)
    return replace(entry, sources=sources, touched=entry.touched - by, suggestions=())


def _shift_thread(thread: Thread, by: int) -> Thread:
    return replace(thread, opened=thread.opened - by, touched=thread.touched - by)


def _shift_learner(learner: Learner, by: int) -> Learner:
    return replace(learner, facts=tuple(replace(fact, since=fact.since - by) for fact in learner.facts))
