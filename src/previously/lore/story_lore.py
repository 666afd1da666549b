"""All entries that may come up in a story, indexed: those of its books, and its own that a reader may know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from previously.lore.entry import KeyedEntry, LoreEntry
from previously.lore.index import LoreIndex, build_index, can_fire

CONSTANT_TYPES = frozenset({"rule"})
"""Types of entries that are always shown: what holds always must always be known."""

BookVersions = tuple[tuple[str, str], ...]
"""The names of books, each with when it was kept."""


@dataclass(frozen=True, slots=True)
class StoryLore:
    """All entries of a story, indexed."""

    index: LoreIndex
    books: BookVersions
    story: Mapping[str, KeyedEntry]
    """The story's own entries, by uid."""
    timed: bool
    """True if one of the entries stays or rests once it has fired."""

    @property
    def constants(self) -> list[KeyedEntry]:
        """The entries that are always shown, the most important first."""
        constants = [entry for entry in self.index.entries.values() if entry.constant and can_fire(entry)]
        return sorted(constants, key=lambda entry: -entry.order)

    def with_story(self, known: Sequence[LoreEntry]) -> StoryLore:
        """Return the lore with these entries as the story's own; only what changed is indexed anew."""
        story = {entry.uid: entry for entry in map(make_keyed, known)}
        changed = [entry for uid, entry in story.items() if self.story.get(uid) != entry]
        removed = [uid for uid in self.story if uid not in story]
        return _story_lore(self.index.with_entries(changed, removed), self.books, story) if changed or removed else self

    def is_overtaken(self, before: Mapping[str, str], fired: Iterable[KeyedEntry], by_people: Collection[str]) -> bool:
        """Return whether what a turn brought up before, each with its words, is not what people say by now: something
        of it is there no more, they gave it other words, or something of theirs comes up that was not there."""
        entries = self.index.entries

        def is_theirs(uid: str) -> bool:
            return uid in by_people or bool(entries[uid].book)

        if any(uid not in entries or (is_theirs(uid) and entries[uid].content != text) for uid, text in before.items()):
            return True
        return any(is_theirs(entry.uid) and entry.uid not in before for entry in fired)


def index_books(entries: Iterable[KeyedEntry], books: BookVersions) -> StoryLore:
    """Return the lore of a story's books, without its own entries."""
    return _story_lore(build_index(entries), books, {})


def make_keyed(entry: LoreEntry) -> KeyedEntry:
    """Return an entry of the story as the scan looks for it. One that is retired is found by its names alone; one whose
    keys a person wrote, by those and its name."""
    names = (entry.name,) if "keywords" in entry.locked else (entry.name, *entry.aliases)
    return KeyedEntry(
        uid=f"story/{entry.key}",
        name=entry.name,
        content=entry.content,
        keys=tuple(dict.fromkeys(names if entry.retired else (*names, *entry.keywords))),
        type=entry.type,
        constant=entry.type in CONSTANT_TYPES,
    )


def _story_lore(index: LoreIndex, books: BookVersions, story: Mapping[str, KeyedEntry]) -> StoryLore:
    return StoryLore(index, books, story, any(entry.has_effects for entry in index.entries.values()))
