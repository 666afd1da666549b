"""Marks: what a person or a fold has said about a place on a branch.

A *chapter* mark closes a chapter with the message it stands at. The others hold text that a person wrote, and memory
goes on after them and never touches it: a *recap* mark for all that lies before it in its chapter, a *recap of a
chapter* mark for the chapter that ends there, a *backbone* mark for all chapters up to there. A *pin* holds words that
every view shows. *Kept open* says that a chapter, though it could, does not end there; *unlocked*, that a person gave
up what they had written. *Scene* ends a scene. *Lore*, *thread*, *held* and *wish* hold what a person says of an entry,
of what is open, of how things stand and of what players asked for; *person*, that two names are one character's.
*Left* and *entered* say who is not there, or there again, from the next message on. *Presence* says who was present at
the messages behind it, up to its *presence end*. *Deed* says what a person did that is no mark by itself: an edit, a
switch, a version put in force. It changes nothing; `undo` finds its way back by it. *Turn* holds what a person says of
how a game stands after the turn that ends there. *Continues* says which story this one goes on from. *Dismissed* says
that a contradiction which the librarian saw there is none, by the hash of its words.

A mark may retire others, which are gone while it stands and back when it is taken back. So whatever a person does can
be undone, on the branch where it was done.

The chains of memory start anew behind marks, under a scope of their own. Two sorts of memory know no marks: chains that
begin with the story whatever stands on it (`OWN_SCOPE`), and notes of a span, which are no chain at all (`SPAN_SCOPE`).

Marks follow the branch. They stand at an entry; when a change moves the entry, the mark moves along, and when it takes
the entry away, the mark falls back to the message before, in the end to the place before all of them (-1): no mark is
ever lost to a change. A branch copies the marks up to its fork; copies keep the `origin` of the first, so that memory
made under one is known under the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from previously.core.path import Span, Splices

STORY_SCOPE = ""
"""The scope of memory before the first mark, and of what concerns the whole story."""

OWN_SCOPE = "@"
"""Begins the names of scopes of chains that begin with the story on every branch, whatever marks there are: this, and
whose they are. Their links stand at the same places on every path."""

SPAN_SCOPE = "*"
"""Begins the names of scopes of notes that are valid wherever the run of messages stands that they read. They make no
chain, so no branch has such a scope and no cover holds them."""

LONGEST_SCOPE = 1_000
"""Bytes: what is longer may not fit an index."""


def is_own(scope: str) -> bool:
    """Return whether a scope is that of a chain which knows no marks."""
    return scope.startswith(OWN_SCOPE)


def begins_at_front(scope: str) -> bool:
    """Return whether the chains of a scope begin with the story, on every branch."""
    return scope == STORY_SCOPE or is_own(scope)


def is_of_a_span(scope: str) -> bool:
    """Return whether a scope is that of notes which are valid wherever their run stands."""
    return scope.startswith(SPAN_SCOPE)


class MarkKind(StrEnum):
    """The meaning of a mark."""

    CHAPTER = "chapter"
    RECAP = "recap"
    CHAPTER_RECAP = "chapter recap"
    BACKBONE = "backbone"
    PIN = "pin"
    KEPT_OPEN = "kept open"
    UNLOCKED = "unlocked"
    SCENE = "scene"
    LORE = "lore"
    THREAD = "thread"
    HELD = "held"
    WISH = "wish"
    PERSON = "person"
    LEFT = "left"
    ENTERED = "entered"
    PRESENCE = "presence"
    PRESENCE_END = "presence end"
    DEED = "deed"
    TURN = "turn"
    CONTINUES = "continues"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark on a branch, where it stands now."""

    id: int
    origin: int
    """The mark it is a copy of, or itself."""
    kind: MarkKind
    position: int
    """The last message it concerns."""
    text: str
    """A chapter's title, or what a person wrote."""
    made_by: str
    """`person`, or what closed the chapter by itself."""
    at: str
    seen: bytes = b""
    """The span key of the messages that a person's text stood for when it was written."""
    of: int = 0
    """The origin of the chapter mark whose chapter the recap is about; 0 for other kinds."""
    after: int = 0
    """The newest version of the story when it was made: what came later is undone first."""
    behind: int = 0
    """The number of places behind its message that are gone: marks that fell back keep their order."""

    @property
    def order(self) -> tuple[int, int, int]:
        """By which marks of a branch are in path order."""
        return self.position, self.behind, self.id

    @property
    def scope(self) -> str:
        """Return the scope of the memory that begins behind it."""
        return str(self.origin)


MarkPlace = tuple[int, int, int]
"""A mark, its position, and how many places behind its message are gone."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of the path between two marks: what one chain of recaps is about."""

    scope: str
    first: int
    last: int | None
    """None while it is open."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter: its stretches in order, and how it ended."""

    number: int
    title: str
    first: int
    last: int | None
    """None for the chapter that is still open."""
    stretches: tuple[Stretch, ...]
    by_hand: tuple[Mark, ...]
    """Text by a person that stands for the chapter; while it is open, for all before its last stretch."""
    blocks: tuple[Mark, ...] = ()
    """Text by a person that closes the stretch of the same index."""
    mark: Mark | None = None
    """The reason it was closed."""

    @property
    def scope(self) -> str:
        """Names the chapter: the scope of its first stretch."""
        return self.stretches[0].scope

    @property
    def last_stretch(self) -> Stretch:
        """Return what lies behind all text by hand: where memory goes on, or went on until the chapter closed."""
        return self.stretches[-1]

    @property
    def rest(self) -> Span | None:
        """Of a closed chapter, the messages behind all text by hand; None if there are none."""
        first = self.last_stretch.first
        return None if self.last is None or first > self.last else Span(first, self.last)

    @property
    def block_text(self) -> str:
        """Return what a person wrote of it before it closed."""
        return "\n\n".join(mark.text for mark in self.blocks)

    @property
    def hand_text(self) -> str:
        """Return what a person wrote of it; empty if nobody did."""
        return "\n\n".join(mark.text for mark in self.by_hand)


def move_position(position: int, splices: Splices) -> int:
    """Return where a mark at `position` stands after the splices; -1 when nothing before it is left to stand at."""
    shift = 0
    for splice in splices:
        if splice.at > position:
            break
        end = splice.at + splice.remove
        if position < end:
            # Its message goes. One for one is an edit; otherwise it falls back to the last message before.
            return splice.at + shift + min(position - splice.at + 1, len(splice.pieces)) - 1
        shift += len(splice.pieces) - splice.remove
    return position + shift


def move_marks(marks: Iterable[Mark], splices: Splices) -> list[Mark]:
    """Return the marks where they stand after the splices, in path order."""
    placed: list[Mark] = []
    seen: list[tuple[int, int]] = []  # the places from which marks came to the message of the one before
    for mark in sorted(marks, key=lambda one: one.order):
        if not splices or mark.position < splices[0].at - 1:
            placed.append(mark)  # nothing falls back as far
            continue
        position = move_position(mark.position, splices)
        if not placed or placed[-1].position != position:
            seen = []
        if (mark.position, mark.behind) not in seen:
            seen.append((mark.position, mark.behind))
        placed.append(replace(mark, position=position, behind=len(seen) - 1))
    return sorted(placed, key=lambda mark: mark.order)


def find_starts(marks: Iterable[Mark], scopes: Iterable[str] = ()) -> dict[str, int]:
    """Return where the chains of each scope begin on the branch that has these marks; `scopes` are those that the
    story's versions have, of which the ones that know no marks count."""
    at_front = {scope: 0 for scope in scopes if begins_at_front(scope)}
    return {STORY_SCOPE: 0} | at_front | {mark.scope: mark.position + 1 for mark in marks}


def find_chapters(marks: Sequence[Mark], *, after: int = 0) -> list[Chapter]:
    """Return the chapters that marks in path order make, the open one last.

    Of a long story the newest marks may be enough: `after` chapters come before the first mark given, which closes the
    last of them; so the first chapter made of what is given is the one behind it. A chapter without a message is
    none.
    """
    opening = marks[0] if after and marks else None
    chapters: list[Chapter] = []
    first = opening.position + 1 if opening else 0
    current = _Open(after + 1, first, opening.scope if opening else STORY_SCOPE)
    closing = {mark.origin for mark in marks if mark.kind is MarkKind.CHAPTER}
    recaps = [mark for mark in marks if mark.kind is MarkKind.CHAPTER_RECAP and mark.of in closing]
    for mark in marks[1:] if opening else marks:
        match mark.kind:
            case MarkKind.CHAPTER if mark.position >= current.first:
                by_hand = tuple(recap for recap in recaps if recap.of == mark.origin)
                chapters.append(current.closed(mark, by_hand))
                current = _Open(current.number + 1, mark.position + 1, mark.scope)
            case MarkKind.CHAPTER:
                current.scope = mark.scope  # nothing is left of that chapter; memory still begins behind its mark
            case MarkKind.RECAP:
                current.blocks.append(mark)
            case MarkKind.CHAPTER_RECAP if mark not in recaps and mark.position >= current.first:
                current.blocks.append(mark)  # its chapter was opened again: it stands for what it covers
            case _:
                pass
    chapters.append(current.still_open())
    return chapters


class _Open:
    """A chapter whose end has not been found yet."""

    def __init__(self, number: int, first: int, scope: str) -> None:
        self.number = number
        self.first = first
        self.scope = scope
        self.blocks: list[Mark] = []

    def closed(self, mark: Mark, by_hand: tuple[Mark, ...]) -> Chapter:
        stretches = self._stretches(mark.position)
        return Chapter(self.number, mark.text, self.first, mark.position, stretches, by_hand, tuple(self.blocks), mark)

    def still_open(self) -> Chapter:
        blocks = tuple(self.blocks)
        return Chapter(self.number, "", self.first, None, self._stretches(None), blocks, blocks)

    def _stretches(self, last: int | None) -> tuple[Stretch, ...]:
        stretches: list[Stretch] = []
        first, scope = self.first, self.scope
        for block in self.blocks:
            stretches.append(Stretch(scope, first, block.position))
            first, scope = max(first, block.position + 1), block.scope
        return (*stretches, Stretch(scope, first, last))
