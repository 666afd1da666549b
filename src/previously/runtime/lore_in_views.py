"""Lore in views: the entries of a story and of its books, and which of them a turn brings up.

An entry that was noted where a reader was not is not looked for, for them; the same turn of the same story brings up
the same.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.errors import BadInput
from previously.core.path import OnPath
from previously.core.tokens import Counter
from previously.folds.prompts.templates import render_message
from previously.lore.books import parse_book
from previously.lore.decisions import Activation, ScanInput, ScanMessage, ScanResult, TimedEffects, compute_effects
from previously.lore.entry import KeyedEntry, LoreEntry
from previously.lore.scan import scan
from previously.lore.story_lore import StoryLore, index_books
from previously.storage.store import Store, StoryKey
from previously.storage.tables.books import BookReading
from previously.view.recipe import parse_recipe
from previously.view.turn import LoreShown, render_lore

MOST_INDEXES = 32
"""Stories whose entries are kept indexed: as many as people are likely to play in one process at a time."""

MOST_RECIPES = 256
"""Earlier views that are looked at for what stays or rests: longer effects are hardly ever given."""


class StoryLoreCache:
    """Indexes of stories' entries, renewed where something changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[StoryKey, str], StoryLore] = OrderedDict()

    async def of(self, store: BookReading, key: StoryKey, known: Sequence[LoreEntry], reader: str = "") -> StoryLore:
        """Return the entries of a story's books, and those of its own that a reader may know."""
        names = await store.attached(key)
        times = {book.name: book.at for book in await store.books(key.owner)} if names else {}
        books = tuple((name, times[name]) for name in names if name in times)
        lore = self._kept.get((key, reader))
        if lore is None or lore.books != books:
            entries = [entry for name, _ in books for entry in await read_book_entries(store, key.owner, name)]
            lore = index_books(entries, books)
        lore = self._kept[key, reader] = lore.with_story(known)
        self._kept.move_to_end((key, reader))
        while len(self._kept) > MOST_INDEXES:
            self._kept.popitem(last=False)
        return lore


async def read_book_entries(store: BookReading, owner: str, name: str) -> list[KeyedEntry]:
    """Return the entries of an owner's book."""
    book = await store.book(owner, name)
    if book is None:
        raise BadInput(f"There is no book named {name!r}.")
    return list(parse_book(json.loads(book.body), name).entries)


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


async def scan_turn(
    store: Store, key: StoryKey, branch: str, lore: StoryLore, turn: LoreTurn, counter: Counter, reader: str
) -> ScanResult:
    """Return the entries that a turn brings up, and why or why not for each."""
    effects = TimedEffects()
    if lore.timed:
        activations = await _read_activations(store, key, branch, reader, turn.length)
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
        seed=f"{key.owner}/{key.story}",
        turn=str(turn.node),
        timed=effects,
        message_count=turn.length,
    )
    return scan(lore.index, given)


def render_entry_line(entry: KeyedEntry) -> str:
    """Return an entry as it stands in a view, with the end of its line."""
    return render_lore(LoreShown(entry.uid, entry.name, entry.content, "")) + "\n"


async def _read_activations(store: Store, key: StoryKey, branch: str, reader: str, length: int) -> Iterable[Activation]:
    """Return what fired for earlier answers on this path."""
    activations: list[Activation] = []
    for kept in await store.recipes(key, reader, None, MOST_RECIPES, last=length - 1):
        on_path = await store.path(key, branch, kept.position, kept.position)
        recipe = parse_recipe(kept.body, kept.epoch) if on_path and on_path[0].node == kept.node else None
        if recipe:
            activations += [Activation(entry.uid, kept.position + 1) for entry in recipe.lore]
    return activations
