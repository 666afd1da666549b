"""Players: who writes for whom, where a character's name is not the player's own. A reduce over the items of notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from previously.core.note import PlayerItem
from previously.core.scripts import casefold

MOST_PLAYERS = 40
"""Players that are kept, those named last: more than sit at any table."""


@dataclass(frozen=True, slots=True)
class Player:
    """A player, and the character they play since a message."""

    name: str
    character: str
    since: int

    @property
    def line(self) -> str:
        """Return who plays whom."""
        return f"{self.name} plays {self.character}"


Players = Mapping[str, Player]
"""By the player's name as it is compared."""


def reduce_players(players: Players, items: Iterable[tuple[int, int, PlayerItem]]) -> Players:
    """Return who plays whom after the items of one note, each with its index and position. A player who plays another
    character from now on plays the old one no more."""
    found = dict(players)
    for _, position, item in items:
        found.pop(casefold(item.player), None)
        found[casefold(item.player)] = Player(item.player.strip(), item.character.strip(), position)
    return dict(list(found.items())[-MOST_PLAYERS:])
