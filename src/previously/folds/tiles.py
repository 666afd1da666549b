"""Tiles: a path cut into the spans that are noted by themselves, and those of them that lack an episode or a note.

A note is valid wherever its run of messages stands. So a path is tiled with the notes there are, from the front on, and
what lies between them is to be noted. Tiles follow one another and never overlap, and none reaches over an end. Where
nothing changed, the same notes are found again, so an edit costs the one tile it is in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from previously.core.digests import span_key
from previously.core.path import OnPath, Span
from previously.core.versions import Status, Version
from previously.folds.boundary import is_scene_end

if TYPE_CHECKING:
    from previously.folds.update import Part

SHORTEST_SHARE = 2
"""A scene is found to end from this part of the usual length on: half of it."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A span, and what is noted of it; None if nothing is."""

    span: Span
    note: Version | None


@dataclass(frozen=True, slots=True)
class TileRules:
    """The rules by which scenes end."""

    messages: int
    """After so many at the latest, and from half of it on where the text says so; 0 = only where a person said so."""
    before: int
    """Messages from this position on belong to the tail: only a person's word ends a scene there."""


def cut_scene_tiles(
    path: Sequence[OnPath], notes: Sequence[Version], ends: Collection[int], rules: TileRules
) -> list[Tile]:
    """The scenes of a run of the path, those that are noted and those that are over and are not. `ends` are the
    positions at which a person ended a scene or a chapter closed; what stands behind the last tile is not over."""
    known = _by_first(notes)
    tiles: list[Tile] = []
    at = 0
    while at < len(path):
        note = _find_noted(path, at, known, ends)
        if note is None:
            last = _find_end_of_gap(path, at, known, ends, rules)
            if not rules.messages:  # scenes do not end by themselves: what lies before a noted one is none
                until = len(path) if last is None else last + 1
                later = next((place for place in range(at + 1, until) if _find_noted(path, place, known, ends)), None)
                if later is not None:
                    at = later
                    continue
            if last is None:
                break
            tiles.append(Tile(Span(path[at].position, path[last].position), None))
            at = last + 1
            continue
        last = at + len(note.made.span) - 1
        tiles.append(Tile(Span(path[at].position, path[last].position), note))
        at = last + 1
    return tiles


def cut_fragment_tiles(path: Sequence[OnPath], notes: Sequence[Version]) -> list[Tile]:
    """Every message as a tile of its own, with the newest note of it."""
    known = _by_first(notes)
    tiles = []
    for at, item in enumerate(path):
        standing = [note for note in known.get(item.entry.digest, ()) if _is_standing(path, at, note)]
        tiles.append(Tile(Span(item.position, item.position), find_newest(standing)))
    return tiles


def cut_note_tiles(path: Sequence[OnPath], notes: Sequence[Version]) -> list[Tile]:
    """Return the notes that stand on a run of the path, in path order, none over another."""
    return cut_tiles_alike(path, notes)[0]


def cut_tiles_alike(path: Sequence[OnPath], *kinds: Sequence[Version]) -> list[list[Tile]]:
    """Return of each of these kinds of memory, which are made of the same spans, what stands on a run of the path, in
    path order, none over another; all are cut alike. What lies between is no tile: where the next note is due is not
    for the notes to say.

    Of all ways to cut the path, the one that covers most messages counts, then the one with the most that is firm, then
    the newest. So an edit costs the one tile it is in, what is to be made anew stays until as much stands in its place,
    and whatever is made for a tile keeps that tile.
    """
    cut = _find_best_cut(path, [version for versions in kinds for version in versions])
    alike: list[list[Tile]] = []
    for notes in kinds:
        own = {note.id for note in notes}
        best = [(at, _choose_best([version for version in versions if version.id in own])) for at, versions in cut]
        alike.append(
            [
                Tile(Span(path[at].position, path[at + len(note.made.span) - 1].position), note)
                for at, note in best
                if note
            ]
        )
    return alike


Weight = tuple[int, int, int]
"""The worth of a cut: messages covered by memories of any kind, those by firm ones, and how new all these are."""


def _find_best_cut(path: Sequence[OnPath], versions: Sequence[Version]) -> list[tuple[int, list[Version]]]:
    """Return the offsets at which the tiles of the best cut begin, in order, each with all versions of its run."""
    known = _by_first(versions)
    rank = {note.id: number for number, note in enumerate(sorted(versions, key=_read_age), 1)}
    weights: list[Weight] = [(0, 0, 0)] * (len(path) + 1)
    chosen: list[list[Version]] = [[] for _ in path]
    for at in reversed(range(len(path) if known else 0)):
        weights[at] = weights[at + 1]
        runs: dict[int, list[Version]] = {}
        for note in known.get(path[at].entry.digest, ()):
            if _is_standing(path, at, note):
                runs.setdefault(len(note.made.span), []).append(note)
        for length, there in sorted(runs.items()):
            weight = _add_weight(weights[at + length], length, there, rank)
            if weight >= weights[at]:
                weights[at], chosen[at] = weight, there
    cut: list[tuple[int, list[Version]]] = []
    at = 0
    while at < len(path):
        if chosen[at]:
            cut.append((at, chosen[at]))
        at += len(chosen[at][0].made.span) if chosen[at] else 1
    return cut


def _add_weight(weight: Weight, length: int, versions: Sequence[Version], rank: Mapping[int, int]) -> Weight:
    """Return the weight of a cut with one more tile, of which these versions tell."""
    covered, firm, new = weight
    for kind in {note.made.kind for note in versions}:
        best = _choose_best([note for note in versions if note.made.kind is kind])
        assert best is not None, "the kind is that of one of them"
        covered, firm, new = covered + length, firm + length * best.firm, new + length * rank[best.id]
    return covered, firm, new


def _choose_best(notes: Sequence[Version]) -> Version | None:
    """Of several notes of the same run the newest, but nothing that only stands in for one that is firm."""
    return find_newest([note for note in notes if note.firm]) or find_newest(notes)


def find_newest(notes: Sequence[Version]) -> Version | None:
    """Of several notes of the same run the newest; of those made at the same time the one with the larger id."""
    return max(notes, key=_read_age, default=None)


def _read_age(note: Version) -> tuple[str, int]:
    return note.made.at, note.id


def take_leading(tiles: Sequence[Tile]) -> list[Tile]:
    """The noted tiles before the first that is not."""
    return list(takewhile(lambda tile: tile.note is not None, tiles))


def _by_first(notes: Sequence[Version]) -> Mapping[bytes, list[Version]]:
    known: dict[bytes, list[Version]] = {}
    for note in notes:
        known.setdefault(note.made.first, []).append(note)
    return known


def _is_standing(path: Sequence[OnPath], at: int, note: Version) -> bool:
    """Return whether the run that a note read stands there."""
    run = path[at : at + len(note.made.span)]
    return len(run) == len(note.made.span) and span_key(item.entry.digest for item in run) == note.made.key


def _find_noted(
    path: Sequence[OnPath], at: int, known: Mapping[bytes, list[Version]], ends: Collection[int]
) -> Version | None:
    """The newest of the longest notes whose run begins there and that no end cuts."""
    here = [note for note in known.get(path[at].entry.digest, ()) if _is_standing(path, at, note)]
    whole = [
        note for note in here if not any(path[at + step].position in ends for step in range(len(note.made.span) - 1))
    ]
    longest = max((len(note.made.span) for note in whole), default=0)
    return find_newest([note for note in whole if len(note.made.span) == longest])


def _find_end_of_gap(
    path: Sequence[OnPath], at: int, known: Mapping[bytes, list[Version]], ends: Collection[int], rules: TileRules
) -> int | None:
    """Return where the scene ends that begins there and is not noted; None if it is not over."""
    for last in range(at, len(path)):
        position, length = path[last].position, last - at + 1
        if position in ends:
            return last
        if not rules.messages or position >= rules.before:
            continue
        following = path[last + 1] if last + 1 < len(path) else None
        if length >= rules.messages:
            return last
        if following is None:
            continue
        if _find_noted(path, last + 1, known, ends) is not None:
            return last
        if length * SHORTEST_SHARE >= rules.messages and is_scene_end(
            path[last].entry.message, following.entry.message
        ):
            return last
    return None


@dataclass(frozen=True, slots=True)
class MissingNote:
    """A span whose episode or note is missing or only stands in for a better one."""

    span: Span
    part: Part
    """The part of the answer that is missing."""
    stand_ins: tuple[Version, ...] = ()
    """The versions that stand there meanwhile."""

    @property
    def again(self) -> bool:
        """Return whether it was asked for before, and a provisional version stands there."""
        return any(one.made.status is Status.PROVISIONAL for one in self.stand_ins)


def find_missing(
    region: Sequence[Span], episodes: Sequence[Tile], notes: Sequence[Tile], longest: int, *, anew: bool
) -> list[MissingNote]:
    """Return what is missing in the spans of `region`, in path order. Episodes and notes are tiles of one cut. A tile
    that has one of the two is asked for the other as it is; runs that have neither in equal pieces of about `longest`
    messages. With `anew`, what is not firm is wanted again."""
    from previously.folds.update import Part  # the question itself: not for who only reads notes

    tiles = [{tile.span: tile.note for tile in kind} for kind in (episodes, notes)]
    runs = _joined(region)
    gaps = _find_gaps(runs, {*tiles[0], *tiles[1]})
    wanted = [MissingNote(piece, Part.SPAN) for gap in gaps for piece in _cut_pieces(gap, longest)]
    for span in {*tiles[0], *tiles[1]}:
        if not any(run.first <= span.first and span.last <= run.last for run in runs):
            continue
        there = [kind.get(span) for kind in tiles]
        no_episode, no_note = (one is None or (anew and not one.firm) for one in there)
        stand_ins = tuple(one for one in there if one and anew and not one.firm)
        if no_episode or no_note:
            part = Part.SPAN if no_episode and no_note else Part.EPISODE if no_episode else Part.LISTS
            wanted.append(MissingNote(span, part, stand_ins))
    return sorted(wanted, key=lambda one: one.span)


def _joined(region: Sequence[Span]) -> list[Span]:
    """Return spans as runs: those that overlap or follow one another are one, since a tile may reach over both."""
    runs: list[Span] = []
    for span in sorted(region):
        if runs and span.first <= runs[-1].last + 1:
            runs[-1] = Span(runs[-1].first, max(runs[-1].last, span.last))
        else:
            runs.append(span)
    return runs


def _cut_pieces(gap: Span, longest: int) -> list[Span]:
    """Return a run in equal pieces. One message more than `longest`, as an insertion leaves it, is still one piece: a
    piece of one message would cost as much as the other."""
    count = max(1, round(len(gap) / longest))
    starts = [gap.first + len(gap) * number // count for number in range(count + 1)]
    return [Span(first, end - 1) for first, end in pairwise(starts)]


def _find_gaps(runs: Sequence[Span], covered: set[Span]) -> list[Span]:
    gaps: list[Span] = []
    for run in runs:
        at = run.first
        for cover in sorted(covered):
            if cover.last < at or cover.first > run.last:
                continue
            if cover.first > at:
                gaps.append(Span(at, cover.first - 1))
            at = cover.last + 1
        if at <= run.last:
            gaps.append(Span(at, run.last))
    return gaps
