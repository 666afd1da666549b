"""A closed chapter: the steps that give its full form, its short form and the backbone.

The full form is the recap that reaches the chapter's end, word for word; the short form and the backbone come with the
update that brought it there, or with one question of their own. What is missing of the three is found by looking.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from previously.core.digests import span_key
from previously.core.fold_rules import Timeline
from previously.core.marks import SPAN_SCOPE, STORY_SCOPE, Chapter, Mark, MarkKind
from previously.core.path import OnPath, Span
from previously.core.versions import Kind, LiveVersion, Status
from previously.folds.amend import AmendFold
from previously.folds.boundary import Boundary
from previously.folds.builtin.quotes import renumber_live
from previously.folds.chapter import BACKBONE, CHAPTER, CLOSED, KINDS, PARTS, SHORT, TITLE, ChapterFold, find_ending
from previously.folds.checks import RefusalKind
from previously.folds.prompts.templates import render_message
from previously.folds.recap import Due, NotDue, find_first_position, skip_opening
from previously.folds.summary import parse_cuts, render_cuts
from previously.folds.tiles import cut_note_tiles
from previously.folds.update import UpdateFold
from previously.memory.background import read_chapters_before
from previously.plan.reader import PlanReader, is_stand_in, was_taken_back
from previously.plan.recap import FULL_SUMMARY, ChapterEnds, RecapPlan
from previously.plan.step import Step, Written, take_over
from previously.text.compare import find_residue

BY_MODEL = "model"

CHAPTER_CLOSED = "the chapter is closed"

NO_SHORT_YET = "it has no short form yet"

SHORTS_LOOKED_AT = 8
"""The newest chapters in which a short form is missed: a look costs the same however many there are, and one is missed
right after its chapter closed."""

MOST_REFUSED, REFUSED_LOOKED_AT = 6, 24
"""Answers of a model that could not be kept, which show that it has no short form to give: two folds with three. They
are counted among four times as many of the newest attempts, for a model that was not to be had has refused nothing."""

_REFUSALS = tuple(f"{refusal.value}: " for refusal in RefusalKind)

EARLIER_TOKENS = 700
"""Tokens of earlier chapters in full in the question on a closed one: one of usual length, or several short ones. Those
before them are in the backbone, and the question is asked once for each chapter."""


@dataclass(frozen=True, slots=True)
class _Spine:
    """A backbone that has chapters to take in."""

    scope: str
    start: int
    """The position at which its chains begin."""
    ends: Sequence[int]
    """The last positions of the chapters that it is about."""
    live: LiveVersion | None
    """The version that it goes on from."""
    reached: int
    waiting: Sequence[Chapter]


class ChapterPlan:
    """Looks at the closed chapters of one branch."""

    def __init__(
        self, reader: PlanReader, recaps: RecapPlan, ends: ChapterEnds, marks: Sequence[Mark], closed: Sequence[Chapter]
    ) -> None:
        self._reader = reader
        self._look = reader.look
        self._rules = reader.rules
        self._recaps = recaps
        self._ends = ends
        self._marks = marks
        self._closed = closed

    def plan_full_form(self) -> Step | Boundary | NotDue | None:
        """Return the next step to the full form of the oldest closed chapter that has none."""
        waits: NotDue | None = None
        there = self._reader.find_spans(Kind.CHAPTER)
        for chapter in self._closed:
            rest = chapter.rest
            if chapter.hand_text or rest is None or (chapter.last_stretch.scope, rest.first, rest.last) in there:
                continue
            pending = self._reader.find_pending(Kind.CHAPTER, chapter.last_stretch.scope, None, rest.first)
            step = pending or self._chapter(chapter, rest)
            if isinstance(step, Step | Boundary):
                return step
            waits = waits or step
        return waits

    def _chapter(self, chapter: Chapter, rest: Span) -> Step | Boundary | NotDue:
        scope = chapter.last_stretch.scope
        stood = self._reader.find_standing(Kind.CHAPTER, scope, through=rest.last)
        if stood is None or stood.span != rest:  # otherwise it is only to be made anew
            stood = None
            stale = self._reader.find_stale(Kind.CHAPTER, scope, rest.first, None, rest.last)
            amended = self._reader.plan_amend(stale, None) if stale and stale.span.last == rest.last else None
            if amended:
                return self._with_short(amended, rest)
        live = self._reader.find_live(Kind.RECAP, scope, through=rest.last)
        first = live.span.last + 1 if live else rest.first
        if self._rules.timeline.is_derived:
            derived = self._recaps.derive(chapter.last_stretch, live, rest.last + 1, closing=True)
            if live and self._ends.would_cut(live, derived):
                return Boundary(live.span.last, chapter.title, FULL_SUMMARY)
            if isinstance(derived, Step):
                return derived
        due = self._recaps.find_due(live, first, rest.last + 1, 0)
        if self._look.amends and self._rules.timeline is Timeline.RECAP and first <= rest.last:
            due = due if isinstance(due, Due) else Due(tuple(self._reader.read_path(first, rest.last)), CHAPTER_CLOSED)
        if isinstance(due, Due):
            pending = self._reader.find_pending(Kind.RECAP, scope, live, first)
            step = pending or self._recaps.plan_step(chapter.last_stretch, live, due)
            if isinstance(step, Step) and step.span.last == rest.last:
                step = self._with_closing(chapter, rest, step)
            return step
        return self._closing(chapter, rest, live, again=is_stand_in(stood))

    def _closing(self, chapter: Chapter, rest: Span, live: LiveVersion | None, *, again: bool) -> Step:
        """Return the full form of a chapter that its recap tells up to its end, or nearly: the recap as it stands, or
        the question for it and for all else that is kept."""
        scope, run = chapter.last_stretch.scope, self._reader.read_path(rest.first, rest.last)
        first = live.span.last + 1 if live else rest.first
        carry = " ".join(filter(None, (CLOSED, live.version.made.carry if live else "")))
        if live and first > rest.last and self._is_full_form(live, scope, run):
            whole = take_over(live.version, renumber_live(live), carry)
            return Step(Kind.CHAPTER, scope, run, None, whole, CHAPTER_CLOSED)
        ending = find_ending(run, first)
        asked = ChapterFold(
            delta=skip_opening(ending),
            first=find_first_position(ending),
            parts=(CHAPTER,),
            title=chapter.title,
            recap=renumber_live(live) if live else "",
            untold=first <= rest.last,
            words=self._rules.chapter_words,
            backbone_words=self._rules.backbone_words,
            again=again,
            carry=carry,
        )
        step = Step(Kind.CHAPTER, scope, run, None, asked, CHAPTER_CLOSED)
        if not self._look.amends or chapter.blocks:  # what a person wrote of it stands before the full form: first that
            return step
        return self._with_others(chapter, step)

    def _is_full_form(self, live: LiveVersion, scope: str, run: Sequence[OnPath]) -> bool:
        """Return whether a recap that reaches a chapter's end is kept of it as it stands: a model wrote it for that.
        Quotations and what is put together from notes are written out first, where there is a model; and whoever took
        the full form back wants another one."""
        if self._rules.timeline is not Timeline.RECAP or not live.version.firm:
            return False
        run_key = span_key(item.entry.digest for item in run)
        return live.version.made.made_by == BY_MODEL and not was_taken_back(
            self._reader.snapshot, Kind.CHAPTER, scope, run_key
        )

    def _with_others(self, chapter: Chapter, step: Step) -> Step:
        """Ask in the same question for what else is missing: the short form with a title, and the backbone."""
        asked = step.asked
        assert isinstance(asked, ChapterFold), "it is about a closed chapter"
        others, spine = self._others(chapter, step)
        parts = _parts_of([step.kind, *others], chapter)
        return replace(step, asked=replace(self._told(asked, spine, chapter, step.run), parts=parts), others=others)

    def _with_closing(self, chapter: Chapter, rest: Span, step: Step) -> Step:
        """Ask an update that ends a chapter for what else is kept of it: its recap is the full form, so that closing
        takes no call of its own."""
        asked = step.asked
        if not isinstance(asked, UpdateFold) or not asked.part.has_recap or not self._look.amends or chapter.blocks:
            return step
        run = self._reader.read_path(rest.first, rest.last)
        whole = Step(Kind.CHAPTER, chapter.last_stretch.scope, run, None, asked, step.reason)
        others, spine = self._others(chapter, whole)
        closing = ChapterFold(
            parts=_parts_of(others, chapter),
            title=chapter.title,
            backbone=renumber_live(spine.live) if spine and spine.live else "",
            words=self._rules.chapter_words,
            backbone_words=self._rules.backbone_words,
        )
        return replace(step, asked=replace(asked, closing=closing), others=others) if others else step

    def _others(self, chapter: Chapter, step: Step) -> tuple[dict[Kind, Step], _Spine | None]:
        """Return what else is missing of a closed chapter whose full form a step would make: each as it would be made
        by itself, and the backbone that goes on with it."""
        assert chapter.last is not None, "it is closed"
        others: dict[Kind, Step] = {}
        has_short = (step.scope, step.span.first, step.span.last) in self._reader.find_spans(Kind.SHORT)
        if step.kind is not Kind.SHORT and not has_short:
            others[Kind.SHORT] = Step(Kind.SHORT, step.scope, step.run, None, step.asked, step.reason)
        spine = self._spine()
        if spine and self._goes_on(spine, chapter):
            run = self._reader.read_path(spine.reached + 1, chapter.last)
            before = spine.live.version if spine.live else None
            cuts = self._cuts(spine, chapter, step)
            others[Kind.BACKBONE] = Step(
                Kind.BACKBONE, spine.scope, run, before, step.asked, step.reason, rests_on=cuts
            )
        return others, spine

    def _told(self, asked: ChapterFold, spine: _Spine | None, chapter: Chapter, run: Sequence[OnPath]) -> ChapterFold:
        """Tell a question on a chapter what is known around it: the story before, its episodes, earlier chapters."""
        digests = [item.entry.digest for item in run]
        notes = self._reader.snapshot.notes(Kind.EPISODE, SPAN_SCOPE, digests)
        episodes = tuple(tile.note.made.text for tile in cut_note_tiles(run, notes) if tile.note)
        if asked.recap and (len(episodes) == 1 or CHAPTER not in asked.parts):
            episodes = ()  # it tells the same messages as the recap, in fewer words; or the full form is there
        backbone, earlier = read_chapters_before(self._reader.snapshot, chapter, EARLIER_TOKENS)
        if spine and spine.waiting[0].last == chapter.last:  # what it goes on from; words by hand stay before it
            backbone = renumber_live(spine.live) if spine.live else ""
        return replace(asked, backbone=backbone, earlier=earlier, episodes=episodes)

    def _with_short(self, amended: Step, rest: Span) -> Step:
        """Keep the short form of a chapter that is amended, unless it tells of what was removed: then it is gone until
        the chapter is made anew. So an edit of an old message costs no call more."""
        asked = amended.asked
        stale = self._reader.find_stale(Kind.SHORT, amended.scope, rest.first, None, rest.last)
        if stale is None or stale.span.last != rest.last or not isinstance(asked, AmendFold):
            return amended
        kept = [*asked.amends.kept, *map(render_message, asked.delta)]
        if find_residue([render_message(message) for message in asked.amends.removed], kept, stale.version.made.text):
            carry = " ".join(word for word in asked.carry.split() if word != CLOSED)
            return replace(amended, asked=replace(asked, carry=carry))
        written = take_over(stale.version, stale.version.made.text)
        return replace(
            amended, others={Kind.SHORT: Step(Kind.SHORT, amended.scope, amended.run, None, written, amended.reason)}
        )

    def plan_short_form(self) -> Step | None:
        """Return the question for the oldest short form that is missing, among the newest chapters."""
        if not (self._look.amends and self._look.anew):  # nothing stands in for it: it waits for a model
            return None
        there = self._reader.find_spans(Kind.SHORT)
        for chapter in self._closed[-SHORTS_LOOKED_AT:]:
            scope, rest = chapter.last_stretch.scope, chapter.rest
            if chapter.hand_text or rest is None or (scope, rest.first, rest.last) in there:
                continue
            full = self._reader.find_live(Kind.CHAPTER, scope, through=rest.last)
            if full is None or full.span != rest or CLOSED not in full.version.made.carry.split():
                continue
            failed = (Kind.SHORT, scope) in self._look.failed or self._was_given_up(scope)
            if failed or self._reader.find_pending(Kind.SHORT, scope, None, rest.first):
                continue
            asked = ChapterFold(
                parts=(SHORT,),
                title=chapter.title,
                recap=self._chapter_text(chapter) or "",
                words=self._rules.chapter_words,
                backbone_words=self._rules.backbone_words,
            )
            run = self._reader.read_path(rest.first, rest.last)
            return self._with_others(chapter, Step(Kind.SHORT, scope, run, None, asked, NO_SHORT_YET))
        return None

    def _was_given_up(self, scope: str) -> bool:
        """Return whether a model has answered often enough without a short form that could be kept."""
        tried = self._reader.snapshot.newest_versions(Kind.SHORT, scope, Status.REFUSED, REFUSED_LOOKED_AT)
        return sum(version.made.reason.startswith(_REFUSALS) for version in tried) >= MOST_REFUSED

    def _spine(self) -> _Spine | None:
        """Return how far the backbone has got; None where there is none or it has taken in every chapter."""
        by_hand = [mark for mark in self._marks if mark.kind is MarkKind.BACKBONE]
        scope = by_hand[-1].scope if by_hand else STORY_SCOPE
        start = by_hand[-1].position + 1 if by_hand else 0
        ends = [chapter.last for chapter in self._closed if chapter.last is not None and chapter.last >= start]
        if not ends or not self._rules.backbone_words:
            return None
        live = self._reader.find_live(Kind.BACKBONE, scope, through=ends[-1])
        while live and live.span.last not in ends:  # a mark moved: go back to where a chapter ends
            live = self._reader.find_live(Kind.BACKBONE, scope, through=live.span.last - 1)
        reached = live.span.last if live else start - 1
        waiting = [chapter for chapter in self._closed if chapter.last is not None and chapter.last > reached]
        return _Spine(scope, start, ends, live, reached, waiting) if waiting else None

    def _amended_spine(self, spine: _Spine) -> Step | None:
        """Return the amending of a backbone that was broken further back than at the last chapter."""
        if len(spine.waiting) < 2:
            return None
        last = spine.ends[-1]
        exact = self._reader.find_standing(Kind.BACKBONE, spine.scope, through=last)
        stale = self._reader.find_stale(Kind.BACKBONE, spine.scope, spine.start, exact, last)
        return self._reader.plan_amend(stale, exact) if stale and stale.span.last in spine.ends else None

    def _goes_on(self, spine: _Spine, chapter: Chapter) -> bool:
        """Return whether the backbone takes in this chapter next."""
        if spine.waiting[0].last != chapter.last or self._amended_spine(spine):
            return False
        return self._reader.find_pending(Kind.BACKBONE, spine.scope, spine.live, spine.reached + 1) is None

    def plan_backbone(self) -> Step | NotDue | None:
        """Return the question by which the backbone takes in the next chapter."""
        spine = self._spine()
        if spine is None:
            return None
        pending = self._reader.find_pending(Kind.BACKBONE, spine.scope, spine.live, spine.reached + 1)
        if pending:
            return pending
        amended = self._amended_spine(spine)
        if amended:
            return amended
        chapter = spine.waiting[0]
        assert chapter.last is not None, "it is closed"
        text = self._chapter_text(chapter)
        if text is None:
            return NotDue(f"the summary of the whole waits for the recap of chapter {chapter.number}")
        run = self._reader.read_path(spine.reached + 1, chapter.last)
        there = self._reader.find_standing(Kind.BACKBONE, spine.scope, through=spine.ends[-1])
        stood = there if there and there != spine.live and there.span.last >= chapter.last else None
        asked = ChapterFold(
            parts=(BACKBONE,),
            title=chapter.title,
            recap=text,
            backbone=renumber_live(spine.live) if spine.live else "",
            backbone_words=self._rules.backbone_words,
            again=is_stand_in(stood),
        )
        if self._look.amends:
            asked = self._told(asked, spine, chapter, self._reader.read_path(chapter.first, chapter.last))
        before = spine.live.version if spine.live else None
        cuts = self._cuts(spine, chapter)
        return Step(Kind.BACKBONE, spine.scope, run, before, asked, CHAPTER_CLOSED, rests_on=cuts)

    def _cuts(self, spine: _Spine, chapter: Chapter, closing: Step | None = None) -> str:
        """Return what a backbone carries that takes in a chapter: what it and the chapter tell no more. `closing` is
        the step that makes the chapter's full form, if it has none yet."""
        cuts = list(parse_cuts(spine.live.version.made.carry)) if spine.live else []
        if chapter.hand_text or chapter.rest is None:
            return render_cuts(cuts)
        if closing and closing.kind is Kind.CHAPTER:
            carry = closing.asked.carry if isinstance(closing.asked, ChapterFold | Written) else ""
        else:
            full = self._reader.find_standing(Kind.CHAPTER, chapter.last_stretch.scope, through=chapter.rest.last)
            carry = full.version.made.carry if full and full.span == chapter.rest else ""
        for first, last in parse_cuts(carry):
            run = max(chapter.rest.first + first, spine.reached + 1), chapter.rest.first + last
            cuts += [(run[0] - spine.start, run[1] - spine.start)] if run[0] <= run[1] else []
        return render_cuts(cuts)

    def _chapter_text(self, chapter: Chapter) -> str | None:
        """Return all that is told of a closed chapter; None while its recap is missing."""
        if chapter.hand_text or chapter.rest is None:
            return chapter.hand_text or chapter.block_text
        full = self._reader.find_standing(Kind.CHAPTER, chapter.last_stretch.scope, through=chapter.rest.last)
        if full is None or full.span != chapter.rest:
            return None
        return "\n\n".join(text for text in (chapter.block_text, renumber_live(full)) if text)


def _parts_of(kinds: Collection[Kind], chapter: Chapter) -> tuple[str, ...]:
    """Return what to ask for to have these: a title with the short form, where the chapter has none."""
    wanted = {part for part, kind in KINDS.items() if kind in kinds}
    if SHORT in wanted and not chapter.title:
        wanted.add(TITLE)
    return tuple(part for part in PARTS if part in wanted)
