"""The notes on a path: from the newest snapshot of the state on, the scenes and fragments it is cut into, each with its
note; the summary that follows from analyses; and memory that is stale.

What lies before a snapshot is never looked at again while the snapshot is exact, so a look costs the same however long
the story is. A text whose earlier messages were changed is stale: it still speaks for the path until it is set right.

Analyses are applied without a gap: the summary stops at the first fragment that has none. No model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from previously.core.fold_rules import FoldRules, Timeline
from previously.core.marks import OWN_SCOPE, SPAN_SCOPE, MarkKind, Stretch
from previously.core.pairing import find_units
from previously.core.path import OnPath, Span, find_turns
from previously.core.scene import Analysis, Fragment
from previously.core.snapshot import Snapshot
from previously.core.tokens import message_tokens
from previously.core.versions import IN_FORCE, Kind, LiveVersion, Status, has_read
from previously.folds.builtin.quotes import renumber_live, renumber_quotes
from previously.folds.summary import Application, Summary, apply_updates, grow_summary, parse_summary
from previously.folds.tiles import Tile, TileRules, cut_fragment_tiles, cut_scene_tiles, cut_tiles_alike, take_leading
from previously.lore.state import FORM

MOST_WALKED = 1_024
"""Messages that one look goes through: four snapshots' worth. Behind them the next snapshot is due first."""

NOTES = (Kind.SCENE, Kind.ANALYSIS, Kind.NOTE)
"""The kinds that the state follows from."""


def list_end_kinds(rules: FoldRules) -> frozenset[MarkKind]:
    """Return the kinds of marks that end a scene. Where scenes are noted only when a person ends one, the end of a
    chapter is none."""
    return frozenset({MarkKind.SCENE, MarkKind.CHAPTER} if rules.scene_messages else {MarkKind.SCENE})


@dataclass(frozen=True, slots=True)
class Walk:
    """The messages behind a snapshot, with their notes."""

    base: LiveVersion | None
    """The newest kept state that counts; the walk begins behind it."""
    path: Sequence[OnPath]
    scenes: Sequence[Tile]
    fragments: Sequence[Tile]
    """Every message with its analysis; none where there is no librarian."""
    updates: Sequence[Tile]
    """The notes that updates left, each on its span."""
    episodes: Sequence[Tile]
    """The episodes that updates left, cut alike."""
    outside_tail: int
    """The position at which the tail begins."""
    awaited: bool
    """True if scenes end by themselves; else all before the tail is as noted as it will be."""
    whole: bool
    """True if it goes to the end of the path."""

    @property
    def first(self) -> int:
        """Return the position at which it begins."""
        return self.base.span.last + 1 if self.base else 0

    def run(self, tile: Tile) -> Sequence[OnPath]:
        return self.path[tile.span.first - self.first : tile.span.last - self.first + 1]

    @property
    def settled(self) -> int:
        """Return the position up to which everything is noted; one before the first where nothing is."""
        scenes = take_leading(self.scenes)
        reached = scenes[-1].span.last if scenes else self.first - 1
        if not self.awaited and len(scenes) == len(self.scenes):
            reached = max(reached, min(self.outside_tail, self.first + len(self.path)) - 1)
        if self.fragments:
            find_analyses = self.first - 1
            for tile, item in zip(self.fragments, self.path, strict=True):
                if tile.note is None and has_fragment(item):
                    break
                find_analyses = tile.span.last
            reached = min(reached, find_analyses)
        # From the first note of an update on, what has none is not noted yet.
        through = self.updates[0].span.first - 1 if self.updates else reached
        for tile in sorted((*self.updates, *self.scenes), key=lambda tile: tile.span):
            if tile.note and tile.span.first <= through + 1:
                through = max(through, tile.span.last)
        return self._uncut(min(reached, through))

    def _uncut(self, end: int) -> int:
        """Return the last position up to `end` at which no note is cut: what a snapshot cuts is read by nobody."""
        for tile in sorted((*self.updates, *self.scenes), key=lambda tile: tile.span, reverse=True):
            if tile.note and tile.span.first <= end < tile.span.last:
                return self._uncut(tile.span.first - 1)
        return end


def walk(snapshot: Snapshot, rules: FoldRules, *, firm: bool = False, before: int | None = None) -> Walk:
    """Return what stands behind the newest snapshot. The rules are those with the tail of this branch. With `before`,
    no snapshot counts that reaches to there."""
    scope = OWN_SCOPE
    newest = None if before is None else before - 1
    state = snapshot.live(Kind.STATE, scope, firm=firm, through=newest)
    ends = find_scene_ends(snapshot, rules) if state else []
    while state and state.version.made.carry != digest_ends(ends, state.span.last):
        state = snapshot.live(Kind.STATE, scope, firm=firm, through=state.span.last - 1)
    return walk_behind(snapshot, rules, state)


def find_scene_ends(snapshot: Snapshot, rules: FoldRules, since: int = -1) -> list[int]:
    """Return the positions at which a person ended a scene, or a chapter closed."""
    return [mark.position for mark in snapshot.marks(list_end_kinds(rules), since=since)]


def digest_ends(ends: Iterable[int], last: int) -> str:
    """Return what a snapshot up to there is held against: its form, and where scenes ended: had others ended, other
    notes would be in it."""
    counting = sorted({end for end in ends if end <= last})
    return f"{FORM}:{sha256(repr(counting).encode()).hexdigest()[:16] if counting else ''}"


def walk_to_the_end(snapshot: Snapshot, rules: FoldRules, *, exact: bool = False) -> Walk:
    """Return the same for whoever reads: where the exact snapshot lies far back, from a stale one on that reaches
    further; with `exact` never from a stale one."""
    seen = walk(snapshot, rules)
    if seen.whole:
        return seen
    stale = None
    if not exact:
        stale = find_stale(snapshot, Kind.STATE, OWN_SCOPE, start=0, exact=seen.base)
    if stale and stale.version.made.carry.startswith(f"{FORM}:"):
        seen = walk_behind(snapshot, rules, stale)
    return seen if seen.whole else walk_behind(snapshot, rules, seen.base, snapshot.messages)


def trace_states(
    snapshot: Snapshot, newest: LiveVersion | None, is_known: Callable[[LiveVersion], bool]
) -> list[LiveVersion]:
    """Return a snapshot and those it goes on from, the oldest first; none before one that is known already."""
    states: list[LiveVersion] = []
    while newest is not None:
        states.insert(0, newest)
        before = newest.version.made.before
        if is_known(newest) or before is None:
            break
        version = snapshot.version(before)
        if version is None:
            states[0] = LiveVersion(newest.version, Span(0, newest.span.last))
            break
        last = newest.span.last - len(newest.version.made.span)
        newest = LiveVersion(version, Span(last - len(version.made.span) + 1, last))
    return states


def walk_behind(snapshot: Snapshot, rules: FoldRules, state: LiveVersion | None, most: int = 0) -> Walk:
    """Return what stands behind a snapshot, as far as one look goes, or so many messages."""
    first = state.span.last + 1 if state else 0
    last = min(first + (most or MOST_WALKED), snapshot.messages) - 1
    path = snapshot.path(first, last) if last >= first else []
    outside_tail = snapshot.messages - rules.recap.tail_messages
    tiles: list[Tile] = []
    fragments: list[Tile] = []
    if has_scene_notes(rules) and path:
        ends = set(find_scene_ends(snapshot, rules, first))
        notes = snapshot.notes(Kind.SCENE, SPAN_SCOPE, [item.entry.digest for item in path])
        tiles = cut_scene_tiles(path, notes, ends, TileRules(rules.scene_messages, outside_tail))
    if rules.timeline is Timeline.LIBRARIAN:
        fragments = find_analyses(snapshot, path)
    updates: list[Tile] = []
    episodes: list[Tile] = []
    if rules.timeline is Timeline.RECAP and path:
        updates, episodes = find_updates(snapshot, path)
    awaited = bool(rules.scene_messages) and has_scene_notes(rules)
    whole = last == snapshot.messages - 1
    return Walk(state, path, tiles, fragments, updates, episodes, outside_tail, awaited, whole)


def has_scene_notes(rules: FoldRules) -> bool:
    """Return whether scenes are noted: a librarian notes what happens, and needs them for lore alone."""
    return rules.timeline is not Timeline.LIBRARIAN or rules.lore != "off"


def has_notes(snapshot: Snapshot, kind: Kind) -> bool:
    """Return whether the story has any note of a kind, on whatever path: where it has none, no path need be read to
    find them."""
    return any(snapshot.newest_versions(kind, SPAN_SCOPE, status, 1) for status in IN_FORCE)


def find_analyses(snapshot: Snapshot, path: Sequence[OnPath]) -> list[Tile]:
    """Return every message of a run with its newest analysis."""
    digests = [item.entry.digest for item in path]
    return cut_fragment_tiles(path, snapshot.notes(Kind.ANALYSIS, SPAN_SCOPE, digests) if digests else [])


def find_updates(snapshot: Snapshot, path: Sequence[OnPath]) -> tuple[list[Tile], list[Tile]]:
    """Return the notes and the episodes that updates left of a run, cut alike."""
    digests = [item.entry.digest for item in path]
    notes, episodes = [
        snapshot.notes(kind, SPAN_SCOPE, digests) if digests else [] for kind in (Kind.NOTE, Kind.EPISODE)
    ]
    noted, told = cut_tiles_alike(path, notes, episodes)
    return noted, told


def list_note_ids(snapshot: Snapshot) -> list[int]:
    """Return the notes of which the first message stands on the path."""
    path = snapshot.path(0, snapshot.messages - 1) if snapshot.messages else []
    digests = [item.entry.digest for item in path]
    kinds = (*NOTES, Kind.EPISODE) if digests else ()
    return [note.id for kind in kinds for note in snapshot.notes(kind, SPAN_SCOPE, digests)]


def find_notes(snapshot: Snapshot, kinds: Sequence[Kind] = (*NOTES, Kind.EPISODE)) -> list[LiveVersion]:
    """Return the notes whose whole run stands on the path, where it stands; of several of one run all, the oldest
    first."""
    path = snapshot.path(0, snapshot.messages - 1) if snapshot.messages else []
    digests = [item.entry.digest for item in path]
    places: dict[bytes, list[int]] = {}
    for at, digest in enumerate(digests):
        places.setdefault(digest, []).append(at)
    notes: dict[int, LiveVersion] = {}
    for kind in kinds if digests else ():
        for note in snapshot.notes(kind, SPAN_SCOPE, list(places)):
            for at in places[note.made.first]:
                run = digests[at : at + len(note.made.span)]
                if has_read(note.made, run):
                    notes[note.id] = LiveVersion(note, Span(at, at + len(run) - 1))
    return [notes[ident] for ident in sorted(notes)]


def has_fragment(item: OnPath) -> bool:
    """Return whether there is something to analyse in a message."""
    from previously.folds.analysis import is_fragment  # not for stories that have no analyses

    return is_fragment(item.entry.message)


LOOKED_AT = 8
"""The newest texts that are looked at for a stale one: older ones reach less far."""


def find_stale(
    snapshot: Snapshot, kind: Kind, scope: str, *, start: int, exact: LiveVersion | None, through: int | None = None
) -> LiveVersion | None:
    """Return the stale text that reaches furthest (to `through` at most), with what it stands for: all from `start`,
    where the chains of its scope begin. None where the exact text reaches as far, and where only one fold separates the
    two: that fold is simply made again."""
    reached = exact_through = exact.span.last if exact else start - 1
    stands_for = exact.version.made.reach if exact else 0
    furthest: LiveVersion | None = None
    for version in snapshot.newest_versions(kind, scope, Status.COMMITTED, LOOKED_AT, beyond=stands_for):
        if not version.made.anchor:
            continue
        position = snapshot.position_of(version.made.anchor)
        if position is None or position <= reached or (through is not None and position > through):
            continue
        if kind not in (Kind.CHAPTER, Kind.SHORT) and position - len(version.made.span) <= exact_through:
            continue
        furthest, reached = LiveVersion(version, Span(start, position)), position
    return furthest


MOST_TAIL = 256
"""The longest tail that is counted in turns: more is never read to find where one begins. It is not longer than its
ceiling in tokens either."""


def resolve_tail(snapshot: Snapshot, rules: FoldRules) -> FoldRules:
    """Return the rules, with a tail of turns counted in messages of this branch."""
    if not rules.tail_turns:
        return rules
    first = max(0, snapshot.messages - MOST_TAIL)
    newest = snapshot.path(first, snapshot.messages - 1)
    begun = find_turns([item.entry.message.role for item in newest])
    messages = len(newest) - begun[-rules.tail_turns] if len(begun) >= rules.tail_turns else len(newest)
    room = rules.tail_tokens
    for count, item in enumerate(reversed(newest[len(newest) - messages :])):
        room -= message_tokens(item.entry.message)
        if room < 0:
            messages = max(1, count)
            break
    start = len(newest) - messages
    unit = next((unit for unit in find_units([item.entry.message for item in newest]) if start in unit), None)
    if unit:  # no call is parted from its result
        messages = len(newest) - unit.start
    return replace(rules, recap=replace(rules.recap, tail_messages=messages))


MOST_APPLIED = 1_024
"""Messages that one recap takes in at most: as many as one look at the notes goes through."""


def apply_analyses(
    snapshot: Snapshot, rules: FoldRules, stretch: Stretch, live: LiveVersion | None, last: int
) -> Summary | None:
    """Return what a librarian's recap that goes on from another says up to a message, by the analyses of now; None
    where there is a gap, or more to read than a look takes."""
    first = live.span.last + 1 if live else stretch.first
    if last - first >= MOST_APPLIED:
        return None
    application = apply_updates(read_fragments(snapshot, snapshot.path(first, last)), first, 0)
    return summarize(rules, stretch, live, application) if application.through == last else None


def summarize(rules: FoldRules, stretch: Stretch, live: LiveVersion | None, application: Application) -> Summary:
    """Return the summary of a stretch after what is applied."""
    before = Summary("")
    if live:
        before = parse_summary(renumber_live(live), live.version.made.carry, live.version.made.reach)
    updates = [(at - stretch.first, text) for at, text in zip(application.applied, application.updates, strict=True)]
    return grow_summary(before, updates, rules.summary_characters, rules.summary_target_characters)


def read_fragments(snapshot: Snapshot, path: Sequence[OnPath]) -> list[Fragment]:
    """Return a run of the path as the librarian sees it."""
    return make_fragments(path, find_analyses(snapshot, path))


def make_fragments(path: Sequence[OnPath], tiles: Sequence[Tile]) -> list[Fragment]:
    """Return the messages of a run, each with the analysis of its tile."""
    return [
        Fragment(item.position, has_fragment(item), read_analysis(tile) if tile.note else None)
        for item, tile in zip(path, tiles, strict=True)
    ]


def read_analysis(tile: Tile) -> Analysis:
    """Return the analysis of a tile that has one, with the number its message has now."""
    from previously.folds.analysis import parse_analysis

    assert tile.note is not None, "only noted tiles are read"
    analysis = parse_analysis(tile.note.made.text)
    return replace(analysis, summary_update=renumber_quotes(analysis.summary_update, tile.note.made, tile.span))
