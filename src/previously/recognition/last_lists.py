"""The lists that clients sent last, and how the next ones are held against them.

Most requests repeat the list before and add to it; then only what was added needs to be looked at. Messages are
compared by a hash that the caller gives. Lists are remembered in this process only, and so many at most; without them
everything is found again in the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

from previously.core.messages import Role
from previously.recognition.client_list import ClientList
from previously.recognition.follow import SeenNote

SHINGLE = 3
"""Messages in a row that recognise a story: two are said again by chance, four are too many for a short chat."""

MOST_LISTS, MOST_MESSAGES = 8_192, 500_000
"""Lists that are remembered, and messages they may have together: a few dozen megabytes of hashes."""

MOST_LIKELY = 8
"""Places where a list might go on that are tried, where the same was said again and again."""

DROPPED = 4
"""Messages at the end of the list before that may be missing in the next one for it still to be its successor: a turn
that was taken back, and one before it."""


@dataclass(frozen=True, slots=True)
class LastList:
    """The facts that are kept of the list before."""

    hashes: tuple[int, ...]
    """Of its messages that are on the path, in order."""
    positions: tuple[int, ...]
    """The positions of these."""
    head: int
    """The end of the branch when the turn was done; if it ends elsewhere, others have changed it."""
    unsettled: frozenset[int] = frozenset()
    """Entries that were first seen in that list and were not what it was sent for."""
    notes: tuple[SeenNote, ...] = ()
    usual: frozenset[str] = frozenset()
    """Texts that stood behind the history in turns."""


def select_story(client_list: ClientList, hashes: Sequence[int], last: LastList) -> tuple[list[int], list[int]]:
    """Return, of the hashes of a body, those of messages that seem to be the story's, and their places in the body: all
    but system messages that were not on the path before."""
    known = set(last.hashes)
    places = [
        place
        for place, piece in enumerate(client_list.body)
        if (piece.message.role is not Role.SYSTEM and piece.index not in client_list.attached) or hashes[place] in known
    ]
    return [hashes[place] for place in places], places


def select_spoken(client_list: ClientList, hashes: Sequence[int]) -> list[int]:
    """Return, of the hashes of a body, those of all but system messages and files."""
    pieces = zip(client_list.body, hashes, strict=True)
    return [
        hashed
        for piece, hashed in pieces
        if piece.draft.message.role is not Role.SYSTEM and piece.index not in client_list.attached
    ]


def find_overlap(last: LastList, hashes: Sequence[int]) -> tuple[int, int] | None:
    """Return how many messages of a new list, from its first on, stand in the list before, and how many of that list it
    shares, counted from its first on; None if the one is not a successor of the other."""
    before = last.hashes
    now = tuple(hashes)
    for dropped in range(min(DROPPED + 1, len(before))):
        end = len(before) - dropped
        newest = before[end - 1]
        likely = (count for count in range(len(now), 0, -1) if now[count - 1] == newest and count <= end)
        for count in islice(likely, MOST_LIKELY):
            if now[:count] == before[end - count : end]:
                return count, end
    return None


def make_shingles(hashes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the runs of three messages that a story is looked up by, the newest first; shorter ones in a shorter
    list."""
    size = min(SHINGLE, len(hashes))
    for end in range(len(hashes), size - 1, -1):
        yield tuple(hashes[end - size : end])


class OwnedStory(Protocol):
    """The key of a story; it names the owner."""

    @property
    def owner(self) -> str:
        """The owner of the story."""

    def __hash__(self) -> int: ...


StoryT = TypeVar("StoryT", bound=OwnedStory)


class NearStory(NamedTuple, Generic[StoryT]):
    """A branch whose last list shares messages with a new one."""

    key: StoryT
    name: str
    branch: str


class LastLists(Generic[StoryT]):
    """The lists before, by story and branch; those that were not seen for longest are forgotten first."""

    def __init__(self, most_messages: int = MOST_MESSAGES) -> None:
        self._most_messages = most_messages
        self._messages = 0
        self._lists: OrderedDict[tuple[StoryT, str], tuple[str, LastList]] = OrderedDict()
        self._by_shingle: OrderedDict[tuple[str, str, tuple[int, ...]], tuple[StoryT, str]] = OrderedDict()

    def of(self, key: StoryT, branch: str) -> LastList | None:
        """Return the list before of a branch."""
        kept = self._lists.get((key, branch))
        return kept[1] if kept else None

    def keep(
        self, key: StoryT, branch: str, name: str, last: LastList, spoken: Sequence[int] = (), whose: str = ""
    ) -> None:
        """Remember a list; `spoken` are the hashes of all it shows but for system messages, `whose` keeps apart what is
        not to be mixed."""
        self._forget((key, branch))
        self._lists[key, branch] = name, last
        self._messages += len(last.hashes)
        for shingle in islice(make_shingles(spoken), 2):
            self._by_shingle[key.owner, whose, shingle] = key, branch
            self._by_shingle.move_to_end((key.owner, whose, shingle))
        while len(self._lists) > 1 and (self._messages > self._most_messages or len(self._lists) > MOST_LISTS):
            self._forget(next(iter(self._lists)))
        while len(self._by_shingle) > 4 * MOST_LISTS:  # two for each list, and as many again for lists that moved on
            self._by_shingle.popitem(last=False)

    def forget_others(self, key: StoryT, branch: str) -> None:
        """Forget the lists of other branches of a story: what was hidden on one is hidden on all that share it."""
        for other in [place for place in self._lists if place[0] == key and place[1] != branch]:
            self._forget(other)

    def find_near(self, owner: str, whose: str, spoken: Sequence[int]) -> NearStory[StoryT] | None:
        """Return the branch whose list before shares the newest messages with this one."""
        for shingle in make_shingles(spoken):
            place = self._by_shingle.get((owner, whose, shingle))
            if place is not None and place in self._lists:
                return NearStory(place[0], self._lists[place][0], place[1])
        return None

    def _forget(self, place: tuple[StoryT, str]) -> None:
        kept = self._lists.pop(place, None)
        if kept:
            self._messages -= len(kept[1].hashes)
