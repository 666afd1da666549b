"""The fragments of a path with their analyses, and the summary that follows from them.

Analyses are applied without a gap: the summary stops at the first fragment that has none. No model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.marks import Stretch
from previously.core.path import OnPath
from previously.core.scene import Analysis, Fragment
from previously.core.snapshot import Snapshot
from previously.core.versions import LiveVersion
from previously.folds.analysis import parse_analysis
from previously.folds.builtin.quotes import renumber_live, renumber_quotes
from previously.folds.recap import FoldRules
from previously.folds.summary import Application, Summary, apply_updates, grow_summary, parse_summary
from previously.folds.tiles import Tile
from previously.memory.notes import find_analyses, has_fragment

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
    assert tile.note is not None, "only noted tiles are read"
    analysis = parse_analysis(tile.note.made.text)
    return replace(analysis, summary_update=renumber_quotes(analysis.summary_update, tile.note.made, tile.span))
