"""Find what updates left unnoted: spans that a recap tells of and that have no episode, or no note. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from previously.core.path import Span
from previously.core.versions import Status, Version
from previously.folds.tiling import Tile
from previously.folds.update import Part


@dataclass(frozen=True, slots=True)
class Wanted:
    """A span whose episode or note is missing or only stands in for a better one."""

    span: Span
    part: Part
    """What of the answer is missing."""
    stand_ins: tuple[Version, ...] = ()
    """The versions that stand there meanwhile."""

    @property
    def again(self) -> bool:
        """Return whether it was asked for before, and a provisional version stands there."""
        return any(one.made.status is Status.PROVISIONAL for one in self.stand_ins)


def find_missing(
    region: Sequence[Span], episodes: Sequence[Tile], notes: Sequence[Tile], longest: int, *, anew: bool
) -> list[Wanted]:
    """Return what is missing in the spans of `region`, in path order. Episodes and notes are tiles of one cut. A tile
    that has one of the two is asked for the other as it is; runs that have neither in equal pieces of about `longest`
    messages. With `anew`, what is not firm is wanted again."""
    tiles = [{tile.span: tile.note for tile in kind} for kind in (episodes, notes)]
    runs = _joined(region)
    gaps = _gaps(runs, {*tiles[0], *tiles[1]})
    wanted = [Wanted(piece, Part.SPAN) for gap in gaps for piece in _pieces(gap, longest)]
    for span in {*tiles[0], *tiles[1]}:
        if not any(run.first <= span.first and span.last <= run.last for run in runs):
            continue
        there = [kind.get(span) for kind in tiles]
        no_episode, no_note = (one is None or (anew and not one.firm) for one in there)
        stand_ins = tuple(one for one in there if one and anew and not one.firm)
        if no_episode or no_note:
            part = Part.SPAN if no_episode and no_note else Part.EPISODE if no_episode else Part.LISTS
            wanted.append(Wanted(span, part, stand_ins))
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


def _pieces(gap: Span, longest: int) -> list[Span]:
    """Return a run in equal pieces. One message more than `longest`, as an insertion leaves it, is still one piece: a
    piece of one message would cost as much as the other."""
    count = max(1, round(len(gap) / longest))
    starts = [gap.first + len(gap) * number // count for number in range(count + 1)]
    return [Span(first, end - 1) for first, end in pairwise(starts)]


def _gaps(runs: Sequence[Span], covered: set[Span]) -> list[Span]:
    """Return what of the runs no span covers."""
    found: list[Span] = []
    for run in runs:
        at = run.first
        for cover in sorted(covered):
            if cover.last < at or cover.first > run.last:
                continue
            if cover.first > at:
                found.append(Span(at, cover.first - 1))
            at = cover.last + 1
        if at <= run.last:
            found.append(Span(at, run.last))
    return found
