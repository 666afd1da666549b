"""The recap of a chapter: the next fold of its messages, or the place where the open chapter ends."""

from __future__ import annotations

from dataclasses import replace

from previously.core.marks import Chapter, Stretch
from previously.core.path import OnPath
from previously.core.scripts import count_words
from previously.core.versions import Kind, LiveVersion
from previously.folds import recap
from previously.folds.boundary import Boundary
from previously.folds.builtin.quotes import renumber_live
from previously.folds.recap import Due, NeedMore, NotDue, Timeline
from previously.folds.update import Part
from previously.runtime.chapter_ends import FULL_SUMMARY, ChapterEnds
from previously.runtime.derived import MOST_APPLIED, DerivedRecap
from previously.runtime.fold_reader import FoldReader, stood_in
from previously.runtime.reading import READ_AHEAD
from previously.runtime.states import States
from previously.runtime.step import Step
from previously.runtime.update_steps import UpdateSteps


class RecapSteps:
    """Looks at the recaps of one branch."""

    def __init__(self, reader: FoldReader, ends: ChapterEnds, states: States) -> None:
        self._reader = reader
        self._branch = reader.branch
        self._look = reader.look
        self._rules = reader.rules
        self._ends = ends
        self._updates = UpdateSteps(
            reader.store, reader.key, reader.branch, reader.rules, states, anew=reader.look.anew
        )

    async def next(self, current: Chapter, open_since: int) -> Step | Boundary | NotDue:
        """Return the next fold of the open chapter, or its end, which is looked for behind `open_since`."""
        stretch = current.last_stretch
        live = await self._reader.standing(Kind.RECAP, stretch.scope)
        base = await self._reader.live(Kind.RECAP, stretch.scope) if live and not live.version.firm else live
        first = base.span.last + 1 if base else stretch.first
        pending = await self._reader.pending(Kind.RECAP, stretch.scope, base, first)
        if pending:
            return pending
        tail = self._rules.recap.tail_messages
        end = self._branch.messages - tail
        if self._rules.timeline.is_derived:
            return await self._next_derived(current, base, first, open_since)
        named = await self._ends.named_end(current, base, open_since) if base and base.span.last < end else None
        if named and base == live:
            return named
        settled = live is not None and live.span.last >= end - 1  # all but the tail is told exactly
        stale = None
        if not settled:
            stale = await self._reader.stale(Kind.RECAP, stretch.scope, stretch.first, live, self._branch.messages - 1)
        amended = await self._reader.amend(stale, live) if stale else None
        if amended:
            return amended
        again_through = live.span.last if live and live != base else -1
        if stale:  # it cannot be set right, so all it stands for is folded again
            again_through = max(again_through, min(stale.span.last, end - 1))
        unread: list[OnPath] = []
        due = await self.due(base, first, self._branch.messages, tail, again_through=again_through, read=unread)
        outside = [item for item in unread if open_since <= item.position < end]
        if outside and outside[0].position > open_since:  # a chapter may end just where the recap does
            outside = [*await self._reader.path(outside[0].position - 1, outside[0].position - 1), *outside]
        found = await self._ends.boundary(current, outside, open_since)
        if found and (isinstance(due, NotDue) or found.position <= due.span.last) and again_through < 0:
            return found
        return await self.step(stretch, base, due, again=stood_in(live)) if isinstance(due, Due) else due

    async def _next_derived(
        self, current: Chapter, base: LiveVersion | None, first: int, open_since: int
    ) -> Step | Boundary | NotDue:
        """Return the same where the recap is put together from notes: the chapter may end just before them."""
        librarian = self._rules.timeline is Timeline.LIBRARIAN
        held_back = self._rules.apply_after if librarian else self._rules.recap.tail_messages
        last = min(first + MOST_APPLIED, self._branch.messages - held_back) - 1
        since = max(open_since, first - 1)
        unread = await self._reader.path(since, last) if last >= since else []
        found = await self._ends.boundary(current, unread, open_since)
        if found:
            return found
        step = await self.derive(current.last_stretch, base, self._branch.messages, closing=False)
        if base and base.span.last >= open_since and self._ends.would_cut(base, step):
            return Boundary(base.span.last, (await self._ends.opening(current.first, open_since)).title, FULL_SUMMARY)
        return step

    async def derive(self, stretch: Stretch, live: LiveVersion | None, end: int, *, closing: bool) -> Step | NotDue:
        """Return the next recap that is put together from notes."""
        derived = DerivedRecap(self._reader.store, self._reader.key, self._branch, self._rules, anew=self._look.anew)
        return await derived.next(stretch, live, end, closing=closing)

    async def due(
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
            unread += await self._reader.path(decision.position, min(decision.position + ahead, end) - 1)

    async def step(self, stretch: Stretch, live: LiveVersion | None, due: Due, *, again: bool = False) -> Step:
        """Return the fold of what is due, after a recap."""
        before = live.version if live else None
        if self._rules.timeline is not Timeline.BRIEF:
            text = renumber_live(live) if live else ""
            if not self._look.amends:  # the built-in folder needs no more than the messages
                asked = self._updates.ask_bare(due.delta, text)
                return Step(Kind.RECAP, stretch.scope, due.delta, before, asked, due.reason)
            # Librarians and scenes have notes of their own: of what they have not told only the texts are wanted.
            part = Part.WHOLE if self._rules.timeline is Timeline.RECAP else Part.TEXTS
            asked = await self._updates.ask(due.delta, part, text, again=again and due.reason == recap.AGAIN)
            beside = await self._updates.beside(due.delta)
            return Step(Kind.RECAP, stretch.scope, due.delta, before, asked, due.reason, beside=beside)
        question = recap.plan_brief(live, due, self._rules, again=again)
        return Step(Kind.RECAP, stretch.scope, due.delta, before, question, due.reason)
