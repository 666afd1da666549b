"""What a note is told of the story before its span: the summary, names, what is open and how things stood.

What must stay true: nothing of what stands later is told; what a person wrote of the story counts before all else; a
closed chapter is told of by the backbone, or by its own recap where there is none.
"""

from __future__ import annotations

from typing import Any

from previously.core.marks import STORY_SCOPE, MarkKind, chapters_of
from previously.core.people import characters
from previously.core.versions import Kind
from previously.folds.builtin.quotes import text_now
from previously.lore.by_hand import corrected, record_of
from previously.lore.state import State
from previously.lore.threads import choose_shown
from previously.runtime.fold_store import SnapshotStore
from previously.storage.store import BranchInfo, StoryKey

HAND = frozenset({MarkKind.LORE, MarkKind.THREAD, MarkKind.HELD, MarkKind.WISH})
"""The marks that hold what people said of lore, threads, the state and wishes."""

MOST_KNOWN = 40
"""How many names are told."""

MOST_HELD = 30
"""How many lines of the state are told, the newest: twice what a story of ordinary size has."""

SUMMARY_CHARACTERS = 2_000
"""How much of the end of the summary is told."""


async def told_before(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, position: int, state: State
) -> dict[str, Any]:
    """What an analysis of the fragment at a position is told; of a later state what stood before it."""
    known = {name: one for name, one in state.people.items() if one.first < position}
    return {
        "before": (await _summary(store, key, branch, position))[-SUMMARY_CHARACTERS:],
        "known": tuple(characters(known)[:MOST_KNOWN]),
        **lists_before(state, position),
    }


def lists_before(state: State, position: int, about: str = "") -> dict[str, Any]:
    """Return what was open and how things stood before a position, for a note of messages that say `about`."""
    still_open = [one for one in state.threads.threads if one.opened < position]
    held = [one.text for one in state.current.standing if one.position < position]
    return {
        "open_threads": tuple((one.id, one.text) for one in choose_shown(still_open, position, about)),
        "state": tuple(held[-MOST_HELD:]),
    }


async def with_hand_records(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, state: State, position: int
) -> State:
    """Return the state with what people said of it at messages before a position."""
    marks = await store.marks(key, branch.name, HAND)
    records = [(mark.position, record_of(mark.text)) for mark in marks if mark.position < position]
    return corrected(state, [(at, record) for at, record in records if record]).state


async def _summary(store: SnapshotStore, key: StoryKey, branch: BranchInfo, position: int) -> str:
    """What is told of all before a message, chapters before it included."""
    return "\n\n".join(filter(None, await texts_before(store, key, branch, position)))


async def texts_before(store: SnapshotStore, key: StoryKey, branch: BranchInfo, position: int) -> tuple[str, str]:
    """Return what is told of the chapters before the one that a message stands in, and of that one up to the message.

    The last chapter is told in full beside the backbone: a chapter that begins needs who and why.
    """
    marks = await store.marks(key, branch.name)
    chapters = [one for one in chapters_of(marks) if one.first <= position]
    current = chapters[-1]
    before: list[str] = []
    if current.first:
        closed = chapters[-2]
        by_hand = [mark for mark in marks if mark.kind is MarkKind.BACKBONE and mark.position < current.first]
        scope = by_hand[-1].scope if by_hand else STORY_SCOPE
        backbone = await store.live(key, branch.name, Kind.BACKBONE, scope, through=closed.first - 1)
        before += [mark.text for mark in by_hand[-1:]]
        if backbone:
            before.append(text_now(backbone))
        recap = await store.live(key, branch.name, Kind.CHAPTER, closed.last_stretch.scope, through=closed.last)
        if not by_hand or by_hand[-1].position < closed.first:
            before += [closed.hand_text or closed.block_text, text_now(recap) if recap else ""]
    stretches = [one for one in current.stretches if one.first <= position]
    told = [mark.text for mark in current.blocks if mark.position < position]
    live = await store.live(key, branch.name, Kind.RECAP, stretches[-1].scope, through=position - 1)
    told.append(text_now(live) if live else "")
    return "\n\n".join(filter(None, before)), "\n\n".join(filter(None, told))
