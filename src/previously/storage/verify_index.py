"""Checking the index of recall: every block derived anew from the entries whose ids it has.

Whose vectors they are a store does not know, so of vectors only is checked that they are of entries, and of their size.
What lies behind the last entry indexed does not count and is not looked at: it is written over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from previously.core.messages import Entry
from previously.recall.index import FACT, INDEX_VERSION, POSTING, find_block, index_entry, read_entry_facts
from previously.recall.vectors import DIMENSIONS
from previously.storage.findings import ROWS_AT_ONCE, Findings
from previously.storage.tables.records import IndexState, StoryKey
from previously.storage.tables.rows import read_entry
from previously.storage.tables.session import Row, Session

T = TypeVar("T")


def check_index(session: Session, key: StoryKey, state: IndexState, findings: Findings) -> None:
    """Check what is kept of a story. What another version made is made anew when it is needed."""
    if state.version != INDEX_VERSION:
        return
    asked = {**key.values, "last": find_block(state.through)}
    kept = {block for (block,) in session.rows("check_blocks", asked)}
    speakers: set[str] = set()
    for block, rows in groupby(_read_entries(session, key, state.through), key=lambda row: find_block(row[0])):
        kept.discard(block)
        entries = _decode_entries(rows)
        if entries is not None:
            speakers |= {entry.message.speaker for entry in entries if entry.message.speaker}
            _check_block(session, key, block, entries, findings)
        findings.looked_at("index blocks", 1)
    for block in sorted(kept):
        findings.fault(f"index, block {block}", "it is of entries that are not there, or were forgotten")
    for entry, size in session.rows("check_vectors", {**asked, "last": state.vectors_through, "size": DIMENSIONS}):
        reason = f"it has {size} bytes" if size != DIMENSIONS else "the entry is not there, or was forgotten"
        findings.fault(f"vector of entry {entry}", reason)
    named = {name for (name,) in session.rows("speakers", asked)}
    for name in sorted(speakers - named):
        findings.fault("index", f"that {name!r} speaks is not kept")
    for (name,) in session.rows("silent_speakers", asked):
        findings.fault("index", f"{name!r} is said to speak, and does not")


def _read_entries(session: Session, key: StoryKey, through: int) -> Iterator[Row]:
    """The entries that are indexed, in order."""
    after = -1
    while rows := session.rows("entries_to_index", {"after": after, "most": ROWS_AT_ONCE, **key.values}):
        for row in rows:
            if row[0] > through:
                return
            yield row
        after = rows[-1][0]


def _decode_entries(rows: Iterator[Row]) -> list[Entry] | None:
    """The entries of a block; None if one cannot be read, which is told of where entries are checked."""
    try:
        return [read_entry(row) for row in list(rows)]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _check_block(session: Session, key: StoryKey, block: int, entries: Sequence[Entry], findings: Findings) -> None:
    postings: defaultdict[str, bytearray] = defaultdict(bytearray)
    facts = bytearray()
    for entry in entries:
        indexed = index_entry(entry.id, read_entry_facts(entry))
        for term, record in indexed.postings.items():
            postings[term] += record
        facts += indexed.facts
    own = key.values
    found = session.rows("facts", {"first": block, "last": block, **own})
    what = f"index, block {block}"
    if not _are_same({block: facts}, dict(found), FACT.itemsize):
        findings.fault(what, "its facts are not those of its entries")
    if not _are_same(postings, dict(session.rows("postings_of_block", {"block": block, **own})), POSTING.itemsize):
        findings.fault(what, "its postings are not those of its entries' words")


def _are_same(expected: Mapping[T, bytes | bytearray], kept: Mapping[T, bytes], size: int) -> bool:
    """Return whether both hold the same records under the same keys, in any order."""
    return expected.keys() == kept.keys() and all(
        data == kept[term] or _split_records(data, size) == _split_records(kept[term], size)
        for term, data in expected.items()
    )


def _split_records(data: bytes | bytearray, size: int) -> list[bytes]:
    return sorted(bytes(data[at : at + size]) for at in range(0, len(data), size))
