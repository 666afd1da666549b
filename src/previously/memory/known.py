"""Knowledge beside the timeline: lore, threads, how things stand, and what each character knows.

What is read for somebody in particular follows from what they witnessed alone. A person's words on something that was
noted where they were not are not for them either.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from previously.core.cast import Fact, Knowledge, parse_knowledge
from previously.core.errors import BadInput
from previously.core.fact_book import SharedMemory, parse_shared
from previously.core.fold_rules import FoldRules
from previously.core.marks import OWN_SCOPE, Mark, MarkKind
from previously.core.messages import Role
from previously.core.note import NotedLine, said_key
from previously.core.path import OPENING_MESSAGES
from previously.core.presence import Presence
from previously.core.scripts import casefold
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, LiveVersion
from previously.lore.books import parse_book
from previously.lore.entry import EntryKey, KeyedEntry, LoreEntry
from previously.lore.hand_records import CorrectedState, EntryAction, HandRecord, LoreRecord, correct_state
from previously.lore.index import StoryLore, index_books, make_keyed
from previously.lore.inheritance import add_learnt, inherit_state, shift_state
from previously.lore.keys import normalize_name
from previously.lore.merge import find_entry
from previously.lore.reader_state import FactWeight, KnownFact, choose_key_facts, collect_facts
from previously.lore.state import EMPTY_STATE, State
from previously.memory.hand_marks import list_hand_records
from previously.memory.note_lines import list_note_lines, list_state_lines
from previously.memory.notes import Walk, find_stale, resolve_tail, trace_states, walk_behind, walk_to_the_end
from previously.memory.presence import Presences, parse_correction, read_voices
from previously.memory.state import States, Witness, read_notes
from previously.text.macros import MacroNames

MOST_INDEXES = 32
"""Stories whose entries are kept indexed: as many as people are likely to play in one process at a time."""


@dataclass(frozen=True, slots=True)
class KnownState:
    """Lore, threads and state at the end of a branch, as everyone or one reader knows them."""

    corrected: CorrectedState
    suggests: bool
    """True if entries that nobody accepted are only suggestions."""

    @property
    def state(self) -> State:
        """Return lore, threads and how things stand, people's words included."""
        return self.corrected.state

    @property
    def entries(self) -> list[LoreEntry]:
        """Return the entries that are in force, in the order they came up."""
        return [entry for entry in self.state.lore.values() if self._is_shown(entry)]

    @property
    def by_people(self) -> frozenset[str]:
        """Return the uids of those that a person wrote or accepted."""
        return frozenset(make_keyed(entry).uid for entry in self.entries if entry.key in self.corrected.by_hand)

    @property
    def suggested(self) -> list[LoreEntry]:
        """Return those that wait to be accepted."""
        removed = self.corrected.removed
        return [entry for entry in self.state.lore.values() if not self._is_shown(entry) and entry.key not in removed]

    def _is_shown(self, entry: LoreEntry) -> bool:
        if entry.key in self.corrected.removed:
            return False
        return not self.suggests or entry.key in self.corrected.by_hand


MOST_NAMED = 64
"""Newest messages in which it is looked for who speaks: more than a turn of a large group."""


class KnownReader:
    """Reads what is known, and remembers what it has read."""

    def __init__(self) -> None:
        self.presences: Presences = Presences()
        self._states = States()
        self._not_shared: set[tuple[str, str | None]] = set()
        self._lore: OrderedDict[tuple[str, str], StoryLore] = OrderedDict()

    def read_lore(
        self, snapshot: Snapshot, story: str, known: KnownState, reader: str = "", *, quirks: bool = False
    ) -> StoryLore:
        """Return the entries of the books of a story, and those of its own that a reader may know, indexed. `story`
        tells the stories of a store apart."""
        names = snapshot.attached()
        times = snapshot.book_times() if names else {}
        books = tuple((name, times[name]) for name in names if name in times)
        place = story, casefold(reader)
        lore = self._lore.get(place)
        if lore is None or lore.books != books or lore.index.quirks is not quirks:
            entries = [entry for name, _ in books for entry in read_book_entries(snapshot, name)]
            lore = index_books(entries, books, quirks=quirks)
        lore = lore.with_story(known.entries)
        lore = self._lore[place] = lore.with_names(find_names(snapshot, reader)) if lore.written else lore
        self._lore.move_to_end(place)
        while len(self._lore) > MOST_INDEXES:
            self._lore.popitem(last=False)
        return lore

    def read_shared(self, snapshot: Snapshot) -> list[SharedMemory]:
        """Return the shared memories among the books of a story. A book of lore is parsed once to know that it is
        none."""
        names = snapshot.attached()
        times = snapshot.book_times() if names else {}
        fresh = [name for name in names if (name, times.get(name)) not in self._not_shared]
        shared = [(name, parse_shared(snapshot.book(name), name)) for name in fresh]
        self._not_shared |= {(name, times.get(name)) for name, memory in shared if memory is None}
        return [memory for _, memory in shared if memory]

    def read_presence(self, snapshot: Snapshot, rules: FoldRules, *, next_speaker: str = "") -> Presence:
        """Return who was present at each message of a branch. `next_speaker` is about to speak."""
        rules = resolve_tail(snapshot, rules)
        seen = walk_to_the_end(snapshot, rules, exact=True)
        players = self._states.reduce(seen, rules).players
        voices = read_voices(snapshot, players)
        return self.presences.read(snapshot, rules, seen, voices=voices, next_speaker=next_speaker)

    def read_known(
        self,
        snapshot: Snapshot,
        rules: FoldRules,
        reader: str = "",
        presence: Presence | None = None,
        *,
        inherited: KnownState | None = None,
        exact: bool = False,
    ) -> KnownState:
        """Return what is known at the end of a branch; with a reader, as far as they may know it. `presence` is that of
        the whole path, where the branch is shorter. `inherited` is what they knew before the story began. With `exact`
        nothing is read that follows from other messages than those on the path."""
        rules = resolve_tail(snapshot, rules)
        if reader and presence is None:
            presence = self.read_presence(snapshot, rules)
        witness = None
        if reader and presence and not is_told_all(snapshot, reader, presence):
            witness = Witness(reader, presence)
        seen = walk_to_the_end(snapshot, rules, exact=exact or witness is not None)
        if witness:
            state = read_witness_state(snapshot, rules, seen, witness, self._states)
        else:
            state = self._states.reduce(seen, rules)
        if inherited:
            state = inherit_state(inherited.state, state)
        records = list_hand_records(snapshot)
        if witness:
            records = _choose_records(state, records, witness)
        corrected = correct_state(state, records)
        if inherited:
            corrected = replace(corrected, by_hand=corrected.by_hand | inherited.corrected.by_hand)
        return KnownState(corrected, rules.lore != "on")

    def read_note_lines(
        self, snapshot: Snapshot, rules: FoldRules, reader: str = "", presence: Presence | None = None
    ) -> tuple[NotedLine, ...]:
        """Return the lines of memory that lead to messages; with a reader, only such as they know. What lies behind the
        newest snapshot is read from its notes, unless somebody may know only a part of it."""
        if presence and not is_told_all(snapshot, reader, presence):
            known = self.read_known(snapshot, rules, reader, presence)
            return tuple(list_state_lines(known.state, known.entries, snapshot.messages))
        seen = walk_to_the_end(snapshot, resolve_tail(snapshot, rules))
        lines = [line for noted in read_notes(seen, rules) for line in list_note_lines(noted)]
        if seen.base:
            known = self.read_known(snapshot, rules)
            lines += list_state_lines(known.state, known.entries, seen.first)
        return tuple(lines)

    def read_facts(self, snapshot: Snapshot, known: KnownState, name: str, presence: Presence) -> CastFacts:
        """Return all facts that somebody knows, given what is known to them."""
        asked, stale = read_knowledge(snapshot, name, presence)
        facts = collect_facts(known.state, lambda other: presence.names.same_person(name, other))
        return CastFacts(asked, stale, facts)


def hand_on(known: KnownState, messages: int, reader: str = "", asked: Knowledge | None = None) -> KnownState:
    """Return what is known where a story of so many messages ends, as the next one inherits it: entries in force, open
    threads, how things stand. `asked` is what a model said that the reader knows."""
    state = replace(known.state, lore={entry.key: entry for entry in known.entries})
    if asked:
        summary = (Fact(asked.summary, messages - 1),) if asked.summary else ()
        state = add_learnt(state, reader, (*summary, *asked.facts))
    corrected = CorrectedState(shift_state(state, messages), known.corrected.by_hand, frozenset())
    return KnownState(corrected, known.suggests)


def find_names(snapshot: Snapshot, reader: str = "") -> MacroNames:
    """Return who the user of the newest turn is, and which character answers: the reader, or else whoever spoke last
    before that turn. Nothing changes while a turn goes on."""
    newest = snapshot.path(max(0, snapshot.messages - MOST_NAMED), snapshot.messages - 1)
    turn = next((at for at in range(len(newest) - 1, -1, -1) if newest[at].entry.message.role is Role.USER), None)
    before = newest if turn is None else newest[:turn]
    spoken = (*reversed(before), *(newest if turn is None else newest[turn:]), *snapshot.path(0, OPENING_MESSAGES - 1))
    characters = (item.entry.message.speaker for item in spoken if item.entry.message.role is Role.ASSISTANT)
    user = newest[turn].entry.message.speaker if turn is not None else ""
    return MacroNames(user or "", reader or next(filter(None, characters), ""))


def read_book_entries(snapshot: Snapshot, name: str) -> list[KeyedEntry]:
    return parse_kept_book(snapshot.book(name), name)


def parse_kept_book(body: str | None, name: str) -> list[KeyedEntry]:
    """Return the entries of a book as a store keeps it; `BadInput` if there is none."""
    if body is None:
        raise BadInput(f"There is no book named {name!r}.")
    return list(parse_book(json.loads(body), name).entries)


def read_witness_state(
    snapshot: Snapshot, rules: FoldRules, seen: Walk, witness: Witness, states: States, through: int | None = None
) -> State:
    """Return what somebody knows where a walk ends, or at an earlier position. What lies before its snapshot is read
    once, and remembered."""

    def looked(link: LiveVersion) -> tuple[int, str, tuple[()]]:
        return link.version.id, f"{rules.timeline.value} {witness.through(link.span.last)}", ()

    begun, before = EMPTY_STATE, None
    for link in trace_states(snapshot, seen.base, lambda link: states.find(looked(link)) is not None):
        state = states.find(looked(link))
        if state is None:
            chunk = walk_behind(snapshot, rules, before, len(link.span))
            state = states.reduce(chunk, rules, witness=witness, begun=begun)
        states.keep(looked(link), state)
        begun, before = state, link
    return states.reduce(seen, rules, through=through, witness=witness, begun=begun)


@dataclass(frozen=True, slots=True)
class CastFacts:
    """All that is kept of what one character knows."""

    asked: Knowledge | None
    """The answer of a model that was asked about them alone; None where it was not."""
    stale: bool
    """True if an earlier message was changed since."""
    noted: list[KnownFact]
    """The facts that follow from notes, the most important first."""

    @property
    def all_facts(self) -> tuple[Fact, ...]:
        """Return everything, however much it is."""
        return (*(self.asked.facts if self.asked else ()), *(known.fact for known in self.noted))

    @property
    def knowledge(self) -> Knowledge:
        """Return the little that is told of them."""
        return self.choose_beside(frozenset(), lambda _: False)

    def choose_beside(self, without: frozenset[FactWeight], is_listed: Callable[[Fact], bool]) -> Knowledge:
        """Return the same for a view that tells facts of these weights, and others, by themselves."""
        noted = [known for known in self.noted if not is_listed(known.fact)]
        return self.asked or Knowledge(facts=choose_key_facts(noted, without=without))


def read_knowledge(snapshot: Snapshot, name: str, presence: Presence) -> tuple[Knowledge | None, bool]:
    """Return what a model said that a character knows, and whether an earlier message was changed since; None where it
    was not asked, or is not to be told any more."""
    exact = find_asked_alone(snapshot, name, presence)
    stale: LiveVersion | None = None
    behind = exact is None or exact.span.last < snapshot.messages - 1
    if behind and is_told_all(snapshot, name, presence):  # else it may tell of what is not for them any more
        stale = find_stale(snapshot, Kind.CAST, cast_scope(name, presence), start=0, exact=exact)
    live = stale or exact
    return (parse_knowledge(live.version.made.text) if live else None), stale is not None


def is_told_all(snapshot: Snapshot, name: str, presence: Presence) -> bool:
    """Return whether all memory is for somebody. Where witnesses were given, or a person named others and not them,
    texts may still tell of what stands on the path no more and was not for them."""
    if not name:
        return True
    if not presence.knows_all(name) or not snapshot.all_witnessed():
        return False

    def names_them(mark: Mark) -> bool:
        names, _ = parse_correction(mark.text)
        if names is None:
            return True
        return any(presence.names.same_person(name, other) for other in names)

    return all(map(names_them, snapshot.marks({MarkKind.PRESENCE})))


def cast_scope(name: str, presence: Presence) -> str:
    return OWN_SCOPE + presence.names.key(name)


def find_asked_alone(snapshot: Snapshot, name: str, presence: Presence, *, firm: bool = False) -> LiveVersion | None:
    """Return the newest answer about a character that rests on what they are still taken to have witnessed."""
    scope, through = cast_scope(name, presence), None
    while live := snapshot.live(Kind.CAST, scope, firm=firm, through=through):
        if live.version.made.carry == presence.digest(name, live.span.last):
            return live
        through = live.span.last - 1
    return None


def _choose_records(
    state: State, records: Sequence[tuple[int, HandRecord]], witness: Witness
) -> list[tuple[int, HandRecord]]:
    """Return what people wrote of lore that somebody may know: what was written in sight of descriptions that they
    know too."""
    chosen: list[tuple[int, HandRecord]] = []
    written: dict[EntryKey, set[str]] = {}
    for at, record in records:
        if not isinstance(record, LoreRecord):
            continue
        entry = find_entry(state.lore, record.name)
        said = written.setdefault(entry.key if entry else normalize_name(record.name), set())
        said |= {said_key(content) for content in (entry.content, *entry.earlier) if content} if entry else set()
        is_named = record.known_to is None or any(map(witness.is_self, record.known_to))
        if is_named and said.issuperset(record.seen):
            chosen.append((at, record))
            said |= {said_key(record.content)} if record.content else set()
            if record.deed is EntryAction.RENAME:  # what is written of it from now on names it so
                written[normalize_name(record.into)] = said
    return chosen
