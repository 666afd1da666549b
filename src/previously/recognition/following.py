"""What a client's list changes on a path: the decision, as a value.

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
from previously.core.messages import Attributes, Draft, Role
from previously.core.path import OnPath, Put, Reuse, Splice, Splices
from previously.recognition.heard import LONG_TEXT, Piece, with_text

DEEP_NOTE = 16
"""A system message with more messages of the story behind it than this is taken for part of the story."""

NEAR, LONG_HOLE = 4, 8
"""So near to its beginning a story is taken not to be trimmed; and so many messages are not hidden for a short one."""

MOST_CHANGED = 2
"""So many of the user's messages may be others than they were; with more, it is another way the story went."""


@dataclass(frozen=True, slots=True)
class NoteSeen:
    """A system message in a list that is not on the path, and what was said before and after it."""

    key: bytes
    before: bytes
    after: bytes
    depth: int


@dataclass(frozen=True, slots=True)
class Sorted:
    """The pieces of a body: those of the story, and those that are furniture for now."""

    story: tuple[Piece, ...]
    notes: tuple[tuple[int, Piece], ...]
    """Each with how many messages of the story stand behind it."""
    seen: tuple[NoteSeen, ...]


def sort_notes(pieces: Sequence[Piece], known: Collection[bytes], before: Sequence[NoteSeen]) -> Sorted:
    """Tell notes from the story among system messages: what keeps its neighbours while the story goes on is part of it.

    `known` are the match keys of the path, `before` the notes of the list before."""
    keys = [match_key(piece.message) for piece in pieces]
    spoken = [piece.message.role is not Role.SYSTEM for piece in pieces]
    is_story = list(spoken)
    behind = sum(is_story)
    notes: list[tuple[int, int]] = []
    for at, story in enumerate(is_story):
        behind -= story
        if not story and (keys[at] in known or behind > DEEP_NOTE):
            is_story[at] = True
        elif not story:
            notes.append((at, behind))
    seen: list[NoteSeen] = []
    kept: list[tuple[int, Piece]] = []
    for at, depth in notes:
        previous = next((keys[i] for i in range(at - 1, -1, -1) if spoken[i]), b"")
        following = next((keys[i] for i in range(at + 1, len(pieces)) if spoken[i]), b"")
        settled = any(
            one.key == keys[at] and (one.before, one.after) == (previous, following) and one.depth < depth
            for one in before
        )
        if settled and following:
            is_story[at] = True
        else:
            seen.append(NoteSeen(keys[at], previous, following, depth))
            kept.append((depth, pieces[at]))
    return Sorted(
        tuple(piece for piece, story in zip(pieces, is_story, strict=True) if story), tuple(kept), tuple(seen)
    )


@dataclass(frozen=True, slots=True)
class Following:
    """What brings a branch to what a client shows."""

    script: Splices
    attributes: tuple[tuple[int, Attributes], ...]
    fork: bool
    """Whether the branch stays as it is, and a new one is changed."""
    positions: tuple[int, ...]
    """Where the messages of the list stand afterwards."""
    matched: int
    """How many messages of the list are on the path."""
    is_this: bool
    """Whether the list and the path are of the same story."""
    removed: int
    replied: int | None = None
    """The reply at the end that is taken off because another is asked for."""

    @property
    def changes_nothing(self) -> bool:
        """Whether the path is what the client shows."""
        return not (self.script or self.attributes)

    def moved(self, by: int) -> Following:
        """The same for a path of which the first `by` messages were not looked at."""
        script = [replace(splice, at=splice.at + by) for splice in self.script]
        return replace(self, script=script, positions=tuple(position + by for position in self.positions))


def follow(
    known: Sequence[KnownEntry], pieces: Sequence[Piece], unsettled: Collection[int], expected: int | None = None
) -> Following:
    """What a list changes on a path. `unsettled` are entries that were in one list only; `expected` is how long the
    client says its history is, hidden messages included: then it tells deleted from hidden."""
    found = align(known, [piece.draft for piece in pieces], whole=False)
    if cut := _met_by_chance(known, pieces, found):
        left_over = None if expected is None else expected - cut
        return follow(known[cut:], pieces, unsettled, left_over).moved(cut)
    script, attributes = _settled(known, found, unsettled)
    script = _moved_in(known, script, attributes, pieces)
    if expected is not None:
        script, attributes = _counted(known, script, attributes, expected)
    gone = [at for splice in script for at in range(splice.at, splice.at + splice.remove)]
    left = frozenset(gone)
    end = next((at for at in range(len(known) - 1, -1, -1) if at not in left and not known[at].attributes.hidden), -1)
    lost = [known[at] for at in gone if at > end]
    fork = _users(lost) > 1 or _users(known[at] for at in gone) > MOST_CHANGED
    matched = found.unchanged + sum(1 for _, new in found.attributes if not new.hidden)
    positions = _positions(known, script, attributes)[-len(pieces) :] if pieces else ()
    nothing_new = bool(pieces) and not is_put(pieces[-1], script)
    again = nothing_new and len(lost) == 1 and lost[0].role is Role.ASSISTANT
    same = is_same_story(known, pieces)
    replied = lost[0].entry if again else None
    return Following(script, attributes, fork, tuple(positions), matched, same, len(gone), replied)


def _met_by_chance(known: Sequence[KnownEntry], pieces: Sequence[Piece], found: Alignment) -> int:
    """How much of a path is not to be looked at, since the first message of a list was found there by chance: it is
    short, was said in the middle of the story, and all that was said since would be hidden. 0 if all of it is."""
    hides = {entry for entry, new in found.attributes if new.hidden}
    first = next((at for at, one in enumerate(known) if one.entry in hides), 0)
    run = sum(1 for _ in takewhile(lambda one: one.entry in hides or one.attributes.hidden, known[first:]))
    at = next((at for at in range(first - 1, NEAR, -1) if not known[at].attributes.hidden), 0)
    short = bool(pieces) and len(pieces[0].message.text) < LONG_TEXT
    return at + 1 if at and short and run > LONG_HOLE and known[at].match_key == match_key(pieces[0].message) else 0


def is_put(piece: Piece, script: Splices) -> bool:
    """Whether a script puts this very message on the path, as a new one or as an edit."""
    puts = (put for splice in script for put in splice.pieces if isinstance(put, Put))
    return any(put.draft.message is piece.message for put in puts)


def as_sent(script: Splices, newest: OnPath | None, pieces: Sequence[Piece], positions: Sequence[int]) -> Splices:
    """The script, in which the newest reply of the path becomes what the client made of it: clients trim what they
    keep. Elsewhere the words decide, not the blanks between them."""
    if newest is None or newest.entry.message.role is not Role.ASSISTANT:
        return script
    sent = next((piece for piece, at in zip(pieces, positions, strict=True) if at == newest.position), None)
    if sent is None or any(splice.at <= newest.position for splice in script):
        return script
    stored, text = newest.entry.message, sent.message.text
    if stored.text == text or stored.text.split() != text.split():
        return script
    draft = Draft(with_text(stored, text), newest.entry.attributes)
    return [Splice(newest.position, 1, (Put(draft, replaces=newest.entry.id),)), *script]


def is_same_story(known: Sequence[KnownEntry], pieces: Sequence[Piece]) -> bool:
    """Whether a list and a path have two neighbours in common, one of them the user's, or a longer message of the user;
    or, where a story has hardly begun, its first message. Short messages prove nothing: people say the same things
    again and again."""
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


def _positions(known: Sequence[KnownEntry], script: Splices, attributes: Sequence[tuple[int, Attributes]]) -> list[int]:
    """Where on the path after the changes the messages stand that are not hidden."""
    hidden = {one.entry: one.attributes.hidden for one in known} | {entry: new.hidden for entry, new in attributes}
    flags: list[bool] = []
    at = 0
    for splice in script:
        flags += [hidden[one.entry] for one in known[at : splice.at]]
        flags += [False] * len(splice.pieces)
        at = splice.at + splice.remove
    flags += [hidden[one.entry] for one in known[at:]]
    return [position for position, is_hidden in enumerate(flags) if not is_hidden]


def _users(messages: Iterable[KnownEntry]) -> int:
    return sum(1 for one in messages if one.role is Role.USER)


def _settled(
    known: Sequence[KnownEntry], found: Alignment, unsettled: Collection[int]
) -> tuple[list[Splice], tuple[tuple[int, Attributes], ...]]:
    """The alignment, in which only settled messages are hidden, and a message that moved is not there twice."""
    places = {one.entry: at for at, one in enumerate(known)}
    hidden = {entry for entry, new in found.attributes if new.hidden}
    by_key = {known[places[entry]].match_key: entry for entry in hidden}
    moved: set[int] = set()
    script: list[Splice] = []
    for splice in found.script:
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
    attributes = tuple((entry, new) for entry, new in found.attributes if entry not in gone)
    return sorted(script, key=lambda splice: (splice.at, splice.remove)), attributes


def _moved_in(
    known: Sequence[KnownEntry],
    script: list[Splice],
    attributes: Sequence[tuple[int, Attributes]],
    pieces: Sequence[Piece],
) -> list[Splice]:
    """The script, in which the message that stands before the first of the list is not put a second time among those
    that stay: it has moved into the list from where that begins."""
    shown = _positions(known, script, attributes)
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


def _counted(
    known: Sequence[KnownEntry], script: list[Splice], attributes: tuple[tuple[int, Attributes], ...], expected: int
) -> tuple[list[Splice], tuple[tuple[int, Attributes], ...]]:
    """Where the path would be longer than the client's history by just what would be hidden, that was deleted."""
    hidden = [entry for entry, new in attributes if new.hidden]
    length = len(known) + sum(len(splice.pieces) - splice.remove for splice in script)
    if not hidden or length - expected != len(hidden):
        return script, attributes
    places = {one.entry: at for at, one in enumerate(known)}
    script = [*script, *(Splice(places[entry], 1, ()) for entry in hidden)]
    kept = tuple((entry, new) for entry, new in attributes if not new.hidden)
    return sorted(script, key=lambda splice: (splice.at, splice.remove)), kept


def parting(script: Splices, length: int) -> tuple[int, Splices]:
    """How much of a path a new branch shares, and what then brings it there: behind the last message that stays all is
    its own, and what people have said of the old branch from there on is not said of it."""
    kept, pieces = list(script), list[Put | Reuse]()
    while kept and kept[-1].at + kept[-1].remove == length:
        splice = kept.pop()
        length = splice.at
        pieces[:0] = [replace(one, replaces=None) if isinstance(one, Put) else one for one in splice.pieces]
    return length, [*kept, Splice(length, 0, tuple(pieces))] if pieces else kept
