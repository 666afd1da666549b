"""One story at one moment: its branch, its index, and what is known of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from previously.core.errors import BadInput
from previously.core.presence import Presence
from previously.core.snapshot import Snapshot
from previously.folds.recap import FoldRules
from previously.lore.index import StoryLore
from previously.memory.known import KnownReader, KnownState
from previously.storage.store import Store, StoryKey
from previously.view.reader import Reader

if TYPE_CHECKING:  # numpy is loaded when something is asked, not before
    from previously.recall.outline import PathEntries
    from previously.recall.search import StoryIndex


@dataclass(frozen=True, slots=True)
class StoryMoment:
    """Reads of one story that belong together; they end with the transaction that gave them."""

    snapshot: Snapshot
    rules: FoldRules
    known_reader: KnownReader
    story: str
    """Tells the stories of a store apart, and seeds what is drawn for a turn."""
    recall: Callable[[], tuple[StoryIndex, PathEntries]]
    """The index of what is said, and the path as the index knows it."""

    def read_presence(self, *, next_speaker: str = "") -> Presence:
        """Return who was present at each message."""
        return self.known_reader.read_presence(self.snapshot, self.rules, next_speaker=next_speaker)

    def read_known(self, reader: str = "", presence: Presence | None = None) -> KnownState:
        """Return what is known, to everyone or to one reader."""
        return self.known_reader.read_known(self.snapshot, self.rules, reader, presence)

    def read_lore(self, known: KnownState, reader: str = "") -> StoryLore:
        """Return all entries that may come up for a reader."""
        return self.known_reader.read_lore(self.snapshot, self.story, known, reader)

    def find_reader(self, reader: Reader, *, answers: bool = False) -> Reader:
        """Return a reader with what they may know of; `BadInput` for somebody whom nobody has heard of, unless they are
        about to answer."""
        if not reader.name:
            return reader
        presence = self.read_presence(next_speaker=reader.name if answers else "")
        if not answers and not presence.has(reader.name):
            learnt = [person.name for person in self.read_known().state.learnt.values()]
            if not any(presence.names.same_person(reader.name, name) for name in learnt):
                raise BadInput(_say_unheard_of(reader.name, {*presence.people, *learnt}))
        return replace(reader, presence=presence)


MOST_READERS = 64
"""Stories of a store of which it is remembered what was read: more than people play in one process at a time."""

_READERS: WeakKeyDictionary[Store, OrderedDict[StoryKey, KnownReader]] = WeakKeyDictionary()
_LOCK = Lock()


def find_known_reader(store: Store, key: StoryKey) -> KnownReader:
    """Return what reads a story: one for all who share it, so that it remembers what it has read. No two stories share
    one: after a story was forgotten, its numbers of versions and nodes may be given to another; its own is not."""
    with _LOCK:
        readers = _READERS.setdefault(store, OrderedDict())
        reader = readers.setdefault(key, KnownReader())
        readers.move_to_end(key)
        while len(readers) > MOST_READERS:
            readers.popitem(last=False)
        return reader


def _say_unheard_of(name: str, people: Collection[str]) -> str:
    there = f"there are {', '.join(sorted(people))}" if people else "there is nobody yet"
    return f"Nobody called {name!r} takes part in this story; {there}."
