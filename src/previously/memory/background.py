"""The story before a span, as its note is told of it: the summary, names, what is open and how things stood.

Nothing of what stands later is told; what a person wrote of the story counts before all else; a closed chapter is told
of by the backbone, or by its own recap where there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from previously.core.marks import STORY_SCOPE, Chapter, MarkKind, find_chapters
from previously.core.note import LoreItem
from previously.core.people import NARRATORS
from previously.core.scripts import casefold
from previously.core.snapshot import Snapshot
from previously.core.tokens import estimate_tokens
from previously.core.versions import Kind
from previously.folds.builtin.quotes import renumber_live
from previously.folds.context import NoteContext
from previously.lore.entry import LoreEntry
from previously.lore.hand_records import correct_state
from previously.lore.state import State
from previously.lore.threads import choose_shown_threads
from previously.memory.hand_marks import list_hand_records
from previously.memory.notes import read_fragments
from previously.text.cuts import shorten
from previously.text.names import name_chapter

KNOWN_TOKENS = 500
"""Tokens of the entries that the messages name: some ten of the length that is asked for."""

MOST_OTHERS = 30
"""The others that are named, those described last: a line of 30 names keeps two alike apart."""

FEW_WORDS = 4
"""Words of an entry that say who somebody is, where only that is told: the line costs as much as it is read."""

MOST_HELD = 30
"""Lines of the state that are told, the newest: twice what a story of ordinary size has."""

BEFORE_CHARACTERS = 9_000
"""Characters that are told of the chapters before: a backbone and a chapter of 800 words each have room. Only what
people wrote by hand is longer."""

FRAGMENTS_BACK = 256
"""Messages before a fragment in which analyses are looked for: those who are named in them are told, and what no
summary tells yet. A character who was not named for so long is met anew."""


def read_background(snapshot: Snapshot, position: int, state: State, about: str, *, texts: bool = True) -> NoteContext:
    """Return what a note of messages from a position on, which say `about`, is told of the story before them, whose
    state is given. Without `texts` only names, what was open and how things stood: where not everyone witnessed
    everything, a summary could tell what not all who were there may know."""
    known, others = divide_known(state.known, about)
    named = {casefold(entry.name) for entry in state.known}
    names = [person.name for name, person in state.people.items() if person.first < position and name not in NARRATORS]
    if not texts:
        return NoteContext(known=known, others=others, **_read_lists(state, position, about))
    first = max(0, position - FRAGMENTS_BACK)
    path = snapshot.path(first, position - 1) if position else []
    fragments = read_fragments(snapshot, path)
    end = _find_recap_end(snapshot, position)
    updates = [(fragment.position, fragment.analysis) for fragment in fragments if fragment.analysis]
    mentioned = Counter(name for _, analysis in updates for name in analysis.mentions)
    names += [name for name, _ in mentioned.most_common()]
    fresh = dict.fromkeys(name for name in names if casefold(name) not in named)
    earlier, so_far = read_texts_before(snapshot, position)
    return NoteContext(
        earlier,
        so_far,
        "\n".join(analysis.summary_update for at, analysis in updates if at > end),
        known,
        (*others, *fresh)[:MOST_OTHERS],
        bridge=path[-1].entry.message if path else None,
        **_read_lists(state, position, about),
    )


def _read_lists(state: State, position: int, about: str) -> dict[str, Any]:
    lists = list_open(state, position, about)
    return {"threads": lists["open_threads"], "state": lists["state"]}


def _find_recap_end(snapshot: Snapshot, position: int) -> int:
    """Return the last message before a position that the summary of its chapter tells."""
    chapters = [chapter for chapter in find_chapters(snapshot.marks()) if chapter.first <= position]
    stretches = [stretch for stretch in chapters[-1].stretches if stretch.first <= position]
    live = snapshot.live(Kind.RECAP, stretches[-1].scope, through=position - 1)
    return live.span.last if live else stretches[-1].first - 1


def divide_known(entries: Sequence[LoreEntry], about: str) -> tuple[tuple[LoreItem, ...], tuple[str, ...]]:
    """Return the entries that messages name, whole, and all others in a few words; those described last first."""
    words = casefold(about)
    room = KNOWN_TOKENS
    known: list[LoreItem] = []
    others: list[str] = []
    for entry in reversed(entries):
        named = any(casefold(name) in words for name in (entry.name, *entry.aliases))
        cost = estimate_tokens(entry.content) + estimate_tokens(entry.name) + len(entry.keywords) * 2
        if named and cost <= room:
            room -= cost
            known.append(LoreItem(entry.name, entry.type, entry.keywords, entry.content))
        else:
            others.append(_in_few_words(entry))
    return tuple(known), tuple(others[:MOST_OTHERS])


def _in_few_words(entry: LoreEntry) -> str:
    words = entry.content.split()
    few = " ".join(words[:FEW_WORDS]) + ("…" if len(words) > FEW_WORDS else "")
    return f"{entry.name} ({few})" if few else entry.name


def list_open(state: State, position: int, about: str = "") -> dict[str, Any]:
    """Return what was open and how things stood before a position, for a note of messages that say `about`."""
    still_open = [thread for thread in state.threads.threads if thread.opened < position]
    standing = [item.text for item in state.current.standing if item.position < position]
    return {
        "open_threads": tuple((thread.id, thread.text) for thread in choose_shown_threads(still_open, position, about)),
        "state": tuple(standing[-MOST_HELD:]),
    }


def apply_hand_records(snapshot: Snapshot, state: State, position: int) -> State:
    """Return the state with what people said of it at messages before a position."""
    return correct_state(state, [(at, record) for at, record in list_hand_records(snapshot) if at < position]).state


def read_texts_before(snapshot: Snapshot, position: int) -> tuple[str, str]:
    """Return what is told of the chapters before the one that a message stands in, and of that one up to the message.

    The last chapter is told in full beside the backbone: a chapter that begins needs who and why.
    """
    marks = snapshot.marks()
    chapters = [chapter for chapter in find_chapters(marks) if chapter.first <= position]
    current = chapters[-1]
    before: list[str] = []
    if current.first:
        closed = chapters[-2]
        by_hand = [mark for mark in marks if mark.kind is MarkKind.BACKBONE and mark.position < current.first]
        scope = by_hand[-1].scope if by_hand else STORY_SCOPE
        backbone = snapshot.live(Kind.BACKBONE, scope, through=closed.first - 1)
        before += [mark.text for mark in by_hand[-1:]]
        if backbone:
            before.append(renumber_live(backbone))
        if not by_hand or by_hand[-1].position < closed.first:
            before.append(_read_full_text(snapshot, closed))
    stretches = [stretch for stretch in current.stretches if stretch.first <= position]
    texts = [mark.text for mark in current.blocks if mark.position < position]
    live = snapshot.live(Kind.RECAP, stretches[-1].scope, through=position - 1)
    texts.append(renumber_live(live) if live else "")
    return shorten("\n\n".join(filter(None, before)), BEFORE_CHARACTERS), "\n\n".join(filter(None, texts))


def read_chapters_before(snapshot: Snapshot, chapter: Chapter, room_tokens: int) -> tuple[str, tuple[str, ...]]:
    """Return the backbone before a chapter, what a person wrote of it included, and the newest chapters before it in
    full, in order, as many as there is room for."""
    marks = snapshot.marks()
    by_hand = [mark for mark in marks if mark.kind is MarkKind.BACKBONE and mark.position < chapter.first]
    scope = by_hand[-1].scope if by_hand else STORY_SCOPE
    live = snapshot.live(Kind.BACKBONE, scope, through=chapter.first - 1)
    backbone = "\n\n".join(filter(None, [*(mark.text for mark in by_hand[-1:]), renumber_live(live) if live else ""]))
    texts: list[str] = []
    for earlier in reversed(
        [earlier for earlier in find_chapters(marks) if earlier.last is not None and earlier.last < chapter.first]
    ):
        text = _read_full_text(snapshot, earlier)
        room_tokens -= estimate_tokens(text)
        if room_tokens < 0:
            break
        if text:
            texts.insert(0, f"{name_chapter(earlier.number, earlier.title)}: {text}")
    return backbone, tuple(texts)


def _read_full_text(snapshot: Snapshot, closed: Chapter) -> str:
    """Return what is told of a closed chapter in full; empty while that is not written."""
    if closed.hand_text or closed.rest is None:
        return closed.hand_text or closed.block_text
    full = snapshot.live(Kind.CHAPTER, closed.last_stretch.scope, through=closed.last)
    written = renumber_live(full) if full and full.span.last == closed.last else ""
    return "\n\n".join(filter(None, (closed.block_text, written)))
