"""What a model saw at an earlier turn: the view of a recipe, made once more.

What must stay true: it is made of what the recipe names, whatever was hidden, pinned, folded or counted otherwise
since; and if the bytes are not those of then, the view says so.
"""

from __future__ import annotations

from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.messages import Role
from previously.core.path import OPENING_MESSAGES, OnPath, Span, find_opening, find_position
from previously.core.snapshot import KeptRecipe
from previously.core.tokens import Counter
from previously.models.tokenizers import find_counter
from previously.runtime.recalling import retold
from previously.runtime.view_recipes import stands
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.view.build import Material, ViewRequest, rebuild_view
from previously.view.recipe import Recipe, digest_messages, parse_recipe
from previously.view.turn import add_turn_memory
from previously.view.view import View

MOST_TURN = 256
"""How many messages a turn may have for its user message to be found."""

MOST_RECIPES = 64
"""How many are looked at for one that is of this path."""

ANY_BUDGET = 10**9


async def view_again(store: Store, key: StoryKey, asked: ViewRequest, position: int) -> View:
    """The view that was made at a turn: before the answer at that position, or at the user's message there."""
    branch = await store.branch(key)
    at = find_position(branch.messages, position)
    turn = await _turn(store, key, branch, at)
    found = turn and await _newest(store, key, branch, asked, turn.first, turn.last)
    if not found:
        raise BadInput(
            f"No view for {asked.reader} is known that message {at} came from: none was asked for then, or the story "
            "has been changed before it since."
        )
    return found


async def last_view(store: Store, key: StoryKey, asked: ViewRequest) -> View | None:
    """The view that was made last of what is on the active branch now; None if none is known."""
    branch = await store.branch(key)
    return await _newest(store, key, branch, asked, -1, branch.messages - 1)


async def _newest(
    store: Store, key: StoryKey, branch: BranchInfo, asked: ViewRequest, first: int, last: int
) -> View | None:
    """The view that ended furthest on this path, within these positions."""
    for kept in await store.recipes(key, str(asked.reader), None, MOST_RECIPES, first=first, last=last):
        recipe = parse_recipe(kept.body, kept.epoch)
        if recipe and await stands(store, key, branch, kept.node, kept.position):
            return await _replayed(store, key, branch, asked, kept, recipe)
    return None


async def _turn(store: Store, key: StoryKey, branch: BranchInfo, position: int) -> Span | None:
    """Where a view may have ended from which the message at that position came: from its user message on."""
    for at in range(position, max(-1, position - MOST_TURN), -1):
        (item,) = await store.path(key, branch.name, at, at)
        if item.entry.message.role is Role.USER:
            return Span(at, max(at, position - 1))
    return Span(position - 1, position - 1) if position else None


async def _replayed(
    store: Store, key: StoryKey, branch: BranchInfo, asked: ViewRequest, kept: KeptRecipe, recipe: Recipe
) -> View:
    """The view of a recipe."""
    front = await store.path(key, branch.name, 0, min(OPENING_MESSAGES - 1, kept.position))
    tail = await store.path(key, branch.name, recipe.epoch.first, kept.position)
    shown = {position for span in recipe.shown for position in range(span.first, span.last + 1)}
    newest = [_as_shown(item, item.position in shown) for item in tail]
    held = recipe.epoch.held
    requests = await store.path(key, branch.name, held, held) if held is not None else []
    material = Material(
        kept.position + 1, find_opening(front), recipe.epoch.memories, newest, recipe.tail_messages, requests=requests
    )
    counter = _counter(recipe.epoch.counter, asked.counter)
    # Who counts otherwise may count more: what was shown is shown.
    asked = replace(asked, budget_tokens=ANY_BUDGET, furniture=recipe.furniture, counter=counter)
    view = rebuild_view(material, asked, recipe.epoch)
    assert view is not None, "there is room for anything"
    turn = next((item for item in (*requests, *newest) if item.position == recipe.turn_position), None)
    passages = await retold(store, key, branch.name, recipe.recalled, None, dated=recipe.dated)
    view = add_turn_memory(view, passages, turn, counter, recipe.lore)
    return replace(
        view,
        budget_tokens=recipe.budget_tokens,
        fold_due=False,
        epoch=recipe.began,
        unchanged_tokens=recipe.unchanged_tokens,
        as_shown=digest_messages(view.messages) == recipe.digests,
    )


def _counter(name: str, other: Counter) -> Counter:
    """The counter of that name, or another where it is not there any more."""
    if name == other.name:
        return other
    try:
        return find_counter(name)
    except BadInput:
        return other


def _as_shown(item: OnPath, shown: bool) -> OnPath:
    """The message, hidden or not as it was when the view was made."""
    attributes = replace(item.entry.attributes, hidden=not shown)
    return replace(item, entry=replace(item.entry, attributes=attributes))
