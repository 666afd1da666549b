"""Following a client: the story of its list, brought to what the list shows, and its answers put where they belong.

What must stay true: what is new in a list is on disk when `follow` returns. A reply is put behind the message it
answers; if others were there first, it is one of several replies there.

Which branch of which story a client's list belongs to: reading, and choosing; nothing is changed here.

What must stay true: of two stories that could be meant none is taken by mistake. A shared greeting is a new story; a
shared user message is the same story, and a list that goes back in it is a branch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar
from weakref import WeakValueDictionary

from previously.core.align import Known
from previously.core.digests import match_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Attributes, Draft, Message, Role, Text
from previously.core.paths import OnPath
from previously.core.scripts import Put, Reuse, Script, Splice
from previously.recognition.choose_story import ClientRequest, choose_lookup_keys
from previously.recognition.client_list import Ask, ClientMessage, infer_ask
from previously.recognition.client_marks import ChatNames, is_continue
from previously.recognition.follow import (
    PathChange,
    SortedList,
    follow,
    is_put,
    keep_trimmed_reply,
    plan_fork,
    sort_notes,
)
from previously.recognition.last_lists import LastList, LastLists, find_overlap, hash_message, hash_spoken, hash_story
from previously.recognition.undo_postprocessing import (
    NO_PREFILL,
    PathKeys,
    Prefill,
    find_last_exchange,
    split_prefill,
    undo_postprocessing,
)
from previously.runtime.presence import KINDS as PRESENCE
from previously.runtime.presence import absent_of
from previously.runtime.reading import persistently
from previously.runtime.times import time_at
from previously.runtime.transcript import with_swipes
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryKey

RECENT = 64
"""How many of the newest messages tell who there is."""

PARTIAL = {"partial": True}
"""What `extra` says of a reply that was broken off."""


@dataclass(frozen=True, slots=True)
class ClientPlace:
    """Where in a story a client is, once its list was followed."""

    key: StoryKey
    name: str
    branch: str
    head: int
    messages: int
    ask: Ask
    pieces: tuple[ClientMessage, ...]
    """The messages of the list that are the story's,"""
    positions: tuple[int, ...]
    """where they stand on the path,"""
    notes: tuple[tuple[int, ClientMessage], ...]
    """and those between that are not, each with how many of the story's stand behind it."""
    prefill: Prefill
    witnesses: tuple[str, ...] | None = None
    """Who is there; None = everyone."""
    replaced: int | None = None
    """The reply that was taken off the path because another is asked for."""
    created: bool = False


class ClientFollower:
    """Finds the story of each list, and follows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._windows = LastLists()
        self._candidates = Candidates(store, self._windows)
        self._locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def follow(self, listed: ClientRequest, new_name: str, *, only_adding: bool = False) -> ClientPlace | None:
        """The story of a list, brought to what it shows; `new_name` is for a new one. None for an aside, and with
        `only_adding` for a list that would take something off a path: then the story has gone on without it."""
        near = None if listed.story else self._candidates.near(listed)
        lock = self._locks.setdefault(near[0] if near else (listed.owner, listed.story), asyncio.Lock())
        async with lock:
            return await persistently(lambda: self._follow(listed, new_name, only_adding))

    async def find(self, listed: ClientRequest) -> ClientPlace | None:
        """Where a list stands if it is what a path holds; None if it is not. Nothing is changed."""
        found = await self._candidates.best(listed)
        if found is None or not found.following.changes_nothing:
            return None
        return _place(found, found.branch, _ask(listed, found))

    async def answer(self, place: ClientPlace, replies: Sequence[Message], *, partial: bool = False) -> None:
        """Put a reply where it belongs, the first of several on the path, and the others beside it. Nothing is put
        behind a message that has left the path meanwhile."""
        attributes = Attributes(at=time_at(), extra=PARTIAL if partial else {})
        drafts = [Draft(replace(reply, witnesses=place.witnesses), attributes) for reply in replies]
        try:
            branch = await self._put(place, drafts)
        except HeadMoved:
            await persistently(lambda: self._put_late(place, drafts))
        else:
            self._moved(place, branch.head)

    async def _put(self, place: ClientPlace, drafts: Sequence[Draft]) -> BranchInfo:
        if place.ask is Ask.CONTINUE:
            last, whole = await self._continued(place, drafts[0])
            splice = Splice(last.position, 1, (Put(whole, replaces=last.entry.id),))
            return await self._store.apply(place.key, place.branch, [splice], at=time_at(), expected_head=place.head)
        draft = replace(drafts[0], alternatives=tuple(drafts[1:]))
        return await self._store.append(place.key, place.branch, [draft], at=time_at(), expected_head=place.head)

    async def _put_late(self, place: ClientPlace, drafts: Sequence[Draft]) -> None:
        """The same where the branch has changed: if others have answered, it is one of several replies there."""
        branch = await self._store.branch(place.key, place.branch)
        at = await self._store.position_of(place.key, place.branch, place.head) if place.head != NO_NODE else -1
        if at is None:
            return
        by = at + 1 - place.messages
        now = replace(place, head=branch.head, messages=at + 1, positions=tuple(one + by for one in place.positions))
        if now.messages == branch.messages:
            await self._put(now, drafts)
            return
        if place.ask is Ask.CONTINUE:
            last, whole = await self._continued(now, drafts[0])
            await self._store.add_siblings(place.key, place.branch, [(last.position, [whole])])
        else:
            await self._store.add_siblings(place.key, place.branch, [(now.messages, drafts)])

    async def _continued(self, place: ClientPlace, draft: Draft) -> tuple[OnPath, Draft]:
        """The message that is gone on with, and what it is with more of it."""
        at = place.positions[-1] if place.positions else place.messages - 1  # hidden ones may stand behind it
        found = await self._store.path(place.key, place.branch, at, at)
        if not found:
            raise HeadMoved("What was to be gone on with is not there any more.")
        said, more = found[0].entry.message, draft.message.text
        joined = said.text + more if said.text[-1:].isspace() or more[:1].isspace() else f"{said.text} {more}"
        return found[0], replace(draft, message=replace(said, parts=(Text(joined),)))

    async def _follow(self, listed: ClientRequest, new_name: str, only_adding: bool) -> ClientPlace | None:
        found, created = await self._candidates.best(listed), False
        if found is None:
            asks = listed.ask or infer_ask(listed.heard, streams=listed.streams, known_last=False)
            if asks is Ask.ASIDE or not listed.creates:
                return None
            name = listed.story or await self._free_name(listed.owner, new_name)
            info = await self._store.create_story(listed.owner, name, at=time_at())
            found, created = await self._candidates.new(listed, info.key, info.name), True
        ask = _ask(listed, found)
        if ask is Ask.ASIDE or (only_adding and (found.following.fork or found.following.removed)):
            return None
        if created or (listed.adopts and listed.story != found.name):
            await self._keep_whose(listed, found.key)
        branch, witnesses = await self._write(found, listed.heard.names)
        place = replace(_place(found, branch, ask), created=created, witnesses=witnesses)
        await self._remember(listed, place, found)
        return place

    async def _free_name(self, owner: str, wanted: str) -> str:
        """The name for a new story, with a number where another story has it: two are never made one by their names."""
        name, number = wanted, 2
        while await self._store.story(owner, name):
            name, number = f"{wanted} ({number})", number + 1
        return name

    async def _keep_whose(self, listed: ClientRequest, key: StoryKey) -> None:
        beside = listed.kept_beside(await self._store.header(key))
        if beside is not None:
            await self._store.keep_header(key, beside)

    async def unanswered(self, place: ClientPlace) -> None:
        """No reply came: what stood behind the message before, and was taken off the path for a new one, is back."""
        if place.replaced is None:
            return
        back = Splice(place.messages, 0, (Reuse(place.replaced),))
        with suppress(HeadMoved):
            branch = await self._store.apply(place.key, place.branch, [back], at=time_at(), expected_head=place.head)
            self._moved(place, branch.head)

    def _moved(self, place: ClientPlace, head: int) -> None:
        window = self._windows.of(place.key, place.branch)
        if window:
            self._windows.keep(place.key, place.branch, place.name, replace(window, head=head))

    async def _write(self, found: Candidate, names: ChatNames) -> tuple[BranchInfo, tuple[str, ...] | None]:
        """Bring the branch to what the list shows; the branch then, and who is there."""
        key, branch, following = found.key, found.branch, found.following
        beside, script = found.around, following.script
        if following.fork:
            length, script = plan_fork(script, branch.messages)
            branch, beside = await self._fork(key, branch, length), None
        beside = beside or await around(self._store, key, branch.name)
        if not following.fork:
            script = keep_trimmed_reply(script, beside.newest, found.pieces, found.positions)
        witnesses = await self._witnesses(key, branch, names, beside.absent)
        if script:
            script = _said_now(script, witnesses)
            script = await with_swipes(self._store, key, branch.name, script, match_key)
            branch = await self._store.apply(key, branch.name, script, at=time_at(), expected_head=branch.head)
        if following.attributes:
            await self._store.set_attributes(key, following.attributes)
            self._windows.forget_others(key, branch.name)
        if beside.active != branch.name:
            await self._store.switch(key, branch.name)
        return branch, witnesses

    async def _witnesses(
        self, key: StoryKey, branch: BranchInfo, names: ChatNames, gone: Sequence[str]
    ) -> tuple[str, ...] | None:
        """Who witnesses what is said now; None for everyone."""
        if not gone:
            return None
        newest = await self._store.path(key, branch.name, branch.messages - RECENT, branch.messages - 1)
        there = {item.entry.message.speaker for item in newest} | names.all | {Role.USER.value}
        return tuple(sorted(name for name in there if name and name not in gone))

    async def _fork(self, key: StoryKey, branch: BranchInfo, length: int) -> BranchInfo:
        """A new branch that begins as this one does."""
        taken = {one.name for one in await self._store.branches(key)}
        number = len(taken) + 1
        while f"branch {number}" in taken:
            number += 1
        return await self._store.fork(key, branch.name, f"branch {number}", length, at=time_at())

    async def _remember(self, listed: ClientRequest, place: ClientPlace, found: Candidate) -> None:
        """What the next list of this branch will be held against."""
        usual = found.window.usual if found.window else frozenset()
        if place.ask is Ask.TURN:
            usual |= {piece.message.text for piece in listed.heard.behind}
        sent = {piece.index: hash_message(piece.message) for piece in listed.heard.body}
        hashes = tuple(sent[piece.index] for piece in place.pieces)
        whole = len({piece.index for piece in place.pieces}) == len(hashes)  # none was parted
        window = LastList(
            hashes if whole else (),
            found.positions if whole else (),
            place.head,
            await self._unsettled(place, found),
            found.sorted.seen,
            usual,
        )
        said = hash_spoken(listed.heard)
        self._windows.keep(place.key, place.branch, place.name, window, said, listed.whose)

    async def _unsettled(self, place: ClientPlace, found: Candidate) -> frozenset[int]:
        """The entries that this list brought besides the message it was sent for; none where a whole chat is new."""
        new = {id(piece.draft.message) for splice in found.following.script for piece in _new(splice)}
        first = [
            position
            for piece, position in zip(found.sorted.story[:-1], found.following.positions, strict=False)
            if id(piece.message) in new
        ]
        if place.created or not first:
            return frozenset()
        on_path = await self._store.path(place.key, place.branch, first[0], first[-1])
        return frozenset(item.entry.id for item in on_path if item.position in first)


def _place(found: Candidate, branch: BranchInfo, ask: Ask) -> ClientPlace:
    return ClientPlace(
        found.key,
        found.name,
        branch.name,
        branch.head,
        branch.messages,
        ask,
        found.pieces,
        found.positions,
        found.sorted.notes,
        found.prefill,
        replaced=found.following.replied,
    )


def _ask(listed: ClientRequest, found: Candidate) -> Ask:
    """What a list is for, given the branch it belongs to."""
    if listed.ask:
        return listed.ask
    story = found.sorted.story
    usual = found.window.usual if found.window else frozenset()
    known = bool(story) and not is_put(story[-1], found.following.script)
    return infer_ask(listed.heard, streams=listed.streams, usual=usual, known_last=known)


def _new(splice: Splice) -> Iterable[Put]:
    return (piece for piece in splice.pieces if isinstance(piece, Put) and piece.replaces is None)


def _said_now(script: Script, witnesses: tuple[str, ...] | None) -> Script:
    """The script, in which the newest message is said now, before those who are there."""
    last = script[-1].pieces[-1] if script[-1].pieces else None
    if not isinstance(last, Put):
        return script
    draft = last.draft
    if not draft.attributes.at:
        draft = replace(draft, attributes=replace(draft.attributes, at=time_at()))
    if witnesses is not None and draft.message.witnesses is None and last.replaces is None:
        draft = replace(draft, message=replace(draft.message, witnesses=witnesses))
    return [*script[:-1], replace(script[-1], pieces=(*script[-1].pieces[:-1], replace(last, draft=draft)))]


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
    window: LastList | None
    sorted: SortedList
    prefill: Prefill
    following: PathChange
    before: tuple[ClientMessage, ...] = ()
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
    def pieces(self) -> tuple[ClientMessage, ...]:
        """All messages of the list that are the story's."""
        return self.before + self.sorted.story

    @property
    def positions(self) -> tuple[int, ...]:
        """Where they stand once the list was followed."""
        return self.before_positions + self.following.positions


class Candidates:
    """Holds lists against branches."""

    def __init__(self, store: Store, windows: LastLists) -> None:
        self._store = store
        self._windows = windows

    def near(self, listed: ClientRequest) -> tuple[StoryKey, str, str] | None:
        """The story, its name and the branch whose list before shares the newest messages with this one."""
        return self._windows.near(listed.owner, listed.whose, hash_spoken(listed.heard))

    async def best(self, listed: ClientRequest) -> Candidate | None:
        """The branch that the list belongs to, if there is one."""
        if listed.story:
            info = await self._store.story(listed.owner, listed.story)
            if info and not listed.is_of(await self._store.header(info.key)):
                raise BadInput("The story of that name is another user's.")
            if info or not listed.adopts:
                return await self._near(listed, info.key, info.name, info.active.name) if info else None
        if not listed.heard.body:
            return None
        if near := self.near(listed):
            found = await self._near(listed, *near)
            if found.is_this and not found.following.fork:
                return found
        greeting, keys = choose_lookup_keys(listed.heard)
        holdings = await self._store.holding(listed.owner, [*greeting, *keys]) if keys else []
        tried: list[Candidate] = []
        for holding in islice((one for one in holdings if one.match_keys.difference(greeting)), MOST_HEADERS):
            if listed.may_mean(await self._store.header(holding.key)):
                tried.append(await self._of_story(listed, holding.key, holding.name))
            if len(tried) == MOST_STORIES:
                break
        return max((one for one in tried if one.is_this), key=lambda one: one.worth, default=None)

    async def _near(self, listed: ClientRequest, key: StoryKey, name: str, branch: str) -> Candidate:
        """The list held against a branch it probably goes on with, else against all of its story."""
        if listed.story and [piece.message.role for piece in listed.heard.body] == [Role.USER]:
            return await self._newest_only(listed, key, name, branch)
        window = self._windows.of(key, branch)
        found = await self._at_end(listed, key, name, branch, window) if window else None
        return found or await self._of_story(listed, key, name)

    async def _newest_only(self, listed: ClientRequest, key: StoryKey, name: str, branch: str) -> Candidate:
        """A list that shows nothing but what is said now, of a story that is named: the same once more if it is what
        was said last, else something new; never a way back to where it was said before."""
        now = await self._store.branch(key, branch)
        newest = await self._store.path(key, branch, now.messages - RECENT_TURN, now.messages - 1)
        users = [item.position for item in newest if item.entry.message.role is Role.USER]
        turn = [item for item in newest if users and item.position >= users[-1]]
        first = turn[0].position if turn else now.messages
        return await self._against(listed, key, name, now, [_known(item) for item in turn], first)

    async def _of_story(self, listed: ClientRequest, key: StoryKey, name: str) -> Candidate:
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

    async def _whole(self, listed: ClientRequest, key: StoryKey, name: str, branch: BranchInfo) -> Candidate:
        """The list held against a whole branch."""
        known = await self._store.known(key, branch.name)
        return await self._against(listed, key, name, branch, known)

    async def _at_end(
        self, listed: ClientRequest, key: StoryKey, name: str, branch: str, window: LastList
    ) -> Candidate | None:
        """The list held against the end of a branch, where it goes on from the list before; None if it does not, or
        others have changed the branch since."""
        hashes, places = hash_story(listed.heard, window)
        found = find_overlap(window, hashes)
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
        listed: ClientRequest,
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
        parted = await _beside(size, lambda: sort_notes(undo_postprocessing(heard, PathKeys(known)), keys, notes))
        story, prefill = parted.story, NO_PREFILL
        if story and story[-1].message.role is Role.ASSISTANT:
            continues = listed.ask is Ask.CONTINUE or any(is_continue(one.message.text) for one in heard.behind)
            user = find_last_exchange(story, keys)
            stored = await self._reply_to(user, key, branch, known, first) if user else None
            story, prefill = split_prefill(story, keys, stored, continues=continues)
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

    async def new(self, listed: ClientRequest, key: StoryKey, name: str) -> Candidate:
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
