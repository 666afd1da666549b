"""What people say of lore, threads and how things stand, and what becomes of the state by it.

A record is kept with the branch, as a mark, and applied after everything that was noted. What must stay true: a
person's words stand byte for byte; what a model noted later of the same is a suggestion; reading a record is total.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b

from previously.core.plain import from_plain, to_plain
from previously.core.signals import folded
from previously.lore.current import Change, reduce_current
from previously.lore.merging import written
from previously.lore.state import State
from previously.lore.things import Key, LoreEntry, Suggestion, entry_key
from previously.lore.threads import PERSON, Op, Operation, reduce_threads, settled_by_hand

HAND_FIELDS = frozenset({"content", "keywords"})


class Deed(StrEnum):
    """What a person does to an entry."""

    WRITE = "write"
    """Writes its content, its keywords or both, or makes it."""
    ACCEPT = "accept"
    """Takes over what was only suggested."""
    REMOVE = "remove"
    """Shows it no more."""


@dataclass(frozen=True, slots=True)
class LoreRecord:
    """What a person did to an entry."""

    deed: Deed
    name: str
    type: str
    keywords: tuple[str, ...] | None = None
    content: str | None = None
    known_to: tuple[str, ...] | None = None
    """Who knew all that was known of the entry when this was written, each by the name as it is compared: it is for
    nobody else, since it may tell what was noted where they were not. None: it is for everyone."""
    seen: tuple[str, ...] = ()
    """What was said of it when this was written, by `said_key`; what comes to be noted later is suggested."""


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """What a person said of something open."""

    op: Op
    text: str
    due: str = ""
    id: str = ""
    """The thread that is meant, where it is known; else the words decide."""


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """What a person said of how things stand."""

    text: str
    subject: str | None = None


Record = LoreRecord | ThreadRecord | HeldRecord
_KINDS: dict[str, type[Record]] = {"lore": LoreRecord, "thread": ThreadRecord, "held": HeldRecord}


@dataclass(frozen=True, slots=True)
class Corrected:
    """The state with what people said of it."""

    state: State
    by_hand: frozenset[Key]
    """The entries that a person wrote or accepted."""
    removed: frozenset[Key]
    """Those that are shown no more."""


def record_text(record: Record) -> str:
    """A record as it is kept."""
    kind = next(name for name, one in _KINDS.items() if isinstance(record, one))
    return json.dumps({"kind": kind, **to_plain(record)}, ensure_ascii=False)


def record_of(text: str) -> Record | None:
    """The record in a text; None for what is none."""
    try:
        given = json.loads(text)
        return from_plain(_KINDS[given.pop("kind")], given)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


def corrected(state: State, records: Sequence[tuple[int, Record]]) -> Corrected:
    """The state after what people said, each at a position, in the order of the path."""
    by_hand: set[Key] = set()
    removed: set[Key] = set()
    lore = dict(state.lore)
    for position, record in records:
        match record:
            case LoreRecord(Deed.REMOVE):
                removed.add(_key(record))
            case LoreRecord():
                removed.discard(_key(record))
                by_hand.add(_key(record))
                if record.deed is Deed.WRITE:
                    lore[_key(record)] = _written(lore.get(_key(record)), record, position)
            case ThreadRecord(Op.RESOLVE, id=ident) if any(one.id == ident for one in state.threads.threads):
                state = replace(state, threads=settled_by_hand(state.threads, ident, position))
            case ThreadRecord(op, text, due):
                said = Operation(op, text, position, by=PERSON, due=due)
                state = replace(state, threads=reduce_threads(state.threads, [said]))
            case HeldRecord(text, subject):
                change = Change(text, position, PERSON, subject)
                state = replace(state, current=reduce_current(state.current, [change]))
    return Corrected(replace(state, lore=lore), frozenset(by_hand), frozenset(removed))


def said_key(text: str) -> str:
    """By which a record knows that a statement stood there when a person wrote."""
    return blake2b(folded(text).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _key(record: LoreRecord) -> Key:
    return entry_key(record.name, record.type)


def _written(before: LoreEntry | None, record: LoreRecord, position: int) -> LoreEntry:
    """An entry as a person wrote it. What was noted of it since is suggested, wherever in the story it was said."""
    there = {_key(record): before} if before else {}
    lore = written(there, record.name, record.type, keywords=record.keywords, content=record.content, source=position)
    entry = lore[_key(record)]
    if record.content is None or before is None:
        return entry
    known = folded(record.content)
    noted = [one for one in before.statements if one.by == "model"]
    later = [one for one in noted if one.newest > position or said_key(one.text) not in record.seen]
    new = [Suggestion("content", one.text, one.newest) for one in later if folded(one.text) not in known]
    return replace(entry, suggestions=tuple(dict.fromkeys([*entry.suggestions, *new])))
