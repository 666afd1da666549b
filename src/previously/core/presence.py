"""The people present at each message of a path, and where that is known from.

One rule for every reader and every memory, first come first served: a person's correction, the witnesses that a message
was given with, what an update noted, and else those who speak in the same scene. Where no more than two people were
ever present, what nobody knows better was heard by everybody. Whoever speaks a message knows it, unless somebody said
who was there: one writer may speak for several people. What nobody heard is talk among players; it is in no story, and
keeps nobody from knowing all of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise

from previously.core.messages import Message, Role
from previously.core.path import Span
from previously.core.people import NARRATORS
from previously.core.scripts import casefold

FEW = 2
"""People of whom each is taken to hear all that is said: in a duet nobody is out of the room."""

NEWCOMER = "\x00"
"""Stands for anybody who has not come into the story yet: they may know of what was kept from nobody."""

NOBODYS = 2
"""The mark of talk among players in a mask: neither known nor kept from anybody."""


class PresenceSource(StrEnum):
    """The source by which it is known who was present."""

    BY_HAND = "by hand"
    GIVEN = "given"
    NOTED = "noted"
    INFERRED = "inferred"
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """All that is known of one message."""

    speaker: str = ""
    """Empty for narrators, and where the message says nothing."""
    witnesses: tuple[str, ...] | None = None
    noted: tuple[str, ...] | None = None
    shared: bool = False
    """True for what is no part of the story, like the opening: it is kept from nobody."""
    ends: bool = False
    """True where a scene ends with it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that follow one another in one scene, and of which the same is known."""

    speakers: tuple[str, ...]
    """Of each message."""
    witnesses: tuple[str, ...] | None = None
    noted: tuple[str, ...] | None = None
    shared: bool = False
    ends: bool = False
    """True where a scene ends with the last of them."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A person's word on who was present; None for everybody. Later ones win."""

    span: Span
    names: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class PresenceStretch:
    """Messages at which the same people were present, known from the same source."""

    span: Span
    names: tuple[str, ...] | None
    """None for everybody."""
    source: PresenceSource


def find_speaker(message: Message) -> str:
    """Return who speaks in a message, if that is somebody in the story."""
    name = (message.speaker or "").strip()
    spoken = message.role in (Role.USER, Role.ASSISTANT) and casefold(name) not in NARRATORS
    return name if spoken else ""


def find_runs(heard: Iterable[HeardMessage]) -> tuple[Run, ...]:
    """Return messages that follow one another as runs."""
    runs: list[Run] = []
    speakers: list[str] = []
    last: HeardMessage | None = None
    for message in heard:
        known = (message.witnesses, message.noted, message.shared)
        if last is not None and (last.ends or known != (last.witnesses, last.noted, last.shared)):
            runs.append(Run(tuple(speakers), last.witnesses, last.noted, last.shared, last.ends))
            speakers = []
        speakers.append(message.speaker)
        last = message
    if last is not None:
        runs.append(Run(tuple(speakers), last.witnesses, last.noted, last.shared, last.ends))
    return tuple(runs)


class NameBook:
    """The names that are one person's: the same however they are spelt, and a short name where it can only be that of
    one longer one. `voices` say which character a player speaks for."""

    def __init__(self, names: Iterable[str], voices: Mapping[str, str] | None = None) -> None:
        self._voices = {casefold(player): casefold(character) for player, character in (voices or {}).items()}
        spelt: dict[str, str] = {}
        for name in sorted(names):
            if casefold(name) not in NARRATORS | {""}:
                spelt.setdefault(casefold(name), name.strip())
        for character in (voices or {}).values():
            spelt.setdefault(casefold(character), character.strip())
        self._words = {one: frozenset(one.split()) for one in spelt}
        self._keys = {one: self._longest(one) for one in spelt}
        self._shown = {key: spelt.get(key, key) for key in self._keys.values()}
        for player, character in self._voices.items():
            self._keys[player] = self._keys.get(character, character)
        self.keys: frozenset[str] = frozenset(self._keys.values())
        """All people, each once."""

    def key(self, name: str) -> str:
        """Return what a person is known by, whichever of their names is given."""
        own = casefold(name)
        if own in self._keys:
            return self._keys[own]
        words = frozenset(own.split())
        alike = {self._keys[one] for one, other in self._words.items() if words and (words < other or other < words)}
        return alike.pop() if len(alike) == 1 else own

    def shown(self, key: str) -> str:
        """Return the name of a person as it is written."""
        return self._shown.get(key, key)

    def same_person(self, name: str, other: str) -> bool:
        return bool(casefold(name)) and self.key(name) == self.key(other)

    def _longest(self, name: str) -> str:
        """Return the fullest form of a name. "Corin" is "Corin Hale", unless there is a "Corin Vane" too."""
        words = self._words[name]
        longer = sorted((one for one, other in self._words.items() if words < other), key=lambda one: len(one.split()))
        chain = all(self._words[one] < self._words[other] for one, other in pairwise(longer))
        return longer[-1] if longer and chain else name


@lru_cache(maxsize=64)
def _make_name_book(names: frozenset[str], voices: tuple[tuple[str, str], ...]) -> NameBook:
    return NameBook(names, dict(voices))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run where it stands, with what a person says of it."""

    first: int
    run: Run
    by_hand: Correction | None = None

    @property
    def last(self) -> int:
        return self.first + len(self.run.speakers) - 1

    @property
    def named(self) -> tuple[str, ...] | None:
        """Return who was present, as far as it is known from somebody; None where it is not."""
        if self.by_hand is not None:
            return self.by_hand.names
        return self.run.witnesses if self.run.witnesses is not None else self.run.noted

    @property
    def is_open(self) -> bool:
        """Return whether nobody said who was present."""
        return self.by_hand is None and not self.run.shared and self.named is None


class Presence:
    """The people present at each message of one path."""

    def __init__(
        self,
        runs: Iterable[Run],
        corrections: Sequence[Correction] = (),
        breaks: Collection[int] = (),
        voices: Mapping[str, str] | None = None,
        next_speaker: str = "",
    ) -> None:
        """Take the runs of a whole path. With `breaks` a scene ends at those positions too; `next_speaker` is about to
        speak, and so is in the last scene."""
        pieces = list(_cut_pieces(runs, corrections, breaks))
        self.messages: int = pieces[-1].last + 1 if pieces else 0
        self.corrections: tuple[Correction, ...] = tuple(corrections)
        self.spelt: frozenset[str] = _collect_names(pieces)
        """Every name of everyone who was ever present, as it is written."""
        self.names: NameBook = _make_name_book(self.spelt, tuple(sorted((voices or {}).items())))
        self.scene_first: int = max((piece.last + 1 for piece in pieces if piece.run.ends), default=0)
        """The position at which the last scene begins; that of the next message, if a scene has just ended."""
        self._stretches = _resolve_pieces(pieces, self.names, next_speaker)
        self._pieces = pieces
        self._firsts = [one.first for one in pieces]
        self._masks: dict[str, bytes] = {}

    @property
    def people(self) -> list[str]:
        """Return everyone who was ever present, by name."""
        return sorted(self.names.shown(key) for key in self.names.keys)

    def has(self, name: str) -> bool:
        """Return whether somebody of that name was ever present."""
        return self.names.key(name) in self.names.keys

    def stretches(self) -> list[PresenceStretch]:
        """Return who was present at each stretch of the path, in order."""
        stretches: list[PresenceStretch] = []
        for stretch in self._stretches:
            if stretches and (stretches[-1].names, stretches[-1].source) == (stretch.names, stretch.source):
                stretches[-1] = replace(stretches[-1], span=Span(stretches[-1].span.first, stretch.span.last))
            else:
                stretches.append(stretch)
        return stretches

    def show_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return people by the one name each is shown by; whoever was never present by the name that is given."""
        return tuple(
            dict.fromkeys(self.names.shown(self.names.key(name)) if self.has(name) else name.strip() for name in names)
        )

    def at(self, position: int) -> PresenceStretch:
        """Return what is known of one message of the path."""
        return self._stretches[bisect_right(self._firsts, position) - 1]

    def list_last(self) -> tuple[str, ...]:
        """Return who was present at the newest message that anybody heard; everyone where it is not known who."""
        for piece, stretch in zip(reversed(self._pieces), reversed(self._stretches), strict=True):
            if stretch.names:
                speaker = piece.run.speakers[-1] if stretch.source is PresenceSource.GIVEN else ""
                return (*stretch.names, *([speaker] if speaker else []))
            if stretch.names is None:
                break
        return tuple(sorted(self.spelt))

    def knows(self, name: str, position: int) -> bool:
        """Return whether somebody may know of a message; nobody in particular may know of all. What is not on the path
        nobody knows."""
        if not name:
            return True
        return 0 <= position < self.messages and self.mask(name)[position] == 1

    def knows_span(self, name: str, span: Span) -> bool:
        """Return whether somebody may know of every message of a span."""
        return not name or (span.last < self.messages and 0 not in self.mask(name)[span.first : span.last + 1])

    def knows_all(self, name: str) -> bool:
        """Return whether somebody may know of every message of the path."""
        return not name or 0 not in self.mask(name)

    @property
    def is_shared(self) -> bool:
        """Return whether everyone who was ever present may know of every message."""
        return all(self.knows_all(key) for key in self.names.keys)

    def positions(self, name: str) -> list[int]:
        """Return the positions that somebody may know of."""
        return [position for position, known in enumerate(self.mask(name)) if known == 1]

    def digest(self, name: str, last: int) -> str:
        """Return what stands for all that somebody may know of up to a position: other presence, another digest."""
        return sha256(self.mask(name)[: last + 1]).hexdigest()[:16]

    def mask(self, name: str) -> bytes:
        """Return of each position whether somebody may know of it: 0, 1, or `NOBODYS`."""
        own = self.names.key(name)
        if own not in self._masks:
            self._masks[own] = self._masked(own)
        return self._masks[own]

    def _masked(self, own: str) -> bytes:
        key = self.names.key
        heard: dict[tuple[str, ...] | None, bool] = {None: True}
        said: dict[str, bool] = {}
        mask = bytearray()
        for piece, stretch in zip(self._pieces, self._stretches, strict=True):
            names = stretch.names
            noted = stretch.source in (PresenceSource.NOTED, PresenceSource.BY_HAND)
            if noted and names == ():
                mask += bytes([NOBODYS]) * len(piece.run.speakers)
                continue
            if names not in heard:
                heard[names] = any(key(name) == own for name in names or ())
            if heard[names] or noted:  # whoever writes for several people was not in every room
                mask += bytes([heard[names]]) * len(piece.run.speakers)
                continue
            for speaker in piece.run.speakers:
                if speaker not in said:
                    said[speaker] = bool(speaker) and key(speaker) == own
                mask.append(said[speaker])
        return bytes(mask)


def _cut_pieces(runs: Iterable[Run], corrections: Sequence[Correction], breaks: Collection[int]) -> Iterator[_Piece]:
    """Yield runs where they stand, cut where a person's words begin or end and where a scene does."""
    cuts = {at + 1 for at in breaks}
    cuts |= {at for one in corrections for at in (one.span.first, one.span.last + 1)}
    ordered = sorted(cuts)
    first = 0
    for run in runs:
        end = first + len(run.speakers)
        inside = ordered[bisect_right(ordered, first) : bisect_right(ordered, end - 1)]
        for begin, stop in zip([first, *inside], [*inside, end], strict=True):
            speakers = run.speakers[begin - first : stop - first]
            ends = stop - 1 in breaks or (run.ends and stop == end)
            part = (
                run if stop - begin == end - first and ends == run.ends else replace(run, speakers=speakers, ends=ends)
            )
            yield _Piece(begin, part, _said_of(corrections, begin))
        first = end


def _said_of(corrections: Sequence[Correction], position: int) -> Correction | None:
    return next((one for one in reversed(corrections) if position in one.span), None)


def _collect_names(pieces: Iterable[_Piece]) -> frozenset[str]:
    """Return every name that speaks, is given, noted or said by hand."""
    names: set[str] = set()
    for piece in pieces:
        names.update(piece.run.speakers)
        names.update(piece.run.witnesses or ())
        names.update(piece.run.noted or ())
        names.update((piece.by_hand.names or ()) if piece.by_hand else ())
    return frozenset(names)


def _resolve_pieces(pieces: Sequence[_Piece], names: NameBook, next_speaker: str) -> list[PresenceStretch]:
    stretches: list[PresenceStretch] = []
    scene: list[_Piece] = []
    for piece in pieces:
        scene.append(piece)
        if piece.run.ends:
            stretches += _resolve_scene(scene, names, "")
            scene = []
    return [*stretches, *_resolve_scene(scene, names, next_speaker)]


def _resolve_scene(pieces: Sequence[_Piece], names: NameBook, next_speaker: str) -> Iterator[PresenceStretch]:
    """Yield the stretches of one scene. Of messages of which nothing is known: all who speak in such messages, those
    who spoke before and were still there when it was last known, and whoever was there before and after."""
    speaking = {name: None for piece in pieces if piece.is_open for name in piece.run.speakers if name}
    if next_speaker:
        speaking[next_speaker] = None
    spoke: dict[str, None] = {}
    there: tuple[str, ...] | None = None
    for place, piece in enumerate(pieces):
        span, run = Span(piece.first, piece.last), piece.run
        if not piece.is_open:
            there = piece.named
        if piece.by_hand is not None:
            yield PresenceStretch(span, piece.by_hand.names, PresenceSource.BY_HAND)
        elif run.witnesses is not None:
            yield PresenceStretch(span, run.witnesses, PresenceSource.GIVEN)
        elif run.shared:
            yield PresenceStretch(span, None, PresenceSource.EVERYBODY)
        elif run.noted is not None:
            yield PresenceStretch(span, run.noted, PresenceSource.NOTED)
        elif len(names.keys) <= FEW:
            yield PresenceStretch(span, None, PresenceSource.EVERYBODY)
        else:
            still = set(map(names.key, there)) if there is not None else None
            stayed = [name for name in spoke if still is None or names.key(name) in still]
            after = next((one.named for one in pieces[place:] if not one.is_open), None)
            again = set(map(names.key, after or ()))
            stayed += [name for name in there or () if names.key(name) in again]
            yield PresenceStretch(span, tuple(dict.fromkeys([*stayed, *speaking])), PresenceSource.INFERRED)
        spoke.update({name: None for name in run.speakers if name})


def may_know(name: str, message: Message) -> bool:
    """Return whether a character may know of a message, by itself: they were there, or said it, or nothing was given.
    Nobody in particular may know of everything."""
    if not name or message.witnesses is None:
        return True
    own = casefold(name)
    return bool(own) and (own in map(casefold, message.witnesses) or own == casefold(message.speaker or ""))
