"""What is to be noted next: fragments, scenes, what each character knows, and snapshots of what follows from it all.

What must stay true: a note is asked for once per run of messages, wherever that stands; a snapshot is made only of what
is wholly noted before it; nothing that somebody did not witness is part of what is asked about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.digests import span_key
from previously.core.marks import OWN_SCOPE, SPAN_SCOPE
from previously.core.signals import folded
from previously.core.spans import Span
from previously.core.versions import Kind, Status, Version
from previously.folds.analysis import AnalysisNote
from previously.folds.questions import Question
from previously.folds.recap import Timeline, first_position, story_messages
from previously.folds.rendering import told
from previously.folds.scene import SceneNote
from previously.folds.tiling import Tile
from previously.lore.state import State, state_text
from previously.lore.things import LoreEntry
from previously.runtime.cast_steps import CastSteps
from previously.runtime.fold_store import FoldStore
from previously.runtime.noted import Walk, ends_before, is_fragment, notes_scenes, scene_ends, walk
from previously.runtime.read_presence import Presences
from previously.runtime.states import States
from previously.runtime.step import Step, Together, Written
from previously.runtime.steps import Look
from previously.runtime.told_before import lists_before, told_before, with_hand_records
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

MOST_KNOWN = 40
"""How many known things are told beside a scene."""

MOST_WHOLE = 12
"""How many of them as a whole: 12 of 200 tokens each are as long as a scene of ordinary size."""


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
            cast = await CastSteps(self._store, self._key, self._branch, self._look, self._presences).next(seen, people)
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
            asked = AnalysisNote((item.entry.message,), again=_stood_in(tile.note), first=item.position)
            if self._look.quotes:
                found.append(_step(Kind.ANALYSIS, seen, tile, asked, FRAGMENT))
                continue
            if shared:  # else it could tell of what not all who were there may know
                earlier = await self._before(seen, tile)
                asked = replace(
                    asked, **await told_before(self._store, self._key, self._branch, item.position, earlier)
                )
            return _step(Kind.ANALYSIS, seen, tile, asked, FRAGMENT)
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
            asked = SceneNote(delta=story_messages(run), again=_stood_in(tile.note), first=first_position(run))
            if shared:  # else a name could be told that not all who were there have heard
                earlier = await self._before(seen, tile)
                about = "\n".join(told(one) for one in asked.delta)
                lists = lists_before(earlier, tile.span.first, about)
                asked = replace(asked, known=known_things(earlier.known, about), **lists)
            return _step(Kind.SCENE, seen, tile, asked, SCENE_OVER)
        return None

    async def _before(self, seen: Walk, tile: Tile) -> State:
        """The state before a tile, with what people said of it until then."""
        earlier = self._states.after(seen, self._rules, through=tile.span.first - 1)
        return await with_hand_records(self._store, self._key, self._branch, earlier, tile.span.first)

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
            state_text(state), "code", firm=all(note.firm for note in notes), carry=ends_before(ends, seen.settled)
        )
        there = await self._store.live(self._key, self._branch.name, Kind.STATE, OWN_SCOPE, through=seen.settled)
        replaces = there.version.id if there and there.span == Span(seen.first, seen.settled) else None
        before = seen.snapshot.version if seen.snapshot else None
        return Step(Kind.STATE, OWN_SCOPE, run, before, written, SNAPSHOT, replaces)


def known_things(entries: Sequence[LoreEntry], about: str) -> tuple[str, ...]:
    """Return known entries as a note is told of them, the newest first: those whose names its messages say as a whole,
    since what is said of them anew replaces it, the others by name."""
    words = folded(about)
    newest = list(reversed(entries))
    named = [one for one in newest if any(folded(name) in words for name in (one.name, *one.aliases))]
    whole = named[:MOST_WHOLE]
    others = [one for one in newest if one not in whole]
    lines = [f"{one.name} ({one.type}): {one.content}" for one in whole]
    return tuple([*lines, *(f"{one.name} ({one.type})" for one in others)][:MOST_KNOWN])


def _step(kind: Kind, seen: Walk, tile: Tile, asked: Question, reason: str) -> Step:
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
