"""Plans of notes: fragments, scenes, what each character knows, and snapshots of what follows from it all.

A note is asked for once per run of messages, wherever that stands; a snapshot is made only of what is wholly noted
before it; nothing that somebody did not witness is part of what is asked about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.fold_rules import FoldRules, Timeline
from previously.core.marks import OWN_SCOPE, SPAN_SCOPE
from previously.core.messages import Message
from previously.core.path import OnPath, Span, find_position
from previously.core.presence import NEWCOMER, Presence, find_speaker
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, Status, Version
from previously.folds.analysis import AnalysisFold
from previously.folds.context import NoteContext
from previously.folds.fold import Fold
from previously.folds.prompts.templates import name_speaker, render_message
from previously.folds.recap import find_first_position, skip_opening
from previously.folds.scene import SceneFold
from previously.folds.tiles import Tile
from previously.lore.current_state import CurrentState
from previously.lore.state import EMPTY_STATE, State, render_state
from previously.lore.threads import Threads
from previously.memory.background import apply_hand_records, read_background
from previously.memory.known import read_witness_state
from previously.memory.notes import (
    Walk,
    digest_ends,
    find_analyses,
    find_scene_ends,
    has_fragment,
    has_scene_notes,
    resolve_tail,
    walk,
    walk_to_the_end,
)
from previously.memory.presence import Presences, read_voices
from previously.memory.state import States, Witness
from previously.plan.cast import CastPlan
from previously.plan.step import Look, Step, Together, Written
from previously.plan.updates import UpdatePlan

SNAPSHOT_MESSAGES = 256
"""Noted messages behind a snapshot after which the next one is made: a quarter of what one walk goes through."""

FRAGMENT = "a new fragment"
ASKED_AGAIN = "asked for again"
SCENE_OVER = "a scene is over"
SNAPSHOT = "what follows from the notes so far"

MOST_TOGETHER = 256
"""Fragments that are quoted at the same time: enough that looking for them costs little beside it."""

MOST_WAITING = 1_024
"""Notes that may wait to be approved without being asked for again: those of one walk."""


class NotePlan:
    """Looks at one branch of a story."""

    def __init__(self, snapshot: Snapshot, look: Look, states: States, presences: Presences) -> None:
        self._snapshot = snapshot
        self._look = look
        self._rules = look.rules
        self._states = states
        self._presences = presences
        self._updates = UpdatePlan(snapshot, look.rules, states, anew=look.anew)

    def plan_missing(self) -> Step | Together | None:
        """Return the step that makes what an update left unnoted, which comes before all else: later updates are told
        what is open. Where more was noted than one look goes through, a snapshot, for the same reason. None where
        nothing is missing, or nobody could note it."""
        if self._rules.timeline is not Timeline.RECAP or not self._look.amends or not self._snapshot.messages:
            return None
        seen = walk(self._snapshot, self._rules, firm=self._look.anew)
        missing = self._updates.plan_missing(seen)
        if missing or seen.whole or not seen.updates:
            return missing
        state = self._state(seen)
        return state if not self._look.anew or _is_firm(state) else None

    def plan_next(self) -> Step | Together | None:
        """Return the next notes to be made, or a snapshot; None if there is nothing to do."""
        if not self._snapshot.messages:
            return None
        seen = walk(self._snapshot, self._rules, firm=self._look.anew)
        shared = self._snapshot.all_witnessed()
        note = self._analyses(seen, shared=shared) or self._scene(seen, shared=shared)
        if note:
            return note
        return self._cast(seen) or self._state(seen)

    def plan_cast(self) -> Together | None:
        """Return the updates of what characters know, and nothing else that is due."""
        return self._cast(walk(self._snapshot, self._rules, firm=self._look.anew)) if self._snapshot.messages else None

    def _cast(self, seen: Walk) -> Together | None:
        if self._look.quotes:
            return None  # what is learnt waits for a model, rather than being taken for noted
        people = self._states.reduce(seen, self._rules).people
        return CastPlan(self._snapshot, self._look, self._presence).plan_next(seen, people)

    def _analyses(self, seen: Walk, *, shared: bool) -> Step | Together | None:
        """Return the oldest fragment without its analysis; where nothing before it is read, several at the same
        time."""
        waiting = self._waiting(Kind.ANALYSIS) if seen.fragments else frozenset()
        steps: list[Step] = []
        for tile, item in zip(seen.fragments, seen.path, strict=False):
            if not has_fragment(item) or not self._wanting(tile.note) or _make_key(seen, tile) in waiting:
                continue
            if len(steps) == MOST_TOGETHER:
                break
            asked = AnalysisFold((item.entry.message,), again=_is_provisional(tile.note), first=item.position)
            if self._look.quotes:
                steps.append(_step(Kind.ANALYSIS, seen, tile, asked, FRAGMENT))
                continue
            context = self._context(seen, tile, asked.delta, shared=shared)
            return _step(Kind.ANALYSIS, seen, tile, replace(asked, context=context), FRAGMENT)
        return Together(tuple(steps)) if steps else None

    def _scene(self, seen: Walk, *, shared: bool) -> Step | None:
        """Return the oldest scene that is over and not noted."""
        if not has_scene_notes(self._rules):
            return None
        waiting = self._waiting(Kind.SCENE) if seen.scenes else frozenset()
        ends = set(find_scene_ends(self._snapshot, self._rules, seen.first))
        for tile in seen.scenes:
            if not self._wanting(tile.note) or _make_key(seen, tile) in waiting:
                continue
            if self._rules.timeline is Timeline.RECAP and tile.span.last not in ends:
                continue  # updates note what it did, and nobody asked for it
            run = seen.run(tile)
            asked = SceneFold(delta=skip_opening(run), again=_is_provisional(tile.note), first=find_first_position(run))
            if not self._look.quotes:
                asked = replace(asked, context=self._context(seen, tile, asked.delta, shared=shared))
            return _step(Kind.SCENE, seen, tile, asked, SCENE_OVER)
        return None

    def _context(self, seen: Walk, tile: Tile, delta: Sequence[Message], *, shared: bool) -> NoteContext:
        """Return what a note of a tile is told of the story before it."""
        first = tile.span.first
        about = "\n".join(f"{name_speaker(message)}: {render_message(message)}" for message in delta)
        if shared:
            state = self._states.reduce(seen, self._rules, through=first - 1)
            state = apply_hand_records(self._snapshot, state, first)
        else:
            state = self._known_to_all(tile)
        return read_background(self._snapshot, first, state, about, texts=shared)

    def _known_to_all(self, tile: Tile) -> State:
        """Return the state before a tile as far as all know it who witnessed the whole of it: a note is theirs, so it
        may be told what each of them knows. Where a tile was kept from nobody, that is whoever comes later too."""
        presence = self._presence()
        first = tile.span.first
        before = walk(self._snapshot, self._rules, before=first)
        states: list[State] = []
        for name in (NEWCOMER, *sorted(presence.names.keys)):
            if presence.knows_span(name, tile.span):
                place = self._snapshot, self._rules
                states.append(read_witness_state(*place, before, Witness(name, presence), self._states, first - 1))
        return common_state(states)

    def _presence(self) -> Presence:
        whole = walk_to_the_end(self._snapshot, self._rules, exact=True)
        players = self._states.reduce(whole, self._rules).players
        voices = read_voices(self._snapshot, players)
        return self._presences.read(self._snapshot, self._rules, whole, voices=voices)

    def _wanting(self, note: Version | None) -> bool:
        return note is None or (self._look.anew and not note.firm)

    def _waiting(self, kind: Kind) -> frozenset[bytes]:
        """Return the keys of the runs of which a note waits for a person to approve it."""
        pending = self._snapshot.newest_versions(kind, SPAN_SCOPE, Status.PENDING, MOST_WAITING)
        return frozenset(version.made.key for version in pending)

    def _state(self, seen: Walk) -> Step | None:
        """Return the snapshot that is due."""
        length = seen.settled - seen.first + 1
        if length < SNAPSHOT_MESSAGES or self._updates.lacks_first(seen):
            return None
        run = seen.path[:length]
        state = self._states.reduce(seen, self._rules, through=seen.settled)
        tiles = (*seen.scenes, *seen.fragments, *seen.updates)
        notes = [tile.note for tile in tiles if tile.note and tile.span.last <= seen.settled]
        ends = find_scene_ends(self._snapshot, self._rules)
        written = Written(
            render_state(state), "code", firm=all(note.firm for note in notes), carry=digest_ends(ends, seen.settled)
        )
        there = self._snapshot.live(Kind.STATE, OWN_SCOPE, through=seen.settled)
        replaces = there.version.id if there and there.span == Span(seen.first, seen.settled) else None
        before = seen.base.version if seen.base else None
        return Step(Kind.STATE, OWN_SCOPE, run, before, written, SNAPSHOT, replaces)


def common_state(states: Sequence[State]) -> State:
    """Return what is the same in all of some states: entries, threads, lines of the state; nothing for none."""
    if not states:
        return EMPTY_STATE
    first, *others = states
    lore = {key: entry for key, entry in first.lore.items() if all(other.lore.get(key) == entry for other in others)}
    threads = [thread for thread in first.threads.threads if all(thread in other.threads.threads for other in others)]
    items = [item for item in first.current.items if all(item in other.current.items for other in others)]
    return State(lore, Threads(tuple(threads)), CurrentState(tuple(items)))


def _step(kind: Kind, seen: Walk, tile: Tile, asked: Fold, reason: str) -> Step:
    """Return the step that makes a note, in place of one that it was asked to replace."""
    replaces = tile.note.made.replaces if tile.note else None
    return Step(kind, SPAN_SCOPE, seen.run(tile), None, asked, reason, replaces)


def _is_firm(state: Step | None) -> bool:
    """Return whether a snapshot will count where only what is firm does."""
    return state is None or (isinstance(state.asked, Written) and state.asked.firm)


def _make_key(seen: Walk, tile: Tile) -> bytes:
    return span_key(item.entry.digest for item in seen.run(tile))


def _is_provisional(note: Version | None) -> bool:
    return note is not None and note.made.status is Status.PROVISIONAL


def plan_analyses(snapshot: Snapshot, rules: FoldRules, position: int | None, *, again: bool) -> list[Step]:
    """Return the analyses of the fragment at a position, or of all that have none; with `again` also of what has one.
    What has not changed is analysed again only where that is asked for."""
    at = None if position is None else find_position(snapshot.messages, position)
    first, last = (0, snapshot.messages - 1) if at is None else (at, at)
    path = snapshot.path(first, last) if snapshot.messages else []
    if at is not None and not has_fragment(path[0]):
        raise BadInput(f"Message {at} holds nothing to analyse.")
    seen = walk_to_the_end(snapshot, resolve_tail(snapshot, rules))
    steps, states = [], States()
    for item, tile in zip(path, find_analyses(snapshot, path), strict=True):
        if has_fragment(item) and (tile.note is None or again):
            before = EMPTY_STATE
            if item.position > seen.first:
                before = states.reduce(seen, rules, through=item.position - 1)
            steps.append(_plan_analysis(snapshot, item, tile.note, before))
    return steps


def _plan_analysis(snapshot: Snapshot, item: OnPath, note: Version | None, state: State) -> Step:
    asked = AnalysisFold((item.entry.message,), first=item.position)
    if snapshot.all_witnessed():
        state = apply_hand_records(snapshot, state, item.position)
        about = f"{find_speaker(item.entry.message)}: {render_message(item.entry.message)}"
        asked = replace(asked, context=read_background(snapshot, item.position, state, about))
    reason = ASKED_AGAIN if note else FRAGMENT
    replaces = note.id if note else None
    return Step(Kind.ANALYSIS, SPAN_SCOPE, [item], None, asked, reason, replaces, by_request=note is not None)
