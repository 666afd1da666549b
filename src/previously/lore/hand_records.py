"""Records of what people write about lore, threads, the state, wishes and names, and the state that follows from them.

A record is kept with the branch, as a mark, and applied after everything that was noted. A person's words stand byte
for byte; what a model noted of the same is a suggestion. Records of earlier versions are read as they are, so the
names of fields and the kinds in `_KINDS` never change.
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
from previously.lore.current_state import CurrentState, StateValue, make_place_finder
from previously.lore.entry import EntryKey, LoreEntry, Suggestion
from previously.lore.keys import is_useful_keyword, normalize_name
from previously.lore.merge import find_entry, merge_entries, write_entry
from previously.lore.state import State, Wish, find_wish
from previously.lore.threads import MOST_EARLIER_WORDS, PERSON, Thread, Threads, UnmatchedItem, reword_thread


class EntryAction(StrEnum):
    """A person's action on an entry."""

    WRITE = "write"
    """Writes its content, its keywords or both, or makes it."""
    ACCEPT = "accept"
    """Takes over what was only suggested."""
    REMOVE = "remove"
    """Shows it no more."""
    MERGE = "merge"
    """Says that it is the same thing as another."""
    RENAME = "rename"
    """Gives it another name."""


@dataclass(frozen=True, slots=True)
class LoreRecord:
    """A person's word on an entry."""

    deed: EntryAction
    name: str
    type: str
    keywords: tuple[str, ...] | None = None
    content: str | None = None
    known_to: tuple[str, ...] | None = None
    """The people who knew all that was known of the entry when this was written, by their compared names: it is for
    nobody else, since it may tell what was noted where they were not. None: it is for everyone."""
    seen: tuple[str, ...] = ()
    """The descriptions of it when this was written, by `said_key`; what comes to be noted later is suggested."""
    into: str = ""
    """The name of the entry that it is the same as, where it is merged; its new name, where it is renamed."""


class ThreadAction(StrEnum):
    """A person's action on a thread."""

    OPEN = "open"
    """Opens one, or opens one again."""
    RESOLVE = "resolve"
    REWORD = "reword"
    """Gives it other words, another date or another owner."""
    REMOVE = "remove"
    """Shows it no more, as if nobody had opened it."""
    MERGE = "merge"
    """Says that it is the same as another."""


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """A person's word on a thread."""

    op: ThreadAction
    text: str
    """Its words; for a reworded one, the new ones."""
    due: str = ""
    id: str = ""
    """The thread that is meant, where it is known; else the words decide."""
    was: str = ""
    """The words of the thread when the person read it."""
    owner: str | None = None
    """Whose it is; None where the person does not say."""
    into: str = ""
    """The id of the thread that it is the same as, where it is merged,"""
    into_was: str = ""
    """and the words of that one when the person read it."""


@dataclass(frozen=True, slots=True)
class StateRecord:
    """A person's word on the current state."""

    text: str
    subject: str | None = None
    """Written by earlier versions."""
    ended: bool = False
    """True if it holds no more."""
    instead_of: str = ""
    """The line that it takes the place of, where that is about something else."""


@dataclass(frozen=True, slots=True)
class WishRecord:
    """A person's word on a wish."""

    id: str
    was: str
    """Its words when the person read it."""
    text: str = ""
    """Its new words; empty where it was withdrawn."""


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """A person's word that two names are one character's."""

    name: str
    into: str
    """The name that the character is known by."""


HandRecord = LoreRecord | ThreadRecord | StateRecord | WishRecord | PersonRecord
_KINDS: dict[str, type[HandRecord]] = {
    "lore": LoreRecord,
    "thread": ThreadRecord,
    "held": StateRecord,
    "wish": WishRecord,
    "person": PersonRecord,
}


@dataclass(frozen=True, slots=True)
class CorrectedState:
    """The state with what people said of it."""

    state: State
    by_hand: frozenset[EntryKey]
    """The entries that a person wrote or accepted."""
    removed: frozenset[EntryKey]
    """Those that are shown no more."""


def render_record(record: HandRecord) -> str:
    kind = next(name for name, one in _KINDS.items() if isinstance(record, one))
    return json.dumps({"kind": kind, **make_plain(record)}, ensure_ascii=False)


def parse_record(text: str) -> HandRecord | None:
    try:
        plain = json.loads(text)
        return read_plain(_KINDS[plain.pop("kind")], plain)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


def correct_state(state: State, records: Sequence[tuple[int, HandRecord]]) -> CorrectedState:
    """Return the state after what people said, each at a position, in the order of the path."""
    by_hand: set[EntryKey] = set()
    removed: set[EntryKey] = set()
    lore = dict(state.lore)
    noted = state.threads.threads
    for position, record in records:
        match record:
            case LoreRecord(EntryAction.RENAME):
                renamed = find_entry(lore, record.name)
                other = lore.get(normalize_name(record.into))
                if renamed and other and other.key != renamed.key:  # which was noted under the new name since
                    lore = merge_entries(lore, renamed.key, other.key)
                elif renamed:
                    entry = write_entry(renamed, record.into, renamed.type)
                    lore = {entry.key if key == renamed.key else key: it for key, it in lore.items()} | {
                        entry.key: entry
                    }
                    state = replace(state, current=_rename_things(state.current, renamed, entry, state))
                    by_hand.add(entry.key)
            case LoreRecord(EntryAction.MERGE) | PersonRecord():
                merged, into = find_entry(lore, record.name), find_entry(lore, record.into)
                if merged and into and merged.key != into.key:
                    lore = merge_entries(lore, record.name, record.into)
                    state = replace(state, current=_rename_things(state.current, merged, into, state))
            case LoreRecord(deed):
                before = find_entry(lore, record.name)
                if before and before.key in by_hand and before.key != normalize_name(record.name):
                    before = None  # another that a person wrote
                key = before.key if before else normalize_name(record.name)
                if deed is EntryAction.WRITE:
                    entry = _write_entry(before, record, position)
                    # In place of the old one, also where its name and so its key has changed.
                    lore = {entry.key if old == key else old: entry if old == key else it for old, it in lore.items()}
                    key = entry.key
                    lore[key] = entry
                (removed.add if deed is EntryAction.REMOVE else removed.discard)(key)
                if deed is not EntryAction.REMOVE:
                    by_hand.add(key)
            case ThreadRecord():
                state = replace(state, threads=_change_threads(state.threads, record, position))
            case StateRecord():
                if record.instead_of:
                    ending = StateRecord(record.instead_of, ended=True)
                    state = replace(state, current=_change_state(state.current, ending, position, state))
                state = replace(state, current=_change_state(state.current, record, position, state))
            case WishRecord():
                state = replace(state, wishes=_change_wishes(state.wishes, record, position))
    threads = _add_suggestions(state.threads, {one.id for one in noted})
    return CorrectedState(replace(state, lore=lore, threads=threads), frozenset(by_hand), frozenset(removed))


def make_hand_thread_id(text: str) -> str:
    """Return the id of a thread that a person opened: by its words, for its place may move."""
    return blake2b(casefold(text).encode("utf-8", "surrogatepass"), digest_size=8, person=b"prev.hand.1").hexdigest()


def _write_entry(before: LoreEntry | None, record: LoreRecord, position: int) -> LoreEntry:
    """Return an entry as a person wrote it. What was noted of it since is suggested, wherever it was said."""
    entry = write_entry(
        before, record.name, record.type, keywords=record.keywords, content=record.content, position=position
    )
    if before is None or before.locked:
        return entry
    new: list[Suggestion] = []
    unseen = before.touched > position or said_key(before.content) not in record.seen
    if record.content is not None and unseen and casefold(before.content) not in casefold(record.content):
        new.append(Suggestion("content", before.content, before.touched))
    if record.keywords is not None and before.touched > position:
        known = set(map(normalize_name, record.keywords))
        words = [
            one for one in before.keywords if normalize_name(one) not in known | {entry.key} and is_useful_keyword(one)
        ]
        new += [Suggestion("keywords", one, before.touched) for one in words]
    return replace(entry, suggestions=tuple(new))


def _change_threads(threads: Threads, record: ThreadRecord, position: int) -> Threads:
    thread = threads.find(record.id, record.was or record.text)
    if record.op is ThreadAction.RESOLVE:
        if thread is None or thread.settled is not None:
            return threads
        at = max(position, thread.opened)
        return threads.put(replace(thread, settled=at, outcome="", touched=max(thread.touched, position)))
    if record.op is ThreadAction.REMOVE:
        return threads.drop(thread.id) if thread else threads
    if record.op is ThreadAction.MERGE:
        return _merge_threads(threads, thread, threads.find(record.into, record.into_was), record)
    if thread is None:
        # What a person wrote is not lost with the message that opened the thread.
        ident = record.id or make_hand_thread_id(record.text)
        while not record.id and any(one.id == ident for one in threads.threads):
            ident = make_hand_thread_id(ident)  # of one that had these words before it was reworded
        owner = record.owner or ""
        return threads.put(Thread(ident, record.text, position, position, by=PERSON, due=record.due, owner=owner))
    if record.op is ThreadAction.OPEN:
        again = replace(_apply_own(thread, record), text=record.text, settled=None, outcome="", by=PERSON)
        opened = threads.put(again)
        if thread.settled is None or thread.settled <= position:
            return opened
        late = UnmatchedItem(ThreadChange.SETTLED, thread.id, thread.outcome, thread.settled)
        return replace(opened, suggestions=(*opened.suggestions, late))
    later = (
        [UnmatchedItem(ThreadChange.NOW, thread.id, thread.text, thread.touched)] if thread.text != record.was else []
    )
    mine = replace(reword_thread(_apply_own(thread, record), record.text, position), by=PERSON)
    return replace(threads.put(mine), suggestions=(*threads.suggestions, *later))


def _apply_own(thread: Thread, record: ThreadRecord) -> Thread:
    """Return a thread with the date and the owner that a person gives it."""
    owner = thread.owner if record.owner is None else record.owner
    return replace(thread, due=record.due or thread.due, owner=owner)


def _merge_threads(threads: Threads, thread: Thread | None, into: Thread | None, record: ThreadRecord) -> Threads:
    """Return the threads where one is part of another. What notes make of it later is suggested for that one."""
    if thread is None or into is None or thread.id == into.id:
        return threads
    words = tuple(dict.fromkeys((*thread.earlier, thread.text, *into.earlier)))
    whole = replace(
        into, opened=min(thread.opened, into.opened), touched=max(thread.touched, into.touched), by=PERSON,
        earlier=tuple(one for one in words if one != into.text)[-MOST_EARLIER_WORDS:],
        due=into.due or thread.due, owner=into.owner or thread.owner,
    )  # fmt: skip
    later: list[UnmatchedItem] = []
    if thread.settled is not None and into.settled is None:
        later.append(UnmatchedItem(ThreadChange.SETTLED, into.id, thread.outcome, thread.settled))
    elif thread.text != record.was:
        later.append(UnmatchedItem(ThreadChange.NOW, into.id, thread.text, thread.touched))
    merged = threads.drop(thread.id).put(whole)
    return replace(merged, suggestions=(*merged.suggestions, *later))


def _add_suggestions(threads: Threads, noted: Iterable[str]) -> Threads:
    """Return the threads where what notes would do to a person's own threads is suggested."""
    own = {one.id for one in threads.threads} - set(noted)
    theirs = tuple(one for one in threads.unmatched if one.thread in own)
    rest = tuple(one for one in threads.unmatched if one.thread not in own)
    return replace(threads, unmatched=rest, suggestions=(*threads.suggestions, *theirs)) if theirs else threads


def _change_state(current: CurrentState, record: StateRecord, position: int, state: State) -> CurrentState:
    place_of = make_place_finder(state.lore)
    item = parse_state_line(record.text)
    new = StateValue("", None, record.text, position, PERSON)
    if item is not None:
        new = StateValue(item.thing, item.aspect, item.value, position, PERSON)
    place = place_of(new)
    replaced = [one for one in current.items if place_of(one) == place]
    others = tuple(one for one in current.items if place_of(one) != place)
    late = tuple(one for one in replaced if one.by != PERSON and one.position > position and one.value != new.value)
    ended = record.ended or not new.value
    earlier = tuple(one for one in replaced if one not in late)
    if ended and late:
        return current  # it came to hold again after it was ended
    return CurrentState(
        others if ended else (*others, new), (*current.earlier, *earlier), (*current.suggestions, *late)
    )


def _rename_things(current: CurrentState, merged: LoreEntry, into: LoreEntry, state: State) -> CurrentState:
    """Return the state where what was said of a merged thing is said of the one that it is."""
    names = {normalize_name(name) for name in (merged.name, *merged.aliases)}
    place_of = make_place_finder(state.lore)
    values: dict[object, StateValue] = {}
    for value in current.items:
        is_merged = value.aspect is not None and normalize_name(value.thing) in names
        renamed = replace(value, thing=into.name) if is_merged else value
        before = values.pop(place_of(renamed), None)
        values[place_of(renamed)] = before if before and before.position > value.position else renamed
    return replace(current, items=tuple(values.values()))


def _change_wishes(wishes: tuple[Wish, ...], record: WishRecord, position: int) -> tuple[Wish, ...]:
    wish = find_wish(wishes, record.id, record.was)
    if not record.text:
        return tuple(one for one in wishes if one is not wish)
    mine = Wish(record.id, record.text, wish.position if wish else position, PERSON)
    return tuple(mine if one is wish else one for one in wishes) if wish else (*wishes, mine)
