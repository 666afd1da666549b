"""Making views: reading what a view is made of, going on with the epoch before it, and keeping how it was made.

What must stay true: all that a view is made of is of one moment. Keeping its recipe may fail; the view goes out anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.calibration import counter_named
from previously.core.errors import BadInput, StoreProblem
from previously.core.messages import Role, ToolCall, ToolResult
from previously.core.paths import OPENING_MESSAGES, OnPath, opening_of
from previously.core.spans import Span, position_on, spans_of
from previously.core.tokens import Counter, message_tokens
from previously.folds.recap import FoldRules
from previously.runtime.earlier import Earlier
from previously.runtime.reading import read_newest, with_tail
from previously.runtime.recalling import recalled_for, retold
from previously.runtime.remembering import memories_of
from previously.runtime.times import time_at
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryKey
from previously.storage.view_store import KeptRecipe
from previously.view.build import Asked, Material, build, shown_again
from previously.view.epochs import COUNTED_ANEW, FIRST_VIEW, PATH_CHANGED, Epoch
from previously.view.recipes import Recipe, digest_of, from_text, to_text, unchanged_tokens
from previously.view.view import Section, View
from previously.view.volatile import MARKS_TOKENS, Recalled, with_recall

RECENT = 8
"""How many recipes are looked at for one to go on from: those of other branches may lie between."""

MOST_TURN = 256
"""How many messages a turn may have for its user message to be found."""


@dataclass(frozen=True, slots=True)
class Made:
    """A view, and how it was made."""

    view: View
    recipe: KeptRecipe | None
    """None where nothing is to be kept: it was kept before, or the view is of an earlier moment."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What the view before can give."""

    epoch: Epoch | None = None
    recipe: Recipe | None = None
    """The one that was of this very path; None if there is none."""
    kept: KeptRecipe | None = None
    counter: Counter | None = None
    """What has counted in its epoch."""
    ended: str = FIRST_VIEW


async def view_of(store: Store, key: StoryKey, rules: FoldRules, asked: Asked) -> Made:
    """The view of the active branch. To be called at one moment."""
    branch = await store.branch(key)
    before = await _before(store, key, branch, asked)
    material = await _material(store, key, branch, rules, asked, before.epoch.first if before.epoch else None)
    counted = before.counter or asked.counter
    view, epoch = build(material, replace(asked, counter=counted), before.epoch, before.ended)
    if view.epoch and counted.name != asked.counter.name:
        counted = asked.counter  # another way of counting comes with a new epoch
        view, epoch = build(material, asked, None, view.epoch)
    if not material.newest:
        return Made(view, None)
    recalled = await _recalled(store, key, branch, view, replace(asked, counter=counted), material, before)
    view = with_recall(view, recalled, counted)
    front = await store.path(key, branch.name, epoch.first - 1, epoch.first - 1) if epoch.first else []
    return _with_recipe(view, epoch, asked, material, before, front[0].node if front else NO_NODE, recalled)


async def view_before(store: Store, key: StoryKey, rules: FoldRules, asked: Asked, position: int) -> Made:
    """The view as it would have been before a message."""
    now = (await store.branch(key)).messages
    length = now if position == now else position_on(now, position)
    earlier = Earlier(store, length)
    branch = await earlier.branch(key)
    view, _ = build(await _material(earlier, key, branch, rules, asked, None), asked)
    return Made(view, None)


async def view_again(store: Store, key: StoryKey, asked: Asked, position: int) -> View:
    """The view that was made at a turn: before the answer at that position, or at the user's message there."""
    branch = await store.branch(key)
    at = position_on(branch.messages, position)
    turn = await _turn(store, key, branch, at)
    for kept in await store.recipes(key, str(asked.reader), None, 64, first=turn.first, last=turn.last):
        recipe = from_text(kept.body, kept.epoch)
        if recipe and await _stands(store, key, branch, kept.node, kept.position):
            return await _replayed(store, key, branch, asked, kept, recipe)
    raise BadInput(f"No view for {asked.reader} was made at {turn}; views are kept from the first one asked for on.")


async def keep(store: Store, key: StoryKey, made: Made) -> None:
    """Keep how a view was made, if the store can."""
    if made.recipe is None:
        return
    try:
        await store.keep_recipe(key, made.recipe)
    except StoreProblem:
        return  # the view is worth more than knowing how it was made


async def _before(store: Store, key: StoryKey, branch: BranchInfo, asked: Asked) -> _Before:
    """The newest view of the same terms that was of this path; else an epoch whose front is still that of this path."""
    if asked.reader.turns:
        return _Before()  # such a reader's view moves on with every turn
    found = await store.recipes(key, str(asked.reader), terms(asked), RECENT, last=branch.messages - 1)
    for kept in found:
        stands = await _stands(store, key, branch, kept.node, kept.position)
        if stands and (recipe := from_text(kept.body, kept.epoch)):
            counter = _counter(recipe.epoch, asked)
            return _Before(recipe.epoch if counter else None, recipe, kept, counter, COUNTED_ANEW)
    for kept in found:
        recipe = from_text(kept.body, kept.epoch)
        counter = _counter(recipe.epoch, asked) if recipe else None
        if not recipe or not counter:
            continue
        first = recipe.epoch.first
        if first == 0 or await _stands(store, key, branch, kept.anchor, first - 1):
            return _Before(recipe.epoch, counter=counter)
    return _Before(ended=PATH_CHANGED if found else FIRST_VIEW)


async def _material(
    store: Store | Earlier, key: StoryKey, branch: BranchInfo, rules: FoldRules, asked: Asked, first: int | None
) -> Material:
    """What the view can be made of; from `first` on all messages, and more if memory tells of less."""
    reader, counter = asked.reader, asked.counter
    rules = await with_tail(store, key, branch, rules)
    tail = rules.recap.tail_messages
    memories = await memories_of(store, key, branch, rules, asked.budget_tokens)
    all_witnessed = not reader.name or await store.all_witnessed(key)
    remembered = max((one.span.last for one in memories if one.span and one.section in reader.sections), default=-1)
    if not all_witnessed:
        remembered = -1
    front = await store.path(key, branch.name, 0, OPENING_MESSAGES - 1)
    unfolded = max(0, min(remembered + 1, branch.messages - tail))

    def cost(item: OnPath) -> int:
        shown = reader.witnessed(item.entry.message) and not item.entry.attributes.hidden
        return message_tokens(item.entry.message, counter) if shown else 0

    begin = unfolded if first is None else min(first, unfolded)
    newest = await read_newest(store, key, branch, begin, asked.budget_tokens, cost)
    return Material(branch.messages, opening_of(front), memories, newest, tail, all_witnessed)


def _counter(epoch: Epoch, asked: Asked) -> Counter | None:
    """What counts on in an epoch: an estimate is calibrated only when a new one begins; None if that cannot be."""
    if epoch.counter == asked.counter.name:
        return asked.counter
    return None if asked.counter.exact else counter_named(epoch.counter)


def terms(asked: Asked) -> str:
    """What views of one epoch have in common besides their reader."""
    without = "".join(f" -{section}" for section in sorted(asked.without))
    return f"{asked.budget_tokens} tokens, tail to {asked.tail_percent} %{without}"


async def _recalled(
    store: Store, key: StoryKey, branch: BranchInfo, view: View, asked: Asked, material: Material, before: _Before
) -> Sequence[Recalled]:
    """What is found again for this turn; once it was, it stays for the whole turn."""
    shown = {item.sources[0].first for item in view.items if item.section is Section.TAIL}
    if not asked.recall_tokens or len(shown) == material.path_length:
        return ()
    if before.recipe and before.recipe.turn_position == _turn_position(material):
        return await retold(store, key, branch.name, before.recipe.recalled)
    room = min(asked.recall_tokens, view.budget_tokens - view.tokens) - MARKS_TOKENS
    return await recalled_for(store, key, branch.name, material.newest, shown, asked.reader, room, asked.counter)


def _turn_position(material: Material) -> int:
    """Where the newest user message stands; -1 if it was not read."""
    users = (item for item in reversed(material.newest) if item.entry.message.role is Role.USER)
    return next((item.position for item in users), -1)


def _with_recipe(
    view: View,
    epoch: Epoch,
    asked: Asked,
    material: Material,
    before: _Before,
    anchor: int,
    recalled: Sequence[Recalled],
) -> Made:
    """The view with what is known of the one before, and its recipe if it is not kept already."""
    newest = material.newest[-1]
    shown = [item.sources[0].first for item in view.items if item.section is Section.TAIL]
    recipe = Recipe(
        epoch,
        _turn_position(material),
        tuple(spans_of(shown)),
        tuple(recalled),
        asked.budget_tokens,
        digest_of(view.messages),
        asked.furniture,
        began=view.epoch,
    )
    if before.recipe:
        recipe = replace(recipe, unchanged_tokens=unchanged_tokens(view, recipe, before.recipe))
    view = replace(view, unchanged_tokens=recipe.unchanged_tokens)
    same_place = before.kept and (before.kept.node, before.kept.position) == (newest.node, newest.position)
    if same_place and before.recipe and before.recipe.digest == recipe.digest:
        again = before.recipe  # the very view that was given: it gets the same answer
        return Made(replace(view, epoch=again.began, unchanged_tokens=again.unchanged_tokens), None)
    body, epoch_text = to_text(recipe)
    kept = KeptRecipe(
        str(asked.reader), terms(asked), newest.node, newest.position, anchor, epoch_text, body, time_at()
    )
    return Made(view, kept)


async def _stands(store: Store, key: StoryKey, branch: BranchInfo, node: int, position: int) -> bool:
    """Whether a node is that of the path at a position: then all before it is as it was."""
    found = await store.path(key, branch.name, position, position)
    return bool(found) and found[0].node == node


async def _turn(store: Store, key: StoryKey, branch: BranchInfo, position: int) -> Span:
    """Where a view may have ended from which the message at that position came: from its user message on."""
    for at in range(position, max(-1, position - MOST_TURN), -1):
        (item,) = await store.path(key, branch.name, at, at)
        if item.entry.message.role is Role.USER:
            return Span(at, max(at, position - 1))
    return Span(max(0, position - 1), position)


async def _replayed(
    store: Store, key: StoryKey, branch: BranchInfo, asked: Asked, kept: KeptRecipe, recipe: Recipe
) -> View:
    """The view of a recipe, made once more."""
    front = await store.path(key, branch.name, 0, min(OPENING_MESSAGES - 1, kept.position))
    tail = await store.path(key, branch.name, recipe.epoch.first, kept.position)
    shown = {position for span in recipe.shown for position in range(span.first, span.last + 1)}
    newest = [_as_shown(item, item.position in shown) for item in tail]
    material = Material(kept.position + 1, opening_of(front), recipe.epoch.memories, newest, 0)
    asked = replace(asked, budget_tokens=recipe.budget_tokens, furniture=recipe.furniture)
    view = shown_again(material, asked, recipe.epoch)
    if view is None:
        raise BadInput(f"The view at message {kept.position} was counted another way ({recipe.epoch.counter}).")
    view = with_recall(view, await retold(store, key, branch.name, recipe.recalled), asked.counter)
    return replace(
        view,
        epoch=recipe.began,
        unchanged_tokens=recipe.unchanged_tokens,
        as_shown=digest_of(view.messages) == recipe.digest,
    )


def _as_shown(item: OnPath, shown: bool) -> OnPath:
    """The message, hidden or not as it was when the view was made."""
    if item.entry.attributes.hidden is not shown:
        return item
    if not shown and any(isinstance(part, ToolCall | ToolResult) for part in item.entry.message.parts):
        return item  # half of a pair is left out in any case
    attributes = replace(item.entry.attributes, hidden=not shown)
    return replace(item, entry=replace(item.entry, attributes=attributes))
