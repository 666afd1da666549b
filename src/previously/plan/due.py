"""What to fold next: puts what the chapters and the recap need in order.

A closed chapter gets its full form first, then its short form, then the backbone takes it in, then the recap of the
open chapter goes on. So whatever is missing, for whatever reason (an import, an edit, a mark that moved), is found by
looking, not remembered.
"""

from __future__ import annotations

from previously.core.marks import MarkKind, chapters_of
from previously.core.snapshot import Snapshot
from previously.folds.boundary import Boundary
from previously.folds.recap import NotDue
from previously.memory.state import States
from previously.plan.chapters import ChapterPlan
from previously.plan.reader import PlanReader
from previously.plan.recap import ChapterEnds, RecapPlan
from previously.plan.step import Look, Step


class DuePlan:
    """Looks at one branch of a story."""

    def __init__(self, snapshot: Snapshot, look: Look, states: States) -> None:
        self._reader = PlanReader(snapshot, look)
        self._ends = ChapterEnds(snapshot, look.rules)
        self._recaps = RecapPlan(self._reader, self._ends, states)

    def next(self) -> Step | Boundary | NotDue:
        """The next fold, the place where a chapter closes, or why there is nothing to do."""
        marks = self._reader.snapshot.marks()
        *closed, current = chapters_of(marks)
        chapters = ChapterPlan(self._reader, self._recaps, self._ends, marks, closed)
        waits = chapters.full_form()
        if isinstance(waits, Step | Boundary):
            return waits
        found = chapters.short_form() or chapters.backbone()
        if isinstance(found, Step):
            return found
        kept_open = [mark.position + 1 for mark in marks if mark.kind is MarkKind.KEPT_OPEN]
        rest = self._recaps.next(current, max([current.first, *kept_open]))
        return (waits or found or rest) if isinstance(rest, NotDue) else rest
