"""The memory map: which memory stands for which messages of a branch, and what stands for none.

It is made of what is in force, so it says what a view could be told and nothing else. Texts come along: whoever points
at a band reads what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from previously.core.fold_rules import FoldRules, Timeline
from previously.core.marks import Mark, MarkKind
from previously.core.path import OnPath, Span
from previously.core.presence import PresenceStretch
from previously.core.snapshot import Snapshot
from previously.core.versions import Kind, Status, Version
from previously.folds.builtin.quotes import renumber_quotes
from previously.lore.threads import Thread
from previously.memory.in_force import InForce, MemoryText
from previously.memory.notes import find_updates, resolve_tail


class BandStatus(StrEnum):
    """The standing of a memory on the map."""

    KEPT = "kept"
    PROVISIONAL = "provisional"
    """Made without the model that was asked; it is made anew."""
    STALE = "stale"
    """An earlier message was changed since."""
    PENDING = "pending"
    """Waits for a person's approval."""
    BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Band:
    """A memory and the messages that it stands for."""

    kind: str
    thing: str
    """Its address: `recap`, `backbone`, `chapter:2`, `episode:3`, `version:12`."""
    title: str
    span: Span
    text: str
    status: BandStatus
    version: int | None
    """None for what a person wrote."""


@dataclass(frozen=True, slots=True)
class ThreadArc:
    """A thread from the message that opened it to the one that settled it."""

    number: int
    text: str
    opened: int
    settled: int | None
    outcome: str
    by_hand: bool


@dataclass(frozen=True, slots=True)
class HandMark:
    """A place at which a person had the last word."""

    kind: str
    position: int
    text: str
    """In words."""


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """The whole path of a branch and all memory of it."""

    messages: int
    tail_first: int
    """The first of the newest messages, which are never folded."""
    untold: tuple[Span, ...]
    """The messages that no recap or chapter tells: not folded yet, or cut."""
    bands: tuple[Band, ...]
    threads: tuple[ThreadArc, ...]
    presence: tuple[PresenceStretch, ...]
    by_hand: tuple[HandMark, ...]


HAND_KINDS = frozenset({
    MarkKind.RECAP, MarkKind.CHAPTER_RECAP, MarkKind.BACKBONE, MarkKind.PIN, MarkKind.LORE, MarkKind.THREAD,
    MarkKind.HELD, MarkKind.WISH, MarkKind.PERSON, MarkKind.PRESENCE,
})  # fmt: skip
"""The marks that hold a person's words about memory."""


def draw_map(
    snapshot: Snapshot,
    rules: FoldRules,
    threads: Sequence[Thread],
    presence: Sequence[PresenceStretch],
    describe: Callable[[Mark], str],
) -> MemoryMap:
    """Return the map of a branch; its threads in the order they were opened, its presence in that of the path.
    `describe` puts a person's mark into words."""
    in_force = InForce(snapshot)
    *closed, current = in_force.timeline()
    tail = resolve_tail(snapshot, rules).recap.tail_messages
    chapters = in_force.chapters(closed)
    recaps = in_force.recap(current, tail)
    ends = [chapter.last for chapter in closed if chapter.last is not None]
    bands = [
        *(_draw(snapshot, "backbone", "backbone", "", text) for text in (in_force.backbone(ends[-1]) if ends else ())),
        *(
            _draw(snapshot, "chapter", f"chapter:{chapter.number}", chapter.title, chapter.recap)
            for chapter in chapters
            if chapter.recap
        ),
        *(_draw(snapshot, *_name_rolling(rules), "", text) for text in recaps),
        *_draw_notes(snapshot),
        *_draw_pending(snapshot),
    ]
    told = [*(chapter.recap for chapter in chapters if chapter.recap), *recaps]
    return MemoryMap(
        messages=snapshot.messages,
        tail_first=max(0, snapshot.messages - tail),
        untold=find_untold(snapshot.messages, told),
        bands=tuple(bands),
        threads=tuple(
            ThreadArc(number, one.text, one.opened, one.settled, one.outcome, one.by == "person")
            for number, one in enumerate(threads, 1)
        ),
        presence=tuple(presence),
        by_hand=tuple(
            HandMark(mark.kind.value, max(0, mark.position), describe(mark))
            for mark in snapshot.marks(HAND_KINDS)
            if mark.made_by == "person"
        ),
    )


def find_untold(messages: int, told: Iterable[MemoryText]) -> tuple[Span, ...]:
    """Return the runs of messages that none of these texts tells, in path order; what a text was cut by is untold."""
    untold: list[Span] = []
    position = 0
    for text in sorted(told, key=lambda one: one.span.first):
        untold += [Span(position, text.span.first - 1)] if text.span.first > position else []
        untold += text.cuts
        position = max(position, text.span.last + 1)
    return (*untold, Span(position, messages - 1)) if position < messages else tuple(untold)


def _name_rolling(rules: FoldRules) -> tuple[str, str]:
    name = "brief" if rules.timeline is Timeline.BRIEF else "recap"
    return name, name


def _draw(snapshot: Snapshot, kind: str, thing: str, title: str, text: MemoryText) -> Band:
    version = snapshot.version(text.version) if text.version is not None else None
    status = BandStatus.STALE if text.stale else _find_status(version)
    return Band(kind, thing, title, text.span, text.text, status, text.version)


def _find_status(version: Version | None) -> BandStatus:
    if version is None or version.made.made_by == "person":
        return BandStatus.BY_HAND
    return BandStatus.PROVISIONAL if version.made.status is Status.PROVISIONAL else BandStatus.KEPT


def _draw_notes(snapshot: Snapshot) -> list[Band]:
    """Return the episodes on the path. Notes have no band: what they hold is drawn as threads and presence."""
    path: list[OnPath] = snapshot.path(0, snapshot.messages - 1) if snapshot.messages else []
    _, tiles = find_updates(snapshot, path)
    told = [(tile.span, tile.note) for tile in tiles if tile.note]
    return [
        Band(
            "episode", f"episode:{number}", "", span, renumber_quotes(note.made.text, note.made, span),
            _find_status(note), note.id,
        )
        for number, (span, note) in enumerate(told, 1)
    ]  # fmt: skip


PENDING_KINDS = (Kind.RECAP, Kind.CHAPTER, Kind.BACKBONE, Kind.EPISODE)
"""The memories with a text of their own that a person may be asked to approve."""


def _draw_pending(snapshot: Snapshot) -> list[Band]:
    waiting = [version for version in snapshot.versions() if version.made.status is Status.PENDING]
    return [
        Band(
            version.made.kind.value, f"version:{version.id}", "", version.made.span, version.made.text,
            BandStatus.PENDING, version.id,
        )
        for version in waiting
        if version.made.kind in PENDING_KINDS and version.made.span.last < snapshot.messages
    ]  # fmt: skip
