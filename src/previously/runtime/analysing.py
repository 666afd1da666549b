"""Analyses by request: of the fragments that have none, or of one once more.

What must stay true: a fragment that has not changed is analysed again only where that is asked for; then the newest
analysis counts, also in a summary that was put together before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import SPAN_SCOPE
from previously.core.paths import OnPath
from previously.core.snapshot import Snapshot
from previously.core.spans import position_on
from previously.core.versions import Kind, Version
from previously.folds.analysis import AnalysisNote
from previously.folds.recap import FoldRules
from previously.folds.rendering import speaker_of, told
from previously.lore.state import EMPTY_STATE, State
from previously.memory.background import apply_hand_records, read_background
from previously.memory.notes import Walk, find_analyses, has_fragment, resolve_tail, walk_to_the_end
from previously.memory.state import States
from previously.plan.notes import FRAGMENT
from previously.plan.step import Step
from previously.runtime.fold_loop import make
from previously.runtime.fold_report import FoldReport
from previously.runtime.fold_store import on_snapshot
from previously.runtime.folder import Folder
from previously.storage.store import Store, StoryKey

ASKED_AGAIN = "asked for again"


async def analyse(
    store: Store, key: StoryKey, folder: Folder, rules: FoldRules, position: int | None, *, again: bool
) -> FoldReport:
    """Analyse the fragment at a position, or all that have no analysis; with `again` also what has one."""

    def look(snapshot: Snapshot) -> list[Step]:
        seen = walk_to_the_end(snapshot, resolve_tail(snapshot, rules))
        return plan_analyses(snapshot, rules, seen, position, again=again)

    steps = await on_snapshot(store, key, None, look)
    report = await make(store, key, folder, rules, steps, fresh=again)
    await _loosen(store, key, [step for step in steps if step.replaces])
    return report


def plan_analyses(snapshot: Snapshot, rules: FoldRules, seen: Walk, position: int | None, *, again: bool) -> list[Step]:
    """Return the analyses of the fragment at a position, or of all that have none; with `again` also of what has one.
    `seen` goes to the end of the branch."""
    at = None if position is None else position_on(snapshot.messages, position)
    first, last = (0, snapshot.messages - 1) if at is None else (at, at)
    path = snapshot.path(first, last) if snapshot.messages else []
    if at is not None and not has_fragment(path[0]):
        raise BadInput(f"Message {at} holds nothing to analyse.")
    steps, states = [], States()
    for item, tile in zip(path, find_analyses(snapshot, path), strict=True):
        if has_fragment(item) and (tile.note is None or again):
            before = EMPTY_STATE
            if item.position > seen.first:
                before = states.reduce(seen, rules, through=item.position - 1)
            steps.append(_step(snapshot, item, tile.note, before))
    return steps


def _step(snapshot: Snapshot, item: OnPath, note: Version | None, state: State) -> Step:
    asked = AnalysisNote((item.entry.message,), first=item.position)
    if snapshot.all_witnessed():
        state = apply_hand_records(snapshot, state, item.position)
        about = f"{speaker_of(item.entry.message)}: {told(item.entry.message)}"
        asked = replace(asked, context=read_background(snapshot, item.position, state, about))
    reason = ASKED_AGAIN if note else FRAGMENT
    replaces = note.id if note else None
    return Step(Kind.ANALYSIS, SPAN_SCOPE, [item], None, asked, reason, replaces, by_request=note is not None)


async def _loosen(store: Store, key: StoryKey, steps: Sequence[Step]) -> None:
    """Let recaps be put together anew that hold an earlier analysis of what was analysed again."""
    if not steps:
        return
    first = min(step.span.first for step in steps)
    covers = await on_snapshot(store, key, None, lambda snapshot: snapshot.cover(Kind.RECAP))
    await store.loosen(key, [version for _, last, version in covers if last >= first])
