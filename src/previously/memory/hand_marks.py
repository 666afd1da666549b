"""Marks by hand: what people said of a story's lore, threads, state, wishes and names, in the order of the path."""

from __future__ import annotations

from previously.core.marks import MarkKind
from previously.core.snapshot import Snapshot
from previously.lore.hand_records import HandRecord, parse_record

HAND = frozenset({MarkKind.LORE, MarkKind.THREAD, MarkKind.HELD, MarkKind.WISH, MarkKind.PERSON})
"""The marks that hold what people said of lore, threads, the state, wishes and names."""


def list_hand_records(snapshot: Snapshot) -> list[tuple[int, HandRecord]]:
    """Return what people said, each at its position, in the order of the path. What they said at one place is in the
    order in which they said it, though some of it fell back there from messages that are gone."""
    marks = sorted(snapshot.marks(HAND), key=lambda mark: (mark.position, mark.id))
    return [(mark.position, record) for mark in marks if (record := parse_record(mark.text))]
