"""The store's verbs for recall, in memory; and how new attributes reach what is indexed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from previously.core.messages import Attributes, Entry
from previously.storage.store import StoryKey
from previously.storage.tables.index_state import MOST_AT_ONCE, MOST_WAITING
from tests.oracle.story_tree import StoryTree

if TYPE_CHECKING:
    from previously.recall.outline import PathEntries
    from previously.recall.search import StoryIndex
    from previously.recall.vectors import WordTable

T = TypeVar("T")


class InMemoryStoryIndex:
    """What was indexed of one story."""

    def __init__(self) -> None:
        from tests.unit.recall.in_memory_index import InMemoryIndex  # brings numpy

        self.kept = InMemoryIndex()
        self._word_table = ""
        self._through = self._vectors_through = -1

    def catch_up(self, entries: Sequence[Entry], table: WordTable | None, most: int) -> int:
        """Index the next of these; how many still wait."""
        from previously.recall.index import index_entry, read_entry_facts

        if table is not None and table.name != self._word_table:
            self._word_table, self._vectors_through = table.name, -1
            self.kept.drop_vectors()
        after = self._through if table is None else min(self._through, self._vectors_through)
        to_do = sorted((entry for entry in entries if entry.id > after), key=lambda entry: entry.id)
        for entry in to_do[:most]:
            indexed = index_entry(entry.id, read_entry_facts(entry), table)
            if entry.id > self._through:
                self.kept.keep(indexed, entry.message.speaker)
                self._through = entry.id
            elif indexed.vector:
                self.kept.keep_vectors({entry.id: indexed.vector})
            if table is not None:
                self._vectors_through = max(self._vectors_through, entry.id)
        return min(len(to_do[most:]), MOST_WAITING)

    def forget(self, entries: Collection[int]) -> None:
        """Cut entries out."""
        for entry in entries:
            self.kept.remove(entry)

    def retime(self, changes: Sequence[tuple[int, Attributes]]) -> None:
        """Give entries the times of their new attributes."""
        from previously.recall.index import read_times

        self.kept.retime({entry: read_times(attributes) for entry, attributes in changes})


class InMemoryRecall:
    """The part of `InMemoryStore` that keeps an index."""

    _stories: dict[StoryKey, StoryTree]

    async def index(self, key: StoryKey, table: WordTable | None, *, most: int = MOST_AT_ONCE) -> int:
        story = self._stories[key]
        story.index = story.index or InMemoryStoryIndex()
        known = [entry for entry in story.entries.values() if entry.id not in story.forgotten]
        return story.index.catch_up(known, table, most)

    async def recall(self, key: StoryKey, branch: str, work: Callable[[StoryIndex, PathEntries], T]) -> T:
        from previously.recall.outline import PathEntries

        story = self._stories[key]
        story.info(branch)
        index = story.index or InMemoryStoryIndex()
        return work(index.kept, PathEntries(node.entry for node in story.path(branch)))

    async def set_attributes(self, key: StoryKey, changes: Sequence[tuple[int, Attributes]]) -> None:
        story = self._stories[key]
        for entry, attributes in changes:
            if entry in story.entries:
                story.entries[entry] = replace(story.entries[entry], attributes=attributes)
        if story.index:
            story.index.retime(changes)
