"""Follow a client: find the story of its list, bring it to what the list shows, and put answers where they belong.

What is new in a list is on disk when `follow` returns. A reply is put behind the message it answers; if others were
there first, it is one of several replies there. The decisions are `recognition`'s; here they are performed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from weakref import WeakValueDictionary

from previously.core.align import KnownEntry, choose_swipes
from previously.core.digests import match_key
from previously.core.errors import BadInput, HeadMoved
from previously.core.messages import Attributes, Draft, Message, Role
from previously.core.path import OnPath, Put, Reuse, Splice, Splices
from previously.memory.presence import COMINGS, list_absent
from previously.recognition.choose_story import (
    MEMORY_MARK,
    Candidate,
    ClientRequest,
    PathMatch,
    choose_lookup_keys,
    find_tail,
    parse_header,
)
from previously.recognition.client_list import Ask, ClientList, ClientMessage, change_texts, infer_ask
from previously.recognition.client_marks import ChatNames
from previously.recognition.follow import continue_message, keep_trimmed_reply, plan_fork, stamp_newest
from previously.recognition.last_lists import LastList, LastLists, NearStory, select_spoken
from previously.recognition.undo_postprocessing import Prefill
from previously.runtime.clock import time_at
from previously.runtime.retry import retry_when_moved
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryInfo, StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.snapshot import StoredSnapshot
from previously.view.turn import BLOCK_BEGIN, remove_echoes

MOST_HEADERS, MOST_STORIES, MOST_BRANCHES = 64, 4, 16
"""Stories that hold some of a list and are asked whose they are, those of them that are looked at, and branches of
each: the store ranks them, so that the right one is nearly always the first; the rest bounds the work."""

RECENT_TURN = 64
"""Messages that one turn may have for its first one to be found: an agent's turn with many calls."""

RECENT = 64
"""Newest messages that tell who there is: everyone of a large group speaks within so many."""

Also = Callable[[Tables], object]
"""A write that belongs to another."""

PARTIAL = {"partial": True}
"""The `extra` of a reply that was broken off."""


@dataclass(frozen=True, slots=True)
class ClientPlace:
    """The place of a client in a story, once its list was followed."""

    key: StoryKey
    name: str
    branch: str
    head: int
    messages: int
    ask: Ask
    pieces: tuple[ClientMessage, ...]
    """The messages of the list that are the story's,"""
    positions: tuple[int, ...]
    """their positions on the path,"""
    notes: tuple[tuple[int, ClientMessage], ...]
    """and those between that are not, each with how many of the story's stand behind it."""
    prefill: Prefill
    witnesses: tuple[str, ...] | None = None
    """The people who are there; None = everyone."""
    replaced: int | None = None
    """The reply that was taken off the path because another is asked for."""
    created: bool = False


@dataclass(frozen=True, slots=True)
class _ChangePlan:
    """The change that brings a branch to what a list shows."""

    script: Splices
    witnesses: tuple[str, ...] | None
    """The people who are there; None = everyone."""
    is_active: bool
    """True if the branch is the active one."""


@dataclass(frozen=True, slots=True)
class _BranchMatch:
    """A list held against a branch."""

    key: StoryKey
    name: str
    branch: BranchInfo
    last: LastList | None
    candidate: Candidate

    def place(self, branch: BranchInfo, ask: Ask) -> ClientPlace:
        candidate = self.candidate
        return ClientPlace(
            self.key,
            self.name,
            branch.name,
            branch.head,
            branch.messages,
            ask,
            candidate.pieces,
            candidate.positions,
            candidate.sorted.notes,
            candidate.prefill,
            replaced=candidate.change.replied,
        )


class ClientFollower:
    """Finds the story of each list, and follows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last_lists = LastLists[StoryKey]()
        self._finder = _StoryFinder(self._last_lists)
        self._locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def follow(self, request: ClientRequest, new_name: str, *, only_adding: bool = False) -> ClientPlace | None:
        """Bring the story of a list to what it shows; `new_name` is for a new one. None for an aside, and with
        `only_adding` for a list that would take something off a path: then the story has gone on without it."""
        near = None if request.story else self._finder.find_near(request)
        lock = self._locks.setdefault(near.key if near else (request.owner, request.story), asyncio.Lock())
        async with lock:
            return await retry_when_moved(lambda: self._follow(request, new_name, only_adding))

    async def find(self, request: ClientRequest) -> ClientPlace | None:
        """Return where a list stands if it is what a path holds; None if it is not. Nothing is changed."""
        near = self._finder.find_near(request)
        match = await self._store.read(request.owner, lambda tables: self._finder.find(tables, request, near))
        if match is None or not match.candidate.change.changes_nothing:
            return None
        return match.place(match.branch, match.candidate.infer_ask(request, match.last))

    async def answer(
        self, place: ClientPlace, replies: Sequence[Message], *, partial: bool = False, also: Also | None = None
    ) -> None:
        """Put a reply where it belongs, the first of several on the path, and the others beside it. Nothing is put
        behind a message that has left the path meanwhile. `also` is written together with it."""
        attributes = Attributes(at=time_at(), extra=PARTIAL if partial else {})
        drafts = [Draft(replace(reply, witnesses=place.witnesses), attributes) for reply in replies]
        try:
            branch = await self._put(place, drafts, also)
        except HeadMoved:
            await retry_when_moved(lambda: self._put_late(place, drafts, also))
        else:
            self._move_head(place, branch.head)

    async def unanswered(self, place: ClientPlace, also: Also | None = None) -> None:
        """Put back, since no reply came, what stood behind the message and was taken off the path for a new one."""
        if also:
            await self._store.write(place.key, also)
        if place.replaced is None:
            return
        back = Splice(place.messages, 0, (Reuse(place.replaced),))
        with suppress(HeadMoved):
            branch = await self._store.apply(place.key, place.branch, [back], at=time_at(), expected_head=place.head)
            self._move_head(place, branch.head)

    async def _put(self, place: ClientPlace, drafts: Sequence[Draft], also: Also | None = None) -> BranchInfo:
        if place.ask is Ask.CONTINUE:
            last, whole = await self._store.read(
                place.key.owner, lambda tables: _continue(tables.snapshot(place.key, place.branch), place, drafts[0])
            )
            splice = Splice(last.position, 1, (Put(whole, replaces=last.entry.id),))
            return await self._store.apply(
                place.key, place.branch, [splice], at=time_at(), expected_head=place.head, also=also
            )
        draft = replace(drafts[0], alternatives=tuple(drafts[1:]))
        return await self._store.append(
            place.key, place.branch, [draft], at=time_at(), expected_head=place.head, also=also
        )

    async def _put_late(self, place: ClientPlace, drafts: Sequence[Draft], also: Also | None) -> None:
        """Put a reply where the branch has changed: if others have answered, it is one of several replies there."""

        def write(tables: Tables) -> ClientPlace | None:
            if also:
                also(tables)
            snapshot = tables.snapshot(place.key, place.branch)
            at = snapshot.position_of(place.head) if place.head != NO_NODE else -1
            if at is None:
                return None
            positions = tuple(position + at + 1 - place.messages for position in place.positions)
            now = replace(place, head=snapshot.head, messages=at + 1, positions=positions)
            if now.messages == snapshot.messages:
                return now
            siblings: tuple[int, Sequence[Draft]] = now.messages, drafts
            if place.ask is Ask.CONTINUE:
                last, whole = _continue(snapshot, now, drafts[0])
                siblings = last.position, [whole]
            tables.writer.add_siblings(place.key, tables.branch(place.key, place.branch).line, [siblings])
            return None

        now = await self._store.write(place.key, write)
        if now:  # nobody has answered yet
            await self._put(now, drafts)

    async def _follow(self, request: ClientRequest, new_name: str, only_adding: bool) -> ClientPlace | None:
        near = self._finder.find_near(request)

        def read(tables: Tables) -> tuple[_BranchMatch, _ChangePlan | None, str] | str:
            match = self._finder.find(tables, request, near)
            return _plan(tables, match, request) if match else _find_free_name(tables, request.owner, new_name)

        planned, created = await self._store.read(request.owner, read), False
        if isinstance(planned, str):
            ask = request.ask or infer_ask(request.client_list, streams=request.streams, known_last=False)
            if ask is Ask.ASIDE or not request.creates:
                return None
            info, created = await self._store.create_story(request.owner, request.story or planned, at=time_at()), True
            planned = await self._store.read(
                request.owner, lambda tables: _plan(tables, self._finder.match_new(tables, request, info), request)
            )
        match, plan, kept_header = planned
        ask = match.candidate.infer_ask(request, match.last)
        change = match.candidate.change
        if ask is Ask.ASIDE or (only_adding and (change.fork or change.removed)):
            return None
        if created or (request.adopts and request.story != match.name):
            header = request.renew_header(kept_header)
            if header is not None:
                await self._store.write(match.key, lambda tables: tables.stories.keep(match.key, "header", header))
        branch, witnesses = await self._write(match, plan, request.client_list.names)
        place = replace(match.place(branch, ask), created=created, witnesses=witnesses)
        await self._remember(request, place, match)
        return place

    def _move_head(self, place: ClientPlace, head: int) -> None:
        last = self._last_lists.of(place.key, place.branch)
        if last:
            self._last_lists.keep(place.key, place.branch, place.name, replace(last, head=head))

    async def _write(
        self, match: _BranchMatch, plan: _ChangePlan | None, names: ChatNames
    ) -> tuple[BranchInfo, tuple[str, ...] | None]:
        """Bring the branch to what the list shows; return the branch then, and who is there."""
        key, branch, attributes = match.key, match.branch, match.candidate.change.attributes
        if plan is None:
            forked = await self._store.write(key, lambda tables: _fork(tables, match, names))
            branch, plan = forked
        if plan.script:
            branch = await self._store.apply(key, branch.name, plan.script, at=time_at(), expected_head=branch.head)
        is_active = plan.is_active

        def write(tables: Tables) -> None:
            if attributes:
                tables.writer.set_attributes(key, attributes)
            if not is_active:
                tables.stories.switch(key, branch.name)

        if attributes or not is_active:
            await self._store.write(key, write)
        if attributes:
            self._last_lists.forget_others(key, branch.name)
        return branch, plan.witnesses

    async def _remember(self, request: ClientRequest, place: ClientPlace, match: _BranchMatch) -> None:
        """Keep what the next list of this branch will be held against."""
        client_list = request.client_list
        usual = match.last.usual if match.last else frozenset()
        if place.ask is Ask.TURN:
            usual |= {piece.message.text for piece in client_list.behind}
        body = _hash_body(client_list)
        sent = {piece.index: hashed for piece, hashed in zip(client_list.body, body, strict=True)}
        hashes = tuple(sent[piece.index] for piece in place.pieces)
        whole = len({piece.index for piece in place.pieces}) == len(hashes)  # none was parted
        last = LastList(
            hashes if whole else (),
            place.positions if whole else (),
            place.head,
            await self._find_unsettled(place, match.candidate),
            match.candidate.sorted.seen,
            usual,
        )
        spoken = select_spoken(client_list, body)
        self._last_lists.keep(place.key, place.branch, place.name, last, spoken, request.whose)

    async def _find_unsettled(self, place: ClientPlace, candidate: Candidate) -> frozenset[int]:
        """Return the entries that this list brought besides the message it was sent for; none where a whole chat is
        new."""
        new = [] if place.created else candidate.find_new_positions()
        if not new:
            return frozenset()
        on_path = await self._store.read(
            place.key.owner, lambda tables: tables.snapshot(place.key, place.branch).path(new[0], new[-1])
        )
        return frozenset(item.entry.id for item in on_path if item.position in new)


class _StoryFinder:
    """Holds lists against branches; changes nothing."""

    def __init__(self, last_lists: LastLists[StoryKey]) -> None:
        self._last_lists = last_lists

    def find_near(self, request: ClientRequest) -> NearStory[StoryKey] | None:
        """Return the branch whose list before shares the newest messages with this one; none where a name decides."""
        if request.story and not request.adopts:
            return None
        return self._last_lists.find_near(request.owner, request.whose, _hash_spoken(request.client_list))

    def find(self, tables: Tables, request: ClientRequest, near: NearStory[StoryKey] | None) -> _BranchMatch | None:
        """Return the branch that the list belongs to, if there is one; `near` is tried first."""
        if request.story:
            info = tables.stories.named(request.owner, request.story)
            if info and not request.is_of(tables.stories.kept(info.key, "header")):
                if info.active.messages or not request.user:
                    raise BadInput("The story of that name is another user's.")
                info = None  # it was made, and the process ended before it was written down whose it is
            if info or not request.adopts:
                return self._match_near(tables, request, info.key, info.name, info.active.name) if info else None
        if not request.client_list.body:
            return None
        if near:
            match = self._match_near(tables, request, near.key, near.name, near.branch)
            if match.candidate.is_this and not match.candidate.change.fork:
                return match
        return self._find_held(tables, request)

    def _find_held(self, tables: Tables, request: ClientRequest) -> _BranchMatch | None:
        """Return the best of the stories that hold some messages of a list."""
        greeting, keys = choose_lookup_keys(request.client_list)
        holdings = tables.stories.holding(request.owner, [*greeting, *keys]) if keys else []
        matches: list[_BranchMatch] = []
        for holding in islice((one for one in holdings if one.match_keys.difference(greeting)), MOST_HEADERS):
            if request.may_mean(tables.stories.kept(holding.key, "header")):
                matches.append(self._match_story(tables, request, holding.key, holding.name))
            if len(matches) == MOST_STORIES:
                break
        fitting = [match for match in matches if match.candidate.is_this]
        return max(fitting, key=lambda match: match.candidate.worth, default=None)

    def match_new(self, tables: Tables, request: ClientRequest, info: StoryInfo) -> _BranchMatch:
        """Hold the list against a story that is still empty."""
        return self._match(request, tables.snapshot(info.key), info.name, ())

    def _match_near(
        self, tables: Tables, request: ClientRequest, key: StoryKey, name: str, branch: str
    ) -> _BranchMatch:
        """Hold the list against a branch it probably goes on with, else against all of its story."""
        if request.story and [piece.message.role for piece in request.client_list.body] == [Role.USER]:
            return self._match_newest(request, tables.snapshot(key, branch), name)
        last = self._last_lists.of(key, branch)
        match = self._match_end(request, tables.snapshot(key, branch), name, last) if last else None
        return match or self._match_story(tables, request, key, name)

    def _match_newest(self, request: ClientRequest, snapshot: StoredSnapshot, name: str) -> _BranchMatch:
        """Hold a list that shows nothing but what is said now against a story that is named: it is the same once more
        if it is what was said last, else something new; never a way back to where it was said before."""
        newest = snapshot.path(snapshot.messages - RECENT_TURN, snapshot.messages - 1)
        users = [item.position for item in newest if item.entry.message.role is Role.USER]
        turn = [item for item in newest if users and item.position >= users[-1]]
        first = turn[0].position if turn else snapshot.messages
        return self._match(request, snapshot, name, list(map(_known, turn)), first)

    def _match_story(self, tables: Tables, request: ClientRequest, key: StoryKey, name: str) -> _BranchMatch:
        """Return the branch of a story that the list belongs to: the active one if nothing would leave it, else the one
        that fits best; of equals the active one."""
        active = tables.snapshot(key)
        match = self._match(request, active, name, active.known())
        if match.candidate.fits_as_it_is:
            return match
        others = [branch.name for branch in tables.stories.branches(key) if branch.name != active.branch]
        snapshots = [tables.snapshot(key, branch) for branch in others[-MOST_BRANCHES:]]
        matches = [self._match(request, snapshot, name, snapshot.known()) for snapshot in snapshots]
        matches.sort(key=lambda other: other.candidate.worth)
        return max([match, *reversed(matches)], key=lambda other: other.candidate.fit)

    def _match_end(
        self, request: ClientRequest, snapshot: StoredSnapshot, name: str, last: LastList
    ) -> _BranchMatch | None:
        """Hold the list against the end of a branch, where it goes on from the list before; None if it does not, or
        others have changed the branch since."""
        tail = find_tail(request.client_list, _hash_body(request.client_list), last)
        if tail is None or snapshot.head != last.head:
            return None
        known = list(map(_known, snapshot.path(tail.first, snapshot.messages - 1)))
        match = self._match(request, snapshot, name, known, tail.first, tail.start)
        return replace(match, candidate=match.candidate.behind(tail))

    def _match(
        self,
        request: ClientRequest,
        snapshot: StoredSnapshot,
        name: str,
        known: Sequence[KnownEntry],
        first: int = 0,
        start: int = 0,
    ) -> _BranchMatch:
        """Hold the list from its `start` on against the path from its `first` on."""
        request = _without_echoes(request, snapshot, start)
        last = self._last_lists.of(snapshot.key, snapshot.branch)
        match = PathMatch(request, known, last, first, start)
        sorted_list = match.sort()
        at = match.find_reply(sorted_list)
        on_path = snapshot.path(at, at) if at is not None else []
        candidate = match.decide(sorted_list, on_path[0].entry.message if on_path else None)
        branch = BranchInfo(snapshot.branch, snapshot.head, snapshot.messages)
        return _BranchMatch(snapshot.key, name, branch, last, candidate)


def _without_echoes(request: ClientRequest, snapshot: StoredSnapshot, start: int) -> ClientRequest:
    """Return a request without what a model has repeated of its memory of a turn, as the reply to it was stored."""
    heard = request.client_list
    if not any(BLOCK_BEGIN in piece.message.text for piece in heard.body[start:]):
        return request
    mark = str(parse_header(snapshot.tables.stories.kept(snapshot.key, "header")).get(MEMORY_MARK, ""))
    return replace(request, client_list=change_texts(heard, start, lambda text: remove_echoes(text, mark)))


def _plan(tables: Tables, match: _BranchMatch, request: ClientRequest) -> tuple[_BranchMatch, _ChangePlan | None, str]:
    """Return a match, the change of its branch, and the header of its story. None where a new branch is to be made."""
    candidate, plan = match.candidate, None
    if not candidate.change.fork:
        snapshot = tables.snapshot(match.key, match.branch.name)
        newest = snapshot.path(snapshot.messages - 1, snapshot.messages - 1) if snapshot.messages else []
        script = keep_trimmed_reply(
            candidate.change.script, newest[0] if newest else None, candidate.pieces, candidate.positions
        )
        plan = _plan_script(tables, snapshot, script, request.client_list.names)
    return match, plan, tables.stories.kept(match.key, "header")


def _fork(tables: Tables, match: _BranchMatch, names: ChatNames) -> tuple[BranchInfo, _ChangePlan]:
    """Make a new branch that begins as this one does; return it, and its change."""
    key = match.key
    length, script = plan_fork(match.candidate.change.script, match.branch.messages)
    taken = {other.name for other in tables.stories.branches(key)}
    number = len(taken) + 1
    while f"branch {number}" in taken:
        number += 1
    branch = tables.writer.fork(key, tables.branch(key, match.branch.name), f"branch {number}", length, time_at())
    return branch, _plan_script(tables, tables.snapshot(key, branch.name), script, names)


def _plan_script(tables: Tables, snapshot: StoredSnapshot, script: Splices, names: ChatNames) -> _ChangePlan:
    """Return a change whose newest message is said now, before those who are there."""
    witnesses = _find_witnesses(snapshot, names)
    if script:
        script = choose_swipes(stamp_newest(script, time_at(), witnesses), snapshot.siblings, match_key)
    return _ChangePlan(script, witnesses, tables.branch(snapshot.key, None).name == snapshot.branch)


def _find_witnesses(snapshot: StoredSnapshot, names: ChatNames) -> tuple[str, ...] | None:
    """Return who witnesses what is said now; None for everyone."""
    absent = list_absent(snapshot.marks(COMINGS))
    if not absent:
        return None
    newest = snapshot.path(snapshot.messages - RECENT, snapshot.messages - 1)
    there = {item.entry.message.speaker for item in newest} | names.all | {Role.USER.value}
    return tuple(sorted(name for name in there if name and name not in absent))


def _continue(snapshot: StoredSnapshot, place: ClientPlace, draft: Draft) -> tuple[OnPath, Draft]:
    """Return the message that is gone on with, and what it is with more of it."""
    at = place.positions[-1] if place.positions else place.messages - 1  # hidden ones may stand behind it
    on_path = snapshot.path(at, at)
    if not on_path:
        raise HeadMoved("What was to be gone on with is not there any more.")
    return on_path[0], replace(draft, message=continue_message(on_path[0].entry.message, draft.message.text))


def _find_free_name(tables: Tables, owner: str, wanted: str) -> str:
    """Return the name for a new story, with a number where another story has it: two are never made one by their
    names."""
    name, number = wanted, 2
    while tables.stories.named(owner, name):
        name, number = f"{wanted} ({number})", number + 1
    return name


def _hash_body(client_list: ClientList) -> list[int]:
    """Return what the messages of a body are known by within this process; a turn asks for it several times."""
    if not client_list.hashes:
        messages = (piece.message for piece in client_list.body)
        client_list.hashes[:] = [hash((message.role, message.speaker, message.parts)) for message in messages]
    return client_list.hashes


def _hash_spoken(client_list: ClientList) -> list[int]:
    return select_spoken(client_list, _hash_body(client_list))


def _known(item: OnPath) -> KnownEntry:
    entry = item.entry
    return KnownEntry(entry.id, entry.digest, match_key(entry.message), entry.attributes, entry.message.role)
