"""How views were made before: the epoch a new one goes on with, and keeping how it was made itself.

What must stay true: keeping a recipe may fail; the view goes out anyway. An epoch is gone on with only where the path
is still the one it was of.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from previously.core.calibration import find_estimate
from previously.core.errors import StoreProblem
from previously.core.path import OnPath
from previously.core.snapshot import KeptRecipe
from previously.core.tokens import Counter
from previously.storage.store import BranchInfo, Store, StoryKey
from previously.view.build import ViewRequest
from previously.view.epoch import COUNTED_ANEW, FIRST_VIEW, PATH_CHANGED, Epoch
from previously.view.recipe import Recipe, parse_recipe
from previously.view.view import View

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
class Before:
    """What the view before can give."""

    epoch: Epoch | None = None
    recipe: Recipe | None = None
    """The one that was of this very path; None if there is none."""
    position: int = -1
    """Where its newest message stands."""
    counter: Counter | None = None
    """What has counted in its epoch."""
    ended: str = FIRST_VIEW


async def keep(store: Store, key: StoryKey, made: Made) -> None:
    """Keep how a view was made, if the store can."""
    if made.recipe is None:
        return
    try:
        await store.keep_recipe(key, made.recipe, made.seen)
    except StoreProblem:
        return  # the view is worth more than knowing how it was made


def terms(asked: ViewRequest) -> str:
    """What views of one epoch have in common besides their reader."""
    without = "".join(f" -{section}" for section in sorted(asked.without))
    presence = asked.reader.presence
    said = presence.corrections if presence else ()  # with other presence the same front may not be shown any more
    by_hand = f", presence {sha256(repr(said).encode()).hexdigest()[:8]}" if said else ""
    return f"{asked.budget_tokens} tokens, tail to {asked.tail_percent} %{without}{by_hand}"


async def stands(store: Store, key: StoryKey, branch: BranchInfo, node: int, position: int) -> bool:
    """Whether a node is that of the path at a position: then all before it is as it was."""
    found = await store.path(key, branch.name, position, position)
    return bool(found) and found[0].node == node


def is_again(known: Recipe | None, recipe: Recipe) -> bool:
    """Whether a recipe is of the same view."""
    return known is not None and (known.digests, known.budget_tokens) == (recipe.digests, recipe.budget_tokens)


async def before_of(store: Store, key: StoryKey, branch: BranchInfo, asked: ViewRequest) -> Before:
    """The newest view of the same terms that was of this path; else an epoch whose front is still that of this path."""
    if asked.reader.turns:
        return Before()  # such a reader's view moves on with every turn
    found = await store.recipes(key, str(asked.reader), terms(asked), RECENT, last=branch.messages - 1)
    for kept in found:
        if not await stands(store, key, branch, kept.node, kept.position):
            continue
        if recipe := parse_recipe(kept.body, kept.epoch):
            counter = _counter(recipe.epoch, asked)
            return Before(recipe.epoch if counter else None, recipe, kept.position, counter, COUNTED_ANEW)
    for kept in found:
        recipe = parse_recipe(kept.body, kept.epoch)
        counter = _counter(recipe.epoch, asked) if recipe else None
        if not recipe or not counter:
            continue
        first = recipe.epoch.first
        if first == 0 or await stands(store, key, branch, kept.before_tail, first - 1):
            return Before(recipe.epoch, counter=counter)
    return Before(ended=PATH_CHANGED if found else FIRST_VIEW)


async def newest_recipe(store: Store, key: StoryKey, reader: str, newest: OnPath) -> Recipe | None:
    """The recipe of the last view that this reader was given of the path that ends here."""
    found = await store.recipes(key, reader, None, RECENT, first=newest.position, last=newest.position)
    kept = next((one for one in found if one.node == newest.node), None)
    return parse_recipe(kept.body, kept.epoch) if kept else None


def _counter(epoch: Epoch, asked: ViewRequest) -> Counter | None:
    """What counts on in an epoch: an estimate is calibrated only when a new one begins; None if that cannot be."""
    if epoch.counter == asked.counter.name:
        return asked.counter
    return None if asked.counter.exact else find_estimate(epoch.counter)
