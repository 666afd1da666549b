"""Lore in views: the entries of a story and of its books, and which of them a turn brings up.

What must stay true: an entry that was noted where a reader was not is not looked for, for them; the same turn of the
same story brings up the same.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from previously.core.errors import BadInput
from previously.core.paths import OnPath
from previously.core.tokens import Counter
from previously.folds.prompts.templates import render_message
from previously.lore.decisions import Scan, Scanned, Spoken
from previously.lore.entries import Entry
from previously.lore.index import Index, can_fire, index_of
from previously.lore.scanning import scan
from previously.lore.things import LoreEntry
from previously.lore.timed import Activation, Effects, effects_at, is_timed
from previously.lore.world_info import read_book
from previously.storage.store import Store, StoryKey
from previously.storage.tables.books import BookReading
from previously.view.recipes import from_text
from previously.view.volatile import LoreShown, line_of

MOST_INDEXES = 32
"""How many stories' entries are kept indexed."""

MOST_RECIPES = 256
"""How many earlier views are looked at for what stays or rests."""

CONSTANT_TYPES = frozenset({"rule"})
"""What holds always is always told."""


@dataclass(frozen=True, slots=True)
class Lorebook:
    """All entries of a story, indexed."""

    index: Index
    books: tuple[tuple[str, str], ...]
    """The books in it, each with when it was kept."""
    story: dict[str, Entry]
    timed: bool

    @property
    def constants(self) -> list[Entry]:
        """What is always told, the most important first."""
        found = [one for one in self.index.entries.values() if one.constant and can_fire(one)]
        return sorted(found, key=lambda one: -one.order)


class Lorebooks:
    """Indexes of stories' entries, renewed where something changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[StoryKey, str], Lorebook] = OrderedDict()

    async def of(self, store: BookReading, key: StoryKey, known: Sequence[LoreEntry], reader: str = "") -> Lorebook:
        """The entries of a story's books, and those of its own that a reader may know."""
        names = await store.attached(key)
        infos = {one.name: one.at for one in await store.books(key.owner)} if names else {}
        books = tuple((name, infos[name]) for name in names if name in infos)
        story = {one.uid: one for one in map(as_entry, known)}
        before = self._kept.get((key, reader))
        if before is None or before.books != books:
            entries = [entry for name, _ in books for entry in await book_entries(store, key.owner, name)]
            before = _lorebook(index_of(entries), books, {})
        changed = [entry for uid, entry in story.items() if before.story.get(uid) != entry]
        removed = [uid for uid in before.story if uid not in story]
        if changed or removed:
            before = _lorebook(before.index.with_entries(changed, removed), books, story)
        self._kept[key, reader] = before
        self._kept.move_to_end((key, reader))
        while len(self._kept) > MOST_INDEXES:
            self._kept.popitem(last=False)
        return before


def _lorebook(index: Index, books: tuple[tuple[str, str], ...], story: dict[str, Entry]) -> Lorebook:
    return Lorebook(index, books, story, any(is_timed(one) for one in index.entries.values()))


async def book_entries(store: BookReading, owner: str, name: str) -> list[Entry]:
    """The entries of an owner's book."""
    book = await store.book(owner, name)
    if book is None:
        raise BadInput(f"There is no book named {name!r}.")
    return list(read_book(json.loads(book.body), name).entries)


def as_entry(entry: LoreEntry) -> Entry:
    """An entry of the story as the scan looks for it. One that is retired is found by its names alone; one whose keys a
    person wrote, by those and its name."""
    names = (entry.name,) if "keywords" in entry.locked else (entry.name, *entry.aliases)
    return Entry(
        uid=f"story/{entry.key}",
        name=entry.name,
        content=entry.content,
        keys=tuple(dict.fromkeys(names if entry.retired else (*names, *entry.keywords))),
        type=entry.type,
        constant=entry.type in CONSTANT_TYPES,
    )


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn's lore is decided by."""

    seen: Sequence[OnPath]
    """The newest messages that the reader sees, in path order."""
    node: int
    """The newest user message."""
    length: int
    """How many messages the path has."""
    depth: int
    budget_tokens: int | None


async def scanned(
    store: Store, key: StoryKey, branch: str, lorebook: Lorebook, turn: Turn, counter: Counter, reader: str
) -> Scan:
    """Which entries a turn brings up, and why or why not for each."""
    effects = Effects()
    if lorebook.timed:
        activations = await _activations(store, key, branch, reader, turn.length)
        effects = effects_at(activations, lorebook.index.entries, turn.length)
    spoken = tuple(
        Spoken(render_message(item.entry.message), item.entry.message.speaker or "", item.position)
        for item in reversed(turn.seen)
    )
    given = Scanned(
        spoken,
        depth=turn.depth,
        budget_tokens=turn.budget_tokens,
        counter=counter.tokens,
        told=told_of,
        seed=f"{key.owner}/{key.story}",
        turn=str(turn.node),
        timed=effects,
        message_count=turn.length,
    )
    return scan(lorebook.index, given)


def told_of(entry: Entry) -> str:
    """An entry as it stands in a view, with the end of its line."""
    return line_of(LoreShown(entry.uid, entry.name, entry.content, "")) + "\n"


def overtaken(
    before: Mapping[str, str], fired: Iterable[Entry], lorebook: Lorebook, by_people: Collection[str]
) -> bool:
    """Whether what a turn brought up before, each with its words, is not what people say by now: something of it is
    there no more, they gave it other words, or something of theirs comes up that was not there."""
    entries = lorebook.index.entries

    def is_theirs(uid: str) -> bool:
        return uid in by_people or bool(entries[uid].book)

    if any(uid not in entries or (is_theirs(uid) and entries[uid].content != text) for uid, text in before.items()):
        return True
    return any(is_theirs(one.uid) and one.uid not in before for one in fired)


async def _activations(store: Store, key: StoryKey, branch: str, reader: str, length: int) -> Iterable[Activation]:
    """What fired for earlier answers on this path."""
    found: list[Activation] = []
    for kept in await store.recipes(key, reader, None, MOST_RECIPES, last=length - 1):
        on_path = await store.path(key, branch, kept.position, kept.position)
        recipe = from_text(kept.body, kept.epoch) if on_path and on_path[0].node == kept.node else None
        if recipe:
            found += [Activation(one.uid, kept.position + 1) for one in recipe.lore]
    return found
