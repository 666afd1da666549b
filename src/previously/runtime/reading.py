"""Reading a story that others may be changing at the same time.

What belongs together is read at one moment of the store. What is decided on it and then written names the head it was
read at: if that has moved meanwhile, everything is read again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from previously.core.errors import HeadMoved
from previously.core.paths import OPENING_MESSAGES, OnPath, opening_of
from previously.core.spans import position_on, turn_starts
from previously.core.tokens import message_tokens
from previously.folds.recap import FoldRules
from previously.runtime.earlier import Earlier
from previously.runtime.fold_store import MemoryStore, PathStore
from previously.runtime.remembering import memories_of
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.view.build import Material

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


async def read_material(
    store: Store, key: StoryKey, rules: FoldRules, budget_tokens: int, before: int | None = None
) -> Material:
    """What a view of that budget can be made of, or could before the message at that position. To be read at one
    moment."""
    if before is not None:
        now = (await store.branch(key)).messages
        length = now if before == now else position_on(now, before)
        return await _material(Earlier(store, length), key, rules, budget_tokens)
    return await _material(store, key, rules, budget_tokens)


async def _material(store: MemoryStore, key: StoryKey, rules: FoldRules, budget_tokens: int) -> Material:
    branch = await store.branch(key)
    rules = await with_tail(store, key, branch, rules)
    tail = rules.recap.tail_messages
    memories = await memories_of(store, key, branch, rules, budget_tokens)
    remembered = max((memory.span.last for memory in memories if memory.span), default=-1)
    front = await store.path(key, branch.name, 0, OPENING_MESSAGES - 1)
    first = max(0, min(remembered + 1, branch.messages - tail))
    newest = await _newest(store, key, branch, first, budget_tokens)
    return Material(branch.messages, opening_of(front), memories, newest, tail)


MOST_TAIL = 256
"""A tail that is counted in turns is never longer than this many messages, nor longer than its ceiling in tokens."""


async def with_tail(store: PathStore, key: StoryKey, branch: BranchInfo, rules: FoldRules) -> FoldRules:
    """The rules, with a tail of turns counted in messages of this branch."""
    if not rules.tail_turns:
        return rules
    first = max(0, branch.messages - MOST_TAIL)
    newest = await store.path(key, branch.name, first, branch.messages - 1)
    begun = turn_starts([item.entry.message.role for item in newest])
    messages = len(newest) - begun[-rules.tail_turns] if len(begun) >= rules.tail_turns else len(newest)
    room = rules.tail_tokens
    for count, item in enumerate(reversed(newest[len(newest) - messages :])):
        room -= message_tokens(item.entry.message)
        if room < 0:
            messages = max(1, count)
            break
    return replace(rules, recap=replace(rules.recap, tail_messages=messages))


async def _newest(store: PathStore, key: StoryKey, branch: BranchInfo, first: int, budget_tokens: int) -> list[OnPath]:
    """The newest messages from `first` on, as far back as the budget can reach."""
    newest: list[OnPath] = []
    tokens, end = 0, branch.messages
    while end > first and tokens <= budget_tokens:
        batch = await store.path(key, branch.name, max(first, end - READ_AHEAD), end - 1)
        shown = (item.entry.message for item in batch if not item.entry.attributes.hidden)
        tokens += sum(message_tokens(message) for message in shown)
        newest[:0] = batch
        end = batch[0].position
    return newest
