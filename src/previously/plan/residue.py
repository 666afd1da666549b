"""Leftovers of a fold that have to go: states of notes that were made anew, texts that tell of removed words."""

from __future__ import annotations

from previously.core.note import parse_note, render_note_words
from previously.core.path import Span
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, LiveVersion, NewVersion
from previously.folds.fold import Amends
from previously.folds.prompts.templates import render_message
from previously.memory.notes import find_notes
from previously.text.compare import find_residue


def find_outdated_states(snapshot: Snapshot, since: int) -> list[int]:
    """Return the states that were put together from notes behind a position, of which one was made, or made anew."""
    return [version for _, last, version in snapshot.cover(Kind.STATE) if last >= since]


def find_tainted(snapshot: Snapshot, amends: Amends, since: int) -> list[LiveVersion]:
    """Return what stands behind a change and still tells of removed words: it saw a text that told of them."""
    removed = [render_message(message) for message in amends.removed]
    suspects = [live for live in _find_behind(snapshot, since) if find_residue(removed, amends.kept, _words(live))]
    path = snapshot.path(0, snapshot.messages - 1) if suspects else []
    said = [f"{item.entry.message.speaker}: {render_message(item.entry.message)}" for item in path]
    # What another message said before has not gone.
    return [live for live in suspects if find_residue(removed, said[: live.span.last + 1], _words(live))]


def _find_behind(snapshot: Snapshot, since: int) -> list[LiveVersion]:
    """Return the recaps, chapters in both forms, episodes and notes on the path that reach behind a position."""
    texts = find_notes(snapshot, (Kind.EPISODE, Kind.NOTE))
    for kind in (Kind.RECAP, Kind.CHAPTER, Kind.SHORT):
        for first, last, ident in snapshot.cover(kind):
            version = snapshot.version(ident) if last >= since else None
            if version:
                texts.append(LiveVersion(version, Span(first, last)))
    return [live for live in texts if live.span.last >= since]


def _words(live: LiveVersion) -> str:
    made: NewVersion = live.version.made
    return render_note_words(parse_note(made.text)) if made.kind is Kind.NOTE else made.text
