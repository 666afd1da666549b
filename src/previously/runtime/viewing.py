"""Making views: reading what a view is made of, going on with the epoch before it, and keeping how it was made.

What must stay true: all that a view is made of is of one moment. Keeping its recipe may fail; the view goes out anyway.
What was recalled for a turn stays for the whole turn, as long as it may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.calibration import counter_named
from previously.core.errors import StoreProblem
from previously.core.messages import Role
from previously.core.paths import OPENING_MESSAGES, OnPath, opening_of
from previously.core.spans import position_on, spans_of
from previously.core.tokens import Counter, message_tokens
from previously.folds.recap import FoldRules
from previously.runtime.earlier import Earlier
from previously.runtime.reading import MOST_READ, read_newest, with_tail
from previously.runtime.recalling import recalled_for, retold
from previously.runtime.remembering import memories_of
from previously.runtime.times import time_at
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryKey
from previously.storage.view_store import KeptRecipe
from previously.view.build import Asked, Material, build
from previously.view.epochs import COUNTED_ANEW, FIRST_VIEW, PATH_CHANGED, Epoch
from previously.view.recipes import Recipe, digests_of, from_text, to_text, unchanged_tokens
from previously.view.view import Section, View
from previously.view.volatile import MARKS_TOKENS, Recalled, block, with_recall

RECENT = 8
"""How many recipes are looked at for one to go on from: those of other branches may lie between."""


@dataclass(frozen=True, slots=True)
class Made:
    """A view, and how it was made."""

    view: View
    recipe: KeptRecipe | None = None
    """None where nothing is to be kept: it was kept before, or the view is of an earlier moment."""
    seen: bytes = b""
    """The hash of the newest message when it was read."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What the view before can give."""

    epoch: Epoch | None = None
    recipe: Recipe | None = None
    """The one that was of this very path; None if there is none."""
    position: int = -1
    """Where its newest message stands."""
    counter: Counter | None = None
    """What has counted in its epoch."""
    ended: str = FIRST_VIEW


@dataclass(frozen=True, slots=True)
class _Stable:
    """A view before anything is recalled for its turn, and what it was made of."""

    branch: BranchInfo
    before: _Before
    material: Material
    held: Sequence[Recalled]
    """What was recalled earlier in the same turn."""
    view: View
    epoch: Epoch
    counter: Counter

    @property
    def turn(self) -> OnPath | None:
        """The newest user message."""
        return _turn(self.material)

    @property
    def same_turn(self) -> bool:
        """Whether the view before was of this turn too."""
        return _same_turn(self.before, self.turn)


async def view_of(store: Store, key: StoryKey, rules: FoldRules, asked: Asked) -> Made:
    """The view of the active branch. To be called at one moment."""
    stable = await _stable(store, key, rules, asked)
    if not stable.material.newest:
        return Made(stable.view)
    if stable.same_turn:
        recalled = [one for one in stable.held if one.span.first not in _shown(stable.view)]
    else:
        counted = replace(asked, counter=stable.counter)
        recalled = await _recalled(store, key, stable.branch, stable.view, counted, stable.material)
    turn = stable.turn
    view = with_recall(stable.view, recalled, turn.entry.message if turn else None, stable.counter)
    return await _with_recipe(store, key, asked, stable, view, recalled)


async def is_pressed(store: Store, key: StoryKey, rules: FoldRules, asked: Asked) -> bool:
    """Whether that view has no room for a message outside the tail, or soon will not; nothing is recalled for it."""
    return (await _stable(store, key, rules, asked)).view.fold_due


async def view_before(store: Store, key: StoryKey, rules: FoldRules, asked: Asked, position: int) -> Made:
    """The view as it would have been before a message."""
    now = (await store.branch(key)).messages
    length = now if position == now else position_on(now, position)
    earlier = Earlier(store, length)
    branch = await earlier.branch(key)
    material = await _material(earlier, key, branch, rules, asked, None)
    view, _ = build(material, asked)
    turn = _turn(material)
    if turn:
        recalled = await _recalled(store, key, branch, view, asked, material)
        view = with_recall(view, recalled, turn.entry.message, asked.counter)
    return Made(replace(view, epoch="", fold_due=False))


async def keep(store: Store, key: StoryKey, made: Made) -> None:
    """Keep how a view was made, if the store can."""
    if made.recipe is None:
        return
    try:
        await store.keep_recipe(key, made.recipe, made.seen)
    except StoreProblem:
        return  # the view is worth more than knowing how it was made


def terms(asked: Asked) -> str:
    """What views of one epoch have in common besides their reader."""
    without = "".join(f" -{section}" for section in sorted(asked.without))
    return f"{asked.budget_tokens} tokens, tail to {asked.tail_percent} %{without}"


async def stands(store: Store, key: StoryKey, branch: BranchInfo, node: int, position: int) -> bool:
    """Whether a node is that of the path at a position: then all before it is as it was."""
    found = await store.path(key, branch.name, position, position)
    return bool(found) and found[0].node == node


async def _stable(store: Store, key: StoryKey, rules: FoldRules, asked: Asked) -> _Stable:
    """The view but for recall. While an epoch goes on, there must be room for what was recalled earlier in this turn;
    when a new one begins, messages come first, and another way of counting may."""
    branch = await store.branch(key)
    before = await _before(store, key, branch, asked)
    material = await _material(store, key, branch, rules, asked, before.epoch.first if before.epoch else None)
    held: Sequence[Recalled] = ()
    if before.recipe and asked.recall_tokens and _same_turn(before, _turn(material)):
        held = await retold(store, key, branch.name, before.recipe.recalled, asked.reader)
    counter = before.counter or asked.counter
    held_tokens = counter.tokens(block(held)) if held else 0
    counted = replace(asked, counter=counter, held_tokens=held_tokens)
    view, epoch = build(material, counted, before.epoch, before.ended)
    if view.epoch and counter.name != asked.counter.name:
        counter = asked.counter
        view, epoch = build(material, asked, None, view.epoch)
    return _Stable(branch, before, material, held, view, epoch, counter)


async def _with_recipe(
    store: Store, key: StoryKey, asked: Asked, stable: _Stable, view: View, recalled: Sequence[Recalled]
) -> Made:
    """The view with its recipe, and with what both say of the view before. A view that was given before at this very
    place gets the same answer."""
    before, material, epoch = stable.before, stable.material, stable.epoch
    recipe = _recipe(view, epoch, asked, material, recalled)
    newest = material.newest[-1]
    last = await _newest_recipe(store, key, str(asked.reader), newest)
    known = last
    if not _is_again(last, recipe):
        known = before.recipe if before.position == newest.position and _is_again(before.recipe, recipe) else None
    if known:
        recipe = replace(recipe, began=known.began, unchanged_tokens=known.unchanged_tokens)
    elif before.recipe:
        opening = [item.entry.message.text for item in material.opening if asked.reader.witnessed(item.entry.message)]
        same = unchanged_tokens(view, recipe, before.recipe, opening, stable.counter)
        recipe = replace(recipe, unchanged_tokens=same)
    view = replace(view, epoch=recipe.began, unchanged_tokens=recipe.unchanged_tokens)
    if known is not None and known is last:
        return Made(view)  # its recipe is the newest there is
    front = await store.path(key, stable.branch.name, epoch.first - 1, epoch.first - 1) if epoch.first else []
    body, text = to_text(recipe)
    node = front[0].node if front else NO_NODE
    kept = KeptRecipe(str(asked.reader), terms(asked), newest.node, newest.position, node, text, body, time_at())
    return Made(view, kept, newest.hash)


def _is_again(known: Recipe | None, recipe: Recipe) -> bool:
    """Whether a recipe is of the same view."""
    return known is not None and (known.digests, known.budget_tokens) == (recipe.digests, recipe.budget_tokens)


async def _before(store: Store, key: StoryKey, branch: BranchInfo, asked: Asked) -> _Before:
    """The newest view of the same terms that was of this path; else an epoch whose front is still that of this path."""
    if asked.reader.turns:
        return _Before()  # such a reader's view moves on with every turn
    found = await store.recipes(key, str(asked.reader), terms(asked), RECENT, last=branch.messages - 1)
    for kept in found:
        if not await stands(store, key, branch, kept.node, kept.position):
            continue
        if recipe := from_text(kept.body, kept.epoch):
            counter = _counter(recipe.epoch, asked)
            return _Before(recipe.epoch if counter else None, recipe, kept.position, counter, COUNTED_ANEW)
    for kept in found:
        recipe = from_text(kept.body, kept.epoch)
        counter = _counter(recipe.epoch, asked) if recipe else None
        if not recipe or not counter:
            continue
        first = recipe.epoch.first
        if first == 0 or await stands(store, key, branch, kept.before_tail, first - 1):
            return _Before(recipe.epoch, counter=counter)
    return _Before(ended=PATH_CHANGED if found else FIRST_VIEW)


async def _newest_recipe(store: Store, key: StoryKey, reader: str, newest: OnPath) -> Recipe | None:
    """The recipe of the last view that this reader was given of the path that ends here."""
    found = await store.recipes(key, reader, None, RECENT, first=newest.position, last=newest.position)
    kept = next((one for one in found if one.node == newest.node), None)
    return from_text(kept.body, kept.epoch) if kept else None


def _counter(epoch: Epoch, asked: Asked) -> Counter | None:
    """What counts on in an epoch: an estimate is calibrated only when a new one begins; None if that cannot be."""
    if epoch.counter == asked.counter.name:
        return asked.counter
    return None if asked.counter.exact else counter_named(epoch.counter)


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
    most = MOST_READ if reader.name else branch.messages
    newest = await read_newest(store, key, branch, begin, asked.budget_tokens, cost, most)
    return Material(branch.messages, opening_of(front), memories, newest, tail, all_witnessed)


async def _recalled(
    store: Store, key: StoryKey, branch: BranchInfo, view: View, asked: Asked, material: Material
) -> list[Recalled]:
    """What is found again for this turn; nothing if the reader is not shown what the user said."""
    shown, turn = _shown(view), _turn(material)
    if turn is None or turn.position not in shown or not asked.recall_tokens or len(shown) == material.path_length:
        return []
    room = min(asked.recall_tokens, view.budget_tokens - view.tokens) - MARKS_TOKENS
    seen = [item for item in material.newest if item.position in shown]
    return await recalled_for(
        store, key, branch.name, seen, turn, asked.reader, room, asked.counter, material.path_length
    )


def _turn(material: Material) -> OnPath | None:
    """The newest user message, as far as it was read."""
    users = (item for item in reversed(material.newest) if item.entry.message.role is Role.USER)
    return next(users, None)


def _same_turn(before: _Before, turn: OnPath | None) -> bool:
    return before.recipe is not None and turn is not None and before.recipe.turn_position == turn.position


def _shown(view: View) -> set[int]:
    return {item.sources[0].first for item in view.items if item.section is Section.TAIL}


def _recipe(view: View, epoch: Epoch, asked: Asked, material: Material, recalled: Sequence[Recalled]) -> Recipe:
    turn = _turn(material)
    put_in = {item.sources[0] for item in view.items if item.section is Section.RECALL}
    return Recipe(
        epoch,
        turn.position if turn else -1,
        tuple(spans_of(sorted(_shown(view)))),
        tuple(one for one in recalled if one.span in put_in),
        asked.budget_tokens,
        digests_of(view.messages),
        asked.furniture,
        began=view.epoch,
        tail_messages=material.tail_messages,
    )
