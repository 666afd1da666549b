"""How the index is kept: small records, joined to blocks by entry.

Owns the bytes that a store keeps. An entry's id names its block (`block_of`: `BLOCK` ids each) and its place in it. A
block of *postings* holds, for one term, a record for each entry that says it; a block of *facts* holds a record for
each entry. To index an entry, its records are appended to their blocks; to forget it they are cut out. A question reads
a few blocks whole instead of a row for each message: at 100,000 messages that takes a tenth of the time.

What must stay true: records depend on one entry alone, not on the path it stands on; an entry has at most one record in
a block, and their order says nothing; a number too large for its field is kept as the largest that fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

BLOCK = 512
"""How many entry ids share a block."""

POSTING = np.dtype([("place", "<u2"), ("count", "u1"), ("length", "<u2")])
"""A term in an entry: how often it is said there, among how many terms in all."""

FACT = np.dtype(
    [
        ("place", "<u2"),
        ("length", "<u2"),
        ("size", "<u2"),
        ("minute", "<u4"),
        ("session", "<u4"),
        ("speaker", "<u4"),
        ("asks", "u1"),
        ("time_words", "u1"),
    ]
)
"""An entry besides its words. Zero stands for what is not known."""

Ids: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Records: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
Block: TypeAlias = tuple[int, bytes | bytearray | memoryview]
"""The number of a block, and its bytes."""


def block_of(entry: int) -> int:
    """The number of the block an entry's records are in."""
    return entry // BLOCK


def posting_record(entry: int, count: int, length: int) -> bytes:
    """The record of a term that an entry says `count` times, among `length` terms."""
    return (
        (entry % BLOCK).to_bytes(2, "little")
        + min(count, 0xFF).to_bytes(1, "little")
        + min(length, 0xFFFF).to_bytes(2, "little")
    )


def fact_record(
    entry: int, *, length: int, size: int, minute: int, session: int, speaker: int, asks: bool, time_words: int
) -> bytes:
    """The record of an entry's facts."""
    return (
        (entry % BLOCK).to_bytes(2, "little")
        + min(length, 0xFFFF).to_bytes(2, "little")
        + min(size, 0xFFFF).to_bytes(2, "little")
        + min(minute, 0xFFFFFFFF).to_bytes(4, "little")
        + session.to_bytes(4, "little")
        + speaker.to_bytes(4, "little")
        + bytes((asks, min(time_words, 0xFF)))
    )


def without(data: bytes | bytearray | memoryview, entries: Iterable[int], layout: np.dtype[Any]) -> bytes:
    """A block without the records of these entries, which belong to it."""
    records = np.frombuffer(data, layout)
    gone = np.fromiter((entry % BLOCK for entry in entries), np.uint16)
    kept: Records = records[~np.isin(records["place"], gone)]
    return kept.tobytes()


def retimed(data: bytes | bytearray | memoryview, times: Mapping[int, tuple[int, int]]) -> bytes:
    """A block of facts in which these entries have another minute and session; those it does not have say nothing."""
    records = np.frombuffer(data, FACT).copy()
    for entry, (minute, session) in times.items():
        own = records["place"] == entry % BLOCK
        records["minute"][own] = min(minute, 0xFFFFFFFF)
        records["session"][own] = session
    return records.tobytes()


def joined(blocks: Sequence[Block], layout: np.dtype[Any]) -> tuple[Ids, Records]:
    """All records of these blocks, and the entry of each."""
    records = np.frombuffer(b"".join([data for _, data in blocks]), layout)
    firsts = np.asarray([number * BLOCK for number, _ in blocks], np.int64)
    counts = [len(data) // layout.itemsize for _, data in blocks]
    ids = np.repeat(firsts, counts)
    ids += records["place"]  # in place: on long paths memory that is touched anew takes longer than the sum
    return ids, records
