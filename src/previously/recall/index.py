"""What is known of a message for finding it again: computed once, when it is written, with no model.

Owns `IndexedEntry` and the pure function `index_entry` that makes it. What it holds follows an entry, not a path: a
store appends `postings` and `facts` to their blocks (see `blocks`) and keeps `vector` in a row of the entry; which
entries stand on a path is found out when a question is asked.

What must stay true: the same id, facts and table give the same bytes; nothing of one entry depends on another; no text
fails; a change to what is computed raises `INDEX_VERSION`, and a store indexes anew what has another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from previously.core.messages import Attributes, Entry, Error, Image, Message, Text, Thinking, ToolCall, ToolResult
from previously.recall.blocks import block_of, fact_record, posting_record
from previously.recall.dates import minute_of
from previously.recall.vectors import WordTable, packed
from previously.recall.words import TIME_WORDS, fold, read

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
"""What the term of a witness begins with; no word does."""

EVERYONE = _WITNESS_MARK
"""The term of a message that everyone witnessed."""


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """What of a message is indexed."""

    text: str
    speaker: str | None = None
    at: str | None = None
    session: str | None = None
    """What its source calls the session it belongs to (`extra.session`)."""
    witnesses: tuple[str, ...] | None = None
    """Who was there; None = everyone."""


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
        """The number of the blocks its records go to."""
        return block_of(self.entry)


def facts_of(message: Message, at: str | None = None, session: str | None = None) -> MessageFacts:
    """The facts of a message: what was said, shown and called. Thinking is never shown again, so it is not found."""
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


def facts_of_entry(entry: Entry) -> MessageFacts:
    """The facts of an entry."""
    return facts_of(entry.message, entry.attributes.at, session_of(entry.attributes))


def session_of(attributes: Attributes) -> str | None:
    """What the source calls the session of a message, by a name or a number."""
    said = attributes.extra.get("session")
    return str(said) if isinstance(said, str | int) else None


def times_of(attributes: Attributes) -> tuple[int, int]:
    """The minute and the session as a record of facts has them: all of it that attributes decide."""
    return minute_of(attributes.at) or 0, _key(session_of(attributes))


def index_entry(entry: int, facts: MessageFacts, table: WordTable | None = None) -> IndexedEntry:
    """What is known of the message for finding it again."""
    said = read(facts.text[:LONGEST_TEXT])
    counts = Counter(said.terms)
    if len(counts) > MOST_TERMS:
        counts = Counter(dict(list(counts.items())[:MOST_TERMS]))
    length = len(said.terms)
    time_words = sum(counts[word] for word in counts.keys() & TIME_WORDS)
    postings = {term: posting_record(entry, count, length) for term, count in counts.items()}
    for term in _witness_terms(facts):
        postings[term] = posting_record(entry, 1, length)
    return IndexedEntry(
        entry=entry,
        postings=postings,
        facts=fact_record(
            entry,
            length=length,
            size=len(facts.text.encode("utf-8", "replace")) // 4,
            minute=minute_of(facts.at) or 0,
            session=_key(facts.session),
            speaker=speaker_key(facts.speaker),
            asks="?" in facts.text or "？" in facts.text,
            time_words=min(2, time_words),
        ),
        vector=packed(table, said.content),
    )


@lru_cache(maxsize=65_536)
def speaker_key(name: str | None) -> int:
    """A number for a speaker, the same however the name is written; 0 for nobody."""
    return _key(fold(name.strip()) if name else None)


def witness_term(name: str) -> str:
    """The term of the messages that this character witnessed, besides those that everyone did. A name too long to be
    looked up is known by its digest."""
    folded = fold(name.strip())
    if len(folded) > LONGEST_NAME:
        folded = blake2b(folded.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return _WITNESS_MARK + folded


def _witness_terms(facts: MessageFacts) -> tuple[str, ...]:
    if facts.witnesses is None:
        return (EVERYONE,)
    names = (*facts.witnesses, *((facts.speaker,) if facts.speaker else ()))
    return tuple(dict.fromkeys(witness_term(name) for name in names if name.strip()))


def _key(name: str | None) -> int:
    if not name:
        return 0
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest, "little") or 1
