"""The state of a story, lore, threads and how things stand, as its notes and its people have it.

A pure reduce over the notes of a path, from the newest snapshot on; then what people wrote. What must stay true: for
somebody in particular only notes count whose messages they have all witnessed.
"""

from __future__ import annotations

from previously.core.lore import Scene
from previously.core.signals import NO_SIGNALS, Signals
from previously.folds.analysis import analysis_of
from previously.folds.recap import FoldRules, Timeline
from previously.folds.scene import scene_of
from previously.folds.tiling import Tile
from previously.lore.state import EMPTY, Noted, State, after, state_of
from previously.runtime.noted import Walk, witnessed


def state_after(seen: Walk, rules: FoldRules, reader: str = "", *, through: int | None = None) -> State:
    """The state where a walk ends, or at an earlier position, as a reader may know it; what people wrote aside."""
    state = state_of(seen.snapshot.version.made.text) if seen.snapshot else EMPTY
    last = seen.first + len(seen.path) - 1 if through is None else through
    for noted in _noted(seen, rules, reader, last):
        state = after(state, noted)
    return state


def _noted(seen: Walk, rules: FoldRules, reader: str, last: int) -> list[Noted]:
    """What the notes of a walk say, in path order; the messages tell who takes part."""
    librarian = rules.timeline is Timeline.LIBRARIAN
    found: list[Noted] = []
    for tile in [*seen.fragments, *seen.scenes]:
        if tile.note is None or tile.span.last > last or not witnessed(seen.run(tile), reader):
            continue
        found.append(_read(seen, tile, librarian=librarian, suggests=rules.lore == "suggest"))
    people = [Noted(item.position, said=((item.position, item.entry.message),)) for item in seen.path[: last + 1 - seen.first]]
    return sorted([*found, *people], key=lambda one: one.position)


def _read(seen: Walk, tile: Tile, *, librarian: bool, suggests: bool) -> Noted:
    assert tile.note is not None
    text = tile.note.made.text
    scene: Scene | None = None
    signals: Signals = NO_SIGNALS
    if tile in seen.fragments:
        signals = analysis_of(text).signals
    else:
        scene = scene_of(text)
        signals = NO_SIGNALS if librarian else scene.signals
    quotes = tuple((item.position, item.entry.message) for item in seen.run(tile))
    return Noted(tile.span.last, scene, signals, quotes, suggests=suggests, by=tile.note.made.made_by)
