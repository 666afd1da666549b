"""What people say of lore, threads, the state and wishes, and what becomes of them by it.

A record is kept with the branch, as a mark, and applied after everything that was noted. A person's words stand byte
for byte; what a model noted of the same is a suggestion. Records of earlier versions are read as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b

from previously.core.json_values import make_plain, read_plain
from previously.core.note import ThreadChange, parse_state_line, said_key
from previously.core.scripts import casefold
from previously.lore.current import Current, Held, placing
from previously.lore.keywords import is_useful, key_of
from previously.lore.merge import find_entry, write
from previously.lore.state import State
from previously.lore.things import Key, LoreEntry, Suggestion
from previously.lore.threads import PERSON, Thread, Threads, Unmatched, reword
from previously.lore.wishes import Wish, find_wish


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


class Op(StrEnum):
    """What a person does to a thread."""

    OPEN = "open"
    """Opens one, or opens one again."""
    RESOLVE = "resolve"
    REWORD = "reword"


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """What a person said of a thread."""

    op: Op
    text: str
    """Its words; for a reworded one, the new ones."""
    due: str = ""
    id: str = ""
    """The thread that is meant, where it is known; else the words decide."""
    was: str = ""
    """The words of a reworded thread when the person read it."""


@dataclass(frozen=True, slots=True)
class HeldRecord:
    """What a person said of how things stand."""

    text: str
    subject: str | None = None
    """Written by earlier versions."""
    ended: bool = False
    """Whether it holds no more."""


@dataclass(frozen=True, slots=True)
class WishRecord:
    """What a person did to a wish."""

    id: str
    was: str
    """Its words when the person read it."""
    text: str = ""
    """Its new words; empty where it was withdrawn."""


Record = LoreRecord | ThreadRecord | HeldRecord | WishRecord
_KINDS: dict[str, type[Record]] = {"lore": LoreRecord, "thread": ThreadRecord, "held": HeldRecord, "wish": WishRecord}


@dataclass(frozen=True, slots=True)
class Corrected:
    """The state with what people said of it."""

    state: State
    by_hand: frozenset[Key]
    """The entries that a person wrote or accepted."""
    removed: frozenset[Key]
    """Those that are shown no more."""


def record_text(record: Record) -> str:
    """Return a record as it is kept."""
    kind = next(name for name, one in _KINDS.items() if isinstance(record, one))
    return json.dumps({"kind": kind, **make_plain(record)}, ensure_ascii=False)


def record_of(text: str) -> Record | None:
    """Return the record in a text; None for what is none."""
    try:
        given = json.loads(text)
        return read_plain(_KINDS[given.pop("kind")], given)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


def corrected(state: State, records: Sequence[tuple[int, Record]]) -> Corrected:
    """Return the state after what people said, each at a position, in the order of the path."""
    by_hand: set[Key] = set()
    removed: set[Key] = set()
    lore = dict(state.lore)
    noted = state.threads.threads
    for position, record in records:
        match record:
            case LoreRecord(deed):
                before = find_entry(lore, record.name)
                if before and before.key in by_hand and before.key != key_of(record.name):
                    before = None  # another that a person wrote
                key = before.key if before else key_of(record.name)
                if deed is Deed.WRITE:
                    entry = _written(before, record, position)
                    lore = {entry.key if one == key else one: entry if one == key else it for one, it in lore.items()}
                    key = entry.key
                    lore[key] = entry
                (removed.add if deed is Deed.REMOVE else removed.discard)(key)
                if deed is not Deed.REMOVE:
                    by_hand.add(key)
            case ThreadRecord():
                state = replace(state, threads=_threaded(state.threads, record, position))
            case HeldRecord():
                state = replace(state, current=_held(state.current, record, position, state))
            case WishRecord():
                state = replace(state, wishes=_wished(state.wishes, record, position))
    threads = _suggested(state.threads, {one.id for one in noted})
    return Corrected(replace(state, lore=lore, threads=threads), frozenset(by_hand), frozenset(removed))


def hand_thread_id(text: str) -> str:
    """Return the id of a thread that a person opened: by its words, for its place may move."""
    return blake2b(casefold(text).encode("utf-8", "surrogatepass"), digest_size=8, person=b"prev.hand.1").hexdigest()


def _written(before: LoreEntry | None, record: LoreRecord, position: int) -> LoreEntry:
    """Return an entry as a person wrote it. What was noted of it since is suggested, wherever it was said."""
    entry = write(before, record.name, record.type, keywords=record.keywords, content=record.content, position=position)
    if before is None or before.locked:
        return entry
    new: list[Suggestion] = []
    unseen = before.touched > position or said_key(before.content) not in record.seen
    if record.content is not None and unseen and casefold(before.content) not in casefold(record.content):
        new.append(Suggestion("content", before.content, before.touched))
    if record.keywords is not None and before.touched > position:
        known = set(map(key_of, record.keywords))
        words = [one for one in before.keywords if key_of(one) not in known | {entry.key} and is_useful(one)]
        new += [Suggestion("keywords", one, before.touched) for one in words]
    return replace(entry, suggestions=tuple(new))


def _threaded(threads: Threads, record: ThreadRecord, position: int) -> Threads:
    found = threads.find(record.id, record.was or record.text)
    if record.op is Op.RESOLVE:
        if found is None or found.settled is not None:
            return threads
        at = max(position, found.opened)
        return threads.put(replace(found, settled=at, outcome="", touched=max(found.touched, position)))
    if found is None:
        # What a person wrote is not lost with the message that opened the thread.
        ident = record.id or hand_thread_id(record.text)
        return threads.put(Thread(ident, record.text, position, position, by=PERSON, due=record.due))
    if record.op is Op.OPEN:
        again = replace(found, text=record.text, settled=None, outcome="", by=PERSON, due=record.due or found.due)
        opened = threads.put(again)
        if found.settled is None or found.settled <= position:
            return opened
        late = Unmatched(ThreadChange.SETTLED, found.id, found.outcome, found.settled)
        return replace(opened, suggestions=(*opened.suggestions, late))
    later = [Unmatched(ThreadChange.NOW, found.id, found.text, found.touched)] if found.text != record.was else []
    mine = replace(reword(found, record.text, position), by=PERSON)
    return replace(threads.put(mine), suggestions=(*threads.suggestions, *later))


def _suggested(threads: Threads, noted: Iterable[str]) -> Threads:
    """Return the threads where what notes would do to a person's own threads is suggested."""
    own = {one.id for one in threads.threads} - set(noted)
    theirs = tuple(one for one in threads.unmatched if one.thread in own)
    rest = tuple(one for one in threads.unmatched if one.thread not in own)
    return replace(threads, unmatched=rest, suggestions=(*threads.suggestions, *theirs)) if theirs else threads


def _held(current: Current, record: HeldRecord, position: int, state: State) -> Current:
    place_of = placing(state.lore)
    item = parse_state_line(record.text)
    new = Held("", None, record.text, position, PERSON)
    if item is not None:
        new = Held(item.thing, item.aspect, item.value, position, PERSON)
    place = place_of(new)
    replaced = [one for one in current.items if place_of(one) == place]
    kept = tuple(one for one in current.items if place_of(one) != place)
    late = tuple(one for one in replaced if one.by != PERSON and one.position > position and one.value != new.value)
    ended = record.ended or not new.value
    earlier = tuple(one for one in replaced if one not in late)
    if ended and late:
        return current  # it came to hold again after it was ended
    return Current(kept if ended else (*kept, new), (*current.earlier, *earlier), (*current.suggestions, *late))


def _wished(wishes: tuple[Wish, ...], record: WishRecord, position: int) -> tuple[Wish, ...]:
    found = find_wish(wishes, record.id, record.was)
    if not record.text:
        return tuple(one for one in wishes if one is not found)
    mine = Wish(record.id, record.text, found.position if found else position, PERSON)
    return tuple(mine if one is found else one for one in wishes) if found else (*wishes, mine)
