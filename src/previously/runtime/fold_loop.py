"""The one loop: plan → ask → check → commit.

It performs what `plan` decides. A fold that fails or is refused leaves the memory as it was; a crash can repeat a fold,
never tear one, since what becomes of a reply is one write. A lease keeps two loops from paying for the same fold; that
the second is discarded anyhow is the store's promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from previously.core.fold_rules import FoldRules
from previously.core.snapshot import Snapshot
from previously.core.versions import Cost, Kind, Status, Version
from previously.folds.boundary import Boundary
from previously.folds.checks import Refused
from previously.folds.fold import Amends, Fold
from previously.folds.recap import NotDue
from previously.memory.state import States
from previously.plan.due import Prepared, find_cast_due, find_due, prepare
from previously.plan.notes import plan_analyses
from previously.plan.residue import find_outdated_states, find_tainted
from previously.plan.step import Look, Step, Written
from previously.runtime.answer_cache import AnswerSource
from previously.runtime.clock import time_at
from previously.runtime.fold_ledger import OUTDATED, FoldLedger, PlannedLedger, StoryLedger, renew_lease
from previously.runtime.fold_report import FoldDone, FoldReport, done_of, failed_of
from previously.runtime.fold_versions import FoldOutcome, choose_good, keep_texts, make_outcome, reply_with_written
from previously.runtime.writer import Attempt, BuiltinWriter, MemoryReply, MemoryWriter, RehearsalWriter
from previously.storage.store import Store, StoryKey

TRIES_WITHOUT_PROGRESS = 3
"""A fold that is true where it was made but not on the path any more is no progress: after the third time, somebody is
changing the story faster than it can be folded."""

OTHERS = "another process is folding this story"
RESIDUE = "it tells of words that were removed"
GOES_ROUND = "what was folded is not valid on the path: the story is being changed"
PLANNED = "planned"

Progress = Callable[[int, int], None]
"""Called with how many messages are folded and how many there are to fold."""

Pressed = Callable[[], Awaitable[bool]]
"""Returns whether a view has no room for a message outside the tail."""


class _Loop:
    """One call to fold: what it has done, and what it has learned not to try again."""

    def __init__(self, ledger: FoldLedger, writer: MemoryWriter, rules: FoldRules, *, fresh: bool = False) -> None:
        self._ledger = ledger
        self._writer = writer
        self._rules = rules
        self._fresh = fresh
        self._done: list[FoldDone] = []
        self._closed: list[Boundary] = []
        self._anew = True  # until the model fails in this very call: what it just failed at is left for the next one
        self._failed: set[tuple[Kind, str]] = set()
        self._states = States()
        self._tried: dict[tuple[object, ...], int] = {}

    async def run(self, pressed: Pressed, *, once: bool, progress: Progress | None) -> FoldReport:
        """Fold until nothing is due."""
        try:
            while await self._ledger.take_lease():
                due, messages = await self._find_due(pressed)
                if isinstance(due, NotDue):
                    return self._report(due.reason)
                if isinstance(due, Boundary):
                    await self._ledger.close_chapter(due)
                    self._closed.append(due)
                    continue
                if progress:
                    first = due[0].step.span.first
                    progress(first, max(messages - self._rules.recap.tail_messages, first))
                async with renew_lease(self._ledger):
                    await self._perform_together(due)
                if once:
                    return self._report("asked to fold once")
            return self._report(OTHERS)
        finally:
            await self._ledger.give_lease()

    async def run_cast(self) -> FoldReport:
        """Bring what characters know up to date, all at the same time, and nothing else."""
        try:
            if not await self._ledger.take_lease():
                return self._report(OTHERS)
            look = self._make_look(self._anew and await self._writer.ready(), pressed=False)
            due = await self._ledger.read(
                lambda snapshot: find_cast_due(snapshot, look, self._states, self._ledger.presences)
            )
            if isinstance(due, NotDue):
                return self._report(due.reason)
            async with renew_lease(self._ledger):
                await self._perform_together(due)
            return self._report("all that was witnessed is told")
        finally:
            await self._ledger.give_lease()

    async def make(self, steps: Sequence[Step]) -> FoldReport:
        """Make these folds, one after the other, due or not."""
        try:
            for step in steps:
                if not await self._ledger.take_lease():
                    return self._report(OTHERS)
                async with renew_lease(self._ledger):
                    await self._perform(await self._ledger.read(partial(prepare, step=step)))
            return self._report(failed_of(self._done) or "all that was asked for is made")
        finally:
            await self._ledger.give_lease()

    async def _find_due(self, pressed: Pressed) -> tuple[Sequence[Prepared] | Boundary | NotDue, int]:
        """Return what to do now, and how many messages the branch has."""
        anew = self._anew and await self._writer.ready()
        due, messages = await self._look(anew, pressed=False)
        if isinstance(due, NotDue) and await pressed():
            due, messages = await self._look(anew, pressed=True)
        return self._drop_rounds(due), messages

    async def _look(self, anew: bool, *, pressed: bool) -> tuple[Sequence[Prepared] | Boundary | NotDue, int]:
        look = self._make_look(anew, pressed=pressed)

        def find(snapshot: Snapshot) -> tuple[Sequence[Prepared] | Boundary | NotDue, int]:
            return find_due(snapshot, look, self._states, self._ledger.presences), snapshot.messages

        return await self._ledger.read(find)

    def _make_look(self, anew: bool, *, pressed: bool) -> Look:
        quotes = self._writer.made_by == "builtin"
        return Look(self._rules, self._writer.amends, anew, pressed, self._failed, quotes)

    def _drop_rounds(self, due: Sequence[Prepared] | Boundary | NotDue) -> Sequence[Prepared] | Boundary | NotDue:
        """Return what there is to do, but for what was done again and again without getting on."""
        if isinstance(due, NotDue):
            return due
        if isinstance(due, Boundary):
            return NotDue(GOES_ROUND) if self._goes_round((due.position,)) else due
        return [prepared for prepared in due if not self._goes_round(_identify(prepared.step))] or NotDue(GOES_ROUND)

    def _goes_round(self, what: tuple[object, ...]) -> bool:
        self._tried[what] = self._tried.get(what, 0) + 1
        return self._tried[what] > TRIES_WITHOUT_PROGRESS

    async def _perform_together(self, due: Sequence[Prepared]) -> None:
        """Make folds at the same time. A store that fails one of them fails this call, once the others are done."""
        results = await asyncio.gather(*map(self._perform, due), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _perform(self, prepared: Prepared) -> None:
        """Make one fold and keep what came of it."""
        step = prepared.step
        reply = await self._ask(prepared)
        status = reply.status
        if not isinstance(step.asked, Written):
            if status is Status.PROVISIONAL:
                self._anew = False
                if step.by_request or choose_good(prepared.loose):  # what is there is better
                    status = Status.REFUSED
            if status is Status.REFUSED and not step.asked.has_builtin:
                self._failed.add((step.kind, step.scope))
            if self._rules.review and status is not Status.REFUSED:
                status = Status.PENDING
        outcome = make_outcome(step, reply, status, time_at())
        kept = await self._ledger.keep(outcome) if outcome.attempts or outcome.versions else ()
        self._note_done(step, reply, outcome, kept)
        if not isinstance(step.asked, Written) and step.asked.amends:
            await self._drop_residue(step.asked.amends, step.span.first)

    def _note_done(self, step: Step, reply: MemoryReply, outcome: FoldOutcome, kept: Sequence[Version]) -> None:
        if not kept:
            self._done.append(done_of(Version(0, outcome.own, False), reply.attempts))
        elif step.kind is not Kind.STATE:  # nobody asked for that: it only saves reading the notes again
            own, *beside = kept
            reported = replace(own, made=replace(own.made, reason=outcome.own.reason, cost=outcome.own.cost))
            self._done.append(done_of(reported, reply.attempts, tuple(other.made.kind.value for other in beside)))

    async def _drop_residue(self, amends: Amends, since: int) -> None:
        """Drop what still tells of removed words. It is asked for again."""

        def find(snapshot: Snapshot) -> tuple[list[int], list[int]]:
            texts = find_tainted(snapshot, amends, since)
            first = min((live.span.first for live in texts), default=None)
            outdated = [] if first is None else find_outdated_states(snapshot, first)
            return [live.version.id for live in texts], outdated

        texts, outdated = await self._ledger.read(find)
        await self._ledger.undo(texts, RESIDUE)
        await self._ledger.undo(outdated, OUTDATED)

    async def _ask(self, prepared: Prepared) -> MemoryReply:
        step, asked, last = prepared.step, prepared.step.asked, prepared.step.run[-1]
        if isinstance(asked, Written):
            return reply_with_written(asked)
        source = AnswerSource(self._ledger.key, last.node, last.hash)
        question: Fold = replace(cast("Any", asked), again=True) if prepared.loose else asked
        anew = self._fresh or prepared.taken_back
        reply = await _check(await self._writer.write(question, source=source, anew=anew), question)
        stands_in = reply.made_by != self._writer.made_by and reply.reason and reply.status is Status.COMMITTED
        good = choose_good(prepared.loose)
        return keep_texts(reply, step.kind, good) if good and stands_in else reply

    def _report(self, stopped: str) -> FoldReport:
        return FoldReport(tuple(self._done), stopped, tuple(self._closed))


async def fold(
    store: Store,
    key: StoryKey,
    writer: MemoryWriter,
    rules: FoldRules,
    *,
    pressed: Pressed,
    once: bool = False,
    progress: Progress | None = None,
    fresh: bool = False,
    branch: str | None = None,
) -> FoldReport:
    """Fold all that is due on a branch, the active one if None, oldest first. `fresh` takes no answer that was kept."""
    loop = _Loop(StoryLedger(store, key, branch), writer, rules, fresh=fresh)
    return await loop.run(pressed, once=once, progress=progress)


async def fold_cast(store: Store, key: StoryKey, writer: MemoryWriter, rules: FoldRules) -> FoldReport:
    """Tell each character what they have witnessed since, all at the same time. What else is due waits for `fold`."""
    return await _Loop(StoryLedger(store, key), writer, rules).run_cast()


async def plan_folds(
    store: Store,
    key: StoryKey,
    writer: MemoryWriter,
    rules: FoldRules,
    *,
    pressed: Pressed,
    anew: bool = False,
    once: bool = False,
    hear: Callable[[Fold], None] | None = None,
) -> FoldReport:
    """Return the folds that `fold` would make now, with what each would read; with `anew`, if nothing were folded yet;
    with `once` the next alone. `hear` is told each question."""
    ledger = PlannedLedger(store, key, anew=anew)

    async def pressed_from_the_start() -> bool:
        return not ledger.is_begun and await pressed()  # a view of what is only planned cannot be had

    loop = _Loop(ledger, RehearsalWriter(writer, hear), replace(rules, review=False))
    report = await loop.run(pressed_from_the_start, once=once, progress=None)
    return replace(report, folds=tuple(replace(done, status=PLANNED) for done in report.folds))


async def analyse(
    store: Store, key: StoryKey, writer: MemoryWriter, rules: FoldRules, position: int | None, *, again: bool
) -> FoldReport:
    """Analyse the fragment at a position, or all that have no analysis; with `again` also what has one. Then the newest
    analysis counts, also in a summary that was put together before."""
    ledger = StoryLedger(store, key)
    steps = await ledger.read(lambda snapshot: plan_analyses(snapshot, rules, position, again=again))
    report = await _Loop(ledger, writer, rules, fresh=again).make(steps)
    first = min((step.span.first for step in steps if step.replaces), default=None)
    if first is not None:
        recaps = await ledger.read(lambda snapshot: snapshot.cover(Kind.RECAP))
        outdated = [version for _, last, version in recaps if last >= first]
        await store.write(key, lambda tables: tables.versions.loosen(key, outdated))
    return report


async def _check(reply: MemoryReply, asked: Fold) -> MemoryReply:
    """Return a reply that may be kept: if a writer gives one that may not, the built-in writer's stands in for it."""
    if reply.checked or reply.status is Status.REFUSED:
        return reply
    verdict = asked.judge_text(reply.text)
    if not isinstance(verdict, Refused):
        return replace(reply, text=verdict.text)
    attempt = Attempt(verdict.reason, reply.text, reply.cost, reply.model, reply.prompt_hash)
    if asked.amends:
        refused = Status.REFUSED
        return replace(reply, text="", status=refused, reason=verdict.reason, attempts=(*reply.attempts, attempt))
    written = await BuiltinWriter().write(asked)
    return replace(
        written, status=Status.PROVISIONAL, reason=verdict.reason, attempts=(*reply.attempts, attempt), cost=Cost()
    )


def _identify(step: Step) -> tuple[object, ...]:
    return step.kind, step.scope, step.key, step.before.id if step.before else None
