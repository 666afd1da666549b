"""The one loop: plan → ask → check → commit.

It performs what the pure layers decide and decides nothing itself. A fold that fails or is refused leaves the memory
as it was; a crash can repeat a fold, never tear one, since a fold is one insert.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from previously.core.digests import span_key
from previously.core.paths import OnPath
from previously.core.spans import Span
from previously.core.versions import Cost, Kind, LiveVersion, NewVersion, Status, Version
from previously.core.words import count_words
from previously.folds import recap
from previously.folds.recap import Due, NeedMore, NotDue, RecapRules
from previously.runtime.folder import Folder
from previously.storage.store import BranchInfo, Store, StoryKey

READ_AHEAD = 64

TRIES_WITHOUT_PROGRESS = 3
"""A fold that is true where it was made but not on the path any more is no progress."""

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
    now: Callable[[], str],
    once: bool = False,
    progress: Progress | None = None,
) -> FoldReport:
    """Fold all that is due on the active branch, oldest first."""
    done: list[FoldDone] = []
    furthest, tries = -1, 0
    while True:
        branch = await store.branch(key)
        live = await store.live(key, branch.name, Kind.RECAP, "")
        reached = live.span.last if live else -1
        if progress:
            progress(reached + 1, max(branch.messages - rules.tail_messages, 0))
        tries = 0 if reached > furthest else tries + 1
        furthest = max(furthest, reached)
        if tries >= TRIES_WITHOUT_PROGRESS:
            return FoldReport(tuple(done), "the story is being changed faster than it can be folded")
        due = await _due(store, key, branch, live, rules, pressed)
        if isinstance(due, NotDue):
            return FoldReport(tuple(done), due.reason)
        version = await _fold_one(store, key, branch, live, due, folder, rules, now())
        done.append(_done(version))
        if version.made.status is Status.REFUSED:
            return FoldReport(tuple(done), f"refused: {version.made.reason}")
        if once:
            return FoldReport(tuple(done), "asked to fold once")


async def plan_folds(store: Store, key: StoryKey, rules: RecapRules, *, pressed: Pressed) -> FoldReport:
    """The folds that `fold` would make now, with what each would read; later ones assume a recap of target length."""
    branch = await store.branch(key)
    live = await store.live(key, branch.name, Kind.RECAP, "")
    words = count_words(live.version.made.text) if live else 0
    first = recap.first_waiting(live)
    planned: list[FoldDone] = []
    while True:
        due = await _plan(store, key, branch, words, first, rules, pressed=False)
        if isinstance(due, NotDue) and not planned and await pressed():
            due = await _plan(store, key, branch, words, first, rules, pressed=True)
        if isinstance(due, NotDue):
            return FoldReport(tuple(planned), due.reason)
        asked = recap.request(live, None, due, rules)
        read = words - count_words(asked.previous) + recap.words_read(asked)
        cost = Cost(0, read * 4 // 3, rules.target_words * 4 // 3)
        planned.append(FoldDone(Kind.RECAP, "", "planned", "", due.reason, due.span, cost))
        words, first = rules.target_words or read, due.span.last + 1


async def _due(
    store: Store, key: StoryKey, branch: BranchInfo, live: LiveVersion | None, rules: RecapRules, pressed: Pressed
) -> Due | NotDue:
    words = count_words(live.version.made.text) if live else 0
    first = recap.first_waiting(live)
    due = await _plan(store, key, branch, words, first, rules, pressed=False)
    if isinstance(due, NotDue) and await pressed():
        return await _plan(store, key, branch, words, first, rules, pressed=True)
    return due


async def _plan(
    store: Store, key: StoryKey, branch: BranchInfo, recap_words: int, first: int, rules: RecapRules, *, pressed: bool
) -> Due | NotDue:
    """Ask the recap whether it is due, reading on while it needs more."""
    waiting: list[OnPath] = []
    while True:
        decision = recap.plan(recap_words, first, branch.messages, waiting, rules, pressure=pressed)
        if not isinstance(decision, NeedMore):
            return decision
        waiting += await store.path(key, branch.name, decision.position, decision.position + READ_AHEAD - 1)


async def _fold_one(
    store: Store,
    key: StoryKey,
    branch: BranchInfo,
    live: LiveVersion | None,
    due: Due,
    folder: Folder,
    rules: RecapRules,
    at: str,
) -> Version:
    first = due.span.first
    bridge = await store.path(key, branch.name, first - 1, first - 1) if first else []
    asked = recap.request(live, bridge[0] if bridge else None, due, rules)
    reply = await folder.recap(asked)
    refused = recap.check(asked, reply.text)
    return await store.commit(
        key,
        NewVersion(
            kind=Kind.RECAP,
            scope="",
            span=due.span,
            key=span_key(item.entry.digest for item in due.delta),
            before=live.version.id if live else None,
            text=reply.text,
            carry=reply.carry,
            status=Status.REFUSED if refused else Status.COMMITTED,
            made_by=folder.made_by,
            reason=refused.reason if refused else due.reason,
            at=at,
            cost=reply.cost,
        ),
    )


def _done(version: Version) -> FoldDone:
    made = version.made
    return FoldDone(made.kind, made.scope, made.status.value, made.made_by, made.reason, made.span, made.cost)
