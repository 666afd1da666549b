"""Analyses by request: of the fragments that have none, or of one once more.

What must stay true: a fragment that has not changed is analysed again only where that is asked for; then the newest
analysis counts, also in a summary that was put together before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.marks import SPAN_SCOPE
from previously.core.path import OnPath, find_position
from previously.core.versions import Kind, Version
from previously.folds.analysis import AnalysisFold
from previously.folds.prompts.templates import name_speaker, render_message
from previously.folds.recap import FoldRules
from previously.lore.state import EMPTY_STATE, State
from previously.runtime.fold_report import FoldReport
from previously.runtime.folding import make
from previously.runtime.knowing import knowing_of
from previously.runtime.note_steps import FRAGMENT
from previously.runtime.noted import analysed, is_fragment
from previously.runtime.states import States
from previously.runtime.step import Step
from previously.runtime.told_before import told_before, with_hand_records
from previously.runtime.writer import MemoryWriter
from previously.storage.store import BranchInfo, Store, StoryKey

ASKED_AGAIN = "asked for again"


async def analyse(
    store: Store, key: StoryKey, folder: MemoryWriter, rules: FoldRules, position: int | None, *, again: bool
) -> FoldReport:
    """Analyse the fragment at a position, or all that have no analysis; with `again` also what has one."""
    branch = await store.branch(key)
    at = None if position is None else find_position(branch.messages, position)
    first, last = (0, branch.messages - 1) if at is None else (at, at)
    path = await store.path(key, branch.name, first, last) if branch.messages else []
    if at is not None and not is_fragment(path[0]):
        raise BadInput(f"Message {at} holds nothing to analyse.")
    tiles = await analysed(store, key, path)
    shared = await store.all_witnessed(key)
    known = await knowing_of(store).known(store, key, branch, rules)
    steps, states = [], States()
    for item, tile in zip(path, tiles, strict=True):
        if is_fragment(item) and (tile.note is None or again):
            before = EMPTY_STATE
            if item.position > known.seen.first:
                before = states.after(known.seen, rules, through=item.position - 1)
            steps.append(await _step(store, key, branch, item, tile.note, before, shared=shared))
    report = await make(store, key, folder, rules, steps, fresh=again)
    await _loosen(store, key, branch, [step for step in steps if step.replaces])
    return report


async def _step(
    store: Store, key: StoryKey, branch: BranchInfo, item: OnPath, note: Version | None, state: State, *, shared: bool
) -> Step:
    asked = AnalysisFold((item.entry.message,), first=item.position)
    if shared:
        state = await with_hand_records(store, key, branch, state, item.position)
        about = f"{name_speaker(item.entry.message)}: {render_message(item.entry.message)}"
        asked = replace(asked, context=await told_before(store, key, branch, item.position, state, about))
    reason = ASKED_AGAIN if note else FRAGMENT
    replaces = note.id if note else None
    return Step(Kind.ANALYSIS, SPAN_SCOPE, [item], None, asked, reason, replaces, by_request=note is not None)


async def _loosen(store: Store, key: StoryKey, branch: BranchInfo, steps: Sequence[Step]) -> None:
    """Let recaps be put together anew that hold an earlier analysis of what was analysed again."""
    if not steps:
        return
    first = min(step.span.first for step in steps)
    covers = await store.cover(key, branch.name, Kind.RECAP)
    await store.loosen(key, [version for _, last, version in covers if last >= first])
