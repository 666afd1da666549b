"""The notes on a path: from the newest snapshot on, the scenes and fragments it is cut into, each with its note.

What must stay true: what lies before a snapshot is never looked at again while the snapshot is exact, so a look costs
the same however long the story is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from previously.core.marks import OWN_SCOPE, SPAN_SCOPE, MarkKind
from previously.core.path import OnPath, Span
from previously.core.versions import Kind, LiveVersion, has_read
from previously.folds import analysis
from previously.folds.recap import FoldRules, Timeline
from previously.folds.tiles import Tile, TileRules, cut_fragment_tiles, cut_note_tiles, cut_scene_tiles, take_leading
from previously.lore.state import FORM
from previously.runtime.fold_store import PathStore, SnapshotStore
from previously.runtime.stale import stale_version
from previously.storage.store import BranchInfo, StoryKey

MOST_WALKED = 1_024
"""How many messages one look goes through; behind them the next snapshot is due first."""


NOTES = (Kind.SCENE, Kind.ANALYSIS, Kind.NOTE)
"""The kinds that the state follows from."""


def ends_of(rules: FoldRules) -> frozenset[MarkKind]:
    """The marks that end a scene. Where scenes are noted only when a person ends one, the end of a chapter is none."""
    return frozenset({MarkKind.SCENE, MarkKind.CHAPTER} if rules.scene_messages else {MarkKind.SCENE})


@dataclass(frozen=True, slots=True)
class Walk:
    """What stands behind a snapshot."""

    snapshot: LiveVersion | None
    path: Sequence[OnPath]
    scenes: Sequence[Tile]
    fragments: Sequence[Tile]
    """Every message with its analysis; none where there is no librarian."""
    updates: Sequence[Tile]
    """The notes that updates left, each on its span."""
    episodes: Sequence[Tile]
    """The episodes that updates left, cut alike."""
    outside_tail: int
    """Where the tail begins."""
    awaited: bool
    """Whether scenes end by themselves; else all before the tail is as noted as it will be."""
    whole: bool
    """Whether it goes to the end of the path."""

    @property
    def first(self) -> int:
        """Where it begins."""
        return self.snapshot.span.last + 1 if self.snapshot else 0

    def run(self, tile: Tile) -> Sequence[OnPath]:
        """The messages of a tile."""
        return self.path[tile.span.first - self.first : tile.span.last - self.first + 1]

    @property
    def settled(self) -> int:
        """Up to which position everything is noted; one before the first where nothing is."""
        scenes = take_leading(self.scenes)
        reached = scenes[-1].span.last if scenes else self.first - 1
        if not self.awaited and len(scenes) == len(self.scenes):
            reached = max(reached, min(self.outside_tail, self.first + len(self.path)) - 1)
        if self.fragments:
            analysed = self.first - 1
            for tile, item in zip(self.fragments, self.path, strict=True):
                if tile.note is None and is_fragment(item):
                    break
                analysed = tile.span.last
            reached = min(reached, analysed)
        # From the first note of an update on, what has none is not noted yet.
        through = self.updates[0].span.first - 1 if self.updates else reached
        for tile in sorted((*self.updates, *self.scenes), key=lambda one: one.span):
            if tile.note and tile.span.first <= through + 1:
                through = max(through, tile.span.last)
        return self._uncut(min(reached, through))

    def _uncut(self, end: int) -> int:
        """Return the last position up to `end` at which no note is cut: what a snapshot cuts is read by nobody."""
        for tile in sorted((*self.updates, *self.scenes), key=lambda one: one.span, reverse=True):
            if tile.note and tile.span.first <= end < tile.span.last:
                return self._uncut(tile.span.first - 1)
        return end


async def walk(
    store: SnapshotStore,
    key: StoryKey,
    branch: BranchInfo,
    rules: FoldRules,
    *,
    firm: bool = False,
    before: int | None = None,
) -> Walk:
    """What stands behind the newest snapshot. The rules are those with the tail of this branch. With `before`, no
    snapshot counts that reaches to there."""
    scope = OWN_SCOPE
    newest = None if before is None else before - 1
    snapshot = await store.live(key, branch.name, Kind.STATE, scope, firm=firm, through=newest)
    ends = await scene_ends(store, key, branch, rules) if snapshot else []
    while snapshot and snapshot.version.made.carry != ends_before(ends, snapshot.span.last):
        through = snapshot.span.last - 1
        snapshot = await store.live(key, branch.name, Kind.STATE, scope, firm=firm, through=through)
    return await walk_behind(store, key, branch, rules, snapshot)


async def scene_ends(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, since: int = -1
) -> list[int]:
    """Where a person ended a scene, or a chapter closed."""
    return [mark.position for mark in await store.marks(key, branch.name, ends_of(rules), since=since)]


def ends_before(ends: Iterable[int], last: int) -> str:
    """What a snapshot up to there is held against: its form, and where scenes ended: had others ended, other notes
    would be in it."""
    counting = sorted({end for end in ends if end <= last})
    return f"{FORM}:{sha256(repr(counting).encode()).hexdigest()[:16] if counting else ''}"


async def walk_to_the_end(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, *, exact: bool = False
) -> Walk:
    """The same for whoever reads: where the exact snapshot lies far back, from a stale one on that reaches further;
    with `exact` never from a stale one."""
    seen = await walk(store, key, branch, rules)
    if seen.whole:
        return seen
    stale = None
    if not exact:
        stale = await stale_version(store, key, branch, Kind.STATE, OWN_SCOPE, start=0, exact=seen.snapshot)
    if stale and stale.version.made.carry.startswith(f"{FORM}:"):
        seen = await walk_behind(store, key, branch, rules, stale)
    return seen if seen.whole else await walk_behind(store, key, branch, rules, seen.snapshot, branch.messages)


async def snapshots_to(
    store: SnapshotStore, key: StoryKey, newest: LiveVersion | None, is_known: Callable[[LiveVersion], bool]
) -> list[LiveVersion]:
    """Return a snapshot and those it goes on from, the oldest first; none before one that is known already."""
    found: list[LiveVersion] = []
    while newest is not None:
        found.insert(0, newest)
        before = newest.version.made.before
        if is_known(newest) or before is None:
            break
        version = await store.version(key, before)
        if version is None:
            found[0] = LiveVersion(newest.version, Span(0, newest.span.last))
            break
        last = newest.span.last - len(newest.version.made.span)
        newest = LiveVersion(version, Span(last - len(version.made.span) + 1, last))
    return found


async def walk_behind(
    store: SnapshotStore,
    key: StoryKey,
    branch: BranchInfo,
    rules: FoldRules,
    snapshot: LiveVersion | None,
    most: int = 0,
) -> Walk:
    """Return what stands behind a snapshot, as far as one look goes, or so many messages."""
    first = snapshot.span.last + 1 if snapshot else 0
    last = min(first + (most or MOST_WALKED), branch.messages) - 1
    path = await store.path(key, branch.name, first, last) if last >= first else []
    outside_tail = branch.messages - rules.recap.tail_messages
    tiles: list[Tile] = []
    fragments: list[Tile] = []
    if notes_scenes(rules) and path:
        ends = set(await scene_ends(store, key, branch, rules, first))
        notes = await store.notes(key, Kind.SCENE, SPAN_SCOPE, [item.entry.digest for item in path])
        tiles = cut_scene_tiles(path, notes, ends, TileRules(rules.scene_messages, outside_tail))
    if rules.timeline is Timeline.LIBRARIAN:
        fragments = await analysed(store, key, path)
    updates: list[Tile] = []
    episodes: list[Tile] = []
    if rules.timeline is Timeline.RECAP and path:
        updates, episodes = await updated(store, key, path)
    awaited = bool(rules.scene_messages) and notes_scenes(rules)
    whole = last == branch.messages - 1
    return Walk(snapshot, path, tiles, fragments, updates, episodes, outside_tail, awaited, whole)


def notes_scenes(rules: FoldRules) -> bool:
    """Whether scenes are noted: a librarian notes what happens, and needs them for lore alone."""
    return rules.timeline is not Timeline.LIBRARIAN or rules.lore != "off"


async def analysed(store: PathStore, key: StoryKey, path: Sequence[OnPath]) -> list[Tile]:
    """Every message of a run with its newest analysis."""
    digests = [item.entry.digest for item in path]
    return cut_fragment_tiles(path, await store.notes(key, Kind.ANALYSIS, SPAN_SCOPE, digests) if digests else [])


async def updated(store: PathStore, key: StoryKey, path: Sequence[OnPath]) -> tuple[list[Tile], list[Tile]]:
    """The notes and the episodes that updates left of a run, cut alike."""
    digests = [item.entry.digest for item in path]
    notes, episodes = [
        await store.notes(key, kind, SPAN_SCOPE, digests) if digests else [] for kind in (Kind.NOTE, Kind.EPISODE)
    ]
    return cut_note_tiles(path, notes, episodes), cut_note_tiles(path, episodes, notes)


async def every_note(store: PathStore, key: StoryKey, branch: BranchInfo) -> list[int]:
    """The notes of which the first message stands on the path."""
    path = await store.path(key, branch.name, 0, branch.messages - 1) if branch.messages else []
    digests = [item.entry.digest for item in path]
    kinds = (*NOTES, Kind.EPISODE) if digests else ()
    return [note.id for kind in kinds for note in await store.notes(key, kind, SPAN_SCOPE, digests)]


async def notes_on(
    store: PathStore, key: StoryKey, branch: BranchInfo, kinds: Sequence[Kind] = (*NOTES, Kind.EPISODE)
) -> list[LiveVersion]:
    """The notes whose whole run stands on the path, where it stands; of several of one run all, the oldest first."""
    path = await store.path(key, branch.name, 0, branch.messages - 1) if branch.messages else []
    digests = [item.entry.digest for item in path]
    places: dict[bytes, list[int]] = {}
    for at, one in enumerate(digests):
        places.setdefault(one, []).append(at)
    found: dict[int, LiveVersion] = {}
    for kind in kinds if digests else ():
        for note in await store.notes(key, kind, SPAN_SCOPE, list(places)):
            for at in places[note.made.first]:
                run = digests[at : at + len(note.made.span)]
                if has_read(note.made, run):
                    found[note.id] = LiveVersion(note, Span(at, at + len(run) - 1))
    return [found[ident] for ident in sorted(found)]


def is_fragment(item: OnPath) -> bool:
    """Whether there is something to analyse in a message."""
    return analysis.is_fragment(item.entry.message)
