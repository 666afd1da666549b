"""What a note is told of the story before its span: the summary, names, what is open and how things stood.

What must stay true: nothing of what stands later is told; what a person wrote of the story counts before all else; a
closed chapter is told of by the backbone, or by its own recap where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from previously.core.marks import STORY_SCOPE, Chapter, MarkKind, chapters_of
from previously.core.people import characters
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.builtin.quotes import text_now
from previously.lore.by_hand import corrected, record_of
from previously.lore.state import State
from previously.lore.threads import choose_shown
from previously.runtime.fold_store import SnapshotStore
from previously.storage.store import BranchInfo, StoryKey
from previously.text.sentences import whole_sentences

HAND = frozenset({MarkKind.LORE, MarkKind.THREAD, MarkKind.HELD, MarkKind.WISH})
"""The marks that hold what people said of lore, threads, the state and wishes."""

MOST_KNOWN = 40
"""How many names are told."""

MOST_HELD = 30
"""How many lines of the state are told, the newest: twice what a story of ordinary size has."""

SUMMARY_CHARACTERS = 2_000
"""How much of the summary is told to an analysis: a page, more than the fragment it reads."""

BEFORE_CHARACTERS = 9_000
"""How much is told of the chapters before: a backbone and a chapter of 800 words each have room. Only what people wrote
by hand is longer."""


async def told_before(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, position: int, state: State
) -> dict[str, Any]:
    """What an analysis of the fragment at a position is told; of a later state what stood before it."""
    known = {name: one for name, one in state.people.items() if one.first < position}
    return {
        "before": bounded(await _summary(store, key, branch, position), SUMMARY_CHARACTERS),
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
        if not by_hand or by_hand[-1].position < closed.first:
            before.append(await _full_text(store, key, branch, closed))
    stretches = [one for one in current.stretches if one.first <= position]
    told = [mark.text for mark in current.blocks if mark.position < position]
    live = await store.live(key, branch.name, Kind.RECAP, stretches[-1].scope, through=position - 1)
    told.append(text_now(live) if live else "")
    return bounded("\n\n".join(filter(None, before)), BEFORE_CHARACTERS), "\n\n".join(filter(None, told))


async def chapters_before(
    store: SnapshotStore, key: StoryKey, branch: BranchInfo, chapter: Chapter, room_tokens: int
) -> tuple[str, tuple[str, ...]]:
    """Return the backbone before a chapter, what a person wrote of it included, and the newest chapters before it in
    full, in order, as many as there is room for."""
    marks = await store.marks(key, branch.name)
    by_hand = [mark for mark in marks if mark.kind is MarkKind.BACKBONE and mark.position < chapter.first]
    scope = by_hand[-1].scope if by_hand else STORY_SCOPE
    live = await store.live(key, branch.name, Kind.BACKBONE, scope, through=chapter.first - 1)
    backbone = "\n\n".join(filter(None, [*(mark.text for mark in by_hand[-1:]), text_now(live) if live else ""]))
    found: list[str] = []
    for one in reversed([one for one in chapters_of(marks) if one.last is not None and one.last < chapter.first]):
        text = await _full_text(store, key, branch, one)
        room_tokens -= estimate_tokens(text)
        if room_tokens < 0:
            break
        if text:
            found.insert(0, f"Chapter {one.number}{f', {one.title}' if one.title else ''}: {text}")
    return backbone, tuple(found)


async def _full_text(store: SnapshotStore, key: StoryKey, branch: BranchInfo, closed: Chapter) -> str:
    """Return what is told of a closed chapter in full; empty while that is not written."""
    if closed.hand_text or closed.rest is None:
        return closed.hand_text or closed.block_text
    full = await store.live(key, branch.name, Kind.CHAPTER, closed.last_stretch.scope, through=closed.last)
    written = text_now(full) if full and full.span.last == closed.last else ""
    return "\n\n".join(filter(None, (closed.block_text, written)))


OPENING_SHARE = 3
"""A third of a text that is too long is kept of its opening, which says who and where; the rest of what is newest."""


def bounded(text: str, characters: int) -> str:
    """Return a text of at most so many characters: its opening and its newest sentences, whole, with a mark between
    them. A sentence that is too long by itself is cut between words."""
    if len(text) <= characters:
        return text
    sentences = whole_sentences(text)
    opening = _fitting(sentences, characters // OPENING_SHARE)
    room = characters - sum(len(one) + 1 for one in opening) - len(LEFT_OUT)
    newest = _fitting(sentences[:-1][len(opening) :][::-1], room - len(sentences[-1]) - 1)[::-1]
    last = sentences[-1] if len(sentences[-1]) <= room else sentences[-1][:room].rpartition(" ")[0]
    return " ".join([*opening, LEFT_OUT, *newest, last])


LEFT_OUT = "[…]"


def _fitting(sentences: Sequence[str], room: int) -> list[str]:
    """Return the first of the sentences that fit."""
    found: list[str] = []
    for one in sentences:
        room -= len(one) + 1
        if room < 0:
            break
        found.append(one)
    return found
