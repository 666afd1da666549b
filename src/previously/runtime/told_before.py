"""What an analysis is told of the story before its fragment: the summary, names, and what is open.

What must stay true: nothing of what stands later is told; what a person wrote of the story counts before all else; a
closed chapter is told of by the backbone, or by its own recap where there is none.
"""

from __future__ import annotations

from typing import Any

from previously.core.marks import STORY_SCOPE, MarkKind, chapters_of
from previously.core.people import characters
from previously.core.versions import Kind
from previously.folds.builtin.quotes import text_now
from previously.lore.state import State
from previously.lore.threads import ranked
from previously.runtime.fold_store import SnapshotStore
from previously.storage.store import BranchInfo, StoryKey

MOST_KNOWN = 40
"""How many names are told."""

MOST_OPEN = 12
"""How many open threads are told, those that matter most."""

SUMMARY_CHARACTERS = 2_000
"""How much of the end of the summary is told."""


async def told_before(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, position: int, state: State
) -> dict[str, Any]:
    """What an analysis of the fragment at a position is told; of a later state what stood before it."""
    known = {name: one for name, one in state.people.items() if one.first < position}
    still_open = [one for one in state.threads.threads if one.opened < position]
    return {
        "before": (await _summary(store, key, branch, position))[-SUMMARY_CHARACTERS:],
        "known": tuple(characters(known)[:MOST_KNOWN]),
        "open_threads": tuple(one.text for one in ranked(still_open, position)[:MOST_OPEN]),
    }


async def _summary(store: SnapshotStore, key: StoryKey, branch: BranchInfo, position: int) -> str:
    """What is told of all before a message, chapters before it included."""
    marks = await store.marks(key, branch.name)
    chapters = [one for one in chapters_of(marks) if one.first <= position]
    current = chapters[-1]
    texts: list[str] = []
    if current.first:
        by_hand = [mark for mark in marks if mark.kind is MarkKind.BACKBONE and mark.position < current.first]
        scope = by_hand[-1].scope if by_hand else STORY_SCOPE
        backbone = await store.live(key, branch.name, Kind.BACKBONE, scope, through=current.first - 1)
        texts += [mark.text for mark in by_hand[-1:]]
        if backbone:
            texts.append(text_now(backbone))
        elif not by_hand:
            closed = chapters[-2]
            recap = await store.live(key, branch.name, Kind.CHAPTER, closed.last_stretch.scope, through=closed.last)
            texts += [closed.hand_text or closed.block_text, text_now(recap) if recap else ""]
    stretches = [one for one in current.stretches if one.first <= position]
    texts += [mark.text for mark in current.blocks if mark.position < position]
    live = await store.live(key, branch.name, Kind.RECAP, stretches[-1].scope, through=position - 1)
    texts.append(text_now(live) if live else "")
    return "\n\n".join(filter(None, texts))
