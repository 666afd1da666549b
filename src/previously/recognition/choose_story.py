"""Choose the branch that a client's list belongs to: what a list is looked up by, and what it would mean on a path.

Of two stories that could be meant none is taken by mistake. A shared greeting is a new story; a shared user message is
the same story, and a list that goes back in it is a branch.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from previously.core.align import KnownEntry
from previously.core.continuation import LINK
from previously.core.digests import match_key
from previously.core.messages import Message, Role
from previously.core.path import Put
from previously.recognition.client_list import Ask, ClientList, ClientMessage, infer_ask
from previously.recognition.client_marks import is_continuation, is_continue
from previously.recognition.follow import PathChange, SortedList, follow, is_put, sort_notes
from previously.recognition.last_lists import LastList, find_overlap, select_story
from previously.recognition.undo_postprocessing import (
    NO_PREFILL,
    PathKeys,
    Prefill,
    find_last_exchange,
    list_edges,
    split_prefill,
    undo_postprocessing,
)

USER, CHAT, MEMORY_MARK, WRITING = "client_user", "client_chat", "memory_mark", "writing"
"""The names under which a story's header says whose conversation it is, by what id the client knows it, which letters
its recalled memory is marked with, and how its model is asked to write on."""

BOOKS = "imported_books"
"""The name under which it says which books came with its file, and what each of them said then."""

OWN_FIELDS = frozenset({USER, CHAT, MEMORY_MARK, WRITING, BOOKS, LINK})
"""The fields of a header that are ours; the rest is of the file that the story came from."""

MOST_LOOKED_UP = 24
"""Messages of a list that are looked up in the store: enough to tell branches of one story apart, in one query."""

AROUND = 4
"""Messages that are known to be the same and are looked at again beside what is new: two turns, so that a prefill or
an edit of the newest reply is seen."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A client's list, and what is said beside it."""

    owner: str
    client_list: ClientList
    streams: bool = False
    story: str | None = None
    """The name of the story, where it is given."""
    ask: Ask | None = None
    """The purpose of the request, where that is given."""
    messages: int | None = None
    """The length of the client's history, where that is given."""
    user: str = ""
    """The person whose conversation it is, where a client serves several: their stories are never mixed."""
    creates: bool = True
    """If true, a story that is not there yet is made."""
    said_at: str | None = None
    """The time at which it was said, where that is not now: its story may have gone on without it."""
    adopts: bool = False
    """True if the name is an id of the client's: then a story that it has begun without the id may be meant."""
    shares_id: bool = False
    """True if others may have the same id: an agent and its helpers. Then messages decide, and a list that begins with
    a summary of another is the story of that id."""
    is_titled: bool = False
    """True if a new story gets a name of its own, and the id is kept beside it."""

    @property
    def trusts_id(self) -> bool:
        """True if its id alone tells its story."""
        body = self.client_list.body
        return not self.shares_id or bool(body and is_continuation(body[0].message.text))

    @property
    def whose(self) -> str:
        """A key that keeps the remembered lists of one conversation apart from others."""
        return json.dumps([self.user, self.story])

    def is_of(self, header: str) -> bool:
        """Return whether a story is the same user's, by what is kept beside it."""
        return bool(parse_header(header).get(USER, "") == self.user)

    def may_mean(self, header: str) -> bool:
        """Return whether a story can be meant: it is the user's, and the client does not know it by another id."""
        return self.is_of(header) and (not self.story or parse_header(header).get(CHAT, self.story) == self.story)

    def renew_header(self, header: str) -> str | None:
        """Return what is to be kept beside its story; None if it is."""
        whose = {USER: self.user} if self.user else {}
        if self.adopts and self.story:
            whose[CHAT] = self.story
        kept = parse_header(header)
        return None if whose.items() <= kept.items() else json.dumps({**kept, **whose})


def parse_header(header: str) -> dict[str, Any]:
    """Return what is kept beside a story."""
    kept = json.loads(header)
    return kept if isinstance(kept, dict) else {}


def choose_lookup_keys(client_list: ClientList) -> tuple[list[bytes], list[bytes]]:
    """Return the match keys by which a list is looked up: that of a greeting, which alone recognises nothing, and those
    of its newest messages and some of its first."""
    body = [piece.message for piece in undo_postprocessing(client_list, PathKeys(()))]
    spoken = [message for message in body if message.role is not Role.SYSTEM]
    greeting = spoken[:1] if spoken and spoken[0].role is Role.ASSISTANT else []
    spoken = spoken[len(greeting) :]
    newest = spoken[-(MOST_LOOKED_UP * 3 // 4) :]
    chosen = [*newest, *spoken[: MOST_LOOKED_UP - len(newest)]]
    if client_list.is_merged:
        chosen += [part for message in chosen for part in list_edges(message)]
    return [match_key(message) for message in greeting], list(dict.fromkeys(match_key(one) for one in chosen))


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a list that goes on from the list before."""

    first: int
    """The position on the path from which on it is looked at."""
    start: int
    """The place in the list from which on it is looked at."""
    before: tuple[ClientMessage, ...]
    """The messages of the list that need not be looked at, since they are on the path."""
    before_positions: tuple[int, ...]
    notes: tuple[tuple[int, ClientMessage], ...] = ()
    """Notes and files among those, which are not, each with how many messages of the story stand behind it."""


def find_tail(client_list: ClientList, hashes: Sequence[int], last: LastList) -> Tail | None:
    """Return the part of a list that is to be looked at, where it goes on from the list before; None if it does not.
    `hashes` are those of its body."""
    story, places = select_story(client_list, hashes, last)
    overlap = find_overlap(last, story)
    if overlap is None:
        return None
    count, end = overlap
    again = min(AROUND, count)
    start, known = places[count - again], set(places)
    notes = (
        (len(places) - bisect_left(places, place), client_list.body[place])
        for place in range(start)
        if place not in known
    )
    return Tail(
        last.positions[end - again],
        start,
        tuple(client_list.body[place] for place in places[: count - again]),
        last.positions[end - count : end - again],
        tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class Candidate:
    """The consequences if a list belongs to a branch."""

    sorted: SortedList
    prefill: Prefill
    change: PathChange
    before: tuple[ClientMessage, ...] = ()
    """The messages of the list before those that were looked at; they are on the path."""
    before_positions: tuple[int, ...] = ()

    @property
    def is_this(self) -> bool:
        """True if it is the same story at all."""
        return self.change.is_this or bool(self.before)

    @property
    def worth(self) -> tuple[int, int]:
        """The rank of a story among others: what it has in common, then how little would leave the path."""
        return self.change.matched + len(self.before), -self.change.removed

    @property
    def fit(self) -> tuple[bool, bool, int]:
        """The rank of a branch among those of one story."""
        return self.is_this, not self.change.fork, self.worth[0]

    @property
    def fits_as_it_is(self) -> bool:
        """True if it is the same story and nothing would leave the path."""
        return self.is_this and not self.change.removed

    @property
    def adds_nothing(self) -> bool:
        """True if the last message of the list is on the path."""
        story = self.sorted.story
        return not story or not is_put(story[-1], self.change.script)

    @property
    def is_told(self) -> bool:
        """True if the path holds all of the list."""
        story = self.sorted.story
        return self.is_this and not self.prefill.pieces and not any(is_put(one, self.change.script) for one in story)

    def find_last_position(self) -> int | None:
        """Return where the last message of the list stands before the change, if it is on the path."""
        if not self.positions or not self.adds_nothing:
            return None
        at = self.positions[-1]
        for splice in self.change.script:
            if splice.at <= at:
                at += splice.remove - len(splice.pieces)
        return at

    @property
    def pieces(self) -> tuple[ClientMessage, ...]:
        """All messages of the list that are the story's."""
        return self.before + self.sorted.story

    @property
    def positions(self) -> tuple[int, ...]:
        """Their positions once the list was followed."""
        return self.before_positions + self.change.positions

    def behind(self, tail: Tail) -> Candidate:
        """Return the candidate of a whole list of which only the tail was looked at."""
        shown = replace(self.sorted, notes=(*tail.notes, *self.sorted.notes))
        return replace(self, sorted=shown, before=tail.before, before_positions=tail.before_positions)

    def infer_ask(self, request: ClientRequest, last: LastList | None) -> Ask:
        """Return the purpose of a list, given the branch it belongs to."""
        if request.ask:
            return request.ask
        story = self.sorted.story
        usual = last.usual if last else frozenset()
        known = bool(story) and not is_put(story[-1], self.change.script)
        return infer_ask(request.client_list, streams=request.streams, usual=usual, known_last=known)

    def find_new_positions(self) -> list[int]:
        """Return where the messages stand that this list brought besides the one it was sent for."""
        puts = (piece for splice in self.change.script for piece in splice.pieces if isinstance(piece, Put))
        new = [put.draft.message for put in puts if put.replaces is None]
        positions: list[int] = []
        # Both are in the order of the list, so one walk finds each new message among the story's.
        for piece, position in zip(self.sorted.story[:-1], self.change.positions, strict=False):
            if len(positions) < len(new) and piece.message is new[len(positions)]:
                positions.append(position)
        return positions


@dataclass(frozen=True)
class PathMatch:
    """A list, from its `start` on, held against a path, from its `first` on."""

    request: ClientRequest
    known: Sequence[KnownEntry]
    last: LastList | None = None
    """The list before of the branch."""
    first: int = 0
    start: int = 0

    @cached_property
    def client_list(self) -> ClientList:
        """The part of the list that is looked at."""
        whole = self.request.client_list
        return replace(whole, body=whole.body[self.start :]) if self.start else whole

    def sort(self) -> SortedList:
        """Return the messages of the list as the path holds them, notes apart."""
        pieces = undo_postprocessing(self.client_list, PathKeys(self.known))
        notes = self.last.notes if self.last else ()
        return sort_notes(pieces, self._keys, notes, self.request.client_list.attached)

    def find_reply(self, sorted_list: SortedList) -> int | None:
        """Return the position of the stored reply that tells whether the list ends in a prefill; None if none does."""
        user = find_last_exchange(sorted_list.story, self._keys)
        places = range(len(self.known) - 2, -1, -1) if user else ()
        at = next((at for at in places if self.known[at].match_key == user), None)
        return None if at is None else self.first + at + 1

    def decide(self, sorted_list: SortedList, stored: Message | None) -> Candidate:
        """Return the candidate; `stored` is the reply that `find_reply` asks for."""
        story, prefill = sorted_list.story, NO_PREFILL
        if story and story[-1].message.role is Role.ASSISTANT:
            behind = self.request.client_list.behind
            continues = self.request.ask is Ask.CONTINUE or any(is_continue(piece.message.text) for piece in behind)
            story, prefill = split_prefill(story, self._keys, stored, continues=continues)
        expected = None if self.request.messages is None else self.request.messages - self.first
        unsettled = self.last.unsettled if self.last else frozenset()
        change = follow(self.known, story, unsettled, expected)
        if self.first:
            change = change.shifted(self.first)
        return Candidate(replace(sorted_list, story=story), prefill, change)

    @cached_property
    def _keys(self) -> set[bytes]:
        return {entry.match_key for entry in self.known}
