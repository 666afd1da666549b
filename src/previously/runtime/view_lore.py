"""The entries of lore that a turn brings up.

The same turn of the same story brings up the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from previously.core.messages import Entry, Role, message
from previously.core.path import OnPath
from previously.core.snapshot import Snapshot
from previously.core.tokens import Counter
from previously.folds.prompts.templates import render_message
from previously.lore.decisions import Activation, ScanInput, ScanMessage, ScanResult, TimedEffects, compute_effects
from previously.lore.entry import NORMAL, KeyedEntry
from previously.lore.index import StoryLore
from previously.lore.scan import scan
from previously.memory.known import find_names
from previously.runtime.story_moment import StoryMoment
from previously.runtime.story_setup import parse_sources
from previously.settings import Settings
from previously.text.macros import NOBODY
from previously.view.reader import Reader, parse_reader
from previously.view.recipe import parse_recipe
from previously.view.turn import LoreShown, render_lore

MOST_RECIPES = 256
"""Earlier views that are looked at for what stays or rests: longer effects are hardly ever given."""


LOOKED_AT = 200
"""Number of further messages that are read for those that a reader has seen, up to the newest of the user's: more than
one turn of a group."""


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
    character: str = ""
    """The character whose view it is; empty for one of the whole chat."""
    triggers: frozenset[str] = frozenset({NORMAL})
    """The kinds of answers that it is for."""


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
    rules, names = moment.rules.lore_rules, lore.names
    if names == NOBODY and lore.is_filtered:
        names = find_names(moment.snapshot, turn.character)
    room = turn.budget_tokens
    given = ScanInput(
        messages,
        depth=turn.depth,
        budget_tokens=min(room, rules.most_tokens) if room is not None and rules.most_tokens else room,
        counter=counter.tokens,
        most_steps=rules.most_steps,
        least_fired=rules.least_fired,
        deepest=rules.deepest,
        group_scoring=rules.group_scoring,
        character=names.character,
        tags=frozenset(rules.tags),
        triggers=turn.triggers,
        sources=_read_sources(moment, lore.sources),
        told=render_entry_line,
        seed=moment.story,
        turn=str(turn.node),
        timed=effects,
        message_count=turn.length,
    )
    return scan(lore.index, given)


def make_turn(
    moment: StoryMoment,
    lore: StoryLore,
    who: Reader,
    settings: Settings,
    counter: Counter,
    *,
    sentence: str | None = None,
) -> LoreTurn:
    """Return the turn that a story is at, as a view of ordinary size has it; `sentence` is read in place of its
    messages."""
    messages = moment.snapshot.messages
    first = max(0, messages - max(settings.lore_depth, lore.index.deepest) - LOOKED_AT)
    path = moment.snapshot.path(first, messages - 1)
    seen = [item for item in path if who.witnessed(item) and not item.entry.attributes.hidden]
    asked = next((item for item in reversed(seen) if item.entry.message.role is Role.USER), None)
    last = asked.position if asked else messages - 1
    budget = settings.budget_tokens() * settings.lore_percent // 100
    budget += sum(counter.tokens(entry.content) for entry in lore.constants)  # which are told elsewhere
    read = [item for item in seen if item.position <= last]
    if sentence is not None:
        read = [OnPath(last, 0, b"", Entry(0, message(Role.USER, sentence), b""))]
    return LoreTurn(read, asked.node if asked else 0, last + 1, settings.lore_depth, budget, who.name)


def read_outlets(
    moment: StoryMoment,
    outlets: Collection[str],
    reader: str,
    settings: Settings,
    counter: Counter,
    triggers: frozenset[str],
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what the turn brings up for each outlet that a prompt names, and the entries that say so, by uid."""
    who = moment.find_reader(parse_reader(reader, settings.preset), answers=True)
    lore = moment.read_lore(moment.read_known(who.name), who.name)
    turn = replace(make_turn(moment, lore, who, settings, counter), triggers=triggers)
    told: dict[str, list[str]] = {}
    fired = [match.entry for match in scan_turn(moment, lore, turn, counter, str(who)).fired]
    entries = [entry for entry in fired if entry.is_in(outlets)]
    for entry in entries:
        told.setdefault(entry.outlet.strip(), []).append(entry.content.strip())
    return {outlet: "\n".join(texts) for outlet, texts in told.items()}, tuple(entry.uid for entry in entries)


def _read_sources(moment: StoryMoment, wanted: Collection[str]) -> dict[str, str]:
    texts = parse_sources(moment.read_header()) if wanted else {}
    return {name: text for name, text in texts.items() if name in wanted}


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
            fired = [*(entry.uid for entry in recipe.lore), *recipe.in_outlets]
            activations += [Activation(uid, kept.position + 1) for uid in fired]
    return activations
