"""The tables of recipes and epochs. Called inside a transaction or snapshot."""

from __future__ import annotations

from hashlib import sha256

from previously.core.snapshot import KeptRecipe
from previously.storage.tables.records import StoryKey
from previously.storage.tables.session import Session


class RecipeTable:
    """Reads and writes recipes: what is kept to make a view again."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, key: StoryKey, recipe: KeptRecipe, seen: bytes) -> None:
        """Keep a recipe, and the text of its epoch if it is not there yet; no-op unless its node has the hash seen."""
        of = key.values
        row = self._session.one("node_hash", {"node": recipe.node, **of})
        if row is None or row[0] != seen:
            return
        digest = sha256(recipe.epoch.encode()).digest()
        row = self._session.one("epoch", {"digest": digest, **of})
        epoch = row[0] if row else self._session.run("insert_epoch", {"digest": digest, "text": recipe.epoch, **of})
        self._session.run(
            "insert_recipe",
            {
                "reader": recipe.reader,
                "asked": recipe.asked,
                "node": recipe.node,
                "position": recipe.position,
                "before_tail": recipe.before_tail,
                "epoch": epoch,
                "body": recipe.body,
                "at": recipe.at,
                **of,
            },
        )

    def of(self, key: StoryKey, reader: str, asked: str | None, most: int, first: int, last: int) -> list[KeptRecipe]:
        """Those of a reader at these positions, the furthest first."""
        values = {**key.values, "reader": reader, "most": most, "first": first, "last": last}
        if asked is None:
            rows = self._session.rows("recipes_of_reader", values)
        else:
            rows = self._session.rows("recipes", {**values, "asked": asked})
        return [KeptRecipe(*row) for row in rows]

    def all_witnessed(self, key: StoryKey) -> bool:
        """Return whether no message says who witnessed it."""
        return self._session.one("witnessed_entry", key.values) is None
