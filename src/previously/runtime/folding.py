"""The one loop: plan → ask → check → commit.

It performs what the pure layers decide and decides nothing itself. A fold that fails or is refused leaves the memory
as it was; a crash can repeat a fold, never tear one, since a fold is one insert. A lease keeps two loops from paying
for the same fold; that the second is discarded anyhow is the store's promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from previously.core.digests import span_key
from previously.core.errors import HeadMoved
from previously.core.marks import STORY_SCOPE
from previously.core.paths import OnPath
from previously.core.spans import Span
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version
from previously.core.words import count_words
from previously.folds import recap
from previously.folds.checks import Refused
from previously.folds.recap import Due, NeedMore, NotDue, RecapRequest, RecapRules
from previously.folds.rendering import told
from previously.runtime.folder import Attempt, BuiltinFolder, Folder, FolderReply
from previously.runtime.reading import READ_AHEAD
from previously.storage.store import BranchInfo, Store, StoryKey

TRIES_WITHOUT_PROGRESS = 3
"""A fold that is true where it was made but not on the path any more is no progress."""

LEASE_S = 30.0
"""A loop that died holds up the others no longer than this; one that works renews its lease."""

Progress = Callable[[int, int], None]
"""Called with how many messages are folded and how many there are to fold."""

Pressed = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class FoldDone:
    """One fold: what became of it and what it took."""

    kind: Kind
    scope: str
    status: str
    made_by: str
    reason: str
    span: Span
    cost: Cost


@dataclass(frozen=True, slots=True)
class FoldReport:
    """What a call to fold did, and why it stopped."""

    folds: tuple[FoldDone, ...]
    stopped: str

    @property
    def calls(self) -> int:
        """How many model calls were made."""
        return sum(fold.cost.calls for fold in self.folds)


async def fold(
    store: Store,
    key: StoryKey,
    folder: Folder,
    rules: RecapRules,
    *,
    pressed: Pressed,
    once: bool = False,
    progress: Progress | None = None,
) -> FoldReport:
    """Fold all that is due on the active branch, oldest first."""
    holder = uuid4().hex
    done: list[FoldDone] = []
    furthest, tries = -1, 0
    redo = True  # until the model fails in this very call: what it just failed at is left for the next one
    try:
        while True:
            if not await store.take_lease(key, Kind.RECAP.value, holder, now=time_at(), until=time_at(LEASE_S)):
                return FoldReport(tuple(done), "another process is folding this story")
            branch = await store.branch(key)
            live = await store.live(key, branch.name, Kind.RECAP, STORY_SCOPE)
            base = await _base(store, key, branch, live, folder) if redo else live
            reached = base.span.last if base else -1
            if progress:
                progress(reached + 1, max(branch.messages - rules.tail_messages, reached + 1, 0))
            tries = 0 if reached > furthest else tries + 1
            furthest = max(furthest, reached)
            if tries >= TRIES_WITHOUT_PROGRESS:
                return FoldReport(tuple(done), "the story is being changed faster than it can be folded")
            again_through = live.span.last if live and live != base else -1
            try:
                due = await _due(store, key, branch, base, rules, pressed, again_through)
            except HeadMoved:
                continue
            if isinstance(due, NotDue):
                return FoldReport(tuple(done), due.reason)
            async with _renewed(store, key, holder):
                one = await _fold_one(store, key, branch, base, due, folder, rules)
            done.append(one)
            redo = redo and one.status != Status.PROVISIONAL.value
            if once:
                return FoldReport(tuple(done), "asked to fold once")
    finally:
        await store.give_lease(key, Kind.RECAP.value, holder)


@asynccontextmanager
async def _renewed(store: Store, key: StoryKey, holder: str) -> AsyncIterator[None]:
    """The lease is kept for as long as the block lasts."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            await store.take_lease(key, Kind.RECAP.value, holder, now=time_at(), until=time_at(LEASE_S))

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing


async def _base(
    store: Store, key: StoryKey, branch: BranchInfo, live: LiveVersion | None, folder: Folder
) -> LiveVersion | None:
    """The version to go on from: the newest, or if the folder can do better now than it could, the newest firm one."""
    if live is None or live.version.firm or not await folder.ready():
        return live
    return await store.live(key, branch.name, Kind.RECAP, STORY_SCOPE, firm=True)


async def plan_folds(store: Store, key: StoryKey, folder: Folder, rules: RecapRules, *, pressed: Pressed) -> FoldReport:
    """The folds that `fold` would make now, with what each would read; later ones assume a recap of target length."""
    branch = await store.branch(key)
    live = await store.live(key, branch.name, Kind.RECAP, STORY_SCOPE)
    base = await _base(store, key, branch, live, folder)
    again_through = live.span.last if live and live != base else -1
    words = count_words(base.version.made.text) if base else 0
    first = recap.first_waiting(base)
    planned: list[FoldDone] = []
    while True:
        due = await _plan(store, key, branch, words, first, rules, again_through=again_through)
        if isinstance(due, NotDue) and not planned and await pressed():
            due = await _plan(store, key, branch, words, first, rules, pressed=True)
        if isinstance(due, NotDue):
            return FoldReport(tuple(planned), due.reason)
        read = words + sum(count_words(told(item.entry.message)) for item in due.delta)
        written = rules.target_words or read
        cost = Cost(int(folder.made_by != "builtin"), read * 4 // 3, written * 4 // 3)
        planned.append(FoldDone(Kind.RECAP, STORY_SCOPE, "planned", folder.made_by, due.reason, due.span, cost))
        words, first = written, due.span.last + 1


async def _due(
    store: Store,
    key: StoryKey,
    branch: BranchInfo,
    base: LiveVersion | None,
    rules: RecapRules,
    pressed: Pressed,
    again_through: int,
) -> Due | NotDue:
    words = count_words(base.version.made.text) if base else 0
    first = recap.first_waiting(base)
    due = await _plan(store, key, branch, words, first, rules, again_through=again_through)
    if isinstance(due, NotDue) and await pressed():
        return await _plan(store, key, branch, words, first, rules, pressed=True)
    return due


async def _plan(
    store: Store,
    key: StoryKey,
    branch: BranchInfo,
    recap_words: int,
    first: int,
    rules: RecapRules,
    *,
    pressed: bool = False,
    again_through: int = -1,
) -> Due | NotDue:
    """Ask the recap whether it is due, reading on while it needs more."""
    waiting: list[OnPath] = []
    while True:
        decision = recap.plan(
            recap_words, first, branch.messages, waiting, rules, pressure=pressed, again_through=again_through
        )
        if not isinstance(decision, NeedMore):
            return decision
        ahead = max(READ_AHEAD, len(waiting))  # twice as much each time, so that counting anew stays cheap
        more = await store.path(key, branch.name, decision.position, decision.position + ahead - 1)
        if not more:
            raise HeadMoved(f"Branch {branch.name!r} became shorter while it was read.")
        waiting += more


async def _fold_one(
    store: Store,
    key: StoryKey,
    branch: BranchInfo,
    base: LiveVersion | None,
    due: Due,
    folder: Folder,
    rules: RecapRules,
) -> FoldDone:
    first = due.span.first
    bridge = await store.path(key, branch.name, first - 1, first - 1) if first else []
    asked = recap.request(base, bridge[0] if bridge else None, due, rules)
    reply = await _checked(await folder.recap(asked), asked)
    version = NewVersion(
        kind=Kind.RECAP,
        scope=STORY_SCOPE,
        span=due.span,
        key=span_key(item.entry.digest for item in due.delta),
        before=base.version.id if base else None,
        text=reply.text,
        carry=reply.carry,
        status=reply.status,
        made_by=reply.made_by,
        reason=f"{due.reason}; {reply.reason}" if reply.reason else due.reason,
        at=time_at(),
        model=reply.model,
        prompt_hash=reply.prompt_hash,
        cost=reply.cost,
        shed=reply.shed,
        unverified=reply.unverified,
    )
    for attempt in reply.attempts:
        await store.commit(key, _refused(version, attempt))
    kept = await store.commit(key, version)
    if kept.made.at != version.at and reply.cost.calls:  # another fold was first; what this one cost is still spent
        lost = Attempt("another fold of the same messages was first", "", reply.cost, reply.model, reply.prompt_hash)
        await store.commit(key, _refused(version, lost))
    return _done(replace(kept, made=replace(kept.made, reason=version.reason, cost=reply.cost)), reply.attempts)


async def _checked(reply: FolderReply, asked: RecapRequest) -> FolderReply:
    """A reply that may be kept: if a folder gives one that may not, the built-in folder's stands in for it."""
    if reply.checked:
        return reply
    verdict = recap.check(asked, reply.text, made_by=reply.made_by)
    if not isinstance(verdict, Refused):
        return reply
    attempt = Attempt(verdict.reason, reply.text, reply.cost, reply.model, reply.prompt_hash)
    written = await BuiltinFolder().recap(asked)
    return replace(
        written,
        status=Status.PROVISIONAL,
        reason=verdict.reason,
        attempts=(*reply.attempts, attempt),
        cost=Cost(),
    )


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


def _done(version: Version, attempts: tuple[Attempt, ...]) -> FoldDone:
    made = version.made
    cost = sum((attempt.cost for attempt in attempts), made.cost)
    return FoldDone(made.kind, made.scope, made.status.value, made.made_by, made.reason, made.span, cost)


def time_at(seconds_from_now: float = 0.0) -> str:
    """The time, as it is stored: UTC, so that it sorts."""
    return (datetime.now(UTC) + timedelta(seconds=seconds_from_now)).isoformat(timespec="milliseconds")
