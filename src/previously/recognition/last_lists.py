"""The lists that clients sent last, and how the next ones are held against them.

Most requests repeat the list before and add to it; then only what was added needs to be looked at. Messages are
compared by a hash of this process. What must stay true: the lists before are remembered in this process only, and so
many at most; without them everything is found again in the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from previously.core.messages import Message, Role
from previously.recognition.client_list import ClientList
from previously.recognition.follow import SeenNote
from previously.storage.store import StoryKey

SHINGLE = 3
"""So many messages in a row recognise a story."""

MOST_WINDOWS, MOST_MESSAGES = 8_192, 500_000
"""How many lists are remembered, and how many messages they may have together."""

Where = tuple[StoryKey, str]
"""A story and a branch of it."""

MOST_LIKELY = 8
"""How many places where a list might go on are tried, where the same was said again and again."""

DROPPED = 4
"""How many messages at the end of the list before may be missing in the next one for it still to be its successor."""


@dataclass(frozen=True, slots=True)
class LastList:
    """What is known of the list before."""

    hashes: tuple[int, ...]
    """Of its messages that are on the path, in order."""
    positions: tuple[int, ...]
    """Where these stand."""
    head: int
    """Where the branch ended when the turn was done; if it ends elsewhere, others have changed it."""
    unsettled: frozenset[int] = frozenset()
    """Entries that were first seen in that list and were not what it was sent for."""
    notes: tuple[SeenNote, ...] = ()
    usual: frozenset[str] = frozenset()
    """What stood behind the history in turns."""


def hash_message(message: Message) -> int:
    """What a message is known by within this process."""
    return hash((message.role, message.speaker, message.parts))


def hash_story(heard: ClientList, window: LastList) -> tuple[list[int], list[int]]:
    """The hashes of the messages of a list that seem to be the story's, and their places in the body: all but system
    messages that were not on the path before."""
    known = set(window.hashes)
    hashes: list[int] = []
    places: list[int] = []
    for place, piece in enumerate(heard.body):
        one = hash_message(piece.message)
        if piece.message.role is not Role.SYSTEM or one in known:
            hashes.append(one)
            places.append(place)
    return hashes, places


def find_overlap(window: LastList, hashes: Sequence[int]) -> tuple[int, int] | None:
    """How many messages of a new list, from its first on, stand in the list before, and how many of that list it
    shares, counted from its first on; None if the one is not a successor of the other."""
    before = window.hashes
    now = tuple(hashes)
    for dropped in range(min(DROPPED + 1, len(before))):
        end = len(before) - dropped
        last = before[end - 1]
        likely = (count for count in range(len(now), 0, -1) if now[count - 1] == last and count <= end)
        for count in islice(likely, MOST_LIKELY):
            if now[:count] == before[end - count : end]:
                return count, end
    return None


def make_shingles(hashes: Sequence[int]) -> Iterator[int]:
    """The runs of three messages that a story is looked up by, the newest first; shorter ones in a shorter list."""
    size = min(SHINGLE, len(hashes))
    for end in range(len(hashes), size - 1, -1):
        yield hash(tuple(hashes[end - size : end]))


def hash_spoken(heard: ClientList) -> list[int]:
    """The hashes of what a list shows but for system messages."""
    return [hash_message(piece.message) for piece in heard.body if piece.message.role is not Role.SYSTEM]


class LastLists:
    """The lists before, those that were not seen for longest forgotten first."""

    def __init__(self, most_messages: int = MOST_MESSAGES) -> None:
        self._most_messages = most_messages
        self._messages = 0
        self._windows: OrderedDict[Where, tuple[str, LastList]] = OrderedDict()
        self._by_shingle: OrderedDict[tuple[str, str, int], Where] = OrderedDict()

    def of(self, key: StoryKey, branch: str) -> LastList | None:
        """The list before of a branch."""
        kept = self._windows.get((key, branch))
        return kept[1] if kept else None

    def keep(
        self, key: StoryKey, branch: str, name: str, window: LastList, said: Sequence[int] = (), whose: str = ""
    ) -> None:
        """Remember a list; `said` are the hashes of all it shows but for system messages, `whose` keeps apart what is
        not to be mixed."""
        self._forget((key, branch))
        self._windows[key, branch] = name, window
        self._messages += len(window.hashes)
        for shingle in islice(make_shingles(said), 2):
            self._by_shingle[key.owner, whose, shingle] = key, branch
            self._by_shingle.move_to_end((key.owner, whose, shingle))
        while len(self._windows) > 1 and (self._messages > self._most_messages or len(self._windows) > MOST_WINDOWS):
            self._forget(next(iter(self._windows)))
        while len(self._by_shingle) > 4 * MOST_WINDOWS:
            self._by_shingle.popitem(last=False)

    def forget_others(self, key: StoryKey, branch: str) -> None:
        """Forget the lists of other branches of a story: what was hidden on one is hidden on all that share it."""
        for other in [one for one in self._windows if one[0] == key and one[1] != branch]:
            self._forget(other)

    def near(self, owner: str, whose: str, said: Sequence[int]) -> tuple[StoryKey, str, str] | None:
        """The story, its name and the branch whose list before shares the newest messages with this one."""
        for shingle in make_shingles(said):
            found = self._by_shingle.get((owner, whose, shingle))
            if found is not None and found in self._windows:
                return found[0], self._windows[found][0], found[1]
        return None

    def _forget(self, where: Where) -> None:
        kept = self._windows.pop(where, None)
        if kept:
            self._messages -= len(kept[1].hashes)
