"""What views ask of a store besides paths and memory: recipes, and whether anything was said in private.

A recipe is two texts here; what they say is the business of `view.recipes`. The text of an epoch is kept once, however
many views it had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from previously.core.snapshot import KeptRecipe

if TYPE_CHECKING:
    from previously.storage.store import StoryKey


class ViewStore(Protocol):
    """Keeps recipes."""

    async def keep_recipe(self, key: StoryKey, recipe: KeptRecipe, seen: bytes) -> None:
        """Keep a recipe. Those of the same place stay; the newest counts. No-op if the hash of its node is no longer
        the one that was seen: something on its path has been forgotten since."""

    async def recipes(
        self, key: StoryKey, reader: str, asked: str | None, most: int, *, first: int = -1, last: int
    ) -> list[KeptRecipe]:
        """The recipes of a reader (with `asked`, under those terms) whose newest message stands at positions first to
        last, on whatever path: the furthest first, of those at one place the newest."""

    async def usage(self, key: StoryKey) -> str:
        """What servers reported of views, as JSON; `{}` if nothing was kept."""

    async def keep_usage(self, key: StoryKey, usage: str) -> None:
        """Keep that, in place of what was kept before."""

    async def last_changes(self, owner: str) -> dict[int, str]:
        """When the path of each story of the owner last changed, by the story's number; of those where it ever did."""

    async def all_witnessed(self, key: StoryKey) -> bool:
        """Whether no message of the story, on a path or off, says who witnessed it."""
