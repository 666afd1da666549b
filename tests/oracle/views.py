"""The store's verbs for views and for recognising stories, in memory."""

from __future__ import annotations

from collections.abc import Collection

from previously.core.digests import match_key
from previously.core.snapshot import KeptRecipe
from previously.storage.store import StoryKey
from previously.storage.tables.stories import Holding, rank_holdings
from tests.oracle.story_tree import StoryTree


class InMemoryViews:
    """The part of `InMemoryStore` that keeps recipes and finds stories by their messages."""

    _stories: dict[StoryKey, StoryTree]

    async def keep_recipe(self, key: StoryKey, recipe: KeptRecipe, seen: bytes) -> None:
        node = self._stories[key].nodes.get(recipe.node)
        if node is not None and node.hash == seen:
            self._stories[key].recipes.append(recipe)

    async def recipes(
        self, key: StoryKey, reader: str, asked: str | None, most: int, *, first: int = -1, last: int
    ) -> list[KeptRecipe]:
        newest_first = reversed(self._stories[key].recipes)
        found = [one for one in newest_first if one.reader == reader and asked in (None, one.asked)]
        found = [one for one in found if first <= one.position <= last]
        return sorted(found, key=lambda one: -one.position)[:most]

    async def usage(self, key: StoryKey) -> str:
        return self._stories[key].usage

    async def keep_usage(self, key: StoryKey, usage: str) -> None:
        self._stories[key].usage = usage

    async def last_changes(self, owner: str) -> dict[int, str]:
        mine = [(key.story, story.moves) for key, story in self._stories.items() if key.owner == owner]
        return {story: moves[-1].at for story, moves in mine if moves}

    async def all_witnessed(self, key: StoryKey) -> bool:
        return all(entry.message.witnesses is None for entry in self._stories[key].entries.values())

    async def holding(self, owner: str, match_keys: Collection[bytes]) -> list[Holding]:
        wanted = frozenset(match_keys)
        found = {
            (key, story.name): wanted & {match_key(entry.message) for entry in story.entries.values()}
            for key, story in self._stories.items()
            if key.owner == owner
        }
        return rank_holdings({story: set(held) for story, held in found.items() if held})
