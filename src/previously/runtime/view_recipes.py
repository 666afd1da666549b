"""Recipes of earlier views: the epoch that a new one goes on with, and earlier views made once more.

An epoch is gone on with only where the path is still the one it was of. A view is made once more of what its recipe
names, whatever was hidden, pinned, folded or counted otherwise since; if the bytes are not those of then, it says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

from previously.core.calibration import find_estimate
from previously.core.errors import BadInput
from previously.core.messages import Role
from previously.core.path import OPENING_MESSAGES, OnPath, Span, find_opening, find_position
from previously.core.snapshot import KeptRecipe, Snapshot
from previously.core.tokens import Counter
from previously.models.tokenizers import find_counter
from previously.runtime.search import read_recalled
from previously.view.build import Material, ViewRequest, rebuild_view
from previously.view.epoch import COUNTED_ANEW, FIRST_VIEW, PATH_CHANGED, Epoch
from previously.view.recipe import Recipe, digest_messages, parse_recipe
from previously.view.turn import add_turn_memory
from previously.view.view import View

RECENT = 8
"""Recipes that are looked at for one to go on from: those of other branches may lie between."""

MOST_TURN = 256
"""Messages of a turn in which its user message is found: agents call that many tools."""

MOST_RECIPES = 64
"""Recipes that are looked at for one of this path: those of other branches and of swipes lie between."""

ANY_BUDGET = 10**9


@dataclass(frozen=True, slots=True)
class MadeView:
    """A view, and how it was made."""

    view: View
    recipe: KeptRecipe | None = None
    """None where nothing is to be kept: it was kept before, or the view is of an earlier moment."""
    seen: bytes = b""
    """The hash of the newest message when it was read."""
    budget_tokens: int | None = None
    """The budget to be noted, for folds to know how much room there is; None where it is noted."""


@dataclass(frozen=True, slots=True)
class EarlierView:
    """The view before, as far as a new one can go on with it."""

    epoch: Epoch | None = None
    recipe: Recipe | None = None
    """The one that was of this very path; None if there is none."""
    position: int = -1
    """The position of its newest message."""
    counter: Counter | None = None
    """The counter of its epoch."""
    ended: str = FIRST_VIEW


def render_terms(asked: ViewRequest) -> str:
    """Return what views of one epoch have in common besides their reader."""
    without = "".join(f" -{section}" for section in sorted(asked.without))
    presence = asked.reader.presence
    said = presence.corrections if presence else ()  # with other presence the same front may not be shown any more
    by_hand = f", presence {sha256(repr(said).encode()).hexdigest()[:8]}" if said else ""
    return f"{asked.budget_tokens} tokens, tail to {asked.tail_percent} %{without}{by_hand}"


def is_at(snapshot: Snapshot, node: int, position: int) -> bool:
    """Return whether a node is that of the path at a position: then all before it is as it was."""
    path = snapshot.path(position, position)
    return bool(path) and path[0].node == node


def is_same_view(known: Recipe | None, recipe: Recipe) -> bool:
    """Return whether a recipe is of the same view."""
    return known is not None and (known.digests, known.budget_tokens) == (recipe.digests, recipe.budget_tokens)


def find_earlier_view(snapshot: Snapshot, asked: ViewRequest) -> EarlierView:
    """Return the newest view of the same terms that was of this path; else an epoch whose front is still that of this
    path."""
    if asked.reader.turns:
        return EarlierView()  # such a reader's view moves on with every turn
    recipes = snapshot.recipes(str(asked.reader), render_terms(asked), RECENT, last=snapshot.messages - 1)
    for kept in recipes:
        if not is_at(snapshot, kept.node, kept.position):
            continue
        if recipe := parse_recipe(kept.body, kept.epoch):
            counter = _find_epoch_counter(recipe.epoch, asked)
            return EarlierView(recipe.epoch if counter else None, recipe, kept.position, counter, COUNTED_ANEW)
    for kept in recipes:
        recipe = parse_recipe(kept.body, kept.epoch)
        counter = _find_epoch_counter(recipe.epoch, asked) if recipe else None
        if not recipe or not counter:
            continue
        first = recipe.epoch.first
        if first == 0 or is_at(snapshot, kept.before_tail, first - 1):
            return EarlierView(recipe.epoch, counter=counter)
    return EarlierView(ended=PATH_CHANGED if recipes else FIRST_VIEW)


def find_newest_recipe(snapshot: Snapshot, reader: str, newest: OnPath) -> Recipe | None:
    """Return the recipe of the last view that this reader was given of the path that ends here."""
    recipes = snapshot.recipes(reader, None, RECENT, first=newest.position, last=newest.position)
    kept = next((kept for kept in recipes if kept.node == newest.node), None)
    return parse_recipe(kept.body, kept.epoch) if kept else None


def _find_epoch_counter(epoch: Epoch, asked: ViewRequest) -> Counter | None:
    """Return what counts on in an epoch; None if nothing can. An estimate is calibrated only when a new one begins."""
    if epoch.counter == asked.counter.name:
        return asked.counter
    return None if asked.counter.exact else find_estimate(epoch.counter)


def remake_view(snapshot: Snapshot, asked: ViewRequest, position: int) -> View:
    """Return the view that was made at a turn: before the answer at that position, or at the user's message there."""
    at = find_position(snapshot.messages, position)
    turn = _find_turn(snapshot, at)
    view = turn and _find_newest(snapshot, asked, turn.first, turn.last)
    if not view:
        raise BadInput(
            f"No view for {asked.reader} is known that message {at} came from: none was asked for then, or the story "
            "has been changed before it since."
        )
    return view


def remake_last_view(snapshot: Snapshot, asked: ViewRequest) -> View | None:
    """Return the view that was made last of what is on the active branch now; None if none is known."""
    return _find_newest(snapshot, asked, -1, snapshot.messages - 1)


def _find_newest(snapshot: Snapshot, asked: ViewRequest, first: int, last: int) -> View | None:
    """Return the view that ended furthest on this path, within these positions."""
    for kept in snapshot.recipes(str(asked.reader), None, MOST_RECIPES, first=first, last=last):
        recipe = parse_recipe(kept.body, kept.epoch)
        if recipe and is_at(snapshot, kept.node, kept.position):
            return _replay(snapshot, asked, kept, recipe)
    return None


def _find_turn(snapshot: Snapshot, position: int) -> Span | None:
    """Return where a view may have ended from which the message at that position came: from its user message on."""
    for at in range(position, max(-1, position - MOST_TURN), -1):
        (item,) = snapshot.path(at, at)
        if item.entry.message.role is Role.USER:
            return Span(at, max(at, position - 1))
    return Span(position - 1, position - 1) if position else None


def _replay(snapshot: Snapshot, asked: ViewRequest, kept: KeptRecipe, recipe: Recipe) -> View:
    front = snapshot.path(0, min(OPENING_MESSAGES - 1, kept.position))
    tail = snapshot.path(recipe.epoch.first, kept.position)
    shown = {position for span in recipe.shown for position in range(span.first, span.last + 1)}
    newest = [_show_as_then(item, item.position in shown) for item in tail]
    held = recipe.epoch.held
    requests = snapshot.path(held, held) if held is not None else []
    material = Material(
        kept.position + 1, find_opening(front), recipe.epoch.memories, newest, recipe.tail_messages, requests=requests
    )
    counter = _find_counter(recipe.epoch.counter, asked.counter)
    # Who counts otherwise may count more: what was shown is shown.
    asked = replace(asked, budget_tokens=ANY_BUDGET, furniture=recipe.furniture, counter=counter)
    view = rebuild_view(material, asked, recipe.epoch)
    assert view is not None, "there is room for anything"
    turn = next((item for item in (*requests, *newest) if item.position == recipe.turn_position), None)
    passages = read_recalled(snapshot, recipe.recalled, None, dated=recipe.dated)
    view = add_turn_memory(view, passages, turn, counter, recipe.lore, mark=recipe.mark)
    return replace(
        view,
        budget_tokens=recipe.budget_tokens,
        fold_due=False,
        epoch=recipe.began,
        unchanged_tokens=recipe.unchanged_tokens,
        as_shown=digest_messages(view.messages) == recipe.digests,
    )


def _find_counter(name: str, other: Counter) -> Counter:
    """Return the counter of that name, or another where it is not there any more."""
    if name == other.name:
        return other
    try:
        return find_counter(name)
    except BadInput:
        return other


def _show_as_then(item: OnPath, shown: bool) -> OnPath:
    """Return the message, hidden or not as it was when the view was made."""
    attributes = replace(item.entry.attributes, hidden=not shown)
    return replace(item, entry=replace(item.entry, attributes=attributes))
