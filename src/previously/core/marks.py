"""Marks: what a person or a fold has said about a place on a branch.

A *chapter* mark closes a chapter with the message it stands at. A *block* mark holds text that a person wrote for all
that lies before it in its chapter: memory goes on after it and never touches it. Both make the recap's chain start
anew behind them, under a scope of their own.

Marks follow the branch. They stand at an entry; when a script moves the entry, the mark moves along, and when it takes
the entry away, the mark falls back to the message before. A branch copies the marks up to its fork; copies keep the
`origin` of the first, so that memory made under one is known under the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from previously.core.scripts import Script
from previously.core.spans import Span

STORY_SCOPE = ""
"""The scope of memory before the first mark, and of what concerns the whole story."""


class MarkKind(StrEnum):
    """What a mark says."""

    CHAPTER = "chapter"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark on a branch, where it stands now."""

    id: int
    origin: int
    """The mark it is a copy of, or itself."""
    kind: MarkKind
    position: int
    """The last message it concerns."""
    text: str
    """A chapter's title, a block's text."""
    made_by: str
    """`person`, or what closed the chapter by itself."""
    at: str

    @property
    def scope(self) -> str:
        """The scope of the memory that begins behind it."""
        return str(self.origin)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of the path between two marks: what one chain of recaps is about."""

    scope: str
    first: int
    last: int | None
    """None while it is open."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter: its stretches in order, and how it ended."""

    number: int
    title: str
    first: int
    last: int | None
    """None for the chapter that is still open."""
    stretches: tuple[Stretch, ...]
    blocks: tuple[Mark, ...]
    """Text by a person, each closing the stretch of the same index."""

    @property
    def scope(self) -> str:
        """Names the chapter: the scope of its first stretch."""
        return self.stretches[0].scope

    @property
    def span(self) -> Span | None:
        """The messages of a closed chapter."""
        return None if self.last is None else Span(self.first, self.last)


def moved(position: int, script: Script) -> int | None:
    """Where a mark at `position` stands after the script; None when nothing before it is left to stand at."""
    shift = 0
    for splice in script:
        if splice.at > position:
            break
        end = splice.at + splice.remove
        if position < end:
            # Its message goes. One for one is an edit; otherwise it falls back to the last message before.
            kept = splice.at + shift + min(position - splice.at + 1, len(splice.pieces)) - 1
            return kept if kept >= 0 else None
        shift += len(splice.pieces) - splice.remove
    return position + shift


def moved_marks(marks: Iterable[Mark], script: Script) -> list[Mark]:
    """The marks where they stand after the script, in path order; those without a place are gone."""
    placed = ((mark, moved(mark.position, script)) for mark in marks)
    kept = [replace(mark, position=position) for mark, position in placed if position is not None]
    return sorted(kept, key=lambda mark: (mark.position, mark.id))


def starts(marks: Iterable[Mark]) -> dict[str, int]:
    """Where the chains of each scope begin on the branch that has these marks."""
    return {STORY_SCOPE: 0} | {mark.scope: mark.position + 1 for mark in marks}


def chapters_of(marks: Sequence[Mark]) -> list[Chapter]:
    """The chapters that marks in path order make, the open one last."""
    chapters: list[Chapter] = []
    stretches: list[Stretch] = []
    blocks: list[Mark] = []
    chapter_first = first = 0
    scope = STORY_SCOPE
    for mark in marks:
        stretches.append(Stretch(scope, first, mark.position))
        first, scope = mark.position + 1, mark.scope
        if mark.kind is MarkKind.BLOCK:
            blocks.append(mark)
            continue
        number = len(chapters) + 1
        chapters.append(Chapter(number, mark.text, chapter_first, mark.position, tuple(stretches), tuple(blocks)))
        chapter_first, stretches, blocks = first, [], []
    stretches.append(Stretch(scope, first, None))
    chapters.append(Chapter(len(chapters) + 1, "", chapter_first, None, tuple(stretches), tuple(blocks)))
    return chapters
