"""Which branch of which story a client's list belongs to: reading, and choosing; nothing is changed here.

What must stay true: of two stories that could be meant none is taken by mistake. A shared greeting is a new story; a
shared user message is the same story, and a list that goes back in it is a branch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from previously.core.align import Known
from previously.core.digests import match_key
from previously.core.errors import BadInput
from previously.core.messages import Message, Role
from previously.core.paths import OnPath
from previously.recognition.following import Following, Sorted, follow, sort_notes
from previously.recognition.heard import Ask, Piece
from previously.recognition.prefill import NO_PREFILL, Prefill, last_exchange, without_prefill
from previously.recognition.unfolding import Keys, unfolded
from previously.recognition.wording import is_continue
from previously.runtime.listed import Listed, asked_for
from previously.runtime.presence import KINDS as PRESENCE
from previously.runtime.presence import absent_of
from previously.runtime.windows import Window, Windows, said_hashes, shared, story_hashes
from previously.storage.store import BranchInfo, Store, StoryInfo, StoryKey

T = TypeVar("T")

MOST_HEADERS, MOST_STORIES, MOST_BRANCHES = 64, 4, 16
"""How many of the stories that hold some of a list are asked whose they are, how many of those that may be meant are
looked at, and how many branches of each."""

LARGE = 1_000
"""So many messages together are looked at in a thread."""

RECENT_TURN = 64
"""How long a turn may be for its first message to be found."""

AROUND = 4
"""How many messages that are known to be the same are looked at again beside what is new."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is to be known of a branch before it is written to."""

    active: str
    """Which branch is the active one."""
    absent: tuple[str, ...]
    """Who is not there."""
    newest: OnPath | None
    """What it ends with."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What it would mean that a list belongs to a branch."""

    key: StoryKey
    name: str
    branch: BranchInfo
    window: Window | None
    sorted: Sorted
    prefill: Prefill
    following: Following
    before: tuple[Piece, ...] = ()
    """The messages of the list before those that were looked at; they are on the path."""

    before_positions: tuple[int, ...] = ()
    around: Around | None = None
    """What else was read at the same moment."""

    @property
    def is_this(self) -> bool:
        """Whether it is the same story at all."""
        return self.following.is_this or bool(self.before)

    @property
    def worth(self) -> tuple[int, int]:
        """By which the best is chosen: what it has in common, then how little would leave the path."""
        return self.following.matched + len(self.before), -self.following.removed

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All messages of the list that are the story's."""
        return self.before + self.sorted.story

    @property
    def positions(self) -> tuple[int, ...]:
        """Where they stand once the list was followed."""
        return self.before_positions + self.following.positions


class Candidates:
    """Holds lists against branches."""

    def __init__(self, store: Store, windows: Windows) -> None:
        self._store = store
        self._windows = windows

    def near(self, listed: Listed) -> tuple[StoryKey, str, str] | None:
        """The story, its name and the branch whose list before shares the newest messages with this one."""
        return self._windows.near(listed.owner, listed.whose, said_hashes(listed.heard))

    async def best(self, listed: Listed) -> Candidate | None:
        """The branch that the list belongs to, if there is one."""
        if listed.story:
            info, header = await self._named(listed.owner, listed.story)
            if info and not listed.is_of(header):
                raise BadInput("The story of that name is another user's.")
            if info or not listed.adopts:
                return await self._near(listed, info.key, info.name, info.active.name) if info else None
        if not listed.heard.body:
            return None
        if near := self.near(listed):
            found = await self._near(listed, *near)
            if found.is_this and not found.following.fork:
                return found
        greeting, keys = asked_for(listed.heard)
        holdings = await self._store.holding(listed.owner, [*greeting, *keys]) if keys else []
        tried: list[Candidate] = []
        for holding in islice((one for one in holdings if one.match_keys.difference(greeting)), MOST_HEADERS):
            if listed.may_mean(await self._store.header(holding.key)):
                tried.append(await self._of_story(listed, holding.key, holding.name))
            if len(tried) == MOST_STORIES:
                break
        return max((one for one in tried if one.is_this), key=lambda one: one.worth, default=None)

    async def _named(self, owner: str, name: str) -> tuple[StoryInfo | None, str]:
        """Return the story of that name, and its header."""

        async def read(store: Store) -> tuple[StoryInfo | None, str]:
            info = await store.story(owner, name)
            return info, await store.header(info.key) if info else ""

        return await self._store.at_one_moment(owner, read)

    async def _near(self, listed: Listed, key: StoryKey, name: str, branch: str) -> Candidate:
        """The list held against a branch it probably goes on with, else against all of its story."""
        if listed.story and [piece.message.role for piece in listed.heard.body] == [Role.USER]:
            return await self._newest_only(listed, key, name, branch)
        window = self._windows.of(key, branch)
        found = await self._at_end(listed, key, name, branch, window) if window else None
        return found or await self._of_story(listed, key, name)

    async def _newest_only(self, listed: Listed, key: StoryKey, name: str, branch: str) -> Candidate:
        """A list that shows nothing but what is said now, of a story that is named: the same once more if it is what
        was said last, else something new; never a way back to where it was said before."""
        now = await self._store.branch(key, branch)
        newest = await self._store.path(key, branch, now.messages - RECENT_TURN, now.messages - 1)
        users = [item.position for item in newest if item.entry.message.role is Role.USER]
        turn = [item for item in newest if users and item.position >= users[-1]]
        first = turn[0].position if turn else now.messages
        return await self._against(listed, key, name, now, [_known(item) for item in turn], first)

    async def _of_story(self, listed: Listed, key: StoryKey, name: str) -> Candidate:
        """The branch of a story that the list belongs to: the active one if nothing would leave it, else the one that
        fits best; of equals the active one."""
        active = await self._store.branch(key)
        found = await self._whole(listed, key, name, active)
        if found.following.removed or not found.is_this:
            others = [one for one in await self._store.branches(key) if one.name != active.name][-MOST_BRANCHES:]
            tried = sorted([await self._whole(listed, key, name, one) for one in others], key=lambda one: one.worth)
            fitting = [found, *reversed(tried)]
            found = max(fitting, key=lambda one: (one.is_this, not one.following.fork, one.worth[0]))
        return found

    async def _whole(self, listed: Listed, key: StoryKey, name: str, branch: BranchInfo) -> Candidate:
        """The list held against a whole branch."""
        known = await self._store.known(key, branch.name)
        return await self._against(listed, key, name, branch, known)

    async def _at_end(self, listed: Listed, key: StoryKey, name: str, branch: str, window: Window) -> Candidate | None:
        """The list held against the end of a branch, where it goes on from the list before; None if it does not, or
        others have changed the branch since."""
        hashes, places = story_hashes(listed.heard, window)
        found = shared(window, hashes)
        if found is None:
            return None
        count, end = found
        again = min(AROUND, count)
        first, start = window.positions[end - again], places[count - again]

        async def read(store: Store) -> tuple[BranchInfo, list[OnPath], Around]:
            now = await store.branch(key, branch)
            on_path = await store.path(key, branch, first, now.messages - 1) if now.head == window.head else []
            return now, on_path, await around(store, key, branch)

        now, on_path, beside = await self._store.at_one_moment(key.owner, read)
        if now.head != window.head:
            return None
        known = [_known(one) for one in on_path]
        found_here = await self._against(listed, key, name, now, known, first, start)
        return replace(
            found_here,
            before=tuple(listed.heard.body[place] for place in places[: count - again]),
            before_positions=window.positions[end - count : end - again],
            around=beside,
        )

    async def _against(
        self,
        listed: Listed,
        key: StoryKey,
        name: str,
        branch: BranchInfo,
        known: Sequence[Known],
        first: int = 0,
        start: int = 0,
    ) -> Candidate:
        """The list from its `start` on held against the path from its `first` on."""
        window = self._windows.of(key, branch.name)
        keys = {one.match_key for one in known}
        heard = replace(listed.heard, body=listed.heard.body[start:]) if start else listed.heard
        size = len(known) + len(heard.body) + sum(len(piece.message.text) for piece in heard.body) // 1_000
        notes = window.notes if window else ()
        parted = await _beside(size, lambda: sort_notes(unfolded(heard, Keys(known)), keys, notes))
        story, prefill = parted.story, NO_PREFILL
        if story and story[-1].message.role is Role.ASSISTANT:
            continues = listed.ask is Ask.CONTINUE or any(is_continue(one.message.text) for one in heard.behind)
            user = last_exchange(story, keys)
            stored = await self._reply_to(user, key, branch, known, first) if user else None
            story, prefill = without_prefill(story, keys, stored, continues=continues)
        expected = listed.messages - first if listed.messages is not None else None
        unsettled = window.unsettled if window else frozenset()
        following = await _beside(size, lambda: follow(known, story, unsettled, expected))
        if first:
            following = following.moved(first)
        return Candidate(key, name, branch, window, replace(parted, story=story), prefill, following)

    async def _reply_to(
        self, user: bytes, key: StoryKey, branch: BranchInfo, known: Sequence[Known], first: int
    ) -> Message | None:
        """What the path holds behind the newest message with that key."""
        at = next((at for at in range(len(known) - 2, -1, -1) if known[at].match_key == user), None)
        if at is None:
            return None
        found = await self._store.path(key, branch.name, first + at + 1, first + at + 1)
        return found[0].entry.message if found else None

    async def new(self, listed: Listed, key: StoryKey, name: str) -> Candidate:
        """The list held against a story that is still empty."""
        return await self._against(listed, key, name, await self._store.branch(key), ())


async def around(store: Store, key: StoryKey, branch: str) -> Around:
    """What is to be known of a branch before it is written to."""
    length = (await store.branch(key, branch)).messages
    newest = await store.path(key, branch, length - 1, length - 1) if length else []
    absent = absent_of(await store.marks(key, branch, PRESENCE))
    return Around((await store.branch(key)).name, tuple(absent), newest[0] if newest else None)


async def _beside(size: int, work: Callable[[], T]) -> T:
    """Do it; what takes long, in a thread, so that nobody else waits."""
    return await asyncio.to_thread(work) if size > LARGE else work()


def _known(item: OnPath) -> Known:
    entry = item.entry
    return Known(entry.id, entry.digest, match_key(entry.message), entry.attributes, entry.message.role)
