"""Memory that other programs made: it stands with the messages it is about, and what a person wrote here stays.

What happened becomes the recap of a chapter that ends with its last message, in the words it came with; no fold changes
them. Messages between two memories become a chapter that waits for its recap. What things are, and what is open, comes
in as a scene; what a librarian noted, as an analysis. Memory of messages that this story has told by itself already, or
that a person wrote of, is left out and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from previously.core.digests import span_key
from previously.core.errors import BadInput
from previously.core.marks import SPAN_SCOPE, Chapter, MarkKind
from previously.core.path import OnPath, Span
from previously.core.scene import Scene, SpanMemory
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, NewVersion, Status, has_read
from previously.folds.analysis import render_analysis
from previously.folds.scene import render_scene
from previously.memory.in_force import InForce
from previously.memory.notes import resolve_tail
from previously.runtime.clock import time_at
from previously.story.access import StoryChange
from previously.story.memory_edits import LONGEST_TITLE, write_text

IMPORTED = "import"
"""The maker of marks and versions that came with a file."""


@dataclass(frozen=True, slots=True)
class MemoryIntake:
    """The memories of a file, by what became of them."""

    found: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    left: tuple[str, ...] = ()
    """Those that are left out, each with the reason."""


NO_MEMORIES = MemoryIntake()


class _Left(Exception):
    """A memory that has no place in the story, and why."""


def take_in_memories(change: StoryChange, memories: Sequence[SpanMemory]) -> MemoryIntake:
    """Put memories where they belong, the oldest first; what is there already stays as it is."""
    counts = {"added": 0, "updated": 0, "unchanged": 0}
    left: list[str] = []
    for memory in sorted(memories, key=lambda one: (one.first, one.last)):
        try:
            counts[_take_in(change, memory)] += 1
        except (_Left, BadInput) as error:
            left.append(f"{memory.source}, messages {memory.first} to {memory.last}: {error}")
    return MemoryIntake(len(memories), counts["added"], counts["updated"], counts["unchanged"], tuple(left))


def find_scene(snapshot: Snapshot, scene: Scene) -> Span | None:
    """Return the messages of the path of which this very scene came with a file before; None if it did not."""
    path = snapshot.path(0, snapshot.messages - 1) if snapshot.messages else []
    digests = [item.entry.digest for item in path]
    text = render_scene(scene)
    for note in snapshot.notes(Kind.SCENE, SPAN_SCOPE, digests) if digests else ():
        if note.made.made_by == IMPORTED and note.made.text == text:
            for first in (at for at, digest in enumerate(digests) if digest == note.made.first):
                if has_read(note.made, digests[first : first + len(note.made.span)]):
                    return Span(first, first + len(note.made.span) - 1)
    return None


def _take_in(change: StoryChange, memory: SpanMemory) -> str:
    if not 0 <= memory.first <= memory.last < change.snapshot.messages:
        raise _Left("the story has no such messages")
    done = [_take_in_note(change, memory)] if memory.scene or memory.analysis else []
    if memory.text.strip():
        try:
            done.append(_take_in_text(change, memory))
        except _Left:
            if not memory.scene:
                raise
    return next((word for word in ("added", "updated") if word in done), "unchanged")


def _take_in_note(change: StoryChange, memory: SpanMemory) -> str:
    """Keep a scene or an analysis with its span, in place of what came with an earlier file."""
    kind, text = (Kind.SCENE, render_scene(memory.scene)) if memory.scene else (Kind.ANALYSIS, "")
    if memory.analysis:
        text = render_analysis(memory.analysis)
    run = change.snapshot.path(memory.first, memory.last)
    digests = [item.entry.digest for item in run]
    there = [note for note in change.snapshot.notes(kind, SPAN_SCOPE, digests[:1]) if has_read(note.made, digests)]
    newest = there[-1] if there else None
    if newest and newest.made.text == text:
        return "unchanged"
    if newest and newest.made.made_by != IMPORTED:
        return "unchanged"  # the story noted it by itself, from the messages
    change.tables.versions.commit(change.key, _make_note(kind, run, digests, text, newest.id if newest else None))
    return "updated" if newest else "added"


def _make_note(
    kind: Kind, run: Sequence[OnPath], digests: Sequence[bytes], text: str, replaces: int | None
) -> NewVersion:
    return NewVersion(
        kind=kind,
        scope=SPAN_SCOPE,
        span=Span(run[0].position, run[-1].position),
        key=span_key(digests),
        before=None,
        text=text,
        carry="",
        status=Status.COMMITTED,
        made_by=IMPORTED,
        reason="came with a file",
        at=time_at(),
        replaces=replaces,
        anchor=run[-1].node,
        reach=len(run),
        first=digests[0],
    )


def _take_in_text(change: StoryChange, memory: SpanMemory) -> str:
    """Make a memory the recap of the chapter that ends with its last message."""
    chapter = _find_chapter(change.snapshot, memory)
    if chapter.last == memory.last:
        return _write_recap(change, chapter, memory)
    if chapter.last is not None:
        raise _Left("a chapter of the story reaches beyond them")
    _check_untold(change, chapter, memory)
    if chapter.first < memory.first:
        change.add_mark(MarkKind.CHAPTER, memory.first - 1, made_by=IMPORTED)
    title = memory.title[:LONGEST_TITLE].strip()
    change.add_mark(MarkKind.CHAPTER, memory.last, title, made_by=IMPORTED)
    return _write_recap(change, _find_chapter(change.snapshot, memory), memory)


def _find_chapter(snapshot: Snapshot, memory: SpanMemory) -> Chapter:
    """Return the chapter that a memory is about, or of which it is a part."""
    for chapter in InForce(snapshot).timeline():
        if chapter.last is None or chapter.last >= memory.last:
            if chapter.first > memory.first:
                raise _Left(f"a chapter of the story ends with message {chapter.first - 1}, between them")
            return chapter
    raise AssertionError("the last chapter is open")


def _check_untold(change: StoryChange, chapter: Chapter, memory: SpanMemory) -> None:
    """Refuse a memory of messages that the recap of the open chapter tells: closing a chapter there would undo it."""
    tail = resolve_tail(change.snapshot, change.rules).recap.tail_messages
    recap = InForce(change.snapshot).recap(chapter, tail)
    if recap and recap[-1].span.last >= memory.first:
        raise _Left("the story's own recap tells them already")


def _write_recap(change: StoryChange, chapter: Chapter, memory: SpanMemory) -> str:
    words = memory.text.strip()
    if chapter.by_hand:
        if chapter.hand_text == words:
            return "unchanged"
        if any(mark.made_by != IMPORTED for mark in chapter.by_hand):
            raise _Left("a person wrote the recap of that chapter, and it stays")
    if chapter.first < memory.first:
        raise _Left(f"a chapter of the story begins with message {chapter.first}, before them")
    write_text(change, f"chapter:{chapter.number}", words, made_by=IMPORTED)
    return "updated" if chapter.by_hand else "added"
