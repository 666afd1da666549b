"""Reading a story that others may be changing at the same time.

What belongs together is read at one moment of the store. What is decided on it and then written names the head it was
read at: if that has moved meanwhile, everything is read again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from previously.core.errors import HeadMoved, StoreProblem
from previously.core.pairing import find_units
from previously.core.path import OnPath, find_turns
from previously.core.tokens import message_tokens
from previously.folds.recap import FoldRules
from previously.runtime.fold_store import PathStore
from previously.storage.store import BranchInfo, StoryKey

READ_AHEAD = 64
"""How many messages are read at a time where it is not known how many will be needed."""

TRIES = 50
"""How often something is tried when other writers get there first; each try reads the story again."""

Done = TypeVar("Done")


async def persistently(work: Callable[[], Awaitable[Done]]) -> Done:
    """Do it, again from the start when another writer got there first."""
    for _ in range(TRIES - 1):
        try:
            return await work()
        except HeadMoved:
            continue
    return await work()


async def read_run(store: PathStore, key: StoryKey, branch: BranchInfo, first: int, last: int) -> list[OnPath]:
    """Return a run of the path, whole; a store that has lost part of it is a `StoreProblem`."""
    found = await store.path(key, branch.name, first, last)
    if len(found) != last - first + 1:
        raise StoreProblem(f"Branch {branch.name!r} has lost part of its path: `previously verify` says more.")
    return found


MOST_TAIL = 256
"""A tail that is counted in turns is never longer than this many messages, nor longer than its ceiling in tokens."""


async def with_tail(store: PathStore, key: StoryKey, branch: BranchInfo, rules: FoldRules) -> FoldRules:
    """The rules, with a tail of turns counted in messages of this branch."""
    if not rules.tail_turns:
        return rules
    first = max(0, branch.messages - MOST_TAIL)
    newest = await store.path(key, branch.name, first, branch.messages - 1)
    begun = find_turns([item.entry.message.role for item in newest])
    messages = len(newest) - begun[-rules.tail_turns] if len(begun) >= rules.tail_turns else len(newest)
    room = rules.tail_tokens
    for count, item in enumerate(reversed(newest[len(newest) - messages :])):
        room -= message_tokens(item.entry.message)
        if room < 0:
            messages = max(1, count)
            break
    start = len(newest) - messages
    unit = next((unit for unit in find_units([item.entry.message for item in newest]) if start in unit), None)
    if unit:  # no call is parted from its result
        messages = len(newest) - unit.start
    return replace(rules, recap=replace(rules.recap, tail_messages=messages))


MOST_READ = 2_048
"""How far back messages are read for somebody who may have witnessed nothing for a long time."""


async def read_newest(
    store: PathStore,
    key: StoryKey,
    branch: BranchInfo,
    first: int,
    budget_tokens: int,
    cost: Callable[[OnPath], int],
    most: int,
) -> list[OnPath]:
    """The newest messages from `first` on, as far back as a budget can reach in which each costs so much, but no more
    than about `most`."""
    newest: list[OnPath] = []
    tokens, end = 0, branch.messages
    while end > first and tokens <= budget_tokens and len(newest) < most:
        batch = await store.path(key, branch.name, max(first, end - READ_AHEAD), end - 1)
        tokens += sum(map(cost, batch))
        newest[:0] = batch
        end = batch[0].position
    return newest
