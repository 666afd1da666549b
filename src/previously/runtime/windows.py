"""The list that a client sent last, and how the next one is held against it.

Most requests repeat the list before and add to it; then only what was added needs to be looked at. Messages are
compared by a hash of this process, never kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from previously.core.messages import Message, Role
from previously.recognition.following import NoteSeen
from previously.recognition.heard import Heard

SHINGLE = 3
"""So many messages in a row recognise a story."""

DROPPED = 4
"""How many messages at the end of the list before may be missing in the next one for it still to be its successor."""


@dataclass(frozen=True, slots=True)
class Window:
    """What is known of the list before."""

    hashes: tuple[int, ...]
    """Of its messages that are on the path, in order."""
    positions: tuple[int, ...]
    """Where these stand."""
    head: int
    """Where the branch ended when the turn was done; if it ends elsewhere, others have changed it."""
    unsettled: frozenset[int] = frozenset()
    """Entries that were first seen in that list and were not what it was sent for."""
    notes: tuple[NoteSeen, ...] = ()
    usual: frozenset[str] = frozenset()
    """What stood behind the history in turns."""


def hash_of(message: Message) -> int:
    """What a message is known by within this process."""
    return hash((message.role, message.speaker, message.parts))


def story_hashes(heard: Heard, window: Window) -> tuple[list[int], list[int]]:
    """The hashes of the messages of a list that seem to be the story's, and their places in the body: all but system
    messages that were not on the path before."""
    known = set(window.hashes)
    hashes: list[int] = []
    places: list[int] = []
    for place, piece in enumerate(heard.body):
        one = hash_of(piece.message)
        if piece.message.role is not Role.SYSTEM or one in known:
            hashes.append(one)
            places.append(place)
    return hashes, places


def shared(window: Window, hashes: Sequence[int]) -> tuple[int, int] | None:
    """How many messages of a new list, from its first on, stand in the list before, and how many of that list it
    shares, counted from its first on; None if the one is not a successor of the other."""
    before = window.hashes
    for dropped in range(min(DROPPED + 1, len(before))):
        end = len(before) - dropped
        last = before[end - 1]
        for count in range(len(hashes), 0, -1):
            if hashes[count - 1] == last and count <= end and tuple(hashes[:count]) == before[end - count : end]:
                return count, end
    return None


def shingles(hashes: Sequence[int]) -> Iterator[int]:
    """The runs of three messages that a story is looked up by, the newest first; shorter ones in a shorter list."""
    size = min(SHINGLE, len(hashes))
    for end in range(len(hashes), size - 1, -1):
        yield hash(tuple(hashes[end - size : end]))
