"""What to fold next: reads what the pure folds need to decide, and puts their decisions in order.

A closed chapter gets its recap first, then the backbone takes it in, then the recap of the open chapter goes on. So
whatever is missing, for whatever reason (an import, an edit, a mark that moved), is found by looking, not remembered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from previously.core.digests import span_key
from previously.core.errors import StoreProblem
from previously.core.marks import STORY_SCOPE, Chapter, Mark, MarkKind, Stretch, chapters_of
from previously.core.paths import OnPath
from previously.core.spans import Span
from previously.core.versions import Kind, LiveVersion, Status
from previously.core.words import count_words
from previously.folds import amend, backbone, chapter, recap
from previously.folds.builtin.quotes import text_now
from previously.folds.chapter import Boundary
from previously.folds.recap import Due, FoldRules, NeedMore, NotDue, Timeline
from previously.folds.update import Part
from previously.runtime.derived import MOST_APPLIED, DerivedRecap
from previously.runtime.fold_store import FoldStore
from previously.runtime.reading import READ_AHEAD
from previously.runtime.stale import stale_version
from previously.runtime.states import States
from previously.runtime.step import Step
from previously.runtime.update_steps import UpdateSteps
from previously.storage.store import BranchInfo, StoryKey

CHAPTER_CLOSED = "the chapter is closed"

PENDING_LOOKED_AT = 8
"""How many of the newest versions of a text that wait for approval are looked at."""


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


class Steps:
    """Looks at one branch of a story, with a store that answers as of one moment."""

    def __init__(self, store: FoldStore, key: StoryKey, branch: BranchInfo, look: Look, states: States) -> None:
        self._store = store
        self._key = key
        self._branch = branch
        self._look = look
        self._rules = look.rules
        self._updates = UpdateSteps(store, key, branch, look.rules, states, anew=look.anew)

    async def next(self) -> Step | Boundary | NotDue:
        """The next fold, the place where a chapter closes, or why there is nothing to do."""
        marks = await self._store.marks(self._key, self._branch.name)
        *closed, current = chapters_of(marks)
        waits = await self._chapters(closed)
        if isinstance(waits, Step):
            return waits
        found = await self._backbone(marks, closed)
        if isinstance(found, Step):
            return found
        kept_open = [mark.position + 1 for mark in marks if mark.kind is MarkKind.KEPT_OPEN]
        rest = await self._recap(current, max([current.first, *kept_open]))
        return (waits or found or rest) if isinstance(rest, NotDue) else rest

    async def _chapters(self, closed: Sequence[Chapter]) -> Step | NotDue | None:
        """The oldest closed chapter without its recap."""
        waits: NotDue | None = None
        there = await self._store.spans(self._key, self._branch.name, Kind.CHAPTER, firm=self._look.anew)
        for one in closed:
            rest = one.rest
            if one.hand_text or rest is None or (one.last_stretch.scope, rest.first, rest.last) in there:
                continue
            pending = await self._pending(Kind.CHAPTER, one.last_stretch.scope, None, rest.first)
            step = pending or await self._chapter(one, rest)
            if isinstance(step, Step):
                return step
            waits = waits or step
        return waits

    async def _chapter(self, one: Chapter, rest: Span) -> Step | NotDue:
        scope = one.last_stretch.scope
        stood = await self._store.live(self._key, self._branch.name, Kind.CHAPTER, scope, through=rest.last)
        if stood is None or stood.span != rest:  # otherwise it is only to be made anew
            stood = None
            stale = await self._stale(Kind.CHAPTER, scope, rest.first, None, rest.last)
            amended = await self._amend(stale, None) if stale and stale.span.last == rest.last else None
            if amended:
                return amended
        live = await self._live(Kind.RECAP, scope, through=rest.last)
        first = live.span.last + 1 if live else rest.first
        if self._rules.timeline.is_derived:
            derived = await self._derived(one.last_stretch, live, rest.last + 1, closing=True)
            if isinstance(derived, Step):
                return derived
        due = await self._due(live, first, rest.last + 1, 0)
        if self._look.amends and self._rules.timeline is Timeline.RECAP and first <= rest.last:
            due = due if isinstance(due, Due) else Due(tuple(await self._path(first, rest.last)), CHAPTER_CLOSED)
        if isinstance(due, Due):
            pending = await self._pending(Kind.RECAP, scope, live, first)
            return pending or await self._recap_step(one.last_stretch, live, due)
        run = await self._path(rest.first, rest.last)
        known = [text_now(live)] if live else []
        ending = run[max(0, min(first, rest.last + 1 - chapter.FINAL_SCENE) - rest.first) :]
        asked = chapter.request(one.title, known, ending, self._rules.chapter_words)
        carry = live.version.made.carry if live else ""
        return Step(Kind.CHAPTER, scope, run, None, replace(asked, again=_stood_in(stood), carry=carry), CHAPTER_CLOSED)

    async def _backbone(self, marks: Sequence[Mark], closed: Sequence[Chapter]) -> Step | NotDue | None:
        """The next chapter that the backbone has not taken in."""
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
        if not waiting:
            return None
        pending = await self._pending(Kind.BACKBONE, scope, live, reached + 1)
        if pending:
            return pending
        exact = await self._store.live(self._key, self._branch.name, Kind.BACKBONE, scope, through=ends[-1])
        if len(waiting) > 1:
            stale = await self._stale(Kind.BACKBONE, scope, start, exact, ends[-1])
            amended = await self._amend(stale, exact) if stale and stale.span.last in ends else None
            if amended:
                return amended
        one = waiting[0]
        assert one.last is not None, "it is closed"
        text = await self._chapter_text(one)
        if text is None:
            return NotDue(f"the recap of chapter {one.number} is awaited")
        run = await self._path(reached + 1, one.last)
        asked = backbone.request(live, one.title, text, self._rules.backbone_words)
        stood = exact if exact and exact != live and exact.span.last >= one.last else None
        before = live.version if live else None
        return Step(Kind.BACKBONE, scope, run, before, replace(asked, again=_stood_in(stood)), CHAPTER_CLOSED)

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
        found = await self._boundary(current, outside, open_since)
        if found and (isinstance(due, NotDue) or found.position <= due.span.last) and again_through < 0:
            return found
        return await self._recap_step(stretch, base, due, again=_stood_in(live)) if isinstance(due, Due) else due

    async def _boundary(self, current: Chapter, unread: Sequence[OnPath], open_since: int) -> Boundary | None:
        """Where the open chapter ends, looked for in messages that no recap has read."""
        name = await self._name(current.first, open_since) if unread else ""
        return chapter.boundary(open_since, name, unread, self._rules.chapter_messages)

    async def _derived_recap(
        self, current: Chapter, base: LiveVersion | None, first: int, open_since: int
    ) -> Step | Boundary | NotDue:
        """The same where the recap is put together from notes: the end of the chapter may lie just before them."""
        librarian = self._rules.timeline is Timeline.LIBRARIAN
        held_back = self._rules.apply_after if librarian else self._rules.recap.tail_messages
        last = min(first + MOST_APPLIED, self._branch.messages - held_back) - 1
        since = max(open_since, first - 1)
        unread = await self._path(since, last) if last >= since else []
        found = await self._boundary(current, unread, open_since)
        return found or await self._derived(current.last_stretch, base, self._branch.messages, closing=False)

    async def _derived(self, stretch: Stretch, live: LiveVersion | None, end: int, *, closing: bool) -> Step | NotDue:
        """The recap that is put together from notes."""
        derived = DerivedRecap(self._store, self._key, self._branch, self._rules, anew=self._look.anew)
        return await derived.next(stretch, live, end, closing=closing)

    async def _name(self, first: int, open_since: int) -> str:
        """What the open chapter is called: as its first message says, or the first since it was kept open."""
        since = (await self._path(open_since, open_since))[0]
        return chapter.chapter_name(since) or chapter.chapter_name((await self._path(first, first))[0])

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
        found = await self._store.path(self._key, self._branch.name, first, last)
        if len(found) != last - first + 1:
            name = self._branch.name
            raise StoreProblem(f"Branch {name!r} has lost part of its path: `previously verify` says more.")
        return found


def _stood_in(live: LiveVersion | None) -> bool:
    """Whether what stands there is provisional, so that this is at least the second time of asking."""
    return live is not None and live.version.made.status is Status.PROVISIONAL
