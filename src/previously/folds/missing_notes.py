"""Find what updates left unnoted: spans that a recap tells of and that have no episode, or no note. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from previously.core.spans import Span
from previously.core.versions import Status, Version
from previously.folds.tiling import Tile


@dataclass(frozen=True, slots=True)
class Wanted:
    """A span whose episode or note is missing or only stands in for a better one."""

    span: Span
    episode: bool
    """Whether the episode is missing too."""
    note: Version | None = None
    """The version that stands there meanwhile."""

    @property
    def again(self) -> bool:
        """Return whether it was asked for before, and a provisional version stands there."""
        return self.note is not None and self.note.made.status is Status.PROVISIONAL


def find_missing(
    region: Sequence[Span], episodes: Sequence[Tile], notes: Sequence[Tile], longest: int, *, anew: bool
) -> list[Wanted]:
    """Return what is missing in the spans of `region`, in path order; runs without an episode in equal pieces of about
    `longest` messages. With `anew`, what is not firm is wanted again."""
    wanted: list[Wanted] = []
    firm = {tile.span for tile in notes if tile.note and (tile.note.firm or not anew)}
    loose = {tile.span: tile.note for tile in notes if tile.note and tile.span not in firm}
    for gap in _gaps(region, [tile.span for tile in episodes]):
        wanted += [Wanted(piece, True) for piece in _pieces(gap, longest)]
    for tile in episodes:
        if not any(span.first <= tile.span.first and tile.span.last <= span.last for span in region):
            continue
        if anew and tile.note and not tile.note.firm:
            wanted.append(Wanted(tile.span, True, tile.note))
        elif tile.span not in firm:
            wanted.append(Wanted(tile.span, False, loose.get(tile.span)))
    return sorted(wanted, key=lambda one: one.span)


def _pieces(gap: Span, longest: int) -> list[Span]:
    """Return a run in equal pieces. One message more than `longest`, as an insertion leaves it, is still one piece: a
    piece of one message would cost as much as the other."""
    count = max(1, round(len(gap) / longest))
    starts = [gap.first + len(gap) * number // count for number in range(count + 1)]
    return [Span(first, end - 1) for first, end in pairwise(starts)]


def _gaps(region: Sequence[Span], covered: Sequence[Span]) -> list[Span]:
    """Return what of the region no span covers; spans of the region may overlap."""
    found: list[Span] = []
    reached = -1
    for span in sorted(region):
        at = max(span.first, reached + 1)
        for cover in sorted(covered):
            if cover.last < at or cover.first > span.last:
                continue
            if cover.first > at:
                found.append(Span(at, cover.first - 1))
            at = cover.last + 1
        if at <= span.last:
            found.append(Span(at, span.last))
        reached = max(reached, span.last)
    return found
