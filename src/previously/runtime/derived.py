"""Recaps that are put together from notes: the updates of a librarian, or the summaries of scenes.

What must stay true: application is contiguous; it stops at the first gap, and the gap can be seen. Putting together
asks no model; only what has grown too long is combined, from summaries alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.marks import SPAN_SCOPE, Stretch
from previously.core.path import OnPath
from previously.core.scene import Analysis, Fragment
from previously.core.scripts import count_words
from previously.core.versions import Kind, LiveVersion
from previously.folds.analysis import parse_analysis
from previously.folds.builtin.quotes import renumber_live, renumber_quotes
from previously.folds.combine import CombineFold
from previously.folds.recap import FoldRules, NotDue, Timeline
from previously.folds.scene import parse_scene
from previously.folds.summary import Application, Gap, Summary, append_text, apply_updates, grow_summary, parse_summary
from previously.folds.tiles import Tile, TileRules, cut_scene_tiles, take_leading
from previously.runtime.fold_store import FoldStore, PathStore
from previously.runtime.noted import analysed, ends_of, is_fragment
from previously.runtime.step import Step, Written
from previously.storage.store import BranchInfo, StoryKey

LIBRARIAN, SCENES = "librarian", "scenes"

MOST_APPLIED = 1_024
"""How many messages one recap takes in at most."""

FEWEST_APPLIED = 4
"""While fragments wait to be analysed, so many are applied at a time: each recap is kept."""

APPLIED = "{} fragment{} applied"
TOLD = "{} scene{} told"
ROOM = 1.25
"""How much longer than its target a recap of scenes may get before it is combined."""


class DerivedRecap:
    """The recap of one stretch of a branch, with a store that answers as of one moment."""

    def __init__(
        self, store: FoldStore, key: StoryKey, branch: BranchInfo, rules: FoldRules, *, anew: bool = False
    ) -> None:
        """`anew`: notes that only stand in for better ones are about to be made anew, so they are waited for."""
        self._store = store
        self._key = key
        self._branch = branch
        self._rules = rules
        self._anew = anew

    async def next(self, stretch: Stretch, live: LiveVersion | None, end: int, *, closing: bool) -> Step | NotDue:
        """What the recap takes in next of the messages before `end`; a chapter that is closing is told to its end."""
        first = live.span.last + 1 if live else stretch.first
        if first >= end:
            return NotDue("everything is applied")
        run = await self._store.path(self._key, self._branch.name, first, min(end, first + MOST_APPLIED) - 1)
        if self._rules.timeline is Timeline.LIBRARIAN:
            return await self._applied(stretch, live, run, end, closing=closing)
        return await self._told(stretch, live, run, end, closing=closing)

    async def _applied(
        self, stretch: Stretch, live: LiveVersion | None, run: Sequence[OnPath], end: int, *, closing: bool
    ) -> Step | NotDue:
        tiles = await analysed(self._store, self._key, run)
        fragments = _fragments(run, [self._to_be_told(tile) for tile in tiles])
        held_back = 0 if closing or run[-1].position < end - 1 else self._rules.apply_after
        found = apply_updates(fragments, run[0].position, held_back)
        before = renumber_live(live) if live else ""
        if (
            len(append_text(before, found.text)) > self._rules.summary_characters
        ):  # a chapter can close behind what fits
            done = [one for one in fragments if one.position <= found.through]
            found = apply_updates(_that_fit(done, len(before), self._rules.summary_characters), run[0].position, 0)
        count = found.through - run[0].position + 1
        if count <= 0 or (found.gap and not closing and count < FEWEST_APPLIED):
            return NotDue(_why(found.gap) if found.gap else f"the newest {held_back} fragments are not applied yet")
        summary = _summary(self._rules, stretch, live, found)
        reason = APPLIED.format(len(found.applied), "s" if len(found.applied) != 1 else "")
        written = Written(summary.text, LIBRARIAN, firm=_all_firm(tiles[:count]), carry=summary.carry)
        return self._step(stretch, live, run[:count], written, reason)

    async def _told(
        self, stretch: Stretch, live: LiveVersion | None, run: Sequence[OnPath], end: int, *, closing: bool
    ) -> Step | NotDue:
        marks = await self._store.marks(self._key, self._branch.name, ends_of(self._rules), since=run[0].position)
        notes = await self._store.notes(self._key, Kind.SCENE, SPAN_SCOPE, [item.entry.digest for item in run])
        before = end if closing else end - self._rules.recap.tail_messages
        ends = {mark.position for mark in marks} | ({end - 1} if closing else set())
        tiles = cut_scene_tiles(run, notes, ends, TileRules(self._rules.scene_messages, before))
        scenes = take_leading([self._to_be_told(tile) for tile in tiles])
        if not scenes:
            return NotDue(f"no scene is noted from message {run[0].position} on")
        summaries = [
            renumber_quotes(parse_scene(tile.note.made.text).summary, tile.note.made, tile.span)
            for tile in scenes
            if tile.note
        ]
        count = scenes[-1].span.last - run[0].position + 1
        earlier = renumber_live(live) if live else ""
        text = "\n\n".join(filter(None, [earlier, *summaries]))
        reason, target = TOLD.format(len(summaries), "s" if len(summaries) != 1 else ""), self._rules.recap.target_words
        if target and count_words(text) > target * ROOM:
            asked = CombineFold.of([earlier, *summaries] if earlier else summaries, target)
            return Step(Kind.RECAP, stretch.scope, run[:count], live.version if live else None, asked, reason)
        return self._step(stretch, live, run[:count], Written(text, SCENES, firm=_all_firm(scenes)), reason)

    def _to_be_told(self, tile: Tile) -> Tile:
        """A tile with its note, if that is not waited for."""
        return replace(tile, note=None) if self._anew and tile.note and not tile.note.firm else tile

    def _step(
        self, stretch: Stretch, live: LiveVersion | None, run: Sequence[OnPath], written: Written, reason: str
    ) -> Step:
        return Step(Kind.RECAP, stretch.scope, run, live.version if live else None, written, reason)


async def put_together(
    store: PathStore,
    key: StoryKey,
    branch: BranchInfo,
    rules: FoldRules,
    stretch: Stretch,
    live: LiveVersion | None,
    last: int,
) -> Summary | None:
    """What a librarian's recap says that goes on from another up to a message, by the analyses of now; None where
    there is a gap, or more to read than a look takes."""
    first = live.span.last + 1 if live else stretch.first
    if last - first >= MOST_APPLIED:
        return None
    run = await store.path(key, branch.name, first, last)
    found = apply_updates(await fragments_of(store, key, run), first, 0)
    return _summary(rules, stretch, live, found) if found.through == last else None


def _summary(rules: FoldRules, stretch: Stretch, live: LiveVersion | None, found: Application) -> Summary:
    """Return the summary of a stretch after what is applied."""
    before = Summary("")
    if live:
        before = parse_summary(renumber_live(live), live.version.made.carry, live.version.made.reach)
    updates = [(at - stretch.first, text) for at, text in zip(found.applied, found.updates, strict=True)]
    return grow_summary(before, updates, rules.summary_characters, rules.summary_target_characters)


async def fragments_of(store: PathStore, key: StoryKey, path: Sequence[OnPath]) -> list[Fragment]:
    """A run of the path as the librarian sees it."""
    return _fragments(path, await analysed(store, key, path))


def _fragments(path: Sequence[OnPath], tiles: Sequence[Tile]) -> list[Fragment]:
    found: list[Fragment] = []
    for item, tile in zip(path, tiles, strict=True):
        analysis: Analysis | None = analysis_now(tile) if tile.note else None
        found.append(Fragment(item.position, is_fragment(item), analysis))
    return found


def _that_fit(fragments: Sequence[Fragment], characters: int, most: int) -> Sequence[Fragment]:
    """Return the first fragments, one at least, whose updates fit a summary that has so many characters already."""
    for at, fragment in enumerate(fragments):
        characters += len(fragment.analysis.summary_update) + 1 if fragment.analysis else 0
        if characters > most and at:
            return fragments[:at]
    return fragments


def analysis_now(tile: Tile) -> Analysis:
    """The analysis of a tile that has one, with the number its message has now."""
    assert tile.note is not None, "only noted tiles are read"
    analysis = parse_analysis(tile.note.made.text)
    return replace(analysis, summary_update=renumber_quotes(analysis.summary_update, tile.note.made, tile.span))


def _all_firm(tiles: Sequence[Tile]) -> bool:
    return all(tile.note.firm for tile in tiles if tile.note)


def _why(gap: Gap) -> str:
    return f"message {gap.position} stops the librarian's summary: {gap.reason}"
