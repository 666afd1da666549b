"""What to fold next: reads what the pure folds need to decide, and puts their decisions in order.

A closed chapter gets its recap first, then the backbone takes it in, then the recap of the open chapter goes on. So
whatever is missing, for whatever reason (an import, an edit, a mark that moved), is found by looking, not remembered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from previously.core.digests import span_key
from previously.core.marks import SPAN_SCOPE, STORY_SCOPE, Chapter, Mark, MarkKind, Stretch, chapters_of
from previously.core.paths import OnPath
from previously.core.spans import Span
from previously.core.versions import Kind, LiveVersion, Status
from previously.core.words import count_words
from previously.folds import amend, recap
from previously.folds.boundary import Boundary
from previously.folds.builtin.quotes import text_now
from previously.folds.chapter import BACKBONE, CHAPTER, CLOSED, KINDS, PARTS, SHORT, TITLE, ChapterFold, find_ending
from previously.folds.checks import residue
from previously.folds.recap import Due, FoldRules, NeedMore, NotDue, Timeline, first_position, story_messages
from previously.folds.rendering import told
from previously.folds.request import FoldRequest
from previously.folds.tiling import note_tiles
from previously.folds.update import Part, UpdateFold
from previously.runtime.chapter_ends import FULL_SUMMARY, ChapterEnds
from previously.runtime.derived import MOST_APPLIED, DerivedRecap
from previously.runtime.fold_store import FoldStore
from previously.runtime.reading import READ_AHEAD, read_run
from previously.runtime.stale import stale_version
from previously.runtime.states import States
from previously.runtime.step import Step, Written
from previously.runtime.told_before import chapters_before
from previously.runtime.update_steps import UpdateSteps
from previously.storage.store import BranchInfo, StoryKey

BY_MODEL = "model"

CHAPTER_CLOSED = "the chapter is closed"

NO_SHORT_YET = "it has no short form yet"

PENDING_LOOKED_AT = 8
"""How many of the newest versions of a text that wait for approval are looked at."""

SHORTS_LOOKED_AT = 8
"""In how many of the newest chapters a short form is missed: a look costs the same however many there are, and one is
missed right after its chapter closed."""

MOST_REFUSED = 6
"""So many answers of a model that could not be kept show that it has no short form to give: two folds with three."""

EARLIER_TOKENS = 700
"""What earlier chapters in full may take in the question on a closed one: one of usual length, or several short ones.
Those before them are in the backbone, and the question is asked once for each chapter."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a story may assume."""

    rules: FoldRules
    amends: bool
    """Whether the folder can set a text right."""
    anew: bool
    """Whether what is not firm is to be made anew."""
    pressed: bool
    """Whether a view had no room for a message outside the tail."""
    failed: Collection[tuple[Kind, str]]
    """Texts whose amending failed in this call: they are folded again instead."""
    quotes: bool = False
    """Whether the folder only quotes: it reads a note's own messages and nothing before them."""


@dataclass(frozen=True, slots=True)
class _Spine:
    """A backbone that has chapters to take in."""

    scope: str
    start: int
    """Where its chains begin."""
    ends: Sequence[int]
    """Where the chapters end that it is about."""
    live: LiveVersion | None
    """What it goes on from."""
    reached: int
    waiting: Sequence[Chapter]


class Steps:
    """Looks at one branch of a story, with a store that answers as of one moment."""

    def __init__(self, store: FoldStore, key: StoryKey, branch: BranchInfo, look: Look, states: States) -> None:
        self._store = store
        self._key = key
        self._branch = branch
        self._look = look
        self._rules = look.rules
        self._ends = ChapterEnds(store, key, branch, look.rules)
        self._updates = UpdateSteps(store, key, branch, look.rules, states, anew=look.anew)

    async def next(self) -> Step | Boundary | NotDue:
        """The next fold, the place where a chapter closes, or why there is nothing to do."""
        marks = await self._store.marks(self._key, self._branch.name)
        *closed, current = chapters_of(marks)
        waits = await self._chapters(marks, closed)
        if isinstance(waits, Step | Boundary):
            return waits
        found = await self._short(marks, closed) or await self._backbone(marks, closed)
        if isinstance(found, Step):
            return found
        kept_open = [mark.position + 1 for mark in marks if mark.kind is MarkKind.KEPT_OPEN]
        rest = await self._recap(current, max([current.first, *kept_open]))
        return (waits or found or rest) if isinstance(rest, NotDue) else rest

    async def _chapters(self, marks: Sequence[Mark], closed: Sequence[Chapter]) -> Step | Boundary | NotDue | None:
        """The oldest closed chapter without its full form."""
        waits: NotDue | None = None
        there = await self._spans(Kind.CHAPTER)
        for one in closed:
            rest = one.rest
            if one.hand_text or rest is None or (one.last_stretch.scope, rest.first, rest.last) in there:
                continue
            pending = await self._pending(Kind.CHAPTER, one.last_stretch.scope, None, rest.first)
            step = pending or await self._chapter(marks, closed, one, rest)
            if isinstance(step, Step | Boundary):
                return step
            waits = waits or step
        return waits

    async def _chapter(
        self, marks: Sequence[Mark], closed: Sequence[Chapter], one: Chapter, rest: Span
    ) -> Step | Boundary | NotDue:
        scope = one.last_stretch.scope
        stood = await self._store.live(self._key, self._branch.name, Kind.CHAPTER, scope, through=rest.last)
        if stood is None or stood.span != rest:  # otherwise it is only to be made anew
            stood = None
            stale = await self._stale(Kind.CHAPTER, scope, rest.first, None, rest.last)
            amended = await self._amend(stale, None) if stale and stale.span.last == rest.last else None
            if amended:
                return await self._with_short(amended, rest)
        live = await self._live(Kind.RECAP, scope, through=rest.last)
        first = live.span.last + 1 if live else rest.first
        if self._rules.timeline.is_derived:
            derived = await self._derived(one.last_stretch, live, rest.last + 1, closing=True)
            if live and self._ends.would_cut(live, derived):
                return Boundary(live.span.last, one.title, FULL_SUMMARY)
            if isinstance(derived, Step):
                return derived
        due = await self._due(live, first, rest.last + 1, 0)
        if self._look.amends and self._rules.timeline is Timeline.RECAP and first <= rest.last:
            due = due if isinstance(due, Due) else Due(tuple(await self._path(first, rest.last)), CHAPTER_CLOSED)
        if isinstance(due, Due):
            pending = await self._pending(Kind.RECAP, scope, live, first)
            step = pending or await self._recap_step(one.last_stretch, live, due)
            if isinstance(step, Step) and step.span.last == rest.last:
                step = await self._with_closing(marks, closed, one, rest, step)
            return step
        return await self._closing(marks, closed, one, rest, live, again=_stood_in(stood))

    async def _closing(
        self,
        marks: Sequence[Mark],
        closed: Sequence[Chapter],
        one: Chapter,
        rest: Span,
        live: LiveVersion | None,
        *,
        again: bool,
    ) -> Step:
        """Ask for all that is kept of a closed chapter. Its recap tells it up to its end, or nearly."""
        scope, run = one.last_stretch.scope, await self._path(rest.first, rest.last)
        first = live.span.last + 1 if live else rest.first
        carry = " ".join(filter(None, (CLOSED, live.version.made.carry if live else "")))
        if live and first > rest.last and self._is_full_form(live):
            whole = Written(text_now(live), live.version.made.made_by, carry=carry)
            return Step(Kind.CHAPTER, scope, run, None, whole, CHAPTER_CLOSED)
        ending = find_ending(run, first)
        asked = ChapterFold(
            delta=story_messages(ending),
            first=first_position(ending),
            parts=(CHAPTER,),
            title=one.title,
            recap=text_now(live) if live else "",
            untold=first <= rest.last,
            words=self._rules.chapter_words,
            backbone_words=self._rules.backbone_words,
            again=again,
            carry=carry,
        )
        step = Step(Kind.CHAPTER, scope, run, None, asked, CHAPTER_CLOSED)
        if not self._look.amends or one.blocks:  # what a person wrote of it stands before the full form: first that
            return step
        return await self._with_others(marks, closed, one, step)

    def _is_full_form(self, live: LiveVersion) -> bool:
        """Whether a recap that reaches a chapter's end is kept of it as it stands: a model wrote it for that.
        Quotations and what is put together from notes are written out first, where there is a model."""
        made = live.version.made
        return self._rules.timeline is Timeline.RECAP and live.version.firm and made.made_by == BY_MODEL

    async def _with_others(self, marks: Sequence[Mark], closed: Sequence[Chapter], one: Chapter, step: Step) -> Step:
        """Ask in the same question for what else is missing: the short form with a title, and the backbone."""
        asked = step.asked
        assert isinstance(asked, ChapterFold), "it is about a closed chapter"
        others, spine = await self._others(marks, closed, one, step)
        parts = {*asked.parts, *_parts_of(others, one)}
        if SHORT in parts and not one.title:
            parts.add(TITLE)
        asked = replace(
            await self._told(asked, spine, one, step.run), parts=tuple(one for one in PARTS if one in parts)
        )
        return replace(step, asked=asked, others=others)

    async def _with_closing(
        self, marks: Sequence[Mark], closed: Sequence[Chapter], one: Chapter, rest: Span, step: Step
    ) -> Step:
        """Ask an update that ends a chapter for what else is kept of it: its recap is the full form, so that closing
        takes no call of its own."""
        asked = step.asked
        if not isinstance(asked, UpdateFold) or not asked.part.has_recap or not self._look.amends or one.blocks:
            return step
        run = await self._path(rest.first, rest.last)
        whole = Step(Kind.CHAPTER, one.last_stretch.scope, run, None, asked, step.reason)
        others, spine = await self._others(marks, closed, one, whole)
        closing = ChapterFold(
            parts=_parts_of(others, one),
            title=one.title,
            backbone=text_now(spine.live) if spine and spine.live else "",
            words=self._rules.chapter_words,
            backbone_words=self._rules.backbone_words,
        )
        return replace(step, asked=replace(asked, closing=closing), others=others) if others else step

    async def _others(
        self, marks: Sequence[Mark], closed: Sequence[Chapter], one: Chapter, step: Step
    ) -> tuple[dict[Kind, Step], _Spine | None]:
        """What else is missing of a closed chapter whose full form a step would make: each as it would be made by
        itself, and the backbone that goes on with it."""
        assert one.last is not None, "it is closed"
        others: dict[Kind, Step] = {}
        has_short = (step.scope, step.span.first, step.span.last) in await self._spans(Kind.SHORT)
        if step.kind is not Kind.SHORT and not has_short:
            others[Kind.SHORT] = Step(Kind.SHORT, step.scope, step.run, None, step.asked, step.reason)
        spine = await self._spine(marks, closed)
        if spine and await self._goes_on(spine, one):
            run = await self._path(spine.reached + 1, one.last)
            before = spine.live.version if spine.live else None
            others[Kind.BACKBONE] = Step(Kind.BACKBONE, spine.scope, run, before, step.asked, step.reason)
        return others, spine

    async def _told(self, asked: ChapterFold, spine: _Spine | None, one: Chapter, run: Sequence[OnPath]) -> ChapterFold:
        """Tell a question on a chapter what is known around it: the story before, its episodes, earlier chapters."""
        digests = [item.entry.digest for item in run]
        notes = await self._store.notes(self._key, Kind.EPISODE, SPAN_SCOPE, digests)
        episodes = tuple(tile.note.made.text for tile in note_tiles(run, notes) if tile.note)
        if asked.recap and (len(episodes) == 1 or CHAPTER not in asked.parts):
            episodes = ()  # it tells the same messages as the recap, in fewer words; or the full form is there
        backbone, earlier = await chapters_before(self._store, self._key, self._branch, one, EARLIER_TOKENS)
        if (
            spine and spine.waiting[0].last == one.last
        ):  # what it goes on from; words by hand stay as they are before it
            backbone = text_now(spine.live) if spine.live else ""
        return replace(asked, backbone=backbone, earlier=earlier, episodes=episodes)

    async def _with_short(self, amended: Step, rest: Span) -> Step:
        """Keep the short form of a chapter that is amended, unless it tells of what was removed: then it is gone until
        the chapter is made anew. So an edit of an old message costs no call more."""
        asked = amended.asked
        stale = await self._stale(Kind.SHORT, amended.scope, rest.first, None, rest.last)
        if stale is None or stale.span.last != rest.last or not isinstance(asked, FoldRequest) or not asked.amends:
            return amended
        kept = [*asked.amends.kept, *map(told, asked.delta)]
        if residue([told(message) for message in asked.amends.removed], kept, stale.version.made.text):
            carry = " ".join(word for word in asked.carry.split() if word != CLOSED)
            return replace(amended, asked=replace(asked, carry=carry))
        written = Written(stale.version.made.text, stale.version.made.made_by)
        return replace(
            amended, others={Kind.SHORT: Step(Kind.SHORT, amended.scope, amended.run, None, written, amended.reason)}
        )

    async def _short(self, marks: Sequence[Mark], closed: Sequence[Chapter]) -> Step | None:
        """The short form that a model did not give with the full one, for the newest chapters."""
        if not self._look.amends:
            return None
        there = await self._spans(Kind.SHORT)
        for one in closed[-SHORTS_LOOKED_AT:]:
            scope, rest = one.last_stretch.scope, one.rest
            if one.hand_text or rest is None or (scope, rest.first, rest.last) in there:
                continue
            full = await self._live(Kind.CHAPTER, scope, through=rest.last)
            if full is None or full.span != rest or CLOSED not in full.version.made.carry.split():
                continue
            if (Kind.SHORT, scope) in self._look.failed or await self._pending(Kind.SHORT, scope, None, rest.first):
                continue
            refused = await self._store.newest_versions(self._key, Kind.SHORT, scope, Status.REFUSED, MOST_REFUSED)
            if len(refused) >= MOST_REFUSED:
                continue
            asked = ChapterFold(
                parts=(SHORT,),
                title=one.title,
                recap=await self._chapter_text(one) or "",
                words=self._rules.chapter_words,
                backbone_words=self._rules.backbone_words,
            )
            run = await self._path(rest.first, rest.last)
            return await self._with_others(marks, closed, one, Step(Kind.SHORT, scope, run, None, asked, NO_SHORT_YET))
        return None

    async def _spine(self, marks: Sequence[Mark], closed: Sequence[Chapter]) -> _Spine | None:
        """How far the backbone has got; None where there is none or it has taken in every chapter."""
        by_hand = [mark for mark in marks if mark.kind is MarkKind.BACKBONE]
        scope = by_hand[-1].scope if by_hand else STORY_SCOPE
        start = by_hand[-1].position + 1 if by_hand else 0
        ends = [one.last for one in closed if one.last is not None and one.last >= start]
        if not ends or not self._rules.backbone_words:
            return None
        live = await self._live(Kind.BACKBONE, scope, through=ends[-1])
        while live and live.span.last not in ends:  # a mark moved: go back to where a chapter ends
            live = await self._live(Kind.BACKBONE, scope, through=live.span.last - 1)
        reached = live.span.last if live else start - 1
        waiting = [one for one in closed if one.last is not None and one.last > reached]
        return _Spine(scope, start, ends, live, reached, waiting) if waiting else None

    async def _amended_spine(self, spine: _Spine) -> Step | None:
        """The amending of a backbone that was broken further back than at the last chapter."""
        if len(spine.waiting) < 2:
            return None
        last = spine.ends[-1]
        exact = await self._store.live(self._key, self._branch.name, Kind.BACKBONE, spine.scope, through=last)
        stale = await self._stale(Kind.BACKBONE, spine.scope, spine.start, exact, last)
        return await self._amend(stale, exact) if stale and stale.span.last in spine.ends else None

    async def _goes_on(self, spine: _Spine, one: Chapter) -> bool:
        """Whether the backbone takes in this chapter next."""
        if spine.waiting[0].last != one.last or await self._amended_spine(spine):
            return False
        return await self._pending(Kind.BACKBONE, spine.scope, spine.live, spine.reached + 1) is None

    async def _backbone(self, marks: Sequence[Mark], closed: Sequence[Chapter]) -> Step | NotDue | None:
        """The next chapter that the backbone has not taken in."""
        spine = await self._spine(marks, closed)
        if spine is None:
            return None
        pending = await self._pending(Kind.BACKBONE, spine.scope, spine.live, spine.reached + 1)
        if pending:
            return pending
        amended = await self._amended_spine(spine)
        if amended:
            return amended
        one = spine.waiting[0]
        assert one.last is not None, "it is closed"
        text = await self._chapter_text(one)
        if text is None:
            return NotDue(f"the recap of chapter {one.number} is awaited")
        run = await self._path(spine.reached + 1, one.last)
        there = await self._store.live(self._key, self._branch.name, Kind.BACKBONE, spine.scope, through=spine.ends[-1])
        stood = there if there and there != spine.live and there.span.last >= one.last else None
        asked = ChapterFold(
            parts=(BACKBONE,),
            title=one.title,
            recap=text,
            backbone=text_now(spine.live) if spine.live else "",
            backbone_words=self._rules.backbone_words,
            again=_stood_in(stood),
        )
        if self._look.amends:
            asked = await self._told(asked, spine, one, await self._path(one.first, one.last))
        before = spine.live.version if spine.live else None
        return Step(Kind.BACKBONE, spine.scope, run, before, asked, CHAPTER_CLOSED)

    async def _chapter_text(self, one: Chapter) -> str | None:
        """All that is told of a closed chapter; None while its recap is missing."""
        if one.hand_text or one.rest is None:
            return one.hand_text or one.block_text
        found = await self._store.live(
            self._key, self._branch.name, Kind.CHAPTER, one.last_stretch.scope, through=one.rest.last
        )
        if found is None or found.span != one.rest:
            return None
        return "\n\n".join(text for text in (one.block_text, text_now(found)) if text)

    async def _recap(self, current: Chapter, open_since: int) -> Step | Boundary | NotDue:
        """The recap of the open chapter, or its end, which is looked for behind `open_since`."""
        stretch = current.last_stretch
        live = await self._store.live(self._key, self._branch.name, Kind.RECAP, stretch.scope)
        base = await self._live(Kind.RECAP, stretch.scope) if live and not live.version.firm else live
        first = base.span.last + 1 if base else stretch.first
        pending = await self._pending(Kind.RECAP, stretch.scope, base, first)
        if pending:
            return pending
        tail = self._rules.recap.tail_messages
        end = self._branch.messages - tail
        if self._rules.timeline.is_derived:
            return await self._derived_recap(current, base, first, open_since)
        named = await self._ends.named_end(current, base, open_since) if base and base.span.last < end else None
        if named and base == live:
            return named
        settled = live is not None and live.span.last >= end - 1  # all but the tail is told exactly
        stale = None
        if not settled:
            stale = await self._stale(Kind.RECAP, stretch.scope, stretch.first, live, self._branch.messages - 1)
        amended = await self._amend(stale, live) if stale else None
        if amended:
            return amended
        again_through = live.span.last if live and live != base else -1
        if stale:  # it cannot be set right, so all it stands for is folded again
            again_through = max(again_through, min(stale.span.last, end - 1))
        unread: list[OnPath] = []
        due = await self._due(base, first, self._branch.messages, tail, again_through=again_through, read=unread)
        outside = [item for item in unread if open_since <= item.position < end]
        if outside and outside[0].position > open_since:  # a chapter may end just where the recap does
            outside = [*await self._path(outside[0].position - 1, outside[0].position - 1), *outside]
        found = await self._ends.boundary(current, outside, open_since)
        if found and (isinstance(due, NotDue) or found.position <= due.span.last) and again_through < 0:
            return found
        return await self._recap_step(stretch, base, due, again=_stood_in(live)) if isinstance(due, Due) else due

    async def _derived_recap(
        self, current: Chapter, base: LiveVersion | None, first: int, open_since: int
    ) -> Step | Boundary | NotDue:
        """The same where the recap is put together from notes: the end of the chapter may lie just before them."""
        librarian = self._rules.timeline is Timeline.LIBRARIAN
        held_back = self._rules.apply_after if librarian else self._rules.recap.tail_messages
        last = min(first + MOST_APPLIED, self._branch.messages - held_back) - 1
        since = max(open_since, first - 1)
        unread = await self._path(since, last) if last >= since else []
        found = await self._ends.boundary(current, unread, open_since)
        if found:
            return found
        step = await self._derived(current.last_stretch, base, self._branch.messages, closing=False)
        if base and base.span.last >= open_since and self._ends.would_cut(base, step):
            return Boundary(base.span.last, (await self._ends.opening(current.first, open_since)).title, FULL_SUMMARY)
        return step

    async def _derived(self, stretch: Stretch, live: LiveVersion | None, end: int, *, closing: bool) -> Step | NotDue:
        """The recap that is put together from notes."""
        derived = DerivedRecap(self._store, self._key, self._branch, self._rules, anew=self._look.anew)
        return await derived.next(stretch, live, end, closing=closing)

    async def _due(
        self,
        live: LiveVersion | None,
        first: int,
        end: int,
        tail: int,
        *,
        again_through: int = -1,
        read: list[OnPath] | None = None,
    ) -> Due | NotDue:
        """Ask the recap whether it is due on a path that ends before `end`, reading on while it needs more."""
        rules = replace(self._rules.recap, tail_messages=tail)
        words = count_words(live.version.made.text) if live else 0
        unread: list[OnPath] = [] if read is None else read
        while True:
            decision = recap.plan(words, first, end, unread, rules, again_through=again_through)
            if isinstance(decision, NotDue) and tail and self._look.pressed:
                decision = recap.plan(words, first, end, unread, rules, pressure=True, again_through=again_through)
            if not isinstance(decision, NeedMore):
                return decision
            ahead = max(READ_AHEAD, len(unread))  # twice as much each time, so that counting anew stays cheap
            unread += await self._path(decision.position, min(decision.position + ahead, end) - 1)

    async def _recap_step(self, stretch: Stretch, live: LiveVersion | None, due: Due, *, again: bool = False) -> Step:
        before = live.version if live else None
        if self._rules.timeline is not Timeline.BRIEF:
            text = text_now(live) if live else ""
            if not self._look.amends:  # the built-in folder needs no more than the messages
                asked = self._updates.ask_bare(due.delta, text)
                return Step(Kind.RECAP, stretch.scope, due.delta, before, asked, due.reason)
            # Librarians and scenes have notes of their own: of what they have not told only the texts are wanted.
            part = Part.WHOLE if self._rules.timeline is Timeline.RECAP else Part.TEXTS
            asked = await self._updates.ask(due.delta, part, text, again=again and due.reason == recap.AGAIN)
            beside = await self._updates.beside(due.delta)
            return Step(Kind.RECAP, stretch.scope, due.delta, before, asked, due.reason, beside=beside)
        question = recap.brief_of(live, due, self._rules, again=again)
        return Step(Kind.RECAP, stretch.scope, due.delta, before, question, due.reason)

    async def _stale(
        self, kind: Kind, scope: str, start: int, exact: LiveVersion | None, through: int
    ) -> LiveVersion | None:
        """A stale text of this scope, whose chains begin at `start`, that reaches further than the exact one."""
        return await stale_version(
            self._store, self._key, self._branch, kind, scope, start=start, exact=exact, through=through
        )

    async def _amend(self, found: LiveVersion, exact: LiveVersion | None) -> Step | None:
        """The amending of a stale text behind the exact one; None if it cannot be amended."""
        made, start = found.version.made, found.span.first
        amends = self._look.amends and self._rules.timeline is not Timeline.BRIEF
        if not amends or (made.kind, made.scope) in self._look.failed:
            return None
        old = await self._store.leading_to(self._key, made.anchor, made.reach)
        new = await self._path(start, found.span.last)
        shared = exact.span.last - start + 1 if exact else 0
        if [item.entry.digest for item in old[:shared]] != [item.entry.digest for item in new[:shared]]:
            return None  # it was built on something else than the exact text
        words = {
            Kind.RECAP: self._rules.recap.target_words,
            Kind.CHAPTER: self._rules.chapter_words,
            Kind.BACKBONE: self._rules.backbone_words,
        }
        changed = amend.change(old[shared:], new[shared:])
        asked = amend.request(made, changed, words[made.kind], text_now(exact) if exact else "")
        before = exact.version if exact else None
        return Step(made.kind, made.scope, new[shared:], before, asked, amend.AMENDED) if asked else None

    async def _spans(self, kind: Kind) -> set[tuple[str, int, int]]:
        return await self._store.spans(self._key, self._branch.name, kind, firm=self._look.anew)

    async def _live(self, kind: Kind, scope: str, through: int | None = None) -> LiveVersion | None:
        return await self._store.live(self._key, self._branch.name, kind, scope, firm=self._look.anew, through=through)

    async def _pending(self, kind: Kind, scope: str, after: LiveVersion | None, first: int) -> NotDue | None:
        """That a fold of the messages from `first` on waits for approval; what waits for other messages does not
        count."""
        for version in await self._store.newest_versions(self._key, kind, scope, Status.PENDING, PENDING_LOOKED_AT):
            last = first + len(version.made.span) - 1
            if version.made.before != (after.version.id if after else None) or last >= self._branch.messages:
                continue
            if span_key(item.entry.digest for item in await self._path(first, last)) == version.made.key:
                return NotDue(f"version {version.id} waits to be approved or rejected")
        return None

    async def _path(self, first: int, last: int) -> list[OnPath]:
        return await read_run(self._store, self._key, self._branch, first, last)


def _parts_of(others: Mapping[Kind, Step], one: Chapter) -> tuple[str, ...]:
    """What to ask for beside a chapter's full form: a title only where it has none."""
    wanted = {part for part, kind in KINDS.items() if kind in others}
    if SHORT in wanted and not one.title:
        wanted.add(TITLE)
    return tuple(part for part in PARTS if part in wanted)


def _stood_in(live: LiveVersion | None) -> bool:
    """Whether what stands there is provisional, so that this is at least the second time of asking."""
    return live is not None and live.version.made.status is Status.PROVISIONAL
