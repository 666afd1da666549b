"""The index: what is known of a message for finding it again, and how that is kept.

`index_entry` is computed once, when a message is written, with no model. What it holds follows an entry, not a path:
which entries stand on a path is found out when a question is asked. An entry's id names its block (`find_block`:
`BLOCK` ids each) and its place in it. A block of *postings* holds, for one term, a record for each entry that says it;
a block of *facts* holds a record for each entry. To index an entry, its records are appended to their blocks; to forget
it they are cut out. A question reads a few blocks whole instead of a row for each message: at 100,000 messages that
takes a tenth of the time.

The same id, facts and table give the same bytes; no text fails. Records depend on one entry alone; an entry has at most
one in a block, and their order says nothing; a number too large for its field is kept as the largest that fits. A
change to what is computed raises `INDEX_VERSION`, and a store indexes anew what has another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from previously.core.messages import Attributes, Entry, Error, Image, Message, Text, Thinking, ToolCall, ToolResult
from previously.recall.vectors import WordTable, pack_vector
from previously.text.times import parse_minute
from previously.text.words import casefold_word, list_time_words, read_terms

INDEX_VERSION = 1
"""Goes up with every change to what is computed or how it is kept."""

LONGEST_TOOL_TEXT = 2_000
"""Characters of a tool's output that are indexed: what it was about stands at its front."""

LONGEST_TEXT = 200_000
"""Characters of a message that are indexed: of a longer one, which is a file that went astray, its front."""

MOST_TERMS = 20_000
"""Distinct terms kept of one message; a message with more is a word list."""

LONGEST_NAME = 100
"""Characters of a witness's name that a term holds: a database cannot look up terms of any length."""

_WITNESS_MARK = "@"
"""Begins the term of a witness; no word begins with it."""

EVERYONE = _WITNESS_MARK
"""The term of a message that everyone witnessed."""


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The parts of a message that are indexed."""

    text: str
    speaker: str | None = None
    at: str | None = None
    session: str | None = None
    """The session it belongs to, as its source calls it (`extra.session`)."""
    witnesses: tuple[str, ...] | None = None
    """The people who were there; None = everyone."""


@dataclass(frozen=True, slots=True)
class IndexedEntry:
    """An entry as the index keeps it."""

    entry: int
    postings: Mapping[str, bytes]
    """For each of its terms the record to append to that term's block."""
    facts: bytes
    """The record to append to the block of facts."""
    vector: bytes
    """One signed byte a number; empty without a table or without a known word."""

    @property
    def block(self) -> int:
        """Return the number of the blocks its records go to."""
        return find_block(self.entry)


def read_facts(message: Message, at: str | None = None, session: str | None = None) -> MessageFacts:
    """Return the facts of a message: what was said, shown and called. Thinking is never shown again, so it is not
    found."""
    pieces: list[str] = []
    for part in message.parts:
        match part:
            case Text(text) | Error(text):
                pieces.append(text)
            case Image(_, caption):
                pieces.append(caption)
            case ToolCall(_, name, arguments):
                pieces.append(f"{name} {arguments[:LONGEST_TOOL_TEXT]}")
            case ToolResult(_, text):
                pieces.append(text[:LONGEST_TOOL_TEXT])
            case Thinking():
                pass
    text = "\n".join(piece for piece in pieces if piece)
    return MessageFacts(text, message.speaker, at, session, message.witnesses)


def read_entry_facts(entry: Entry) -> MessageFacts:
    return read_facts(entry.message, entry.attributes.at, read_session(entry.attributes))


def read_session(attributes: Attributes) -> str | None:
    """Return what the source calls the session of a message, by a name or a number."""
    said = attributes.extra.get("session")
    return str(said) if isinstance(said, str | int) else None


def read_times(attributes: Attributes) -> tuple[int, int]:
    """Return the minute and the session as a record of facts has them: all of it that attributes decide."""
    return parse_minute(attributes.at) or 0, _key(read_session(attributes))


def index_entry(entry: int, facts: MessageFacts, table: WordTable | None = None) -> IndexedEntry:
    """Return what is known of the message for finding it again."""
    said = read_terms(facts.text[:LONGEST_TEXT])
    counts = Counter(said.terms)
    if len(counts) > MOST_TERMS:
        counts = Counter(dict(list(counts.items())[:MOST_TERMS]))
    length = len(said.terms)
    said_when = sum(counts[word] for word in counts.keys() & list_time_words())
    postings = {term: make_posting(entry, count, length) for term, count in counts.items()}
    for term in _witness_terms(facts):
        postings[term] = make_posting(entry, 1, length)
    return IndexedEntry(
        entry=entry,
        postings=postings,
        facts=make_fact(
            entry,
            length=length,
            size=len(facts.text.encode("utf-8", "replace")) // 4,
            minute=parse_minute(facts.at) or 0,
            session=_key(facts.session),
            speaker=make_speaker_key(facts.speaker),
            asks="?" in facts.text or "？" in facts.text,
            time_words=min(2, said_when),
        ),
        vector=pack_vector(table, said.content),
    )


@lru_cache(maxsize=65_536)
def make_speaker_key(name: str | None) -> int:
    """Return a number for a speaker, the same however the name is written; 0 for nobody."""
    return _key(casefold_word(name.strip()) if name else None)


def make_witness_term(name: str) -> str:
    """Return the term of the messages that this character witnessed, besides those that everyone did. A name too long
    to be looked up is known by its digest."""
    folded = casefold_word(name.strip())
    if len(folded) > LONGEST_NAME:
        folded = blake2b(folded.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return _WITNESS_MARK + folded


def _witness_terms(facts: MessageFacts) -> tuple[str, ...]:
    if facts.witnesses is None:
        return (EVERYONE,)
    names = (*facts.witnesses, *((facts.speaker,) if facts.speaker else ()))
    return tuple(dict.fromkeys(make_witness_term(name) for name in names if name.strip()))


def _key(name: str | None) -> int:
    if not name:
        return 0
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest, "little") or 1


BLOCK = 512
"""Entry ids that share a block: few enough to read many blocks, enough to read few rows."""

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


def find_block(entry: int) -> int:
    """Return the number of the block an entry's records are in."""
    return entry // BLOCK


def make_posting(entry: int, count: int, length: int) -> bytes:
    """Return the record of a term that an entry says `count` times, among `length` terms."""
    return (
        (entry % BLOCK).to_bytes(2, "little")
        + min(count, 0xFF).to_bytes(1, "little")
        + min(length, 0xFFFF).to_bytes(2, "little")
    )


def make_fact(
    entry: int, *, length: int, size: int, minute: int, session: int, speaker: int, asks: bool, time_words: int
) -> bytes:
    return (
        (entry % BLOCK).to_bytes(2, "little")
        + min(length, 0xFFFF).to_bytes(2, "little")
        + min(size, 0xFFFF).to_bytes(2, "little")
        + min(minute, 0xFFFFFFFF).to_bytes(4, "little")
        + session.to_bytes(4, "little")
        + speaker.to_bytes(4, "little")
        + bytes((asks, min(time_words, 0xFF)))
    )


def remove_records(data: bytes | bytearray | memoryview, entries: Iterable[int], layout: np.dtype[Any]) -> bytes:
    """Return a block without the records of these entries, which belong to it."""
    records = np.frombuffer(data, layout)
    gone = np.fromiter((entry % BLOCK for entry in entries), np.uint16)
    kept: Records = records[~np.isin(records["place"], gone)]
    return kept.tobytes()


def change_times(data: bytes | bytearray | memoryview, times: Mapping[int, tuple[int, int]]) -> bytes:
    """Return a block of facts in which these entries have another minute and session; those it does not have say
    nothing."""
    records = np.frombuffer(data, FACT).copy()
    for entry, (minute, session) in times.items():
        own = records["place"] == entry % BLOCK
        records["minute"][own] = min(minute, 0xFFFFFFFF)
        records["session"][own] = session
    return records.tobytes()


def join_blocks(blocks: Sequence[Block], layout: np.dtype[Any]) -> tuple[Ids, Records]:
    """Return all records of these blocks, and the entry of each."""
    records = np.frombuffer(b"".join([data for _, data in blocks]), layout)
    firsts = np.asarray([number * BLOCK for number, _ in blocks], np.int64)
    counts = [len(data) // layout.itemsize for _, data in blocks]
    ids = np.repeat(firsts, counts)
    ids += records["place"]  # in place: on long paths memory that is touched anew takes longer than the sum
    return ids, records
