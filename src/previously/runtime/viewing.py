"""Making views: reading what a view is made of, going on with the epoch before it, and keeping how it was made.

What must stay true: all that a view is made of is of one moment. Keeping its recipe may fail; the view goes out anyway.
What was recalled for a turn stays for the whole turn, as long as it may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from previously.core.path import OPENING_MESSAGES, OnPath, find_opening, find_position, find_spans
from previously.core.snapshot import KeptRecipe
from previously.core.tokens import Counter, message_tokens
from previously.folds.recap import FoldRules
from previously.runtime.earlier import Earlier
from previously.runtime.knowing import Knowing, is_told_all
from previously.runtime.lore_in_views import LoreTurn, render_entry_line, scan_turn
from previously.runtime.reading import MOST_READ, read_newest, with_tail
from previously.runtime.recalling import recall_ceiling, recalled_for, retold
from previously.runtime.remembering import memories_of
from previously.runtime.requests import newest_user, requests_before
from previously.runtime.times import time_at
from previously.runtime.view_recipes import Before, Made, before_of, is_again, newest_recipe, terms
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryKey
from previously.view.build import Material, ViewRequest, build_view, fills_room
from previously.view.epoch import Epoch
from previously.view.recipe import Recipe, count_unchanged_tokens, digest_messages, write_recipe
from previously.view.turn import MARKS_TOKENS, LoreShown, Recalled, add_turn_memory, render_block
from previously.view.view import Section, View


@dataclass(frozen=True, slots=True)
class _Stable:
    """A view before anything is recalled for its turn, and what it was made of."""

    branch: BranchInfo
    before: Before
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


async def view_of(store: Store, key: StoryKey, rules: FoldRules, asked: ViewRequest, knowing: Knowing) -> Made:
    """The view of the active branch. To be called at one moment."""
    stable = await _stable(store, key, rules, asked, knowing)
    if not stable.material.newest:
        return Made(stable.view)
    counted = replace(asked, counter=stable.counter)
    lore: Sequence[LoreShown]
    if stable.same_turn:
        recalled = [one for one in stable.held if one.span.first not in _shown(stable.view)]
        before = stable.before.recipe.lore if stable.before.recipe else ()
        lore = await _lore(store, key, rules, stable, counted, knowing, before)
    else:
        lore = await _lore(store, key, rules, stable, counted, knowing)
        recalled = await _recalled(store, key, stable.branch, stable.view, counted, stable.material, lore)
    turn = stable.turn
    view = add_turn_memory(stable.view, recalled, turn, stable.counter, lore)
    return await _with_recipe(store, key, asked, stable, view, recalled, lore)


async def is_pressed(store: Store, key: StoryKey, rules: FoldRules, asked: ViewRequest, knowing: Knowing) -> bool:
    """Whether that view has no room for a message outside the tail, or soon will not; nothing is recalled for it."""
    return (await _stable(store, key, rules, asked, knowing)).view.fold_due


async def view_before(
    store: Store, key: StoryKey, rules: FoldRules, asked: ViewRequest, position: int, knowing: Knowing
) -> Made:
    """The view as it would have been before a message."""
    now = (await store.branch(key)).messages
    length = now if position == now else find_position(now, position)
    earlier = Earlier(store, length)
    branch = await earlier.branch(key)
    material = await _material(earlier, key, branch, rules, asked, Before(), knowing)
    view, epoch = build_view(material, asked)
    turn = _turn(material)
    if turn:
        stable = _Stable(branch, Before(), material, (), view, epoch, asked.counter)
        lore = await _lore(store, key, rules, stable, asked, knowing, reading=earlier)
        recalled = await _recalled(store, key, branch, view, asked, material, lore)
        view = add_turn_memory(view, recalled, turn, asked.counter, lore)
    return Made(replace(view, epoch="", fold_due=False))


async def _stable(store: Store, key: StoryKey, rules: FoldRules, asked: ViewRequest, knowing: Knowing) -> _Stable:
    """The view but for recall. While an epoch goes on, there must be room for what was recalled earlier in this turn;
    when a new one begins, messages come first, and another way of counting may."""
    branch = await store.branch(key)
    before = await before_of(store, key, branch, asked)
    material = await _material(store, key, branch, rules, asked, before, knowing)
    held: Sequence[Recalled] = ()
    if before.recipe and asked.recall_tokens and _same_turn(before, _turn(material)):
        held = await retold(store, key, branch.name, before.recipe.recalled, asked.reader, dated=asked.dated)
    counter = before.counter or asked.counter
    lore = before.recipe.lore if before.recipe and _same_turn(before, _turn(material)) else ()
    held_tokens = counter.tokens(render_block(held, lore)) if held or lore else 0
    counted = replace(asked, counter=counter, held_tokens=held_tokens)
    view, epoch = build_view(material, counted, before.epoch, before.ended)
    if view.epoch and counter.name != asked.counter.name:
        counter = asked.counter
        view, epoch = build_view(material, asked, None, view.epoch)
    return _Stable(branch, before, material, held, view, epoch, counter)


async def _with_recipe(
    store: Store,
    key: StoryKey,
    asked: ViewRequest,
    stable: _Stable,
    view: View,
    recalled: Sequence[Recalled],
    lore: Sequence[LoreShown],
) -> Made:
    """The view with its recipe, and with what both say of the view before. A view that was given before at this very
    place gets the same answer."""
    before, material, epoch = stable.before, stable.material, stable.epoch
    recipe = _recipe(view, epoch, asked, material, recalled, lore)
    newest = material.newest[-1]
    last = await newest_recipe(store, key, str(asked.reader), newest)
    known = last
    if not is_again(last, recipe):
        known = before.recipe if before.position == newest.position and is_again(before.recipe, recipe) else None
    if known:
        recipe = replace(recipe, began=known.began, unchanged_tokens=known.unchanged_tokens)
    elif before.recipe:
        opening = [item.entry.message.text for item in material.opening if asked.reader.witnessed(item)]
        same = count_unchanged_tokens(view, recipe, before.recipe, opening, stable.counter)
        recipe = replace(recipe, unchanged_tokens=same)
    view = replace(view, epoch=recipe.began, unchanged_tokens=recipe.unchanged_tokens)
    if known is not None and known is last:
        return Made(view)  # its recipe is the newest there is
    front = await store.path(key, stable.branch.name, epoch.first - 1, epoch.first - 1) if epoch.first else []
    body, text = write_recipe(recipe)
    node = front[0].node if front else NO_NODE
    kept = KeptRecipe(str(asked.reader), terms(asked), newest.node, newest.position, node, text, body, time_at())
    return Made(view, kept, newest.hash)


async def _material(
    store: Store | Earlier,
    key: StoryKey,
    branch: BranchInfo,
    rules: FoldRules,
    asked: ViewRequest,
    before: Before,
    knowing: Knowing,
) -> Material:
    """What the view can be made of; from where the epoch before begins on all messages, and more if memory tells of
    less."""
    first = before.epoch.first if before.epoch else None
    reader, counter = asked.reader, asked.counter
    rules = await with_tail(store, key, branch, rules)
    tail = rules.recap.tail_messages
    wanted = Section.EPISODES in reader.sections - asked.without and fills_room(asked)
    memories = await memories_of(store, key, branch, rules, asked.budget_tokens, episodes=wanted)
    memories += await knowing.lists(store, key, branch, rules, reader)
    all_witnessed = reader.presence is None or await is_told_all(store, key, reader.name, reader.presence)
    remembered = max((one.span.last for one in memories if one.span and one.section in reader.sections), default=-1)
    if not all_witnessed:
        remembered = -1
    front = await store.path(key, branch.name, 0, OPENING_MESSAGES - 1)
    unfolded = max(0, min(remembered + 1, branch.messages - tail))

    def cost(item: OnPath) -> int:
        shown = reader.witnessed(item) and not item.entry.attributes.hidden
        return message_tokens(item.entry.message, counter) if shown else 0

    begin = unfolded if first is None else min(first, unfolded)
    if fills_room(asked):  # older messages may fill what is left of the budget; hidden ones would be read for nothing
        begin = max(0, min(begin, branch.messages - MOST_READ))
    most = MOST_READ if reader.name else branch.messages
    newest = await read_newest(store, key, branch, begin, asked.budget_tokens, cost, most)
    requests = await requests_before(store, key, branch, newest, before) if asked.for_agent else ()
    has_lore = False
    if asked.lore_tokens:
        known = await knowing.known(store, key, branch, rules, reader.name, reader.presence)
        has_lore = bool((await knowing.lorebook(store, key, known, reader.name)).index.entries)
    return Material(branch.messages, find_opening(front), memories, newest, tail, all_witnessed, has_lore, requests)


async def _lore(
    store: Store,
    key: StoryKey,
    rules: FoldRules,
    stable: _Stable,
    asked: ViewRequest,
    knowing: Knowing,
    before: Sequence[LoreShown] | None = None,
    reading: Earlier | None = None,
) -> Sequence[LoreShown]:
    """What a turn brings up; nothing if the reader is not shown what the user said. What it brought up before stays,
    unless a person has changed it since. `reading` is the story as it was, where that is asked for."""
    shown, turn = _shown(stable.view), stable.turn
    if turn is None or turn.position not in shown or not asked.lore_tokens:
        return []
    reader = asked.reader
    known = await knowing.known(reading or store, key, stable.branch, rules, reader.name, reader.presence)
    lorebook = await knowing.lorebook(store, key, known, reader.name)
    if not lorebook.index.entries:
        return []
    free = stable.view.budget_tokens - stable.view.tokens
    # What is free is shared: with all of it for lore, which comes first, nothing was recalled in views of 4,000 tokens.
    room = min(asked.lore_tokens, free // 2 if asked.recall_tokens else free) - MARKS_TOKENS
    room += sum(asked.counter.tokens(render_entry_line(one)) for one in lorebook.constants)  # which are told elsewhere
    seen = [item for item in stable.material.newest if item.position in shown and item.position <= turn.position]
    given = LoreTurn(seen, turn.node, turn.position + 1, asked.lore_depth, max(0, room))
    found = await scan_turn(store, key, stable.branch.name, lorebook, given, asked.counter, str(reader))
    fired = [one.entry for one in found.fired if not one.entry.constant]
    if before is not None and reader.name:  # what they knew at the turn's beginning they may not know any more
        entries = lorebook.index.entries
        before = before if all(one.uid in entries and entries[one.uid].content == one.text for one in before) else None
    if before is not None and not lorebook.is_overtaken({one.uid: one.text for one in before}, fired, known.by_people):
        return before
    reasons = {one.entry.uid: one.reason for one in found.fired}
    return [LoreShown(one.uid, one.name, one.content, reasons[one.uid]) for one in fired]


async def _recalled(
    store: Store,
    key: StoryKey,
    branch: BranchInfo,
    view: View,
    asked: ViewRequest,
    material: Material,
    lore: Sequence[LoreShown],
) -> list[Recalled]:
    """What is found again for this turn; nothing if the reader is not shown what the user said."""
    shown, turn = _shown(view), _turn(material)
    if turn is None or turn.position not in shown or not asked.recall_tokens or len(shown) == material.path_length:
        return []
    marks, taken = (asked.counter.tokens(render_block((), beside)) for beside in ((), lore))
    most = asked.recall_tokens if asked.for_agent else recall_ceiling(asked.recall_tokens)
    room = min(most - marks, view.budget_tokens - view.tokens - taken)
    seen = [item for item in material.newest if item.position in shown]
    return await recalled_for(
        store, key, branch.name, seen, turn, asked.reader, room, asked.counter, material.path_length, dated=asked.dated
    )


def _turn(material: Material) -> OnPath | None:
    """The newest user message, as far as it was read."""
    return newest_user([*material.requests, *material.newest])


def _same_turn(before: Before, turn: OnPath | None) -> bool:
    return before.recipe is not None and turn is not None and before.recipe.turn_position == turn.position


def _shown(view: View) -> set[int]:
    return set(view.tail_positions)


def _recipe(
    view: View,
    epoch: Epoch,
    asked: ViewRequest,
    material: Material,
    recalled: Sequence[Recalled],
    lore: Sequence[LoreShown],
) -> Recipe:
    turn = _turn(material)
    told = {item.reason for item in view.items if item.section is Section.LORE}
    put_in = {item.sources[0] for item in view.items if item.section is Section.RECALL}
    return Recipe(
        epoch,
        turn.position if turn else -1,
        tuple(find_spans(sorted(_shown(view)))),
        tuple(one for one in recalled if one.span in put_in),
        asked.budget_tokens,
        digest_messages(view.messages),
        asked.furniture,
        began=view.epoch,
        tail_messages=material.tail_messages,
        dated=asked.dated,
        lore=tuple(one for one in lore if one.item_reason in told),
    )
