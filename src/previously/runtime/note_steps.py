"""What is to be noted next: fragments, scenes, what each character knows, and snapshots of what follows from it all.

What must stay true: a note is asked for once per run of messages, wherever that stands; a snapshot is made only of what
is wholly noted before it; nothing that somebody did not witness is part of what is asked about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.digests import span_key
from previously.core.marks import OWN_SCOPE, SPAN_SCOPE
from previously.core.messages import Message
from previously.core.path import Span
from previously.core.presence import NEWCOMER, Presence
from previously.core.versions import Kind, Status, Version
from previously.folds.analysis import AnalysisFold
from previously.folds.context import NoteContext
from previously.folds.fold import Fold
from previously.folds.prompts.templates import name_speaker, render_message
from previously.folds.recap import Timeline, find_first_position, skip_opening
from previously.folds.scene import SceneFold
from previously.folds.tiles import Tile
from previously.lore.current_state import CurrentState
from previously.lore.state import EMPTY_STATE, State, render_state
from previously.lore.threads import Threads
from previously.runtime.cast_steps import CastSteps
from previously.runtime.fold_reader import Look
from previously.runtime.fold_store import FoldStore
from previously.runtime.knowing import known_where
from previously.runtime.noted import Walk, ends_before, is_fragment, notes_scenes, scene_ends, walk, walk_to_the_end
from previously.runtime.read_presence import Presences
from previously.runtime.states import States, Witness
from previously.runtime.step import Step, Together, Written
from previously.runtime.told_before import told_before, with_hand_records
from previously.runtime.update_steps import UpdateSteps
from previously.storage.store import BranchInfo, StoryKey

SNAPSHOT_MESSAGES = 256
"""When so many messages behind a snapshot are noted, the next one is made."""

FRAGMENT = "a new fragment"
SCENE_OVER = "a scene is over"
SNAPSHOT = "what follows from the notes so far"

MOST_TOGETHER = 256
"""How many fragments are quoted at the same time: enough that looking for them costs little beside it."""

MOST_WAITING = 1_024
"""How many notes may wait to be approved without being asked for again."""


class NoteSteps:
    """Looks at one branch of a story, with a store that answers as of one moment."""

    def __init__(
        self,
        store: FoldStore,
        key: StoryKey,
        branch: BranchInfo,
        look: Look,
        states: States,
        presences: Presences,
    ) -> None:
        self._store = store
        self._key = key
        self._branch = branch
        self._look = look
        self._rules = look.rules
        self._states = states
        self._presences = presences
        self._updates = UpdateSteps(store, key, branch, look.rules, states, anew=look.anew)

    async def missing(self) -> Step | Together | None:
        """Return the step that makes what an update left unnoted, which comes before all else: later updates are told
        what is open. Where more was noted than one look goes through, a snapshot, for the same reason. None where
        nothing is missing, or nobody could note it."""
        if self._rules.timeline is not Timeline.RECAP or not self._look.amends or not self._branch.messages:
            return None
        seen = await walk(self._store, self._key, self._branch, self._rules, firm=self._look.anew)
        found = await self._updates.missing(seen)
        if found or seen.whole or not seen.updates:
            return found
        snapshot = await self._snapshot(seen)
        return snapshot if not self._look.anew or _is_firm(snapshot) else None

    async def next(self) -> Step | Together | None:
        """The next notes to be made, or a snapshot; None if there is nothing to do."""
        if not self._branch.messages:
            return None
        seen = await walk(self._store, self._key, self._branch, self._rules, firm=self._look.anew)
        shared = await self._store.all_witnessed(self._key)
        note = await self._analyses(seen, shared=shared) or await self._scene(seen, shared=shared)
        if note:
            return note
        if not self._look.quotes:  # else what is learnt waits for a model, rather than being taken for noted
            people = self._states.after(seen, self._rules).people
            steps = CastSteps(self._store, self._key, self._branch, self._look, self._presence)
            cast = await steps.next(seen, people)
            if cast:
                return cast
        return await self._snapshot(seen)

    async def _analyses(self, seen: Walk, *, shared: bool) -> Step | Together | None:
        """The oldest fragment without its analysis; where nothing before it is read, several at the same time."""
        waiting = await self._waiting(Kind.ANALYSIS) if seen.fragments else frozenset()
        found: list[Step] = []
        for tile, item in zip(seen.fragments, seen.path, strict=False):
            if not is_fragment(item) or not self._wanting(tile.note) or _key(seen, tile) in waiting:
                continue
            if len(found) == MOST_TOGETHER:
                break
            asked = AnalysisFold((item.entry.message,), again=_stood_in(tile.note), first=item.position)
            if self._look.quotes:
                found.append(_step(Kind.ANALYSIS, seen, tile, asked, FRAGMENT))
                continue
            context = await self._context(seen, tile, asked.delta, shared=shared)
            return _step(Kind.ANALYSIS, seen, tile, replace(asked, context=context), FRAGMENT)
        return Together(tuple(found)) if found else None

    async def _scene(self, seen: Walk, *, shared: bool) -> Step | None:
        """The oldest scene that is over and not noted."""
        if not notes_scenes(self._rules):
            return None
        waiting = await self._waiting(Kind.SCENE) if seen.scenes else frozenset()
        ends = set(await scene_ends(self._store, self._key, self._branch, self._rules, seen.first))
        for tile in seen.scenes:
            if not self._wanting(tile.note) or _key(seen, tile) in waiting:
                continue
            if self._rules.timeline is Timeline.RECAP and tile.span.last not in ends:
                continue  # updates note what it did, and nobody asked for it
            run = seen.run(tile)
            asked = SceneFold(delta=skip_opening(run), again=_stood_in(tile.note), first=find_first_position(run))
            if not self._look.quotes:
                asked = replace(asked, context=await self._context(seen, tile, asked.delta, shared=shared))
            return _step(Kind.SCENE, seen, tile, asked, SCENE_OVER)
        return None

    async def _context(self, seen: Walk, tile: Tile, delta: Sequence[Message], *, shared: bool) -> NoteContext:
        """Return what a note of a tile is told of the story before it."""
        first = tile.span.first
        about = "\n".join(f"{name_speaker(one)}: {render_message(one)}" for one in delta)
        if shared:
            state = self._states.after(seen, self._rules, through=first - 1)
            state = await with_hand_records(self._store, self._key, self._branch, state, first)
        else:
            state = await self._known_to_all(tile)
        return await told_before(self._store, self._key, self._branch, first, state, about, texts=shared)

    async def _known_to_all(self, tile: Tile) -> State:
        """Return the state before a tile as far as all know it who witnessed the whole of it: a note is theirs, so it
        may be told what each of them knows. Where a tile was kept from nobody, that is whoever comes later too."""
        presence = await self._presence()
        first = tile.span.first
        before = await walk(self._store, self._key, self._branch, self._rules, before=first)
        states: list[State] = []
        for name in (NEWCOMER, *sorted(presence.names.keys)):
            if presence.knows_span(name, tile.span):
                place = self._store, self._key, self._branch, self._rules
                states.append(await known_where(*place, before, Witness(name, presence), self._states, first - 1))
        return common_state(states)

    async def _presence(self) -> Presence:
        whole = await walk_to_the_end(self._store, self._key, self._branch, self._rules, exact=True)
        players = self._states.after(whole, self._rules).players
        voices = {one.name: one.character for one in players.values()}
        return await self._presences.of(self._store, self._key, self._branch, self._rules, whole, voices=voices)

    def _wanting(self, note: Version | None) -> bool:
        return note is None or (self._look.anew and not note.firm)

    async def _waiting(self, kind: Kind) -> frozenset[bytes]:
        """Of which runs a note waits for a person to approve it."""
        pending = await self._store.newest_versions(self._key, kind, SPAN_SCOPE, Status.PENDING, MOST_WAITING)
        return frozenset(version.made.key for version in pending)

    async def _snapshot(self, seen: Walk) -> Step | None:
        """Return the snapshot that is due."""
        length = seen.settled - seen.first + 1
        if length < SNAPSHOT_MESSAGES or await self._updates.lacks_first(seen):
            return None
        run = seen.path[:length]
        state = self._states.after(seen, self._rules, through=seen.settled)
        tiles = (*seen.scenes, *seen.fragments, *seen.updates)
        notes = [tile.note for tile in tiles if tile.note and tile.span.last <= seen.settled]
        ends = await scene_ends(self._store, self._key, self._branch, self._rules)
        written = Written(
            render_state(state), "code", firm=all(note.firm for note in notes), carry=ends_before(ends, seen.settled)
        )
        there = await self._store.live(self._key, self._branch.name, Kind.STATE, OWN_SCOPE, through=seen.settled)
        replaces = there.version.id if there and there.span == Span(seen.first, seen.settled) else None
        before = seen.snapshot.version if seen.snapshot else None
        return Step(Kind.STATE, OWN_SCOPE, run, before, written, SNAPSHOT, replaces)


def common_state(states: Sequence[State]) -> State:
    """Return what is the same in all of some states: entries, threads, lines of the state; nothing for none."""
    if not states:
        return EMPTY_STATE
    one, *others = states
    lore = {key: entry for key, entry in one.lore.items() if all(other.lore.get(key) == entry for other in others)}
    threads = [thread for thread in one.threads.threads if all(thread in other.threads.threads for other in others)]
    items = [item for item in one.current.items if all(item in other.current.items for other in others)]
    return State(lore, Threads(tuple(threads)), CurrentState(tuple(items)))


def _step(kind: Kind, seen: Walk, tile: Tile, asked: Fold, reason: str) -> Step:
    """The step that makes a note, in place of one that it was asked to replace."""
    replaces = tile.note.made.replaces if tile.note else None
    return Step(kind, SPAN_SCOPE, seen.run(tile), None, asked, reason, replaces)


def _is_firm(snapshot: Step | None) -> bool:
    """Return whether a snapshot will count where only what is firm does."""
    return snapshot is None or (isinstance(snapshot.asked, Written) and snapshot.asked.firm)


def _key(seen: Walk, tile: Tile) -> bytes:
    return span_key(item.entry.digest for item in seen.run(tile))


def _stood_in(note: Version | None) -> bool:
    return note is not None and note.made.status is Status.PROVISIONAL
