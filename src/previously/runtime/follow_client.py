"""Follow a client: find the story of its list, bring it to what the list shows, and put answers where they belong.

What is new in a list is on disk when `follow` returns. A reply is put behind the message it answers; if others were
there first, it is one of several replies there. The decisions are `recognition`'s; here they are performed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from previously.core.align import choose_swipes
from previously.core.digests import match_key
from previously.core.errors import HeadMoved
from previously.core.exact_names import make_new_name
from previously.core.messages import Attributes, Draft, Message, Role
from previously.core.path import OnPath, Put, Reuse, Splice, Splices
from previously.memory.attendance import COMINGS, find_attendance
from previously.memory.presence import read_newest
from previously.recognition.choose_story import Candidate, ClientRequest
from previously.recognition.client_list import Ask, infer_ask
from previously.recognition.client_marks import ChatNames
from previously.recognition.follow import continue_message, keep_trimmed_reply, plan_fork, stamp_newest
from previously.recognition.last_lists import LastList, LastLists, select_spoken
from previously.runtime.clock import time_at
from previously.runtime.find_story import BranchMatch, ClientPlace, StoryFinder, hash_body
from previously.runtime.retry import retry_when_moved
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.snapshot import StoredSnapshot

RECENT = 64
"""Newest messages that tell who there is: everyone of a large group speaks within so many."""

Also = Callable[[Tables], object]
"""A write that belongs to another."""

PARTIAL = {"partial": True}
"""The `extra` of a reply that was broken off."""


@dataclass(frozen=True, slots=True)
class _ChangePlan:
    """The change that brings a branch to what a list shows."""

    script: Splices
    witnesses: tuple[str, ...] | None
    """The people who are there; None = everyone."""
    is_active: bool
    """True if the branch is the active one, or another has become it since."""


class ClientFollower:
    """Finds the story of each list, and follows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last_lists = LastLists[StoryKey]()
        self._finder = StoryFinder(self._last_lists)
        self._locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def follow(self, request: ClientRequest, new_name: str) -> ClientPlace | None:
        """Bring the story of a list to what it shows; `new_name` is for a new one. None for an aside. A list of an
        earlier time takes nothing off a path that was said since."""
        near = None if request.story else self._finder.find_near(request)
        lock = self._locks.setdefault(near.key if near else (request.owner, request.story), asyncio.Lock())
        async with lock:
            return await retry_when_moved(lambda: self._follow(request, new_name))

    async def find(self, request: ClientRequest) -> ClientPlace | None:
        """Return where a list stands if it is what a path holds; None if it is not. Nothing is changed."""
        match = await self._find(request)
        if match is None or not match.candidate.change.changes_nothing:
            return None
        return match.place(match.branch, match.candidate.infer_ask(request, match.last))

    async def is_told(self, request: ClientRequest) -> bool:
        """Return whether a path holds all of a list, and perhaps more behind it."""
        match = await self._find(request)
        return match is not None and match.candidate.is_told

    async def _find(self, request: ClientRequest) -> BranchMatch | None:
        near = self._finder.find_near(request)
        return await self._store.read(request.owner, lambda tables: self._finder.find(tables, request, near))

    async def answer(
        self,
        place: ClientPlace,
        replies: Sequence[Message],
        *,
        partial: bool = False,
        also: Also | None = None,
        at: str | None = None,
    ) -> None:
        """Put a reply where it belongs, the first of several on the path, and the others beside it. Nothing is put
        behind a message that has left the path meanwhile. `also` is written together with it. `at`: when it came, if
        that is not now. A summary that the client goes on from is none: its next list shows it."""
        if place.ask is Ask.COMPACTION:
            await self.unanswered(place, also)
            return
        attributes = Attributes(at=at or time_at(), extra=PARTIAL if partial else {})
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
            snapshot = tables.snapshot(place.key, place.branch)
            at = snapshot.position_of(place.head) if place.head != NO_NODE else -1
            if at is None:
                write_also(tables)
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
            write_also(tables)
            return None

        def write_also(tables: Tables) -> None:
            if also:
                also(tables)

        now = await self._store.write(place.key, write)
        if now:  # nobody has answered yet
            await self._put(now, drafts, also)

    async def _follow(self, request: ClientRequest, new_name: str) -> ClientPlace | None:
        near = self._finder.find_near(request)

        def read(tables: Tables) -> tuple[BranchMatch, _ChangePlan | None, str] | str:
            match = self._finder.find(tables, request, near)
            if match is None:
                return _find_free_name(tables, request.owner, make_new_name(new_name))
            return _plan(tables, match, request)

        planned, created = await self._store.read(request.owner, read), False
        if isinstance(planned, str):
            ask = request.ask or infer_ask(request.client_list, streams=request.streams, known_last=False)
            if ask in (Ask.ASIDE, Ask.COMPACTION) or not request.creates:
                return None
            name = make_new_name(request.story) if request.story and not request.is_titled else planned
            info, created = await self._store.create_story(request.owner, name, at=time_at()), True
            planned = await self._store.read(
                request.owner, lambda tables: _plan(tables, self._finder.match_new(tables, request, info), request)
            )
        match, plan, kept_header = planned
        ask = match.candidate.infer_ask(request, match.last)
        change = match.candidate.change
        if ask is Ask.ASIDE:
            return None
        is_late = request.said_at is not None and change.removed_at > request.said_at
        if is_late:
            plan = None  # it went another way
            if match.candidate.adds_nothing:
                return await self._store.read(request.owner, lambda tables: _find_passed(tables, match, ask))
        if created or (request.adopts and request.story != match.name):
            header = request.renew_header(kept_header)
            if header is not None:
                await self._store.write(match.key, lambda tables: tables.stories.keep(match.key, "header", header))
        branch, witnesses = await self._write(match, plan, request, is_late)
        place = replace(match.place(branch, ask), created=created, witnesses=witnesses)
        await self._remember(request, place, match)
        return place

    def _move_head(self, place: ClientPlace, head: int) -> None:
        last = self._last_lists.of(place.key, place.branch)
        if last:
            self._last_lists.keep(place.key, place.branch, place.name, replace(last, head=head))

    async def _write(
        self, match: BranchMatch, plan: _ChangePlan | None, request: ClientRequest, is_late: bool
    ) -> tuple[BranchInfo, tuple[str, ...] | None]:
        """Bring the branch to what the list shows; return the branch then, and who is there."""
        key, branch = match.key, match.branch
        attributes = () if is_late else match.candidate.change.attributes
        if plan is None:
            forked = await self._store.write(key, lambda tables: _fork(tables, match, request))
            branch, plan = forked
        if plan.script:
            branch = await self._store.apply(key, branch.name, plan.script, at=time_at(), expected_head=branch.head)
        is_active = plan.is_active or is_late

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

    async def _remember(self, request: ClientRequest, place: ClientPlace, match: BranchMatch) -> None:
        """Keep what the next list of this branch will be held against."""
        client_list = request.client_list
        usual = match.last.usual if match.last else frozenset()
        if place.ask is Ask.TURN:
            usual |= {piece.message.text for piece in client_list.behind}
        body = hash_body(client_list)
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


def _plan(tables: Tables, match: BranchMatch, request: ClientRequest) -> tuple[BranchMatch, _ChangePlan | None, str]:
    """Return a match, the change of its branch, and the header of its story. None where a new branch is to be made."""
    candidate, plan = match.candidate, None
    if not candidate.change.fork:
        snapshot = tables.snapshot(match.key, match.branch.name)
        newest = snapshot.path(snapshot.messages - 1, snapshot.messages - 1) if snapshot.messages else []
        script = keep_trimmed_reply(
            candidate.change.script, newest[0] if newest else None, candidate.pieces, candidate.positions
        )
        plan = _plan_script(tables, snapshot, script, request)
    return match, plan, tables.stories.kept(match.key, "header")


def _find_passed(tables: Tables, match: BranchMatch, ask: Ask) -> ClientPlace | None:
    """Return the place of a list that the story holds and has gone on from; None if it shows nothing of it."""
    at = match.candidate.find_last_position()
    for last in [] if at is None else tables.snapshot(match.key, match.branch.name).path(at, at):
        place = match.place(BranchInfo(match.branch.name, last.node, last.position + 1), ask)
        return replace(place, pieces=place.pieces[-1:], positions=(last.position,), replaced=None)
    return None


def _fork(tables: Tables, match: BranchMatch, request: ClientRequest) -> tuple[BranchInfo, _ChangePlan]:
    """Make a new branch that begins as this one does; return it, and its change."""
    key = match.key
    length, script = plan_fork(match.candidate.change.script, match.branch.messages)
    taken = {other.name for other in tables.stories.branches(key)}
    number = len(taken) + 1
    while f"branch {number}" in taken:
        number += 1
    branch = tables.writer.fork(key, tables.branch(key, match.branch.name), f"branch {number}", length, time_at())
    return branch, _plan_script(tables, tables.snapshot(key, branch.name), script, request)


def _plan_script(tables: Tables, snapshot: StoredSnapshot, script: Splices, request: ClientRequest) -> _ChangePlan:
    """Return a change whose newest message is said at the time of the request, before those who are there."""
    witnesses = _find_witnesses(snapshot, request.client_list.names)
    if script:
        stamped = stamp_newest(script, request.said_at or time_at(), witnesses)
        script = choose_swipes(stamped, snapshot.siblings, match_key)
    is_active = tables.branch(snapshot.key, None).name == snapshot.branch
    if not is_active and request.said_at is not None:
        active = tables.snapshot(snapshot.key)
        newest = active.path(active.messages - 1, active.messages - 1) if active.messages else []
        is_active = any((item.entry.attributes.at or "") > request.said_at for item in newest)
    return _ChangePlan(script, witnesses, is_active)


def _find_witnesses(snapshot: StoredSnapshot, names: ChatNames) -> tuple[str, ...] | None:
    """Return who witnesses what is said now; None for everyone."""
    comings = snapshot.marks(COMINGS)
    if not comings:
        return None
    newest = snapshot.path(snapshot.messages - 1, snapshot.messages - 1) if snapshot.messages else []
    message = newest[0].entry.message if newest else None
    there = find_attendance(read_newest(snapshot, RECENT), comings, message)
    return there.add_names((*names.all, Role.USER.value)).names if there.is_counted else None


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
