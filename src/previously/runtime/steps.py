"""What to fold next: puts what the chapters and the recap need in order.

A closed chapter gets its full form first, then its short form, then the backbone takes it in, then the recap of the
open chapter goes on. So whatever is missing, for whatever reason (an import, an edit, a mark that moved), is found by
looking, not remembered.
"""

from __future__ import annotations

from previously.core.marks import MarkKind, find_chapters
from previously.folds.boundary import Boundary
from previously.folds.recap import NotDue
from previously.runtime.chapter_ends import ChapterEnds
from previously.runtime.chapter_steps import ChapterSteps
from previously.runtime.fold_reader import FoldReader, Look
from previously.runtime.fold_store import FoldStore
from previously.runtime.recap_steps import RecapSteps
from previously.runtime.states import States
from previously.runtime.step import Step
from previously.storage.store import BranchInfo, StoryKey


class Steps:
    """Looks at one branch of a story, with a store that answers as of one moment."""

    def __init__(self, store: FoldStore, key: StoryKey, branch: BranchInfo, look: Look, states: States) -> None:
        self._reader = FoldReader(store, key, branch, look)
        self._ends = ChapterEnds(store, key, branch, look.rules)
        self._recaps = RecapSteps(self._reader, self._ends, states)

    async def next(self) -> Step | Boundary | NotDue:
        """The next fold, the place where a chapter closes, or why there is nothing to do."""
        marks = await self._reader.store.marks(self._reader.key, self._reader.branch.name)
        *closed, current = find_chapters(marks)
        chapters = ChapterSteps(self._reader, self._recaps, self._ends, marks, closed)
        waits = await chapters.full_form()
        if isinstance(waits, Step | Boundary):
            return waits
        found = await chapters.short_form() or await chapters.backbone()
        if isinstance(found, Step):
            return found
        kept_open = [mark.position + 1 for mark in marks if mark.kind is MarkKind.KEPT_OPEN]
        rest = await self._recaps.next(current, max([current.first, *kept_open]))
        return (waits or found or rest) if isinstance(rest, NotDue) else rest
