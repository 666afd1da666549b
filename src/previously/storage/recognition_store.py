"""What recognising a story asks of a store: in which of an owner's stories certain messages occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from previously.storage.tables.records import StoryKey

MOST_HOLDINGS = 2_000
"""How many pairs of a story and a message are looked at: what occurs in so many stories recognises none."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A story in which some of the messages occur."""

    key: StoryKey
    name: str
    match_keys: frozenset[bytes]
    """Of those that were asked for."""


def ranked(found: dict[tuple[StoryKey, str], set[bytes]]) -> list[Holding]:
    """Stories with what they hold, in the order of `holding`."""
    holdings = [Holding(key, name, frozenset(keys)) for (key, name), keys in found.items()]
    return sorted(holdings, key=lambda one: (-len(one.match_keys), -one.key.story))
