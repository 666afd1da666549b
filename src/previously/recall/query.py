"""Understanding a question: what to look up, whose words are meant, and of which days.

Owns `understand`, which turns a text (a question, or simply the newest message of a chat) into a `Query`. Names of
people who speak in the story are taken out of the words to look up: "what did Mara promise" asks for Mara's
messages, not for messages that say "Mara". "What did I promise Mara" asks for the messages of whoever asks, "what did
you say" for those of the one who is asked; other names are then words like any other.

What must stay true: any text gives a query, if only an empty one, which finds nothing (`Query.checked` refuses it with
one sentence); the cost is bounded, however long the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from previously.core.errors import BadInput
from previously.recall.dates import DaySpan, spans_in
from previously.recall.index import speaker_key
from previously.recall.words import FILLER, fold, is_spaceless, read

LONGEST_QUERY = 16_000
"""Characters of a question that are read: of a longer one the front and the end, half each."""

MOST_TERMS = 128
"""Distinct terms looked up; of more, the first and the last are taken, where people say what they want."""

_NOT_PEOPLE = frozenset("user assistant system narrator tool human bot ai gm dm player character you everyone".split())
_TITLES = frozenset("mr mrs ms miss dr sir lady lord captain king queen prince princess st saint the of von de".split())
_PART = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_SEVERAL = re.compile(r"\s+(?:and|&)\s+|\s*[,;/]\s*", re.I)

_OWN_WORDS = re.compile(
    r"\b(?:did|have|had)\s+i\b|\bi\s+(?:say|said|tell|told|"
    r"promised?|mention(?:ed)?|ask(?:ed)?|want(?:ed)?|plan(?:ned)?|like[ds]?|buy|bought)\b|\b(?:what|which|who|where)"
    r"(?:'s|\s+is|\s+are|\s+was|\s+were)\s+my\b",
    re.I,
)
_YOUR_WORDS = re.compile(
    r"\b(?:did|have|had|do|were|are|would|could)\s+you\b|\byou\s+(?:say|said|tell|told|promised?|mention(?:ed)?|"
    r"suggest(?:ed)?|recommend(?:ed)?|propose[ds]?|explain(?:ed)?)\b",
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
    if len(text) > LONGEST_QUERY:
        text = f"{text[: LONGEST_QUERY // 2]}\n{text[-LONGEST_QUERY // 2 :]}"
    story = tuple(sorted({name for name in speakers if name}))
    whose = _by_person(text, asker, asked)
    named, rest = ((), text) if whose else _without_speakers(text, story)
    said = read(rest)
    return Query(
        terms=_few(said.terms),
        words=tuple(dict.fromkeys((word, _term_of(word)) for word in _few(said.content))),
        speakers=whose or named,
        days=spans_in(text, today),
    )


def _few(found: Sequence[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(found))
    half = MOST_TERMS // 2
    return distinct if len(distinct) <= MOST_TERMS else distinct[:half] + distinct[-half:]


def _term_of(word: str) -> str:
    terms = read(word).terms
    return terms[0] if terms else ""


def _without_speakers(text: str, speakers: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The speakers a text names, and the text without their names."""
    whose, inside = _parts_of_names(speakers)
    named: dict[str, None] = {}

    def take(match: re.Match[str]) -> str:
        word = match[0]
        part = fold(_POSSESSIVE.sub("", word))
        if part not in whose or (word[0].islower() and (part in FILLER or len(part) < 3)):
            return word  # "will" is Will only with a capital
        named.update(dict.fromkeys(whose[part]))
        return " "

    if inside is not None:
        text = inside.sub(take, text)
    rest = _PART.sub(take, text) if whose else text
    return tuple(named), rest


@lru_cache(maxsize=256)
def _parts_of_names(speakers: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], re.Pattern[str] | None]:
    """Who has each part of a name, and a pattern for those parts that are written without spaces around them."""
    whose: dict[str, list[str]] = {}
    for speaker in speakers:
        for part in name_parts(speaker):
            whose.setdefault(part, []).append(speaker)
    inside = sorted((part for part in whose if is_spaceless(part)), key=lambda part: (-len(part), part))
    pattern = re.compile("|".join(re.escape(part) for part in inside)) if inside else None
    return {part: tuple(who) for part, who in whose.items()}, pattern


def name_parts(speaker: str) -> tuple[str, ...]:
    """The words of a speaker's name that tell who is meant: no titles, and nothing of names that are no names."""
    parts: list[str] = []
    for one in _SEVERAL.split(speaker):
        if fold(one.strip()) not in _NOT_PEOPLE:
            parts += [fold(part) for part in _PART.findall(one)]
    return tuple(dict.fromkeys(part for part in parts if part not in _TITLES and len(part) > 1))


def _by_person(text: str, asker: str | None, asked: str | None) -> tuple[str, ...]:
    """Whose words are meant by "I" or "you". A message that is no question, or says both, means nobody's."""
    if not _QUESTION.search(text):
        return ()
    own, yours = bool(_OWN_WORDS.search(text)), bool(_YOUR_WORDS.search(text))
    who = asker if own and not yours else asked if yours and not own else None
    return (who,) if who else ()
