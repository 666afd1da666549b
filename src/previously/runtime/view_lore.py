"""The entries of lore that a turn brings up.

The same turn of the same story brings up the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.path import OnPath
from previously.core.snapshot import Snapshot
from previously.core.tokens import Counter
from previously.folds.prompts.templates import render_message
from previously.lore.decisions import Activation, ScanInput, ScanMessage, ScanResult, TimedEffects, compute_effects
from previously.lore.entry import KeyedEntry
from previously.lore.index import StoryLore
from previously.lore.scan import scan
from previously.runtime.story_moment import StoryMoment
from previously.view.recipe import parse_recipe
from previously.view.turn import LoreShown, render_lore

MOST_RECIPES = 256
"""Earlier views that are looked at for what stays or rests: longer effects are hardly ever given."""


@dataclass(frozen=True, slots=True)
class LoreTurn:
    """A turn whose lore is to be decided."""

    seen: Sequence[OnPath]
    """The newest messages that the reader sees, in path order."""
    node: int
    """The newest user message."""
    length: int
    """Number of messages on the path."""
    depth: int
    budget_tokens: int | None


def scan_turn(moment: StoryMoment, lore: StoryLore, turn: LoreTurn, counter: Counter, reader: str) -> ScanResult:
    """Return the entries that a turn brings up, and why or why not for each."""
    effects = TimedEffects()
    if lore.timed:
        activations = _read_activations(moment.snapshot, reader, turn.length)
        effects = compute_effects(activations, lore.index.entries, turn.length)
    messages = tuple(
        ScanMessage(render_message(item.entry.message), item.entry.message.speaker or "", item.position)
        for item in reversed(turn.seen)
    )
    given = ScanInput(
        messages,
        depth=turn.depth,
        budget_tokens=turn.budget_tokens,
        counter=counter.tokens,
        told=render_entry_line,
        seed=moment.story,
        turn=str(turn.node),
        timed=effects,
        message_count=turn.length,
    )
    return scan(lore.index, given)


def render_entry_line(entry: KeyedEntry) -> str:
    """Return an entry as it stands in a view, with the end of its line."""
    return render_lore(LoreShown(entry.uid, entry.name, entry.content, "")) + "\n"


def _read_activations(snapshot: Snapshot, reader: str, length: int) -> Iterable[Activation]:
    """Return what fired for earlier answers on this path."""
    activations: list[Activation] = []
    for kept in snapshot.recipes(reader, None, MOST_RECIPES, last=length - 1):
        on_path = snapshot.path(kept.position, kept.position)
        recipe = parse_recipe(kept.body, kept.epoch) if on_path and on_path[0].node == kept.node else None
        if recipe:
            activations += [Activation(entry.uid, kept.position + 1) for entry in recipe.lore]
    return activations
