"""The order of folds: finds the one that is due next among notes, chapters and the recap.

What an update left unnoted comes first. Then a closed chapter gets its full form, then its short form, then the
backbone takes it in, then the recap of the open chapter goes on; notes come last. So whatever is missing, for whatever
reason (an import, an edit, a mark that moved), is found by looking, not remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from previously.core.marks import SPAN_SCOPE, MarkKind, find_chapters
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, Version
from previously.folds.boundary import Boundary
from previously.folds.recap import NotDue
from previously.memory.notes import resolve_tail
from previously.memory.presence import Presences
from previously.memory.state import States
from previously.plan.chapters import ChapterPlan
from previously.plan.notes import NotePlan
from previously.plan.reader import PlanReader, was_taken_back
from previously.plan.recap import ChapterEnds, RecapPlan
from previously.plan.step import Look, Step, Together, Written


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step, with the texts that stand where its own are to be made."""

    step: Step
    loose: Mapping[Kind, Version]
    """Texts that are there, by kind, and wait to be made anew."""
    taken_back: bool
    """True if a person took back what was made of the same messages."""


def find_due(
    snapshot: Snapshot, look: Look, states: States, presences: Presences
) -> tuple[Prepared, ...] | Boundary | NotDue:
    """Return the folds to be made next, the place where a chapter closes, or why there is nothing to do. Folds that are
    returned together do not depend on one another."""
    look = replace(look, rules=resolve_tail(snapshot, look.rules))
    notes = NotePlan(snapshot, look, states, presences)
    due = notes.plan_missing() or _find_text_due(snapshot, look, states)
    if isinstance(due, NotDue):
        due = notes.plan_next() or due
    match due:
        case Step():
            return (prepare(snapshot, due),)
        case Together(steps):
            return tuple(prepare(snapshot, step) for step in steps)
        case _:
            return due


def find_cast_due(
    snapshot: Snapshot, look: Look, states: States, presences: Presences
) -> tuple[Prepared, ...] | NotDue:
    """Return the updates of what characters know, all at once, whatever else is due."""
    look = replace(look, rules=resolve_tail(snapshot, look.rules))
    together = NotePlan(snapshot, look, states, presences).plan_cast()
    return tuple(prepare(snapshot, step) for step in together.steps) if together else NotDue("nobody learnt anything")


def _find_text_due(snapshot: Snapshot, look: Look, states: States) -> Step | Boundary | NotDue:
    """Return the next fold of the timeline, or the end of a chapter."""
    reader = PlanReader(snapshot, look)
    ends = ChapterEnds(snapshot, look.rules)
    recaps = RecapPlan(reader, ends, states)
    marks = snapshot.marks()
    *closed, current = find_chapters(marks)
    chapters = ChapterPlan(reader, recaps, ends, marks, closed)
    waits = chapters.plan_full_form()
    if isinstance(waits, Step | Boundary):
        return waits
    due = chapters.plan_short_form() or chapters.plan_backbone()
    if isinstance(due, Step):
        return due
    kept_open = [mark.position + 1 for mark in marks if mark.kind is MarkKind.KEPT_OPEN]
    rest = recaps.plan_next(current, max([current.first, *kept_open]))
    return (waits or due or rest) if isinstance(rest, NotDue) else rest


def prepare(snapshot: Snapshot, step: Step) -> Prepared:
    """Return a step with what stands where its texts are to be made."""
    if isinstance(step.asked, Written):
        return Prepared(step, {}, taken_back=False)
    taken_back = was_taken_back(snapshot, step.kind, step.scope, step.key)
    return Prepared(step, {} if step.asked.amends else _find_loose(snapshot, step), taken_back)


def _find_loose(snapshot: Snapshot, step: Step) -> dict[Kind, Version]:
    there: list[Version] = []
    if step.scope.startswith(SPAN_SCOPE):
        for kind in (step.kind, *step.beside):
            notes = snapshot.notes(kind, step.scope, [step.first])
            there += [note for note in notes if note.made.key == step.key][-1:]
    else:
        live = snapshot.live(step.kind, step.scope, through=step.span.last)
        there += [live.version] if live and live.span.last == step.span.last else []
    return {version.made.kind: version for version in there if not version.firm}
