"""Understanding a question: what to look up, whose words are meant, and of which days.

Owns `understand`, which turns a text (a question, or simply the newest message of a chat) into a `Query`. Names of
people who speak in the story are taken out of the words to look up: "what did Mara promise" asks for Mara's
messages, not for messages that say "Mara". Whoever is only spoken to ("Mara, who has the key?") is taken out as well,
and nobody's messages are preferred for it. "What did I promise Mara" asks for the messages of whoever asks, "what did
you say" for those of the one who is asked; other names are then words like any other.

What must stay true: any text gives a query, if only an empty one, which finds nothing (`Query.checked` refuses it with
one sentence); the cost is bounded, however long the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from previously.core.errors import BadInput
from previously.recall.address import find_mentions, without
from previously.recall.dates import DaySpan, spans_in
from previously.recall.index import speaker_key
from previously.recall.words import read

LONGEST_QUERY = 16_000
"""Characters of a question that are read: of a longer one the front and the end, half each."""

MOST_TERMS = 128
"""Distinct terms looked up; of more, the first and the last are taken, where people say what they want."""

_OWN_WORDS = re.compile(
    r"\b(?:did|have|had)\s+i\b|\bi\s+(?:say|said|tell|told|"
    r"promised?|mention(?:ed)?|ask(?:ed)?|want(?:ed)?|plan(?:ned)?|like[ds]?|buy|bought)\b|\b(?:what|which|who|where)"
    r"(?:'s|\s+is|\s+are|\s+was|\s+were)\s+my\b",
    re.I,
)
_YOUR_WORDS = re.compile(
    r"\byou\s+(?:say|said|tell|told|promised?|mention(?:ed)?|suggest(?:ed)?|recommend(?:ed)?|propose[ds]?|"
    r"explain(?:ed)?)\b",
    re.I,
)
_QUESTION = re.compile(r"[?？]")


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for."""

    terms: tuple[str, ...]
    """Distinct terms, in the order they were said."""
    words: tuple[tuple[str, str], ...]
    """Content words as written, each with the term that says how rare it is."""
    speakers: tuple[str, ...]
    """Whose words are meant, by their full names."""
    days: tuple[DaySpan, ...]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.terms or self.words or self.speakers or self.days)

    def checked(self) -> Query:
        """This query, or `BadInput` if it is empty: for a person who asked, not for a chat that goes on."""
        if self.empty:
            raise BadInput("There is nothing to search for: the query holds no word, number or sign to be found by.")
        return self

    @property
    def lookups(self) -> tuple[str, ...]:
        """All terms that a store should give postings for."""
        return tuple(dict.fromkeys((*self.terms, *(term for _, term in self.words if term))))

    @property
    def speaker_keys(self) -> tuple[int, ...]:
        """The speakers as they stand in the index."""
        return tuple(speaker_key(name) for name in self.speakers)


def understand(
    text: str,
    *,
    speakers: Iterable[str] = (),
    asker: str | None = None,
    asked: str | None = None,
    today: int | None = None,
) -> Query:
    """The query of a text. `speakers` are those of the story, `asker` and `asked` who asks whom, `today` the ordinal of
    the day it is asked on."""
    text = clipped(text)
    mentions = find_mentions(text, tuple(sorted({name for name in speakers if name})))
    called = [mention for mention in mentions if mention.addressed]
    whose = _by_person(text, asker, called[0].names if called else (asked,) if asked else ())
    sought = [] if whose else [mention for mention in mentions if not mention.addressed]
    rest = without(text, called if whose else mentions)
    said = read(rest)
    return Query(
        terms=_few(said.terms),
        words=tuple(dict.fromkeys((word, _term_of(word)) for word in _few(said.content))),
        speakers=whose or tuple(dict.fromkeys(name for mention in sought for name in mention.names)),
        days=spans_in(text, today),
    )


def _few(found: Sequence[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(found))
    half = MOST_TERMS // 2
    return distinct if len(distinct) <= MOST_TERMS else distinct[:half] + distinct[-half:]


def _term_of(word: str) -> str:
    terms = read(word).terms
    return terms[0] if terms else ""


def clipped(text: str) -> str:
    """Return what is read of a question."""
    if len(text) <= LONGEST_QUERY:
        return text
    return f"{text[: LONGEST_QUERY // 2]}\n{text[-LONGEST_QUERY // 2 :]}"


def _by_person(text: str, asker: str | None, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Whose words are meant by "I" or "you". A message that is no question, or says both, means nobody's."""
    if not _QUESTION.search(text):
        return ()
    own, yours = bool(_OWN_WORDS.search(text)), bool(_YOUR_WORDS.search(text))
    if own and not yours:
        return (asker,) if asker else ()
    return asked if yours and not own else ()
