"""What is known beside the timeline: lore, threads, how things stand, and what each character knows.

What must stay true: what is given for somebody in particular follows from what they witnessed alone. A person's words
on something that was noted where they were not are not for them either.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from previously.core.cast import Fact, Knowledge, parse_knowledge
from previously.core.marks import OWN_SCOPE
from previously.core.note import said_key
from previously.core.presence import Presence
from previously.core.scripts import casefold
from previously.core.versions import Kind, LiveVersion
from previously.folds.recap import FoldRules
from previously.lore import current_state, threads
from previously.lore.entry import EntryKey, LoreEntry
from previously.lore.hand_records import CorrectedState, HandRecord, LoreRecord, correct_state, parse_record
from previously.lore.keys import normalize_name
from previously.lore.merge import find_entry
from previously.lore.reader_state import FactWeight, KnownFact, choose_key_facts, collect_facts
from previously.lore.state import EMPTY_STATE, State
from previously.lore.story_lore import StoryLore, make_keyed
from previously.runtime.fold_store import MemoryStore, SnapshotStore
from previously.runtime.lore_in_views import StoryLoreCache
from previously.runtime.noted import Walk, snapshots_to, walk_behind, walk_to_the_end
from previously.runtime.read_presence import Presences, presences_of
from previously.runtime.reading import with_tail
from previously.runtime.stale import stale_version
from previously.runtime.states import States, Witness
from previously.runtime.told_before import HAND
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.storage.tables.books import BookReading
from previously.view.choose_memory import DATED, PERSON, find_first_sentence
from previously.view.memory import Remembered
from previously.view.reader import Reader
from previously.view.view import Section

MOST_PERSONS = 40
"""Persons who may have a line in a view: twice as many as 400 tokens hold, since of small views only some are told."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known at the end of a branch, to everyone or to one reader."""

    seen: Walk
    corrected: CorrectedState
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
        return frozenset(make_keyed(one).uid for one in self.entries if one.key in self.corrected.by_hand)

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

    def __init__(self, presences: Presences | None = None) -> None:
        self._states = States()
        self._presences = presences or Presences()
        self._lorebooks = StoryLoreCache()

    async def lorebook(self, store: BookReading, key: StoryKey, known: Known, reader: str = "") -> StoryLore:
        """All entries that may come up for a reader, indexed."""
        return await self._lorebooks.of(store, key, known.entries, casefold(reader))

    async def presence(
        self, store: SnapshotStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, *, next_speaker: str = ""
    ) -> Presence:
        """Return who was present at each message of a branch. `next_speaker` is about to speak."""
        rules = await with_tail(store, key, branch, rules)
        seen = await walk_to_the_end(store, key, branch, rules, exact=True)
        players = self._states.after(seen, rules).players
        voices = {one.name: one.character for one in players.values()}
        return await self._presences.of(store, key, branch, rules, seen, voices=voices, next_speaker=next_speaker)

    async def known(
        self,
        store: SnapshotStore,
        key: StoryKey,
        branch: BranchInfo,
        rules: FoldRules,
        reader: str = "",
        presence: Presence | None = None,
    ) -> Known:
        """What is known at the end of a branch; with a reader, as far as they may know it. `presence` is that of the
        whole path, where the branch is shorter."""
        rules = await with_tail(store, key, branch, rules)
        if reader and presence is None:
            presence = await self.presence(store, key, branch, rules)
        witness = None
        if reader and presence and not await is_told_all(store, key, reader, presence):
            witness = Witness(reader, presence)
        seen = await walk_to_the_end(store, key, branch, rules, exact=witness is not None)
        if witness:
            state = await known_where(store, key, branch, rules, seen, witness, self._states)
        else:
            state = self._states.after(seen, rules)
        marks = await store.marks(key, branch.name, HAND)
        records = [(mark.position, record) for mark in marks if (record := parse_record(mark.text))]
        if witness:
            records = _for_witness(state, records, witness)
        return Known(seen, correct_state(state, records), rules.lore != "on")

    async def facts(
        self,
        store: MemoryStore,
        key: StoryKey,
        branch: BranchInfo,
        rules: FoldRules,
        name: str,
        presence: Presence,
    ) -> CastFacts:
        """Return all that somebody knows."""
        known = await self.known(store, key, branch, rules, name, presence)
        asked, stale = await knowledge(store, key, branch, name, presence)
        found = collect_facts(known.state, lambda other: presence.names.same_person(name, other))
        return CastFacts(asked, stale, found)

    async def lists(
        self, store: MemoryStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, reader: Reader
    ) -> list[Remembered]:
        """What the lists of a view say for a reader, the most important of each first."""
        found: list[Remembered] = []
        presence = reader.presence
        if reader.name and Section.CAST in reader.sections:
            presence = presence or await self.presence(store, key, branch, rules)
            theirs = await self.facts(store, key, branch, rules, reader.name, presence)
            knows, stale = theirs.told_beside(reader.sections), theirs.stale
            lines = [knows.summary, *(f"- {fact.text}" for fact in knows.facts)]
            why = f"what {reader.name} knows" + (", stale: an earlier message was changed" if stale else "")
            found += [_item(Section.CAST, line, why) for line in lines if line]
        if not reader.sections & {Section.WISHES, Section.THREADS, Section.STATE, Section.LORE}:
            return found
        known = await self.known(store, key, branch, rules, reader.name, presence)
        if Section.LORE in reader.sections:
            by_people = {make_keyed(one).uid for one in known.entries if one.locked}
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
        for thread in threads.list_awake_threads(known.state.threads.threads, branch.messages, asleep):
            line = f"- {thread.text}" + (f" ({thread.due})" if thread.due else "")
            kind = DATED if any(mark.isdigit() for mark in line) else ""
            found.append(_item(Section.THREADS, line, "an open thread", by_hand=thread.by == threads.PERSON, kind=kind))
        for item in reversed(known.state.current.standing):
            why = f"how things stand since message {item.position}"
            stands = _item(Section.STATE, f"- {item.text}", why, by_hand=item.by == current_state.PERSON)
            found.append(replace(stands, about=item.thing, kind=item.aspect or ""))
        return found


async def known_where(
    store: SnapshotStore,
    key: StoryKey,
    branch: BranchInfo,
    rules: FoldRules,
    seen: Walk,
    witness: Witness,
    states: States,
    through: int | None = None,
) -> State:
    """Return what somebody knows where a walk ends, or at an earlier position. What lies before its snapshot is read
    once, and remembered."""

    def looked(link: LiveVersion) -> tuple[int, str, tuple[()]]:
        return link.version.id, f"{rules.timeline.value} {witness.through(link.span.last)}", ()

    begun, before = EMPTY_STATE, None
    for link in await snapshots_to(store, key, seen.snapshot, lambda one: states.kept(looked(one)) is not None):
        known = states.kept(looked(link))
        if known is None:
            chunk = await walk_behind(store, key, branch, rules, before, len(link.span))
            known = states.after(chunk, rules, witness=witness, begun=begun)
        states.keep(looked(link), known)
        begun, before = known, link
    return states.after(seen, rules, through=through, witness=witness, begun=begun)


@dataclass(frozen=True, slots=True)
class CastFacts:
    """All that is kept of what one character knows."""

    asked: Knowledge | None
    """What a model said when it was asked about them alone; None where it was not."""
    stale: bool
    """Whether an earlier message was changed since."""
    found: list[KnownFact]
    """What follows from notes, the most important first."""

    @property
    def all_facts(self) -> tuple[Fact, ...]:
        """Return everything, however much it is."""
        return (*(self.asked.facts if self.asked else ()), *(one.fact for one in self.found))

    @property
    def knowledge(self) -> Knowledge:
        """Return the little that is told of them."""
        return self.asked or Knowledge(facts=choose_key_facts(self.found))

    def told_beside(self, sections: Collection[Section]) -> Knowledge:
        """Return the same for a view that tells threads or the state by themselves."""
        lists = {Section.THREADS: FactWeight.THREAD, Section.STATE: FactWeight.STATE}
        without = frozenset(weight for section, weight in lists.items() if section in sections)
        return self.asked or Knowledge(facts=choose_key_facts(self.found, without=without))


async def knowledge(
    store: MemoryStore, key: StoryKey, branch: BranchInfo, name: str, presence: Presence
) -> tuple[Knowledge | None, bool]:
    """Return what a model said that a character knows, and whether an earlier message was changed since; None where it
    was not asked, or is not to be told any more."""
    exact = await asked_alone(store, key, branch, name, presence)
    stale: LiveVersion | None = None
    behind = exact is None or exact.span.last < branch.messages - 1
    if behind and await is_told_all(store, key, name, presence):  # else it may tell of what is not for them any more
        scope = cast_scope(name, presence)
        stale = await stale_version(store, key, branch, Kind.CAST, scope, start=0, exact=exact)
    live = stale or exact
    return (parse_knowledge(live.version.made.text) if live else None), stale is not None


async def is_told_all(store: SnapshotStore, key: StoryKey, name: str, presence: Presence) -> bool:
    """Return whether all memory is for somebody. Where people were told apart, given or by hand, texts may still tell
    of what stands on the path no more and was not for them."""
    if not name:
        return True
    return not presence.corrections and presence.knows_all(name) and await store.all_witnessed(key)


def cast_scope(name: str, presence: Presence) -> str:
    """Return the scope of what one character knows."""
    return OWN_SCOPE + presence.names.key(name)


async def asked_alone(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, name: str, presence: Presence, *, firm: bool = False
) -> LiveVersion | None:
    """Return the newest answer about a character that rests on what they are still taken to have witnessed."""
    scope, through = cast_scope(name, presence), None
    while live := await store.live(key, branch.name, Kind.CAST, scope, firm=firm, through=through):
        if live.version.made.carry == presence.digest(name, live.span.last):
            return live
        through = live.span.last - 1
    return None


def _persons(known: Known, told: Container[str]) -> list[Remembered]:
    """A line for each person who is not told of already, whoever was described last first."""
    named = [one for one in known.entries if one.type == "character" and one.name not in told]
    persons = sorted(named, key=lambda one: -one.touched)
    return [
        replace(_item(Section.LORE, f"- {one.name}: {line}", "who somebody is"), about=one.name, kind=PERSON)
        for one in persons[:MOST_PERSONS]
        if (line := find_first_sentence(one.content))
    ]


def _item(section: Section, text: str, reason: str, *, by_hand: bool = False, kind: str = "") -> Remembered:
    line = " ".join(text.split())
    return Remembered(section, line, None, reason, f"a line of {section.value}", by_hand=by_hand, kind=kind)


def _for_witness(
    state: State, records: Sequence[tuple[int, HandRecord]], witness: Witness
) -> list[tuple[int, HandRecord]]:
    """Return what people wrote of lore that somebody may know: what was written in sight of descriptions that they
    know too."""
    found: list[tuple[int, HandRecord]] = []
    written: dict[EntryKey, set[str]] = {}
    for at, record in records:
        if not isinstance(record, LoreRecord):
            continue
        entry = find_entry(state.lore, record.name)
        said = written.setdefault(entry.key if entry else normalize_name(record.name), set())
        said |= {said_key(one) for one in (entry.content, *entry.earlier) if one} if entry else set()
        is_named = record.known_to is None or any(map(witness.is_self, record.known_to))
        if is_named and said.issuperset(record.seen):
            found.append((at, record))
            said |= {said_key(record.content)} if record.content else set()
    return found


_KNOWING: WeakKeyDictionary[Store, Knowing] = WeakKeyDictionary()


def knowing_of(store: Store) -> Knowing:
    """What reads the stories of a store: one for all who share it."""
    return _KNOWING.setdefault(store, Knowing(presences_of(store)))
