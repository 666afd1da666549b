"""The one loop: plan → ask → check → commit.

It performs what the pure layers decide and decides nothing itself. A fold that fails or is refused leaves the memory
as it was; a crash can repeat a fold, never tear one, since a fold is one insert. A lease keeps two loops from paying
for the same fold; that the second is discarded anyhow is the store's promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

from previously.core.marks import SPAN_SCOPE, MarkKind
from previously.core.note import parse_note, render_note_words
from previously.core.path import Span
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version
from previously.folds.boundary import Boundary
from previously.folds.checks import Refused, find_residue
from previously.folds.fold import Amends, Fold
from previously.folds.prompts.templates import render_message
from previously.folds.recap import FoldRules, NotDue
from previously.runtime.answer_cache import AnswerSource
from previously.runtime.fold_reader import Look, was_taken_back
from previously.runtime.fold_report import FoldDone, FoldReport, done_of, failed_of
from previously.runtime.fold_store import FoldStore
from previously.runtime.leasing import LEASE, renewed, taken
from previously.runtime.note_steps import NoteSteps
from previously.runtime.noted import NOTES, notes_on
from previously.runtime.read_presence import presences_of
from previously.runtime.reading import with_tail
from previously.runtime.rehearsal import PLANNED, RehearsalStore
from previously.runtime.states import States
from previously.runtime.step import Step, Together, Written
from previously.runtime.steps import Steps
from previously.runtime.times import time_at
from previously.runtime.writer import Attempt, BuiltinWriter, MemoryReply, MemoryWriter, RehearsalWriter
from previously.storage.store import BranchInfo, StoryKey

TRIES_WITHOUT_PROGRESS = 3
"""A fold that is true where it was made but not on the path any more is no progress."""

MOST_WARNINGS = 2
"""How many of a note's warnings are told beside it."""

OTHERS = "another process is folding this story"
OUTDATED = "a note it was put together from was made anew"
RESIDUE = "it tells of words that were removed"
KEPT = "what was there is kept"
GOES_ROUND = "what was folded is not valid on the path: the story is being changed"

Todo = Step | Together | Boundary | NotDue

Progress = Callable[[int, int], None]
"""Called with how many messages are folded and how many there are to fold."""

Pressed = Callable[[], Awaitable[bool]]


class _Loop:
    """One call to fold: what it has done, and what it has learned not to try again."""

    def __init__(
        self, store: FoldStore, key: StoryKey, folder: MemoryWriter, rules: FoldRules, *, fresh: bool = False
    ) -> None:
        self._fresh = fresh
        self.store = store
        self.key = key
        self.folder = folder
        self.rules = rules
        self.done: list[FoldDone] = []
        self.closed: list[Boundary] = []
        self._anew = True  # until the model fails in this very call: what it just failed at is left for the next one
        self._failed: set[tuple[Kind, str]] = set()
        self._states = States()
        self._tried: dict[tuple[object, ...], int] = {}

    async def next(self, pressed: Pressed) -> Todo:
        """What to do now."""
        anew = self._anew and await self.folder.ready()
        found = await self._looked(anew, pressed=False)
        if isinstance(found, NotDue) and await pressed():
            found = await self._looked(anew, pressed=True)
        return self._without_rounds(found)

    async def _looked(self, anew: bool, *, pressed: bool) -> Todo:
        """What there is to do at one moment of the story."""

        async def look(store: FoldStore) -> Todo:
            branch = await store.branch(self.key)
            rules = await with_tail(store, self.key, branch, self.rules)
            quotes = self.folder.made_by == "builtin"
            seen = Look(rules, self.folder.amends, anew, pressed, self._failed, quotes)
            notes = NoteSteps(store, self.key, branch, seen, self._states, presences_of(self.store))
            found = await notes.missing() or await Steps(store, self.key, branch, seen, self._states).next()
            return (await notes.next() or found) if isinstance(found, NotDue) else found

        return await self.store.at_one_moment(self.key.owner, look)

    def _without_rounds(self, found: Todo) -> Todo:
        """What there is to do, but for what was done again and again without getting on."""
        match found:
            case Together(steps):
                left = tuple(step for step in steps if not self._goes_round(_identity(step)))
                return Together(left) if left else NotDue(GOES_ROUND)
            case Step() if self._goes_round(_identity(found)):
                return NotDue(GOES_ROUND)
            case Boundary(position, _, _) if self._goes_round((position,)):
                return NotDue(GOES_ROUND)
            case _:
                return found

    def _goes_round(self, what: tuple[object, ...]) -> bool:
        self._tried[what] = self._tried.get(what, 0) + 1
        return self._tried[what] > TRIES_WITHOUT_PROGRESS

    async def close(self, found: Boundary) -> None:
        """Close a chapter where it ended."""
        branch = await self.store.branch(self.key)
        await self.store.add_mark(
            self.key, branch.name, MarkKind.CHAPTER, found.position, found.title, made_by=found.reason, at=time_at()
        )
        self.closed.append(found)

    async def perform_together(self, steps: Sequence[Step]) -> None:
        """Make folds at the same time. A store that fails one of them fails this call, once the others are done."""
        done = await asyncio.gather(*(self.perform(step) for step in steps), return_exceptions=True)
        for one in done:
            if isinstance(one, BaseException):
                raise one

    async def perform(self, step: Step) -> None:
        """Make one fold and commit what came of it."""
        loose = await self._loose(step)
        reply = await self._reply(step, loose)
        if reply.status is Status.PROVISIONAL and not isinstance(step.asked, Written):
            self._anew = False
            if step.by_request or _good(loose):  # what is there is better
                reply = replace(reply, status=Status.REFUSED)
        if reply.status is Status.REFUSED and not isinstance(step.asked, Written) and not step.asked.has_builtin:
            self._failed.add((step.kind, step.scope))
        held = self.rules.review and reply.status is not Status.REFUSED and not isinstance(step.asked, Written)
        version = self._version(step, reply, Status.PENDING if held else reply.status)
        for attempt in reply.attempts:
            await self.store.commit(self.key, _refused(version, attempt))
        if version.status is Status.REFUSED:
            self.done.append(done_of(Version(0, version, False), reply.attempts))
        else:
            versions = self._versions(step, reply, version)
            kept = await self.store.commit_all(self.key, versions)
            await self._report(step, reply, versions[0], kept)
        if not isinstance(step.asked, Written) and step.asked.amends:
            await self._drop_residue(step.asked.amends, step.span.first)

    def _version(self, step: Step, reply: MemoryReply, status: Status) -> NewVersion:
        """Return the version that a step's own text becomes."""
        reach = len(step.span) + (step.before.made.reach if step.before else 0)
        return NewVersion(
            kind=step.kind,
            scope=step.scope,
            span=step.span,
            key=step.key,
            before=step.before.id if step.before else None,
            text=reply.text,
            carry=reply.carry or step.rests_on,
            status=status,
            made_by=reply.made_by,
            reason="; ".join(filter(None, (step.reason, reply.reason, *_warnings(reply)))),
            at=time_at(),
            model=reply.model,
            prompt_hash=reply.prompt_hash,
            cost=reply.cost,
            replaces=step.replaces,
            shed=reply.shed,
            unverified=reply.unverified,
            anchor=step.run[-1].node,
            reach=reach,
            first=step.first if step.scope.startswith(SPAN_SCOPE) else b"",
        )

    def _versions(self, step: Step, reply: MemoryReply, own: NewVersion) -> list[NewVersion]:
        """Return all that one answer gave, the step's own text first. The first of them bears the cost."""
        texts = [(kind, text) for kind, text in reply.beside if kind is not step.kind and kind not in step.others]
        own = replace(own, text=next((text for kind, text in reply.beside if kind is step.kind), own.text))
        beside = [
            replace(
                own, kind=kind, scope=SPAN_SCOPE, text=text, before=None, first=step.first, reach=len(step.span),
                replaces=step.beside.get(kind), carry="", shed=(), cost=Cost(),
            )
            for kind, text in texts
        ]  # fmt: skip
        return [own, *beside, *self._others(step, reply, own)]

    def _others(self, step: Step, reply: MemoryReply, own: NewVersion) -> list[NewVersion]:
        """Return what one answer gave beside its own text that has a place of its own."""
        texts = dict(reply.beside)
        found: list[NewVersion] = []
        for kind, other in step.others.items():
            text = other.asked.text if isinstance(other.asked, Written) else texts.get(kind, "")
            if text:
                given = replace(reply, text=text, cost=Cost(), shed=(), warnings=(), carry="")
                found.append(replace(self._version(other, given, own.status), at=own.at))
        return found

    async def _report(self, step: Step, reply: MemoryReply, wanted: NewVersion, kept: Sequence[Version]) -> None:
        """Report what was kept of an answer; say what it cost if another fold was first."""
        own, *beside = kept
        if own.made.at != wanted.at and wanted.cost.calls:  # another fold was first; what this one cost is still spent
            lost = Attempt(
                "another fold of the same messages was first", "", reply.cost, reply.model, reply.prompt_hash
            )
            await self.store.commit(self.key, _refused(wanted, lost))
        if step.kind is Kind.STATE:
            return  # no fold that anybody asked for: it only saves reading the notes again
        if any(version.made.kind in NOTES for version in kept):
            await self._drop_snapshots(step.span.first)
        reported = replace(own, made=replace(own.made, reason=wanted.reason, cost=wanted.cost))
        self.done.append(done_of(reported, reply.attempts, tuple(one.made.kind.value for one in beside)))

    async def _drop_snapshots(self, since: int) -> None:
        """Drop what was put together from notes before one of them was made, or made anew."""
        branch = await self.store.branch(self.key)
        for _, last, version in await self.store.cover(self.key, branch.name, Kind.STATE):
            if last >= since:
                await self.store.set_status(self.key, version, Status.UNDONE, reason=OUTDATED)

    async def _drop_residue(self, amends: Amends, since: int) -> None:
        """Drop what stands behind a change and still tells of removed words: it saw a text that told of them. It is
        asked for again."""
        branch = await self.store.branch(self.key)
        removed = [render_message(message) for message in amends.removed]
        suspects = [
            one
            for one in await self._behind(branch, since)
            if find_residue(removed, amends.kept, _words_of(one.version.made))
        ]
        path = await self.store.path(self.key, branch.name, 0, branch.messages - 1) if suspects else []
        said = [f"{item.entry.message.speaker}: {render_message(item.entry.message)}" for item in path]
        for one in suspects:  # what another message said before has not gone
            if find_residue(removed, said[: one.span.last + 1], _words_of(one.version.made)):
                await self.store.set_status(self.key, one.version.id, Status.UNDONE, reason=RESIDUE)
                await self._drop_snapshots(one.span.first)

    async def _behind(self, branch: BranchInfo, since: int) -> list[LiveVersion]:
        """Return the recaps, chapters in both forms, episodes and notes on the path that reach behind a position."""
        found = await notes_on(self.store, self.key, branch, (Kind.EPISODE, Kind.NOTE))
        for kind in (Kind.RECAP, Kind.CHAPTER, Kind.SHORT):
            for first, last, ident in await self.store.cover(self.key, branch.name, kind):
                version = await self.store.version(self.key, ident) if last >= since else None
                if version:
                    found.append(LiveVersion(version, Span(first, last)))
        return [one for one in found if one.span.last >= since]

    async def _reply(self, step: Step, loose: Mapping[Kind, Version]) -> MemoryReply:
        asked, last = step.asked, step.run[-1]
        if isinstance(asked, Written):
            status = Status.COMMITTED if asked.firm else Status.PROVISIONAL
            return MemoryReply(
                asked.text, asked.carry, Cost(), made_by=asked.made_by, checked=True, status=status, model=asked.model,
                prompt_hash=asked.prompt_hash, unverified=asked.unverified,
            )  # fmt: skip
        source = AnswerSource(self.key, last.node, last.hash)
        anew = self._fresh or await was_taken_back(self.store, self.key, step.kind, step.scope, step.key)
        question: Fold = replace(cast("Any", asked), again=True) if loose else asked
        reply = await _checked(await self.folder.write(question, source=source, anew=anew), question)
        stands_in = reply.made_by != self.folder.made_by and reply.reason and reply.status is Status.COMMITTED
        return _with_kept(reply, step.kind, _good(loose)) if _good(loose) and stands_in else reply

    async def _loose(self, step: Step) -> dict[Kind, Version]:
        """Return what stands where the step's texts are to be made, by kind, and waits to be made anew."""
        if isinstance(step.asked, Written) or _amends(step):
            return {}
        branch = await self.store.branch(self.key)
        found: list[Version] = []
        if step.scope.startswith(SPAN_SCOPE):
            for kind in (step.kind, *step.beside):
                notes = await self.store.notes(self.key, kind, step.scope, [step.first])
                found += [one for one in notes if one.made.key == step.key][-1:]
        else:
            live = await self.store.live(self.key, branch.name, step.kind, step.scope, through=step.span.last)
            found += [live.version] if live and live.span.last == step.span.last else []
        return {one.made.kind: one for one in found if not one.firm}

    def report(self, stopped: str) -> FoldReport:
        """What was done until now."""
        return FoldReport(tuple(self.done), stopped, tuple(self.closed))


async def fold(
    store: FoldStore,
    key: StoryKey,
    folder: MemoryWriter,
    rules: FoldRules,
    *,
    pressed: Pressed,
    once: bool = False,
    progress: Progress | None = None,
    fresh: bool = False,
) -> FoldReport:
    """Fold all that is due on the active branch, oldest first. `fresh` takes no answer that was kept."""
    holder = uuid4().hex
    loop = _Loop(store, key, folder, rules, fresh=fresh)
    try:
        while True:
            if not await taken(store, key, holder):
                return loop.report(OTHERS)
            found = await loop.next(pressed)
            if isinstance(found, NotDue):
                return loop.report(found.reason)
            if isinstance(found, Boundary):
                await loop.close(found)
                continue
            steps = found.steps if isinstance(found, Together) else (found,)
            if progress:
                end = (await store.branch(key)).messages
                first = steps[0].span.first
                progress(first, max(end - rules.recap.tail_messages, first))
            async with renewed(store, key, holder):
                await loop.perform_together(steps)
            if once:
                return loop.report("asked to fold once")
    finally:
        await store.give_lease(key, LEASE, holder)


async def make(
    store: FoldStore,
    key: StoryKey,
    folder: MemoryWriter,
    rules: FoldRules,
    steps: Sequence[Step],
    *,
    fresh: bool = False,
) -> FoldReport:
    """Make these folds, one after the other, due or not. `fresh` takes no answer that was kept."""
    holder = uuid4().hex
    loop = _Loop(store, key, folder, rules, fresh=fresh)
    try:
        for step in steps:
            if not await taken(store, key, holder):
                return loop.report(OTHERS)
            async with renewed(store, key, holder):
                await loop.perform(step)
        return loop.report(failed_of(loop.done) or "all that was asked for is made")
    finally:
        await store.give_lease(key, LEASE, holder)


async def plan_folds(
    store: FoldStore, key: StoryKey, folder: MemoryWriter, rules: FoldRules, *, pressed: Pressed, anew: bool = False
) -> FoldReport:
    """The folds that `fold` would make now, with what each would read; with `anew`, if nothing were folded yet."""
    rehearsal = RehearsalStore(store, anew=anew)

    async def pressed_from_the_start() -> bool:
        return not rehearsal.written and await pressed()  # a view of what is only rehearsed cannot be had

    without_review = replace(rules, review=False)
    report = await fold(rehearsal, key, RehearsalWriter(folder), without_review, pressed=pressed_from_the_start)
    return replace(report, folds=tuple(replace(done, status=PLANNED) for done in report.folds))


async def _checked(reply: MemoryReply, asked: Fold) -> MemoryReply:
    """A reply that may be kept: if a folder gives one that may not, the built-in folder's stands in for it."""
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
        written,
        status=Status.PROVISIONAL,
        reason=verdict.reason,
        attempts=(*reply.attempts, attempt),
        cost=Cost(),
    )


def _good(loose: Mapping[Kind, Version]) -> dict[Kind, Version]:
    """Return those that are to be made anew though they were good: committed once, and firm no more."""
    return {kind: one for kind, one in loose.items() if one.made.status is Status.COMMITTED}


def _with_kept(reply: MemoryReply, kind: Kind, loose: Mapping[Kind, Version]) -> MemoryReply:
    """Return a reply with the texts that were there, where a model was asked for them anew and had nothing to say that
    could be kept. They are good once more: else they would be asked for for ever."""
    made = loose[kind].made if kind in loose else None
    texts = tuple((one, loose[one].made.text if one in loose else text) for one, text in reply.beside)
    kept = replace(reply, beside=texts, reason=f"{KEPT}: {reply.reason}")
    return replace(
        kept, text=made.text, carry=made.carry, made_by=made.made_by, model=made.model, prompt_hash=made.prompt_hash,
        shed=made.shed, unverified=made.unverified,
    ) if made else kept  # fmt: skip


def _amends(step: Step) -> bool:
    return not isinstance(step.asked, Written) and step.asked.amends is not None


def _words_of(made: NewVersion) -> str:
    return render_note_words(parse_note(made.text)) if made.kind is Kind.NOTE else made.text


def _warnings(reply: MemoryReply) -> tuple[str, ...]:
    """Return the first lines that were dropped of an answer, and how many there are beside them."""
    more = len(reply.warnings) - MOST_WARNINGS
    return (*reply.warnings[:MOST_WARNINGS], *([f"and {more} more lines dropped"] if more > 0 else []))


def _identity(step: Step) -> tuple[object, ...]:
    return step.kind, step.scope, step.key, step.before.id if step.before else None


def _refused(version: NewVersion, attempt: Attempt) -> NewVersion:
    return replace(
        version,
        text=attempt.text,
        carry="",
        status=Status.REFUSED,
        made_by="model",
        reason=attempt.reason,
        model=attempt.model,
        prompt_hash=attempt.prompt_hash,
        cost=attempt.cost,
        shed=(),
        unverified=(),
    )
