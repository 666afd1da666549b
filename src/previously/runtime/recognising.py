"""Following a client: the story of its list, brought to what the list shows, and its answers put where they belong.

What must stay true: what is new in a list is on disk when `follow` returns. A reply is put behind the message it
answers; if others were there first, it is one of several replies there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from previously.core.digests import match_key
from previously.core.errors import HeadMoved
from previously.core.messages import Attributes, Draft, Message, Role, Text
from previously.core.path import OnPath, Put, Reuse, Splice, Splices
from previously.recognition.following import as_sent, is_put, parting
from previously.recognition.heard import Ask, Piece, ask_of
from previously.recognition.prefill import Prefill
from previously.recognition.wording import Names
from previously.runtime.candidates import Candidate, Candidates, around
from previously.runtime.listed import Listed
from previously.runtime.reading import persistently
from previously.runtime.times import time_at
from previously.runtime.transcript import with_swipes
from previously.runtime.windows import Window, Windows, hash_of, said_hashes
from previously.storage.store import NO_NODE, BranchInfo, Store, StoryKey

RECENT = 64
"""How many of the newest messages tell who there is."""

PARTIAL = {"partial": True}
"""What `extra` says of a reply that was broken off."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a story a client is, once its list was followed."""

    key: StoryKey
    name: str
    branch: str
    head: int
    messages: int
    ask: Ask
    pieces: tuple[Piece, ...]
    """The messages of the list that are the story's,"""
    positions: tuple[int, ...]
    """where they stand on the path,"""
    notes: tuple[tuple[int, Piece], ...]
    """and those between that are not, each with how many of the story's stand behind it."""
    prefill: Prefill
    witnesses: tuple[str, ...] | None = None
    """Who is there; None = everyone."""
    replaced: int | None = None
    """The reply that was taken off the path because another is asked for."""
    created: bool = False


class Recognising:
    """Finds the story of each list, and follows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._windows = Windows()
        self._candidates = Candidates(store, self._windows)
        self._locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def follow(self, listed: Listed, new_name: str, *, only_adding: bool = False) -> Place | None:
        """The story of a list, brought to what it shows; `new_name` is for a new one. None for an aside, and with
        `only_adding` for a list that would take something off a path: then the story has gone on without it."""
        near = None if listed.story else self._candidates.near(listed)
        lock = self._locks.setdefault(near[0] if near else (listed.owner, listed.story), asyncio.Lock())
        async with lock:
            return await persistently(lambda: self._follow(listed, new_name, only_adding))

    async def find(self, listed: Listed) -> Place | None:
        """Where a list stands if it is what a path holds; None if it is not. Nothing is changed."""
        found = await self._candidates.best(listed)
        if found is None or not found.following.changes_nothing:
            return None
        return _place(found, found.branch, _ask(listed, found))

    async def answer(self, place: Place, replies: Sequence[Message], *, partial: bool = False) -> None:
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

    async def _put(self, place: Place, drafts: Sequence[Draft]) -> BranchInfo:
        if place.ask is Ask.CONTINUE:
            last, whole = await self._continued(place, drafts[0])
            splice = Splice(last.position, 1, (Put(whole, replaces=last.entry.id),))
            return await self._store.apply(place.key, place.branch, [splice], at=time_at(), expected_head=place.head)
        draft = replace(drafts[0], alternatives=tuple(drafts[1:]))
        return await self._store.append(place.key, place.branch, [draft], at=time_at(), expected_head=place.head)

    async def _put_late(self, place: Place, drafts: Sequence[Draft]) -> None:
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

    async def _continued(self, place: Place, draft: Draft) -> tuple[OnPath, Draft]:
        """The message that is gone on with, and what it is with more of it."""
        at = place.positions[-1] if place.positions else place.messages - 1  # hidden ones may stand behind it
        found = await self._store.path(place.key, place.branch, at, at)
        if not found:
            raise HeadMoved("What was to be gone on with is not there any more.")
        said, more = found[0].entry.message, draft.message.text
        joined = said.text + more if said.text[-1:].isspace() or more[:1].isspace() else f"{said.text} {more}"
        return found[0], replace(draft, message=replace(said, parts=(Text(joined),)))

    async def _follow(self, listed: Listed, new_name: str, only_adding: bool) -> Place | None:
        found, created = await self._candidates.best(listed), False
        if found is None:
            asks = listed.ask or ask_of(listed.heard, streams=listed.streams, known_last=False)
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

    async def _keep_whose(self, listed: Listed, key: StoryKey) -> None:
        beside = listed.kept_beside(await self._store.header(key))
        if beside is not None:
            await self._store.keep_header(key, beside)

    async def unanswered(self, place: Place) -> None:
        """No reply came: what stood behind the message before, and was taken off the path for a new one, is back."""
        if place.replaced is None:
            return
        back = Splice(place.messages, 0, (Reuse(place.replaced),))
        with suppress(HeadMoved):
            branch = await self._store.apply(place.key, place.branch, [back], at=time_at(), expected_head=place.head)
            self._moved(place, branch.head)

    def _moved(self, place: Place, head: int) -> None:
        window = self._windows.of(place.key, place.branch)
        if window:
            self._windows.keep(place.key, place.branch, place.name, replace(window, head=head))

    async def _write(self, found: Candidate, names: Names) -> tuple[BranchInfo, tuple[str, ...] | None]:
        """Bring the branch to what the list shows; the branch then, and who is there."""
        key, branch, following = found.key, found.branch, found.following
        beside, script = found.around, following.script
        if following.fork:
            length, script = parting(script, branch.messages)
            branch, beside = await self._fork(key, branch, length), None
        beside = beside or await around(self._store, key, branch.name)
        if not following.fork:
            script = as_sent(script, beside.newest, found.pieces, found.positions)
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
        self, key: StoryKey, branch: BranchInfo, names: Names, gone: Sequence[str]
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

    async def _remember(self, listed: Listed, place: Place, found: Candidate) -> None:
        """What the next list of this branch will be held against."""
        usual = found.window.usual if found.window else frozenset()
        if place.ask is Ask.TURN:
            usual |= {piece.message.text for piece in listed.heard.behind}
        sent = {piece.index: hash_of(piece.message) for piece in listed.heard.body}
        hashes = tuple(sent[piece.index] for piece in place.pieces)
        whole = len({piece.index for piece in place.pieces}) == len(hashes)  # none was parted
        window = Window(
            hashes if whole else (),
            found.positions if whole else (),
            place.head,
            await self._unsettled(place, found),
            found.sorted.seen,
            usual,
        )
        said = said_hashes(listed.heard)
        self._windows.keep(place.key, place.branch, place.name, window, said, listed.whose)

    async def _unsettled(self, place: Place, found: Candidate) -> frozenset[int]:
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


def _place(found: Candidate, branch: BranchInfo, ask: Ask) -> Place:
    return Place(
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


def _ask(listed: Listed, found: Candidate) -> Ask:
    """What a list is for, given the branch it belongs to."""
    if listed.ask:
        return listed.ask
    story = found.sorted.story
    usual = found.window.usual if found.window else frozenset()
    known = bool(story) and not is_put(story[-1], found.following.script)
    return ask_of(listed.heard, streams=listed.streams, usual=usual, known_last=known)


def _new(splice: Splice) -> Iterable[Put]:
    return (piece for piece in splice.pieces if isinstance(piece, Put) and piece.replaces is None)


def _said_now(script: Splices, witnesses: tuple[str, ...] | None) -> Splices:
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
