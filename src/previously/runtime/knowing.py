"""What is known beside the timeline: lore, threads, how things stand, and what each character knows.

What must stay true: what is given for somebody in particular follows from what they witnessed alone. A person's words
on something that was noted where they were not are not for them either.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from previously.core.cast import NOTHING_KNOWN, Knowledge, knowledge_of
from previously.core.marks import OWN_SCOPE
from previously.core.versions import Kind, LiveVersion
from previously.core.witnessing import folded_name
from previously.folds.recap import FoldRules
from previously.lore import current, threads
from previously.lore.by_hand import Corrected, LoreRecord, Record, corrected, record_of
from previously.lore.learnt import Learnt
from previously.lore.state import State
from previously.lore.things import LoreEntry
from previously.runtime.fold_store import MemoryStore, SnapshotStore
from previously.runtime.lore_in_views import Lorebook, Lorebooks, as_entry
from previously.runtime.noted import Walk, walk_to_the_end
from previously.runtime.reading import with_tail
from previously.runtime.stale import stale_version
from previously.runtime.states import States
from previously.runtime.told_before import HAND
from previously.storage.book_store import BookReading
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.view.lists import DATED, PERSON, first_sentence
from previously.view.memory import Remembered
from previously.view.readers import Reader
from previously.view.view import Section

MOST_PERSONS = 40
"""Persons who may have a line in a view: twice as many as 400 tokens hold, since of small views only some are told."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known at the end of a branch, to everyone or to one reader."""

    seen: Walk
    corrected: Corrected
    suggests: bool
    """Whether entries that nobody accepted are only suggestions."""

    @property
    def state(self) -> State:
        """Lore, threads and how things stand, people's words included."""
        return self.corrected.state

    @property
    def entries(self) -> list[LoreEntry]:
        """The entries that are in force, in the order they came up."""
        return [one for one in self.state.lore.values() if self._is_shown(one)]

    @property
    def by_people(self) -> frozenset[str]:
        """The uids of those that a person wrote or accepted."""
        return frozenset(as_entry(one).uid for one in self.entries if one.key in self.corrected.by_hand)

    @property
    def suggested(self) -> list[LoreEntry]:
        """Those that wait to be accepted."""
        removed = self.corrected.removed
        return [one for one in self.state.lore.values() if not self._is_shown(one) and one.key not in removed]

    def _is_shown(self, entry: LoreEntry) -> bool:
        if entry.key in self.corrected.removed:
            return False
        return not self.suggests or entry.key in self.corrected.by_hand


class Knowing:
    """Reads what is known, and remembers what it has read."""

    def __init__(self) -> None:
        self._states = States()
        self._lorebooks = Lorebooks()

    async def lorebook(self, store: BookReading, key: StoryKey, known: Known, reader: str = "") -> Lorebook:
        """All entries that may come up for a reader, indexed."""
        return await self._lorebooks.of(store, key, known.entries, folded_name(reader))

    async def known(
        self, store: SnapshotStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, reader: str = ""
    ) -> Known:
        """What is known at the end of a branch, as far as a reader may know it."""
        rules = await with_tail(store, key, branch, rules)
        if reader and await store.all_witnessed(key):
            reader = ""
        seen = await walk_to_the_end(store, key, branch, rules, folded_name(reader))
        state = self._states.after(seen, rules, reader)
        marks = await store.marks(key, branch.name, HAND)
        records = [(mark.position, record) for mark in marks if (record := record_of(mark.text))]
        if reader:
            records = [(at, one) for at, one in records if _is_for(one, reader)]
        return Known(seen, corrected(state, records), rules.lore != "on")

    async def lists(
        self, store: MemoryStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, reader: Reader
    ) -> list[Remembered]:
        """What the lists of a view say for a reader, the most important of each first."""
        found: list[Remembered] = []
        if reader.name and Section.CAST in reader.sections:
            learnt = (await self.known(store, key, branch, rules, reader.name)).state.learnt
            knows, stale = await knowledge(store, key, branch, reader.name, learnt)
            lines = [knows.summary, *(f"- {fact.text}" for fact in knows.facts)]
            why = f"what {reader.name} knows" + (", stale: an earlier message was changed" if stale else "")
            found += [_item(Section.CAST, line, why) for line in lines if line]
        if not reader.sections & {Section.WISHES, Section.THREADS, Section.STATE, Section.LORE}:
            return found
        known = await self.known(store, key, branch, rules, reader.name)
        if Section.LORE in reader.sections:
            by_people = {as_entry(one).uid for one in known.entries if one.locked}
            for one in (await self.lorebook(store, key, known, reader.name)).constants:
                written = bool(one.book) or one.uid in by_people
                constant = _item(Section.LORE, f"{one.name}: {one.content}", "constant lore", by_hand=written)
                found.append(replace(constant, about=one.name))
            found += _persons(known, {one.about for one in found})
        asleep = rules.dormant_messages or branch.messages + 1
        for player in known.state.players.values():
            found.append(_item(Section.WISHES, f"- {player.line}.", f"a player since message {player.since}"))
        for wish in reversed(known.state.wishes):
            why = f"a wish since message {wish.position}"
            found.append(_item(Section.WISHES, f"- {wish.text}", why, by_hand=wish.by == threads.PERSON))
        for thread in threads.lines(known.state.threads.threads, branch.messages, asleep):
            line = f"- {thread.text}" + (f" ({thread.due})" if thread.due else "")
            kind = DATED if any(mark.isdigit() for mark in line) else ""
            found.append(_item(Section.THREADS, line, "an open thread", by_hand=thread.by == threads.PERSON, kind=kind))
        for item in reversed(known.state.current.standing):
            why = f"how things stand since message {item.position}"
            stands = _item(Section.STATE, f"- {item.text}", why, by_hand=item.by == current.PERSON)
            found.append(replace(stands, about=item.thing, kind=item.aspect or ""))
        return found


async def knowledge(
    store: MemoryStore, key: StoryKey, branch: BranchInfo, name: str, learnt: Learnt
) -> tuple[Knowledge, bool]:
    """Return what a character knows, and whether an earlier message was changed since that was noted. Where it was not
    asked for by itself, it is what updates noted that they learnt."""
    scope = OWN_SCOPE + folded_name(name)
    exact = await store.live(key, branch.name, Kind.CAST, scope)
    stale: LiveVersion | None = None
    behind = exact is None or exact.span.last < branch.messages - 1
    if behind and await store.all_witnessed(key):  # else it may tell of what they are not to know any more
        stale = await stale_version(store, key, branch, Kind.CAST, scope, start=0, exact=exact)
    live = stale or exact
    if live:
        return knowledge_of(live.version.made.text), stale is not None
    learner = learnt.get(folded_name(name))
    return (Knowledge(facts=learner.facts) if learner else NOTHING_KNOWN), False


def _persons(known: Known, told: Container[str]) -> list[Remembered]:
    """A line for each person who is not told of already, whoever was described last first."""
    named = [one for one in known.entries if one.type == "character" and one.name not in told]
    persons = sorted(named, key=lambda one: -one.touched)
    return [
        replace(_item(Section.LORE, f"- {one.name}: {line}", "who somebody is"), about=one.name, kind=PERSON)
        for one in persons[:MOST_PERSONS]
        if (line := first_sentence(one.content))
    ]


def _item(section: Section, text: str, reason: str, *, by_hand: bool = False, kind: str = "") -> Remembered:
    line = " ".join(text.split())
    return Remembered(section, line, None, reason, f"a line of {section.value}", by_hand=by_hand, kind=kind)


def _is_for(record: Record, reader: str) -> bool:
    """Whether a person's words are for somebody in particular."""
    if not isinstance(record, LoreRecord):
        return False
    return record.known_to is None or folded_name(reader) in record.known_to


_KNOWING: WeakKeyDictionary[Store, Knowing] = WeakKeyDictionary()


def knowing_of(store: Store) -> Knowing:
    """What reads the stories of a store: one for all who share it."""
    return _KNOWING.setdefault(store, Knowing())
