"""Find the story of a client's list: hold the list against branches. Nothing is changed here.

The decisions are `recognition`'s; here the store is asked for what they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from previously.core.align import KnownEntry
from previously.core.digests import match_key
from previously.core.errors import BadInput
from previously.core.exact_names import make_new_name
from previously.core.messages import Role
from previously.core.path import OnPath
from previously.lore.entry import CONTINUE, NORMAL, REGENERATE, SWIPE
from previously.recognition.choose_story import (
    CHAT,
    MEMORY_MARK,
    Candidate,
    ClientRequest,
    PathMatch,
    choose_lookup_keys,
    find_tail,
    parse_header,
)
from previously.recognition.client_list import Ask, ClientList, ClientMessage, change_replies
from previously.recognition.last_lists import LastList, LastLists, NearStory, select_spoken
from previously.recognition.undo_postprocessing import Prefill
from previously.storage.store import BranchInfo, StoryInfo, StoryKey
from previously.storage.tables import Tables
from previously.storage.tables.snapshot import StoredSnapshot
from previously.view.turn import BLOCK_BEGIN, remove_echoes

MOST_HEADERS, MOST_STORIES, MOST_BRANCHES = 64, 4, 16
"""Stories that hold some of a list and are asked whose they are, those of them that are looked at, and branches of
each: the store ranks them, so that the right one is nearly always the first; the rest bounds the work."""

MOST_NAMES = 8_192
"""Ids of clients that are remembered with their stories: a megabyte or two."""

RECENT_TURN = 64
"""Messages that one turn may have for its first one to be found: an agent's turn with many calls."""


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

    @property
    def triggers(self) -> frozenset[str]:
        """The kinds of answers that are asked for, as entries of lore name them. Whether a client swipes or has an
        answer written anew cannot be told apart."""
        if self.ask is Ask.CONTINUE:
            return frozenset({CONTINUE})
        return frozenset({NORMAL}) if self.replaced is None else frozenset({SWIPE, REGENERATE})


@dataclass(frozen=True, slots=True)
class BranchMatch:
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


class StoryFinder:
    """Holds lists against branches; changes nothing."""

    def __init__(self, last_lists: LastLists[StoryKey]) -> None:
        self._last_lists = last_lists
        self._names: dict[tuple[str, str], str] = {}
        """The stories that clients know by their ids, each with the name it had last."""

    def find_near(self, request: ClientRequest) -> NearStory[StoryKey] | None:
        """Return the branch whose list before shares the newest messages with this one; none where a name decides."""
        if request.story and not request.adopts:
            return None
        return self._last_lists.find_near(request.owner, request.whose, _hash_spoken(request.client_list))

    def find(self, tables: Tables, request: ClientRequest, near: NearStory[StoryKey] | None) -> BranchMatch | None:
        """Return the branch that the list belongs to, if there is one; `near` is tried first."""
        if request.story:
            info = tables.stories.named(request.owner, request.story) or tables.stories.named(
                request.owner, make_new_name(request.story)
            )
            if info is None and request.adopts:
                info = self._find_known(tables, request.owner, request.story)
            if info and not request.is_of(tables.stories.kept(info.key, "header")):
                if info.active.messages or not request.user:
                    raise BadInput("The story of that name is another user's.")
                info = None  # it was made, and the process ended before it was written down whose it is
            match = self._match_near(tables, request, info.key, info.name, info.active.name) if info else None
            if not request.adopts or (match and (request.trusts_id or match.candidate.is_this)):
                return match
        if not request.client_list.body:
            return None
        if near:
            match = self._match_near(tables, request, near.key, near.name, near.branch)
            if match.candidate.is_this and not match.candidate.change.fork:
                return match
        return self._find_held(tables, request)

    def _find_known(self, tables: Tables, owner: str, chat: str) -> StoryInfo | None:
        """Return the story that a client knows by an id: where it was last, else among all."""
        info = tables.stories.named(owner, self._names.get((owner, chat), ""))
        if info is None or parse_header(tables.stories.kept(info.key, "header")).get(CHAT) != chat:
            info = tables.stories.known_by(owner, CHAT, chat)
        if info:
            if len(self._names) >= MOST_NAMES:
                self._names.clear()
            self._names[owner, chat] = info.name
        return info

    def _find_held(self, tables: Tables, request: ClientRequest) -> BranchMatch | None:
        """Return the best of the stories that hold some messages of a list."""
        greeting, keys = choose_lookup_keys(request.client_list)
        holdings = tables.stories.holding(request.owner, [*greeting, *keys]) if keys else []
        matches: list[BranchMatch] = []
        for holding in islice((one for one in holdings if one.match_keys.difference(greeting)), MOST_HEADERS):
            if request.may_mean(tables.stories.kept(holding.key, "header")):
                matches.append(self._match_story(tables, request, holding.key, holding.name))
            if len(matches) == MOST_STORIES:
                break
        fitting = [match for match in matches if match.candidate.is_this]
        return max(fitting, key=lambda match: match.candidate.worth, default=None)

    def match_new(self, tables: Tables, request: ClientRequest, info: StoryInfo) -> BranchMatch:
        """Hold the list against a story that is still empty."""
        return self._match(request, tables.snapshot(info.key), info.name, ())

    def _match_near(self, tables: Tables, request: ClientRequest, key: StoryKey, name: str, branch: str) -> BranchMatch:
        """Hold the list against a branch it probably goes on with, else against all of its story."""
        if request.story and [piece.message.role for piece in request.client_list.body] == [Role.USER]:
            return self._match_newest(request, tables.snapshot(key, branch), name)
        last = self._last_lists.of(key, branch)
        match = self._match_end(request, tables.snapshot(key, branch), name, last) if last else None
        return match or self._match_story(tables, request, key, name)

    def _match_newest(self, request: ClientRequest, snapshot: StoredSnapshot, name: str) -> BranchMatch:
        """Hold a list that shows nothing but what is said now against a story that is named: it is the same once more
        if it is what was said last, else something new; never a way back to where it was said before."""
        newest = snapshot.path(snapshot.messages - RECENT_TURN, snapshot.messages - 1)
        users = [item.position for item in newest if item.entry.message.role is Role.USER]
        turn = [item for item in newest if users and item.position >= users[-1]]
        first = turn[0].position if turn else snapshot.messages
        return self._match(request, snapshot, name, list(map(_make_known, turn)), first)

    def _match_story(self, tables: Tables, request: ClientRequest, key: StoryKey, name: str) -> BranchMatch:
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
    ) -> BranchMatch | None:
        """Hold the list against the end of a branch, where it goes on from the list before; None if it does not, or
        others have changed the branch since."""
        tail = find_tail(request.client_list, hash_body(request.client_list), last)
        if tail is None or snapshot.head != last.head:
            return None
        known = list(map(_make_known, snapshot.path(tail.first, snapshot.messages - 1)))
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
    ) -> BranchMatch:
        """Hold the list from its `start` on against the path from its `first` on."""
        request = _without_echoes(request, snapshot, start)
        last = self._last_lists.of(snapshot.key, snapshot.branch)
        match = PathMatch(request, known, last, first, start)
        sorted_list = match.sort()
        at = match.find_reply(sorted_list)
        on_path = snapshot.path(at, at) if at is not None else []
        candidate = match.decide(sorted_list, on_path[0].entry.message if on_path else None)
        branch = BranchInfo(snapshot.branch, snapshot.head, snapshot.messages)
        return BranchMatch(snapshot.key, name, branch, last, candidate)


def _without_echoes(request: ClientRequest, snapshot: StoredSnapshot, start: int) -> ClientRequest:
    """Return a request without what a model has repeated of its memory of a turn, as the reply to it was stored."""
    heard = request.client_list
    if not any(BLOCK_BEGIN in piece.message.text for piece in heard.body[start:]):
        return request
    mark = str(parse_header(snapshot.tables.stories.kept(snapshot.key, "header")).get(MEMORY_MARK, ""))
    return replace(request, client_list=change_replies(heard, start, lambda text: remove_echoes(text, mark)))


def hash_body(client_list: ClientList) -> list[int]:
    """Return what the messages of a body are known by within this process; a turn asks for it several times."""
    if not client_list.hashes:
        messages = (piece.message for piece in client_list.body)
        client_list.hashes[:] = [hash((message.role, message.speaker, message.parts)) for message in messages]
    return client_list.hashes


def _hash_spoken(client_list: ClientList) -> list[int]:
    return select_spoken(client_list, hash_body(client_list))


def _make_known(item: OnPath) -> KnownEntry:
    entry = item.entry
    return KnownEntry(entry.id, entry.digest, match_key(entry.message), entry.attributes, entry.message.role)
