"""Shared memories of an owner: made, changed by people, and kept from stories."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace

from previously.core.errors import BadInput
from previously.core.exact_names import check_new_name
from previously.core.fact_book import SharedFact, SharedKind, SharedMemory, check_fact, parse_shared, render_shared
from previously.core.json_values import clean
from previously.runtime.clock import time_at
from previously.runtime.continue_story import find_link
from previously.storage.store import Store, StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.books import Book


class SharedMemories:
    """The shared memories of one owner."""

    _store: Store
    _owner: str

    async def share(self, name: str, kind: str, of: str = "") -> SharedMemory:
        """Begin a shared memory: of a `character` (`of` says whose), a `world` or a `project`. Stories attach it by its
        name, as they attach a book.

        >>> from previously import BlockingMemory
        >>> with BlockingMemory(":memory:") as memory:
        ...     _ = memory.share("maya", "character", "Maya")
        ...     _ = memory.add_shared("maya", "Her brother drowned at Lethen.")
        ...     story = memory.story("ferry")
        ...     story.attach_book("maya")
        ...     _ = story.add("user", "Good morning, Maya.", name="Wren")
        ...     print(story.view(1_000).messages[0].text)
        # Known from elsewhere
        - Maya knows: Her brother drowned at Lethen.
        """
        check_new_name("A shared memory", name)
        name, of = (" ".join(clean(words)[0].split()) for words in (name, of))
        if of:
            check_new_name("A character", of)
        if kind not in list(SharedKind):
            raise BadInput(f"There is no shared memory of a {kind!r}; there are {', '.join(SharedKind)}.")
        if bool(of) is not (kind == SharedKind.CHARACTER):
            raise BadInput("The memory of a character says whose it is; that of a world or a project is nobody's.")
        memory = SharedMemory(name, SharedKind(kind), of)

        def write(tables: Tables) -> SharedMemory:
            if tables.books.get(self._owner, name) is not None:
                raise BadInput(f"There is a book or a shared memory named {name!r} already.")
            tables.books.keep(self._owner, Book(name, render_shared(memory), time_at()))
            return memory

        return await self._store.write(StoryKey(self._owner, 0), write)

    async def shared(self) -> list[SharedMemory]:
        """Return every shared memory, by name."""

        def read(tables: Tables) -> list[SharedMemory]:
            books = (tables.books.get(self._owner, info.name) for info in tables.books.all(self._owner))
            memories = (parse_shared(book.body, book.name) for book in books if book)
            return [memory for memory in memories if memory]

        return await self._store.read(self._owner, read)

    async def shared_memory(self, name: str) -> SharedMemory:
        """Return the shared memory of that name."""
        return await self._store.read(self._owner, lambda tables: self._find(tables, name))

    async def sharing_stories(self, name: str) -> list[str]:
        """Return the stories that have a shared memory attached, by name."""

        def read(tables: Tables) -> list[str]:
            keys = tables.books.attached_to(self._owner, self._find(tables, name).name)
            return [info.name for info in tables.stories.all(self._owner) if info.key.story in keys]

        return await self._store.read(self._owner, read)

    async def add_shared(self, name: str, text: str) -> SharedMemory:
        """Add a fact to a shared memory."""
        fact = SharedFact(check_fact(text))
        return await self._change(name, lambda memory: memory.add(fact))

    async def edit_shared(self, name: str, number: int, text: str) -> SharedMemory:
        """Put your words in place of a fact, by its number from 1."""
        fact = SharedFact(check_fact(text))
        return await self._change(name, lambda memory: memory.put(number, fact))

    async def remove_shared(self, name: str, number: int) -> SharedMemory:
        """Take a fact away; `undo_shared` brings it back."""
        return await self._change(name, lambda memory: memory.put(number, None))

    async def undo_shared(self, name: str) -> SharedMemory:
        """Take back the last change of the facts."""
        return await self._change(name, lambda memory: memory.undo())

    async def rule_shared(self, name: str, *, learns: bool) -> SharedMemory:
        """Say whether stories that attach a character's memory read what the character knows in the others."""

        def change(memory: SharedMemory) -> SharedMemory:
            if learns and memory.kind is not SharedKind.CHARACTER:
                raise BadInput(f"{memory.name!r} is the memory of a {memory.kind}: only a character learns.")
            return replace(memory, learns=learns)

        return await self._change(name, change)

    @abstractmethod
    async def _read_key_facts(self, story: str, name: str) -> tuple[StoryKey, list[str]]:
        """Return a story, and what somebody knows in it, in a few lines."""

    async def keep_shared(self, name: str, story: str) -> SharedMemory:
        """Keep what the character knows in a story now: their key facts become facts of the shared memory."""
        memory = await self.shared_memory(name)
        if memory.kind is not SharedKind.CHARACTER:
            raise BadInput(f"{name!r} is the memory of a {memory.kind}: add its facts in your own words.")
        key, facts = await self._read_key_facts(story, memory.of)
        if not facts:
            raise BadInput(f"Nothing is noted in {story!r} of what {memory.of} knows.")
        link = await self._store.write(key, lambda tables: find_link(tables, key))

        def change(memory: SharedMemory) -> SharedMemory:
            known = {fact.text for fact in memory.facts}
            fresh = tuple(SharedFact(text, story, link) for text in facts if text not in known)
            return memory.with_facts((*memory.facts, *fresh)) if fresh else memory

        return await self._change(name, change)

    async def _change(self, name: str, change: Callable[[SharedMemory], SharedMemory]) -> SharedMemory:
        def write(tables: Tables) -> SharedMemory:
            changed = change(self._find(tables, name))
            tables.books.keep(self._owner, Book(changed.name, render_shared(changed), time_at()))
            return changed

        return await self._store.write(StoryKey(self._owner, 0), write)

    def _find(self, tables: Tables, name: str) -> SharedMemory:
        book = tables.books.get(self._owner, name)
        memory = parse_shared(book.body, book.name) if book else None
        if memory is None:
            raise BadInput(f"There is no shared memory named {name!r}; `previously shared list` shows those there are.")
        return memory
