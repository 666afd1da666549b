"""The change that a client's list makes on a path: the decision, as a value.

A list is a window: what is missing in front was trimmed, a hole is hidden. But what the client has never sent *back* is
not settled: a reply that does not return was not kept, and a message that was there for one request only was a note.
Such messages leave the path (never the story). A list that ends earlier than the path goes back: within the newest turn
that is another reply or an undo; further, it is another branch, so that the way to the old end stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from previously.core.align import Alignment, KnownEntry, align
from previously.core.digests import match_key
from previously.core.messages import Attributes, Draft, Message, Role, Text
from previously.core.path import OnPath, Put, Reuse, Splice, Splices
from previously.recognition.client_list import LONG_TEXT, ClientMessage, replace_text

DEEP_NOTE = 16
"""A system message with more messages of the story behind it than this is taken for part of the story: clients put
notes at a depth of ten at most."""

NEAR, LONG_HOLE = 4, 8
"""A story is taken not to be trimmed so near to its beginning (two turns); and so many messages (four turns) are not
hidden for the sake of a short one."""

MOST_CHANGED = 2
"""User messages that may be others than they were: an edit and its answer. With more, it is another way the story
went."""


@dataclass(frozen=True, slots=True)
class SeenNote:
    """A system message in a list that is not on the path, and what was said before and after it."""

    key: bytes
    before: bytes
    after: bytes
    depth: int


@dataclass(frozen=True, slots=True)
class SortedList:
    """The pieces of a body: those of the story, and those that are furniture for now."""

    story: tuple[ClientMessage, ...]
    notes: tuple[tuple[int, ClientMessage], ...]
    """Each with how many messages of the story stand behind it."""
    seen: tuple[SeenNote, ...]


def sort_notes(
    pieces: Sequence[ClientMessage],
    known: Collection[bytes],
    before: Sequence[SeenNote],
    attached: Collection[int] = (),
) -> SortedList:
    """Tell notes from the story among system messages: what keeps its neighbours while the story goes on is part of it.

    `known` are the match keys of the path, `before` the notes of the list before, `attached` the places in the list of
    messages that are notes in any case."""
    keys = [match_key(piece.message) for piece in pieces]
    spoken = [piece.message.role is not Role.SYSTEM and piece.index not in attached for piece in pieces]
    is_story = list(spoken)
    behind = sum(is_story)
    notes: list[tuple[int, int]] = []
    for at, story in enumerate(is_story):
        behind -= story
        if not story and pieces[at].index not in attached and (keys[at] in known or behind > DEEP_NOTE):
            is_story[at] = True
        elif not story:
            notes.append((at, behind))
    seen: list[SeenNote] = []
    furniture: list[tuple[int, ClientMessage]] = []
    for at, depth in notes:
        previous = next((keys[i] for i in range(at - 1, -1, -1) if spoken[i]), b"")
        following = next((keys[i] for i in range(at + 1, len(pieces)) if spoken[i]), b"")
        settled = any(
            one.key == keys[at] and (one.before, one.after) == (previous, following) and one.depth < depth
            for one in before
        )
        if settled and following and pieces[at].index not in attached:
            is_story[at] = True
        else:
            seen.append(SeenNote(keys[at], previous, following, depth))
            furniture.append((depth, pieces[at]))
    return SortedList(
        tuple(piece for piece, story in zip(pieces, is_story, strict=True) if story), tuple(furniture), tuple(seen)
    )


@dataclass(frozen=True, slots=True)
class PathChange:
    """The change that brings a branch to what a client shows."""

    script: Splices
    attributes: tuple[tuple[int, Attributes], ...]
    fork: bool
    """If true, the branch stays as it is, and a new one is changed."""
    positions: tuple[int, ...]
    """The positions of the messages of the list afterwards."""
    matched: int
    """Number of messages of the list that are on the path."""
    is_this: bool
    """True if the list and the path are of the same story."""
    removed: int
    removed_at: str = ""
    """The time at which the newest of those that leave the path was said."""
    replied: int | None = None
    """The reply at the end that is taken off because another is asked for."""

    @property
    def changes_nothing(self) -> bool:
        """True if the path is what the client shows."""
        return not (self.script or self.attributes)

    def shifted(self, by: int) -> PathChange:
        """Return the same for a path of which the first `by` messages were not looked at."""
        script = [replace(splice, at=splice.at + by) for splice in self.script]
        return replace(self, script=script, positions=tuple(position + by for position in self.positions))


def follow(
    known: Sequence[KnownEntry],
    pieces: Sequence[ClientMessage],
    unsettled: Collection[int],
    expected: int | None = None,
) -> PathChange:
    """Return what a list changes on a path. `unsettled` are entries that were in one list only; `expected` is how long
    the client says its history is, hidden messages included: then it tells deleted from hidden."""
    alignment = align(known, [piece.draft for piece in pieces], whole=False)
    if cut := _find_chance_match(known, pieces, alignment):
        left_over = None if expected is None else expected - cut
        return follow(known[cut:], pieces, unsettled, left_over).shifted(cut)
    script, attributes = _settle(known, alignment, unsettled)
    script = _reuse_moved(known, script, attributes, pieces)
    if expected is not None:
        script, attributes = _delete_counted(known, script, attributes, expected)
    gone = [at for splice in script for at in range(splice.at, splice.at + splice.remove)]
    left = frozenset(gone)
    end = next((at for at in range(len(known) - 1, -1, -1) if at not in left and not known[at].attributes.hidden), -1)
    lost = [known[at] for at in gone if at > end]
    fork = _count_users(lost) > 1 or _count_users(known[at] for at in gone) > MOST_CHANGED
    matched = alignment.unchanged + sum(1 for _, new in alignment.attributes if not new.hidden)
    positions = _find_positions(known, script, attributes)[-len(pieces) :] if pieces else ()
    nothing_new = bool(pieces) and not is_put(pieces[-1], script)
    again = nothing_new and len(lost) == 1 and lost[0].role is Role.ASSISTANT
    same = is_same_story(known, pieces)
    replied = lost[0].entry if again else None
    removed_at = max((known[at].attributes.at or "" for at in gone), default="")
    return PathChange(script, attributes, fork, tuple(positions), matched, same, len(gone), removed_at, replied)


def _find_chance_match(known: Sequence[KnownEntry], pieces: Sequence[ClientMessage], alignment: Alignment) -> int:
    """Return how much of a path is not to be looked at, since the first message of a list was found there by chance: it
    is short, was said in the middle of the story, and all that was said since would be hidden. 0 if all of it is."""
    hides = {entry for entry, new in alignment.attributes if new.hidden}
    first = next((at for at, one in enumerate(known) if one.entry in hides), 0)
    run = sum(1 for _ in takewhile(lambda one: one.entry in hides or one.attributes.hidden, known[first:]))
    at = next((at for at in range(first - 1, NEAR, -1) if not known[at].attributes.hidden), 0)
    short = bool(pieces) and len(pieces[0].message.text) < LONG_TEXT
    return at + 1 if at and short and run > LONG_HOLE and known[at].match_key == match_key(pieces[0].message) else 0


def is_put(piece: ClientMessage, script: Splices) -> bool:
    """Return whether a script puts this very message on the path, as a new one or as an edit."""
    puts = (put for splice in script for put in splice.pieces if isinstance(put, Put))
    return any(put.draft.message is piece.message for put in puts)


def keep_trimmed_reply(
    script: Splices, newest: OnPath | None, pieces: Sequence[ClientMessage], positions: Sequence[int]
) -> Splices:
    """Return the script, in which the newest reply of the path becomes what the client made of it: clients trim what
    they keep. Elsewhere the words decide, not the blanks between them."""
    if newest is None or newest.entry.message.role is not Role.ASSISTANT:
        return script
    sent = next((piece for piece, at in zip(pieces, positions, strict=True) if at == newest.position), None)
    if sent is None or any(splice.at <= newest.position for splice in script):
        return script
    stored, text = newest.entry.message, sent.message.text
    if stored.text == text or stored.text.split() != text.split():
        return script
    draft = Draft(replace_text(stored, text), newest.entry.attributes)
    return [Splice(newest.position, 1, (Put(draft, replaces=newest.entry.id),)), *script]


def is_same_story(known: Sequence[KnownEntry], pieces: Sequence[ClientMessage]) -> bool:
    """Return whether a list and a path have two neighbours in common, one of them the user's, or a longer message of
    the user; or, where a story has hardly begun, its first message. Short messages prove nothing: people say the same
    things again and again."""
    shown = [one for one in known if not one.attributes.hidden]
    keys = [match_key(piece.message) for piece in pieces]
    if keys and known and keys[0] == known[0].match_key and len(keys) == 1 and len(known) <= 2:
        return True
    texts = {one.match_key for one in known if one.role is Role.USER}
    for piece, key in zip(pieces, keys, strict=True):
        if len(pieces) > 1 and key in texts and len(piece.message.text) >= LONG_TEXT:
            return True
    neighbours = {(one.match_key, two.match_key) for one, two in pairwise(shown)}
    neighbours |= {(one.match_key, two.match_key) for one, two in pairwise(known)}
    for at, pair in enumerate(pairwise(keys)):
        if pair in neighbours and Role.USER in (pieces[at].message.role, pieces[at + 1].message.role):
            return True
    return False


def _find_positions(
    known: Sequence[KnownEntry], script: Splices, attributes: Sequence[tuple[int, Attributes]]
) -> list[int]:
    """Return where on the path after the changes the messages stand that are not hidden."""
    hidden = {one.entry: one.attributes.hidden for one in known} | {entry: new.hidden for entry, new in attributes}
    flags: list[bool] = []
    at = 0
    for splice in script:
        flags += [hidden[one.entry] for one in known[at : splice.at]]
        flags += [False] * len(splice.pieces)
        at = splice.at + splice.remove
    flags += [hidden[one.entry] for one in known[at:]]
    return [position for position, is_hidden in enumerate(flags) if not is_hidden]


def _count_users(messages: Iterable[KnownEntry]) -> int:
    return sum(1 for one in messages if one.role is Role.USER)


def _settle(
    known: Sequence[KnownEntry], alignment: Alignment, unsettled: Collection[int]
) -> tuple[list[Splice], tuple[tuple[int, Attributes], ...]]:
    """Return the alignment, in which only settled messages are hidden, and a message that moved is not there twice."""
    places = {one.entry: at for at, one in enumerate(known)}
    hidden = {entry for entry, new in alignment.attributes if new.hidden}
    by_key = {known[places[entry]].match_key: entry for entry in hidden}
    moved: set[int] = set()
    script: list[Splice] = []
    for splice in alignment.script:
        pieces: list[Put | Reuse] = []
        for piece in splice.pieces:
            entry = by_key.pop(match_key(piece.draft.message), None) if isinstance(piece, Put) else None
            if entry is None:
                pieces.append(piece)
            else:
                moved.add(entry)
                pieces.append(Reuse(entry))
        script.append(replace(splice, pieces=tuple(pieces)))
    gone = moved | (hidden & set(unsettled))
    script += [Splice(places[entry], 1, ()) for entry in gone]
    attributes = tuple((entry, new) for entry, new in alignment.attributes if entry not in gone)
    return sorted(script, key=lambda splice: (splice.at, splice.remove)), attributes


def _reuse_moved(
    known: Sequence[KnownEntry],
    script: list[Splice],
    attributes: Sequence[tuple[int, Attributes]],
    pieces: Sequence[ClientMessage],
) -> list[Splice]:
    """Return the script, in which the message that stands before the first of the list is not put a second time among
    those that stay: it has moved into the list from where that begins."""
    shown = _find_positions(known, script, attributes)
    if not pieces or len(shown) == len(pieces):
        return script
    before = shown[-len(pieces) - 1]  # all that stands there is as it was
    for at, splice in enumerate(script):
        keys = [match_key(put.draft.message) if isinstance(put, Put) else b"" for put in splice.pieces]
        if known[before].match_key in keys and splice.at + splice.remove < len(known):
            moved = list(splice.pieces)
            moved[keys.index(known[before].match_key)] = Reuse(known[before].entry)
            return [Splice(before, 1, ()), *script[:at], replace(splice, pieces=tuple(moved)), *script[at + 1 :]]
    return script


def _delete_counted(
    known: Sequence[KnownEntry], script: list[Splice], attributes: tuple[tuple[int, Attributes], ...], expected: int
) -> tuple[list[Splice], tuple[tuple[int, Attributes], ...]]:
    """Delete what would be hidden, where the path would be longer than the client's history by just that."""
    hidden = [entry for entry, new in attributes if new.hidden]
    length = len(known) + sum(len(splice.pieces) - splice.remove for splice in script)
    if not hidden or length - expected != len(hidden):
        return script, attributes
    places = {one.entry: at for at, one in enumerate(known)}
    script = [*script, *(Splice(places[entry], 1, ()) for entry in hidden)]
    kept = tuple((entry, new) for entry, new in attributes if not new.hidden)
    return sorted(script, key=lambda splice: (splice.at, splice.remove)), kept


def plan_fork(script: Splices, length: int) -> tuple[int, Splices]:
    """Return how much of a path a new branch shares, and what then brings it there: behind the last message that stays
    all is its own, and what people have said of the old branch from there on is not said of it."""
    shared, pieces = list(script), list[Put | Reuse]()
    while shared and shared[-1].at + shared[-1].remove == length:
        splice = shared.pop()
        length = splice.at
        pieces[:0] = [replace(one, replaces=None) if isinstance(one, Put) else one for one in splice.pieces]
    return length, [*shared, Splice(length, 0, tuple(pieces))] if pieces else shared


def stamp_newest(script: Splices, at: str, witnesses: tuple[str, ...] | None) -> Splices:
    """Return the script, in which the newest message is said at that time, before those who are there."""
    last = script[-1].pieces[-1] if script[-1].pieces else None
    if not isinstance(last, Put):
        return script
    draft = last.draft
    if not draft.attributes.at:
        draft = replace(draft, attributes=replace(draft.attributes, at=at))
    if witnesses is not None and draft.message.witnesses is None and last.replaces is None:
        draft = replace(draft, message=replace(draft.message, witnesses=witnesses))
    return [*script[:-1], replace(script[-1], pieces=(*script[-1].pieces[:-1], replace(last, draft=draft)))]


def continue_message(said: Message, more: str) -> Message:
    """Return a message with more of it, a blank between them where neither has one."""
    joined = said.text + more if said.text[-1:].isspace() or more[:1].isspace() else f"{said.text} {more}"
    return replace(said, parts=(Text(joined),))
