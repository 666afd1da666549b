"""One story at one moment: its branch, its index, and what is known of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from previously.core.errors import BadInput
from previously.core.fact_book import SharedMemory
from previously.core.fold_rules import FoldRules
from previously.core.note import NotedLine
from previously.core.presence import Presence
from previously.core.snapshot import Snapshot
from previously.lore.index import StoryLore
from previously.memory.known import KnownReader, KnownState, hand_on, read_knowledge
from previously.storage.store import Store, StoryKey

if TYPE_CHECKING:  # what not every command needs; numpy is loaded when something is asked, not before
    from previously.recall.outline import PathEntries
    from previously.recall.search import StoryIndex
    from previously.view.reader import Reader


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
    key: StoryKey
    name: str = ""
    """The name of a story that is read for another one."""
    find_earlier: Callable[[], StoryMoment | None] = lambda: None
    """Finds the story that this one continues, where it ended."""
    read_header: Callable[[], str] = lambda: "{}"
    """Reads what is kept of the story beside its messages."""
    list_sharing: Callable[[str], Sequence[StoryMoment]] = lambda _: ()
    """Lists the other stories that have a book attached, the newest first."""

    def read_presence(self, *, next_speaker: str = "") -> Presence:
        """Return who was present at each message."""
        return self.known_reader.read_presence(self.snapshot, self.rules, next_speaker=next_speaker)

    def read_known(self, reader: str = "", presence: Presence | None = None, *, exact: bool = False) -> KnownState:
        """Return what is known, to everyone or to one reader."""
        earlier = self.find_earlier()
        inherited = earlier.read_for_next(reader) if earlier else None
        return self.known_reader.read_known(
            self.snapshot, self.rules, reader, presence, inherited=inherited, exact=exact
        )

    def read_note_lines(self, reader: Reader) -> tuple[NotedLine, ...]:
        """Return the lines of memory that a reader knows and that lead to messages."""
        return self.known_reader.read_note_lines(self.snapshot, self.rules, reader.name, reader.presence)

    def read_for_next(self, reader: str = "") -> KnownState | None:
        """Return what a story that continues this one inherits; for a reader what they knew here, and nothing for
        somebody of whom nobody here has heard."""
        if not reader:
            return hand_on(self.read_known(exact=True), self.snapshot.messages)
        if not self.has_heard_of(reader):
            return None
        presence = self.read_presence()
        known = self.read_known(reader, presence, exact=True)
        asked, stale = read_knowledge(self.snapshot, reader, presence)
        return hand_on(known, self.snapshot.messages, reader, None if stale else asked)

    def read_own_facts(self, name: str) -> list[str]:
        """Return what somebody knows in this very story, in a few lines; what they inherit or share is left out."""
        if not self.read_presence().has(name):
            return []
        presence = self.read_presence()
        known = self.known_reader.read_known(self.snapshot, self.rules, name, presence)
        knowledge = self.known_reader.read_facts(self.snapshot, known, name, presence).knowledge
        return [text for text in (knowledge.summary, *(fact.text for fact in knowledge.facts)) if text]

    def list_shared(self, reader: str = "") -> list[tuple[SharedMemory, str, str]]:
        """Return the facts of shared memories that a reader may be told, the newest of each first: the memory, the
        fact, and the story it comes from, if it comes from one."""
        names = self.read_presence().names if reader else None
        facts: list[tuple[SharedMemory, str, str]] = []
        for memory in self.known_reader.read_shared(self.snapshot):
            if not memory.is_for(reader, lambda other: names is not None and names.same_person(reader, other)):
                continue
            facts += [(memory, fact.text, fact.story) for fact in reversed(memory.facts)]
            for other in self.list_sharing(memory.name) if memory.learns else ():
                facts += [(memory, text, other.name) for text in other.read_own_facts(memory.of)]
        return facts

    def has_heard_of(self, name: str) -> bool:
        """Return whether somebody takes part in the story, was told of in it, or took part in the one before."""
        presence = self.read_presence()
        if presence.has(name):
            return True
        learnt = [person.name for person in self.read_known().state.learnt.values()]
        if any(presence.names.same_person(name, other) for other in learnt):
            return True
        earlier = self.find_earlier()
        return earlier is not None and earlier.has_heard_of(name)

    def read_lore(self, known: KnownState, reader: str = "") -> StoryLore:
        """Return all entries that may come up for a reader."""
        quirks = self.rules.lore_rules.quirks
        return self.known_reader.read_lore(self.snapshot, self.story, known, reader, quirks=quirks)

    def find_reader(self, reader: Reader, *, answers: bool = False) -> Reader:
        """Return a reader with what they may know of; `BadInput` for somebody whom nobody has heard of, unless they are
        about to answer."""
        if not reader.name:
            return reader
        presence = self.read_presence(next_speaker=reader.name if answers else "")
        if not answers and not self.has_heard_of(reader.name):
            learnt = [person.name for person in self.read_known().state.learnt.values()]
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
