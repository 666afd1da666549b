"""A question: what to look up, whose words are meant, and of which days.

`understand` turns a text (a question, or simply the newest message of a chat) into a `Query`. Names of people who speak
in the story are taken out of the words to look up: "what did Mara promise" asks for Mara's messages, not for messages
that say "Mara". Whoever is only spoken to ("Mara, who has the key?") is taken out as well, and nobody's messages are
preferred for it. "What did I promise Mara" asks for the messages of whoever asks, "what did you say" for those of the
one who is asked; other names are then words like any other.

Whoever is addressed is set off from the sentence: by a comma or an exclamation mark behind a name that begins it, or by
a comma before one that ends it. That holds in every script we know, so no list of openers is kept. One word may stand
before a name at the front ("Hey Nott," "Sag Nott,"); a name of a list is not spoken to.

Any text gives a query, if only an empty one, which finds nothing (`Query.checked` refuses it with one sentence); the
cost is bounded, however long the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from previously.core.errors import BadInput
from previously.core.patterns import lazy_pattern
from previously.core.scripts import casefold
from previously.recall.index import make_speaker_key
from previously.text.language import find_language
from previously.text.names import NOBODY, is_title
from previously.text.sentences import split_sentences
from previously.text.stems import stem
from previously.text.stopwords import list_filler_words, list_small_words, list_stop_words
from previously.text.times import DaySpan, find_days
from previously.text.words import WORD, casefold_word, is_spaceless, make_key, read_terms

LONGEST_QUERY = 16_000
"""Characters of a question that are read: of a longer one the front and the end, half each."""

MOST_QUESTIONS = 4
"""Questions of one message that are asked each by itself: each takes as long as a search."""

MOST_TERMS = 128
"""Distinct terms looked up; of more, the first and the last are taken, where people say what they want."""

_OWN_WORDS = lazy_pattern(
    r"\b(?:did|have|had)\s+i\b|\bi\s+(?:say|said|tell|told|"
    r"promised?|mention(?:ed)?|ask(?:ed)?|want(?:ed)?|plan(?:ned)?|like[ds]?|buy|bought)\b|\b(?:what|which|who|where)"
    r"(?:'s|\s+is|\s+are|\s+was|\s+were)\s+my\b",
    re.I,
)
_YOUR_WORDS = lazy_pattern(
    r"\byou\s+(?:say|said|tell|told|promised?|mention(?:ed)?|suggest(?:ed)?|recommend(?:ed)?|propose[ds]?|"
    r"explain(?:ed)?)\b",
    re.I,
)
_QUESTION = lazy_pattern(r"[?？؟]")
_CALLED = lazy_pattern(r"^\W*[^\W\d_a-z]\w+(?: [^\W\d_a-z]\w+)?\s*,|,\s*[^\W\d_a-z]\w+(?=,|\W*$)", re.M)
"""Words with a capital that are set off from a question, at its front, inside or at its end, as a name is that is
called."""


@dataclass(frozen=True, slots=True)
class Query:
    """All that is looked for."""

    terms: tuple[str, ...]
    """Distinct terms, in the order they were said."""
    words: tuple[tuple[str, str], ...]
    """Content words as written, each with the term that says how rare it is."""
    speakers: tuple[str, ...]
    """The people whose words are meant, by their full names."""
    days: tuple[DaySpan, ...]
    aside: frozenset[str] = frozenset()
    """Terms that only stand beside what is asked: in sentences around the question, or in a name that is called."""
    asks: bool = True
    translated: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For each term that a dictionary gave, the word it stands for; "" where that word holds sentences together."""

    @property
    def empty(self) -> bool:
        return not (self.terms or self.words or self.speakers or self.days)

    def checked(self) -> Query:
        """Return this query, or `BadInput` if it is empty: for a person who asked, not for a chat that goes on."""
        if self.empty:
            raise BadInput("There is nothing to search for: the query holds no word, number or sign to be found by.")
        return self

    @property
    def lookups(self) -> tuple[str, ...]:
        """Return all terms that a store should give postings for."""
        return tuple(dict.fromkeys((*self.terms, *(term for _, term in self.words if term))))

    @property
    def speaker_keys(self) -> tuple[int, ...]:
        return tuple(make_speaker_key(name) for name in self.speakers)


def understand(
    text: str,
    *,
    speakers: Iterable[str] = (),
    asker: str | None = None,
    asked: str | None = None,
    today: int | None = None,
) -> Query:
    """Return the query of a text. `speakers` are those of the story, `asker` and `asked` who asks whom, `today` the
    ordinal of the day it is asked on."""
    text = clip_query(text)
    mentions = find_mentions(text, tuple(sorted({name for name in speakers if name})))
    called = [mention for mention in mentions if mention.addressed]
    whose = _by_person(text, asker, called[0].names if called else (asked,) if asked else ())
    sought = [] if whose else [mention for mention in mentions if not mention.addressed]
    rest = remove_mentions(text, called if whose else mentions)
    said = read_terms(rest)
    small = _small_words_of(rest)
    asked_for = read_terms(_keep_questions(rest)).terms
    return Query(
        terms=_few([term for term in said.terms if term not in small]),
        words=tuple(dict.fromkeys((word, _term_of(word)) for word in _few(said.content) if word.lower() not in small)),
        speakers=whose or tuple(dict.fromkeys(name for mention in sought for name in mention.names)),
        days=find_days(text, today),
        aside=frozenset(said.terms) - frozenset(asked_for),
        asks=asks(text),
    )


def asks(text: str) -> bool:
    """Return whether a text asks anything."""
    return _QUESTION.search(text) is not None


def join_question(before: str, question: str) -> tuple[str, bool]:
    """Return a question of a few words together with the sentence before it, which it is about ("Where is it?"), and
    whether it asks for something itself: "And then?" does not, and only says that the story goes on."""
    said = split_sentences(clip_query(before))
    joined = f"{said[-1]}\n{question}" if said else question
    return joined, bool(read_terms(question).content)


def split_questions(text: str) -> list[str]:
    """Return a text cut behind each of its questions, so that every one is asked by itself, with what leads up to it; a
    text with one question or none stays whole. What follows the last question is part of it."""
    parts: list[str] = []
    begun: list[str] = []
    for sentence in split_sentences(clip_query(text)):
        begun.append(sentence)
        if asks(sentence) and len(parts) < MOST_QUESTIONS - 1 and read_terms(sentence).content:
            parts.append(" ".join(begun))
            begun = []
    if begun and not (asks(" ".join(begun)) or not parts):
        parts[-1] += " " + " ".join(begun)
    elif begun:
        parts.append(" ".join(begun))
    return parts if len(parts) > 1 else [text]


def _keep_questions(text: str) -> str:
    """Return what asks of a text: the sentences that end in a question, without names that are called; all of a text
    that has none."""
    asking = [sentence for sentence in split_sentences(text) if _QUESTION.search(sentence)] or [text]
    return "\n".join(_CALLED.sub(" ", sentence) for sentence in asking)


def _small_words_of(text: str) -> frozenset[str]:
    """Return the words that hold a sentence together in the language of the text, where that is not English: a story
    may be told in another, in which "hat" and "die" are words like any other."""
    language = find_language(text)
    if language in ("", "English"):
        return frozenset()
    words = list_small_words().get(language, frozenset())
    return frozenset(casefold_word(word) for word in words) | {stem(casefold_word(word)) for word in words}


def _few(texts: Sequence[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(texts))
    half = MOST_TERMS // 2
    return distinct if len(distinct) <= MOST_TERMS else distinct[:half] + distinct[-half:]


def _term_of(word: str) -> str:
    terms = read_terms(word).terms
    return terms[0] if terms else ""


def clip_query(text: str) -> str:
    """Return what is read of a question."""
    if len(text) <= LONGEST_QUERY:
        return text
    return f"{text[: LONGEST_QUERY // 2]}\n{text[-LONGEST_QUERY // 2 :]}"


def _by_person(text: str, asker: str | None, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return whose words are meant by "I" or "you". A message that is no question, or says both, means nobody's."""
    if not _QUESTION.search(text):
        return ()
    own, yours = bool(_OWN_WORDS.search(text)), bool(_YOUR_WORDS.search(text))
    if own and not yours:
        return (asker,) if asker else ()
    return asked if yours and not own else ()


_SEVERAL = lazy_pattern(r"\s+(?:and|&)\s+|\s*[,;/]\s*", re.I)

_TITLE_BEHIND = lazy_pattern(r"\s?(?:さん|ちゃん|くん|君|様|殿|先生|씨|님|야|아)")
"""Titles that follow a name in scripts without spaces, where they would hide the comma."""

_COMMA = frozenset(",،、，;；")
_CALL = _COMMA | frozenset("!！…—–")
"""Marks that may stand behind a name that is called."""

_SENTENCE = frozenset('.!?…:\n。！？：؟।¿¡—–*"“”„«»()')
"""Marks behind which a sentence begins, and before which it ends; role-play has actions in asterisks, and speech in
quotes."""

_BEHIND = lazy_pattern(r"[ \t\"“”„«»*_()\[\]'’‘「」『』]*(.?)", re.DOTALL)
"""Signs that may stand between a name and the mark that sets it off, and that mark."""

MOST_OPENERS = 1
"""Words that may stand before a name at the front of a sentence: with two, "What about Nott, …" would call Nott."""

LONGEST_OPENER = 24
"""Characters before a name that are looked at: more hold more than a word."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a text that names speakers."""

    start: int
    end: int
    names: tuple[str, ...]
    addressed: bool = False


def find_mentions(text: str, speakers: tuple[str, ...]) -> list[Mention]:
    """Return where a text names these speakers, in order; words of one name that stand together are one mention."""
    whose, inside = _parts_of_names(speakers)
    if not whose:
        return []
    mentions: list[Mention] = []
    if inside is not None:
        mentions = [Mention(match.start(), match.end(), whose[match[0]]) for match in inside.finditer(text)]
    taken = {mention.start for mention in mentions}
    for match in WORD.finditer(text):
        word = match[0]
        part = make_key(word)
        if (
            part not in whose
            or match.start() in taken
            or (word[0].islower() and (part in list_filler_words() or len(part) < 3))
        ):
            continue  # "will" is Will only with a capital
        mentions.append(Mention(match.start(), match.end(), whose[part]))
    joined = _joined(sorted(mentions, key=lambda mention: mention.start), text)
    return [
        _with_title(mention, text) if _is_addressed(text, joined, number) else mention
        for number, mention in enumerate(joined)
    ]


def find_named(text: str, speakers: Collection[str]) -> tuple[str, ...]:
    """Return those of the speakers that a text names, spoken to or not."""
    names = tuple(sorted({name for name in speakers if name}))
    return tuple(dict.fromkeys(name for mention in find_mentions(text, names) for name in mention.names))


def remove_mentions(text: str, mentions: Sequence[Mention]) -> str:
    kept, at = [], 0
    for mention in mentions:
        kept += [text[at : mention.start], " "]
        at = mention.end
    return "".join([*kept, text[at:]])


def split_speaker(speaker: str) -> tuple[str, ...]:
    """Return the words of a speaker's name that tell who is meant: nothing of names that are no names, and titles only
    where there is nothing else: "Captain" alone is somebody."""
    parts: list[str] = []
    for name in _SEVERAL.split(speaker):
        if casefold(name) in NOBODY:
            continue
        words = [casefold_word(word) for word in WORD.findall(name)]
        words = [word for word in words if len(word) > 1]
        parts += [word for word in words if not (is_title(word) or word in list_stop_words())] or words
    return tuple(dict.fromkeys(parts))


@lru_cache(maxsize=256)
def _parts_of_names(speakers: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], re.Pattern[str] | None]:
    """Return who has each part of a name, and a pattern for those parts that are written without spaces around them."""
    whose: dict[str, list[str]] = {}
    for speaker in speakers:
        for part in split_speaker(speaker):
            whose.setdefault(part, []).append(speaker)
    inside = sorted((part for part in whose if is_spaceless(part)), key=lambda part: (-len(part), part))
    pattern = re.compile("|".join(re.escape(part) for part in inside)) if inside else None
    return {part: tuple(who) for part, who in whose.items()}, pattern


def _joined(mentions: Sequence[Mention], text: str) -> list[Mention]:
    """Words of a name that only a space parts, as one mention of all whom any of them may mean."""
    runs: list[Mention] = []
    for mention in mentions:
        if runs and text[runs[-1].end : mention.start].isspace():
            names = tuple(dict.fromkeys((*runs[-1].names, *mention.names)))
            runs[-1] = Mention(runs[-1].start, mention.end, names)
        else:
            runs.append(mention)
    return runs


def _with_title(mention: Mention, text: str) -> Mention:
    """Return the mention of somebody addressed, with the title behind their name."""
    title = _TITLE_BEHIND.match(text, mention.end)
    return Mention(mention.start, title.end() if title else mention.end, mention.names, addressed=True)


def _is_addressed(text: str, mentions: Sequence[Mention], number: int) -> bool:
    """Return whether a mention is set off from its sentence, as one is who is spoken to."""
    mention = mentions[number]
    front = max(0, mention.start - LONGEST_OPENER)
    opens_at = max((at for at in range(front, mention.start) if text[at] in _COMMA | _SENTENCE), default=front - 1)
    begins = opens_at < 0 or text[opens_at] in _SENTENCE
    openers = len(WORD.findall(text, opens_at + 1, mention.start))
    after = _BEHIND.match(text, _with_title(mention, text).end)
    behind = after[1] if after else ""
    if begins:
        return openers <= MOST_OPENERS and behind in _CALL and not _begins_list(text, mentions, number)
    if openers:
        return False
    if behind in _COMMA:
        return not (_touches(text, mentions, number - 1, number) or _touches(text, mentions, number, number + 1))
    return not behind or behind in _SENTENCE


def _begins_list(text: str, mentions: Sequence[Mention], number: int) -> bool:
    """Return whether a mention is the first of a list: of three, or of two that a word joins. "Bram, Mara lied" calls
    Bram."""
    if not _touches(text, mentions, number, number + 1):
        return False
    joins = WORD.search(text, mentions[number].end, mentions[number + 1].start)
    return joins is not None or _touches(text, mentions, number + 1, number + 2)


def _touches(text: str, mentions: Sequence[Mention], first: int, second: int) -> bool:
    """Return whether nothing but a comma, and at most one word, stands between two mentions: they are of one list."""
    if first < 0 or second >= len(mentions):
        return False
    between = text[mentions[first].end : mentions[second].start]
    return len(WORD.findall(between)) <= 1 and not any(letter in _SENTENCE for letter in between)
