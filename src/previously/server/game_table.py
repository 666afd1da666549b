"""The table at which games are played in a browser: all that the server needs to know of whoever plays them.

The server and the game do not know each other: the command that starts the server hands it a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from previously.app import Memory
from previously.models.client import Model

TellEvent = Callable[[str, dict[str, Any]], None]
"""Hears the events of a turn: their name, and what they say."""


class GameTable(Protocol):
    """Games that can be played, each in slots, which are stories."""

    async def list_games(self, memory: Memory) -> list[dict[str, Any]]:
        """Return every game with its slots."""

    def name_story(self, game: str, slot: str) -> str:
        """Return the story that a slot is."""

    async def describe(self, memory: Memory, game: str, slot: str) -> dict[str, Any]:
        """Open a slot, a new one if there is none of that name, and return how things stand in it."""

    async def take_turn(
        self, memory: Memory, owner: str, model: Model | None, game: str, slot: str, words: str, tell: TellEvent
    ) -> dict[str, Any]:
        """Play one turn, and return how things stand then. Without a model, a script plays along."""

    async def undo(self, memory: Memory, game: str, slot: str, turns: int) -> dict[str, Any]:
        """Take back turns, and return how things stand then."""
