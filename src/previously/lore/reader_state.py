"""The state as one person may know it: the same reduce, over the items of notes whose messages they witnessed.

An item follows the presence of its message, and one that names no message that of the whole span. But a note is written
by somebody who knows all: presence alone would tell a guest the secret that was kept at his table. So what was written
in sight of an earlier wording, description or value is for those who knew that one, and a thread is for those between
whom it is. What somebody learnt is theirs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

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
from previously.lore.keywords import key_of
from previously.lore.merge import find_entry, short_names
from previously.lore.state import Noted, State, after
from previously.lore.things import Key
from previously.lore.threads import find_worded
from previously.text.words import WORD, strip_possessive

_TOLD_ANEW = frozenset({Aspect.PLACE, Aspect.HOLDER, Aspect.TIME})


def after_for(state: State, noted: Noted, knows: Callable[[int], bool], is_self: Callable[[str], bool]) -> State:
    """Return what somebody may know after one more note. `knows` says of a position whether they may know of it,
    `is_self` of a name whether it is theirs."""
    note, length = noted.note, noted.last - noted.first + 1
    known = [knows(noted.first + offset) for offset in range(length)]

    def is_known(at: int | None) -> bool:
        return all(known) if at is None else 0 <= at < length and known[at]

    lore, veiled = _lore(state, note.lore, lambda one: all(map(is_known, one.at or (None,))))
    values, hidden = _values(state.veiled, note.state, is_known)
    theirs = Note(
        threads=tuple(_threads(state, [one for one in note.threads if is_known(one.at)], is_self)),
        state=values,
        present=tuple(one for one in note.present if _is_all_known(one, known)),
        learnt=tuple(_own(note.learnt, is_self)),
        lore=lore,
        players=tuple(one for one in note.players if is_known(one.at)),
        wishes=tuple(one for one in note.wishes if is_known(one.at)),
    )
    return replace(after(state, replace(noted, note=theirs)), veiled=veiled | hidden)


def _threads(state: State, items: Iterable[ThreadItem], is_self: Callable[[str], bool]) -> Iterable[ThreadItem]:
    """Yield the items that concern threads as somebody knows them: those opened in their sight to which they are a
    party, and what became of these. New words of another one tell what was opened without them."""
    known = {one.id for one in state.threads.threads}
    for item in items:
        if item.change is ThreadChange.NEW or not item.thread:
            if any(is_self(strip_possessive(word)) for word in WORD.findall(_head(item.text))):
                yield item
        elif item.thread in known or (item.was and find_worded(state.threads.threads, item.was)):
            yield item


def _head(text: str) -> str:
    """Return who a thread is between: what stands before its colon, since behind it may stand from whom it is kept. A
    question without one is between nobody: who asks it is whoever wrote the note."""
    found = re.search("[:：?？]", text)
    return text[: found.start()] if found and found[0] in ":：" else "" if found else text


def _values(
    veiled: frozenset[Key], items: Iterable[StateItem], is_known: Callable[[int | None], bool]
) -> tuple[tuple[StateItem, ...], frozenset[Key]]:
    """Return the values that somebody may know, and the things and aspects of which they missed one. Where something is
    and who has it is told anew each time; what somebody holds and how they are sums up what was before."""
    hidden, kept = set(veiled), list[StateItem]()
    for item in items:
        place = f"{key_of(item.thing)}/{item.aspect.value}"
        if is_known(item.at) and (place not in hidden or item.aspect in _TOLD_ANEW):
            kept.append(item)
        else:
            hidden.add(place)
    return tuple(kept), frozenset(hidden)


def _lore(
    state: State, items: Iterable[LoreItem], is_known: Callable[[LoreItem], bool]
) -> tuple[tuple[LoreItem, ...], frozenset[Key]]:
    """Return the descriptions that somebody may know, and the names of things of which they may not. What a description
    was written in sight of may have been taken back since: then only its key is left to compare."""
    hidden, kept = set(state.veiled), list[LoreItem]()
    for item in items:
        names = {key_of(item.name), *map(key_of, short_names(item.name, item.keywords))}
        theirs = find_entry(state.lore, item.name)
        in_sight = not item.in_sight_of or (theirs is not None and said_key(theirs.content) == item.in_sight_of)
        if in_sight and is_known(item) and hidden.isdisjoint(names):
            kept.append(item)
        else:
            hidden |= names
    return tuple(kept), frozenset(hidden)


def _own(items: Iterable[LearntItem], is_self: Callable[[str], bool]) -> Iterable[LearntItem]:
    for item in items:
        names = tuple(name for name in item.names if is_self(name))
        if names:
            yield replace(item, names=names)


def _is_all_known(item: PresenceItem, known: list[bool]) -> bool:
    return 0 <= item.first <= item.last < len(known) and all(known[item.first : item.last + 1])
