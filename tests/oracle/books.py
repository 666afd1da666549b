"""The store's verbs for books, in memory."""

from __future__ import annotations

from previously.core.errors import BadInput
from previously.storage.store import StoryKey
from previously.storage.tables.books import Book, BookInfo, explain_no_book
from tests.oracle.story_tree import StoryTree


class InMemoryBooks:
    """The part of `InMemoryStore` that keeps books."""

    _stories: dict[StoryKey, StoryTree]
    _books: dict[tuple[str, str], Book]
    """By owner and name."""

    async def keep_book(self, owner: str, name: str, body: str, *, at: str) -> None:
        self._books[owner, name] = Book(name, body, at)

    async def book(self, owner: str, name: str) -> Book | None:
        return self._books.get((owner, name))

    async def books(self, owner: str) -> list[BookInfo]:
        mine = [book for (whose, _), book in self._books.items() if whose == owner]
        infos = [BookInfo(book.name, book.at, len(book.body.encode())) for book in mine]
        return sorted(infos, key=lambda one: one.name)

    async def forget_book(self, owner: str, name: str) -> bool:
        for key, story in self._stories.items():
            if key.owner == owner and name in story.books:
                story.books.remove(name)
        return self._books.pop((owner, name), None) is not None

    async def attach_book(self, key: StoryKey, name: str) -> None:
        story = self._stories[key]
        if (key.owner, name) not in self._books:
            raise BadInput(explain_no_book(name))
        if name not in story.books:
            story.books.append(name)

    async def detach_book(self, key: StoryKey, name: str) -> bool:
        story = self._stories.get(key)
        if story is None or name not in story.books:
            return False
        story.books.remove(name)
        return True

    async def attached(self, key: StoryKey) -> list[str]:
        story = self._stories.get(key)
        return list(story.books) if story else []
