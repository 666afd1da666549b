"""A note: what one span of messages adds to memory beside its recap.

Each item names the message it comes from by its offset in the span, so that a note is valid wherever the span stands.
A thread is named by what opened it (the span's key and the item's words), never by the number a model was shown. A line
of the state is `Thing / aspect: value`; one without a known aspect is none, since a value must know what it replaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any, TypeVar

from previously.core.json_values import make_plain, read_plain
from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold


class Aspect(StrEnum):
    """The kinds of things that the state says of a thing. There is no catch-all: a value must know what it replaces."""

    PLACE = "place"
    HOLDER = "holder"
    HOLDS = "holds"
    CONDITION = "condition"
    OFFICE = "office"
    TIME = "time"


class ThreadChange(StrEnum):
    """The effect of an item on a thread."""

    NEW = "new"
    NOW = "now"
    """The thread goes on in other words."""
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class ThreadItem:
    """One thread opened, reworded or settled."""

    change: ThreadChange
    text: str
    """The thread in its new words; for a settled one, how it ended."""
    at: int | None = None
    """The offset of its message; None where it happened before the span."""
    thread: str = ""
    """The thread it changes; empty for a new one, whose id is `thread_id` of the span's key and the item's words."""
    was: str = ""
    """The words in which the model was shown the thread that it changes: should the note that opened it be made anew,
    it is found by them."""


@dataclass(frozen=True, slots=True)
class StateItem:
    """One value of the state. An empty value ends it."""

    thing: str
    aspect: Aspect
    value: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class PresenceItem:
    """The people who could see or hear the messages from one offset to another, both included; nobody for talk at the
    table."""

    first: int
    last: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearntItem:
    """Something that somebody was told without having witnessed it, or keeps from others."""

    names: tuple[str, ...]
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class LoreItem:
    """One thing described whole: the newest description replaces the older one."""

    name: str
    type: str
    keywords: tuple[str, ...]
    content: str
    at: tuple[int, ...] = ()
    """The offsets of the messages it comes from; none = the whole span."""
    in_sight_of: str = ""
    """Stands for the description that the model was shown of the same thing, by `said_key`; empty for none."""


@dataclass(frozen=True, slots=True)
class WishItem:
    """A wish of a player about the telling, out of character."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class PlayerItem:
    """Whom a player plays, where the character's name is not the player's own."""

    player: str
    character: str
    at: int


@dataclass(frozen=True, slots=True)
class Note:
    """Everything noted of one span."""

    threads: tuple[ThreadItem, ...] = ()
    state: tuple[StateItem, ...] = ()
    present: tuple[PresenceItem, ...] = ()
    learnt: tuple[LearntItem, ...] = ()
    lore: tuple[LoreItem, ...] = ()
    players: tuple[PlayerItem, ...] = ()
    wishes: tuple[WishItem, ...] = ()
    scene_ends: tuple[int, ...] = ()
    """Offsets of the messages with which a scene ended."""

    @property
    def is_empty(self) -> bool:
        return self == NO_NOTE


NO_NOTE = Note()


@dataclass(frozen=True, slots=True)
class NotedLine:
    """A line of memory, and the positions of the messages it comes from."""

    text: str
    positions: tuple[int, ...]


_ITEMS: dict[str, type[Any]] = {
    "threads": ThreadItem,
    "state": StateItem,
    "present": PresenceItem,
    "learnt": LearntItem,
    "lore": LoreItem,
    "players": PlayerItem,
    "wishes": WishItem,
}

Item = TypeVar("Item")


def thread_id(key: bytes, text: str) -> str:
    """Return the id of the thread that a note of the span with this key opened in these words. Were it the item's place
    in the note, a note made anew would lend it to another thread."""
    state = blake2b(key, digest_size=8, person=b"prev.thread.2")
    state.update(" ".join(text.split()).casefold().encode("utf-8", "surrogatepass"))
    return state.hexdigest()


def said_key(text: str) -> str:
    """Return that by which it is known that a text stood there when another was written."""
    return blake2b(casefold(text).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def render_note(note: Note) -> str:
    """Return a note as the text of a version: canonical JSON, empty lists left out."""
    plain: dict[str, Any] = {name: [make_plain(one) for one in getattr(note, name)] for name in _ITEMS}
    plain["scene_ends"] = list(note.scene_ends)
    kept = {name: items for name, items in plain.items() if items}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def render_note_words(note: Note) -> str:
    """Return all that a note says, a line for each item, without the numbers of messages and the ids of threads."""
    lines = [
        *(words for one in note.threads for words in (one.text, one.was) if words),
        *(one.text for one in note.wishes),
        *(f"{one.thing}: {one.value}" for one in note.state),
        *(", ".join(one.names) for one in note.present),
        *(f"{', '.join(one.names)}: {one.text}" for one in note.learnt),
        *(f"{one.name}, {', '.join(one.keywords)}: {one.content}" for one in note.lore),
        *(f"{one.player}: {one.character}" for one in note.players),
    ]
    return "\n".join(lines)


def parse_note(text: str) -> Note:
    """Return the note in the text of a version. What cannot be read is passed over, item by item."""
    try:
        plain = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        plain = {}
    if not isinstance(plain, dict):
        return NO_NOTE
    items = {name: tuple(_read_items(of, plain.get(name))) for name, of in _ITEMS.items()}
    ends = plain.get("scene_ends")
    offsets = tuple(one for one in ends if isinstance(one, int)) if isinstance(ends, list) else ()
    return Note(**items, scene_ends=offsets)


def _read_items(of: type[Item], given: object) -> Iterator[Item]:
    for plain in given if isinstance(given, list) else ():
        try:
            yield read_plain(of, plain)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue


ENDED = "ended"
"""The value that takes a line away."""

_LINE = lazy_pattern(
    rf"\s*(?:[-*•]\s+)?(?P<thing>[^\n]*\S)\s*/\s*(?P<aspect>{'|'.join(Aspect)})\s*[:：]\s*(?P<value>\S.*)", re.I | re.S
)


def parse_state_line(text: str) -> StateItem | None:
    """Return the value in a line, None where it has no thing or no known aspect. "ended" gives an empty value."""
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    value = " ".join(match["value"].split())
    ended = value.rstrip(".").casefold() == ENDED
    return StateItem(" ".join(match["thing"].split()), Aspect(match["aspect"].lower()), "" if ended else value)


def render_state_line(thing: str, aspect: Aspect | None, value: str) -> str:
    """Return a value as a line; free words of a person, which have neither thing nor aspect, as they are."""
    return f"{thing} / {aspect}: {value}" if aspect else value
