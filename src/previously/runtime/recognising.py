"""Following a client: the story of its list, brought to what the list shows, and its answers put where they belong.

What must stay true: what is new in a list is on disk when `follow` returns. A reply is put behind the message it
answers; if others were there first, it is one of several replies there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from previously.core.digests import match_key
from previously.core.errors import HeadMoved
from previously.core.messages import Attributes, Draft, Message, Text
from previously.core.scripts import Put, Script, Splice
from previously.recognition.heard import Ask, Piece, ask_of
from previously.recognition.prefill import Prefill
from previously.runtime.candidates import Candidate, Candidates, Listed, said_hashes
from previously.runtime.reading import persistently
from previously.runtime.times import time_at
from previously.runtime.transcript import with_swipes
from previously.runtime.windows import Window, hash_of
from previously.storage.store import BranchInfo, Store, StoryKey

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
    created: bool = False


class Recognising:
    """Finds the story of each list, and follows it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._candidates = Candidates(store)
        self._locks: WeakValueDictionary[object, asyncio.Lock] = WeakValueDictionary()

    async def follow(self, listed: Listed, new_name: str) -> Place | None:
        """The story of a list, brought to what it shows; `new_name` is for a new one. None for an aside."""
        near = None if listed.story else self._candidates.near(listed)
        lock = self._locks.setdefault(near[0] if near else (listed.owner, listed.story), asyncio.Lock())
        async with lock:
            return await persistently(lambda: self._follow(listed, new_name))

    async def find(self, listed: Listed) -> Place | None:
        """Where a list stands if it is what a path holds; None if it is not. Nothing is changed."""
        found = await self._candidates.best(listed)
        if found is None or not found.following.changes_nothing:
            return None
        return _place(found, found.branch, _ask(listed, found))

    async def answer(self, place: Place, replies: Sequence[Message], *, partial: bool = False) -> BranchInfo:
        """Put a reply where it belongs, the first of several on the path, and the others beside it."""
        extra = PARTIAL if partial else {}
        drafts = [Draft(reply, Attributes(at=time_at(), extra=extra)) for reply in replies]
        draft = replace(drafts[0], alternatives=tuple(drafts[1:]))
        try:
            branch = await self._put(place, draft)
        except HeadMoved:
            await self._store.add_siblings(place.key, place.branch, [(place.messages, drafts)])
            branch = await self._store.branch(place.key, place.branch)
        window = self._candidates.window(place.key, place.branch)
        if window:
            self._candidates.remember(place.key, place.branch, place.name, replace(window, head=branch.head))
        return branch

    async def _put(self, place: Place, draft: Draft) -> BranchInfo:
        if place.ask is not Ask.CONTINUE:
            return await self._store.append(place.key, place.branch, [draft], at=time_at(), expected_head=place.head)
        last = (await self._store.path(place.key, place.branch, place.messages - 1, place.messages - 1))[0]
        more = draft.message.text
        text = last.entry.message.text
        joined = text + more if text[-1:].isspace() or more[:1].isspace() else f"{text} {more}"
        whole = replace(draft, message=replace(last.entry.message, parts=(Text(joined),)), alternatives=())
        splice = Splice(last.position, 1, (Put(whole, replaces=last.entry.id),))
        return await self._store.apply(place.key, place.branch, [splice], at=time_at(), expected_head=place.head)

    async def _follow(self, listed: Listed, new_name: str) -> Place | None:
        found, created = await self._candidates.best(listed), False
        if found is None:
            asks = listed.ask or ask_of(listed.heard, streams=listed.streams, known_last=False)
            if asks is Ask.ASIDE:
                return None
            info = await self._store.create_story(listed.owner, listed.story or new_name, at=time_at())
            found, created = await self._candidates.new(listed, info.key, info.name), True
        ask = _ask(listed, found)
        if ask is Ask.ASIDE:
            return None
        branch = await self._write(found)
        place = replace(_place(found, branch, ask), created=created)
        await self._remember(listed, place, found)
        return place

    async def _write(self, found: Candidate) -> BranchInfo:
        """Bring the branch to what the list shows."""
        key, branch, following = found.key, found.branch, found.following
        if following.fork:
            branch = await self._fork(key, branch)
        if following.script:
            script = await with_swipes(self._store, key, branch.name, _timed(following.script), match_key)
            branch = await self._store.apply(key, branch.name, script, at=time_at(), expected_head=branch.head)
        if following.attributes:
            await self._store.set_attributes(key, following.attributes)
        if (await self._store.branch(key)).name != branch.name:
            await self._store.switch(key, branch.name)
        return branch

    async def _fork(self, key: StoryKey, branch: BranchInfo) -> BranchInfo:
        """A new branch that is as this one is now."""
        taken = {one.name for one in await self._store.branches(key)}
        number = len(taken) + 1
        while f"branch {number}" in taken:
            number += 1
        return await self._store.fork(key, branch.name, f"branch {number}", branch.messages, at=time_at())

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
        self._candidates.remember(place.key, place.branch, place.name, window, said_hashes(listed.heard))

    async def _unsettled(self, place: Place, found: Candidate) -> frozenset[int]:
        """The entries that this list brought besides the message it was sent for; none where a whole chat is new."""
        new = {id(piece.draft) for splice in found.following.script for piece in _new(splice)}
        first = [
            position
            for piece, position in zip(found.sorted.story[:-1], found.following.positions, strict=False)
            if id(piece.draft) in new
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
    )


def _ask(listed: Listed, found: Candidate) -> Ask:
    """What a list is for, given the branch it belongs to."""
    if listed.ask:
        return listed.ask
    put = {id(piece.draft) for splice in found.following.script for piece in splice.pieces if isinstance(piece, Put)}
    story = found.sorted.story
    usual = found.window.usual if found.window else frozenset()
    known = bool(story) and id(story[-1].draft) not in put
    return ask_of(listed.heard, streams=listed.streams, usual=usual, known_last=known)


def _new(splice: Splice) -> Iterable[Put]:
    return (piece for piece in splice.pieces if isinstance(piece, Put) and piece.replaces is None)


def _timed(script: Script) -> Script:
    """The script, in which the newest message is said now."""
    last = script[-1].pieces[-1] if script[-1].pieces else None
    if not isinstance(last, Put) or last.draft.attributes.at:
        return script
    draft = replace(last.draft, attributes=replace(last.draft.attributes, at=time_at()))
    return [*script[:-1], replace(script[-1], pieces=(*script[-1].pieces[:-1], replace(last, draft=draft)))]
