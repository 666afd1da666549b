"""Taking a text apart into what can be looked up, in any script.

Owns the words of recall: `read` turns a text into *terms* (folded, stemmed, without words that say nothing) and
*content* (words as written, for the vectors). A name that is spelt like a word that says nothing is a term of its own:
Will is not "will". Scripts without spaces become overlapping pairs (Thai and its neighbours: triples), an identifier is
found whole and by its parts, a number without its separators, an emoji by itself.

What must stay true: a pure function of the text, linear in it; no text fails; a message and a question are read
by the same code.

Telling words: what two wordings of one thing have in common.

What must stay true: every function is total and linear in its text, and lists come in the order of the text. Scripts
without spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from previously.text.language import STOP_WORDS
from previously.text.stems import stem

INDEX_STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being between both but by can could
    did do does doing don down during each few for from further had has have having he her here hers herself him himself
    his how i if in into is it its itself just me more most my myself no nor not of off on once only or other our ours
    ourselves out over own same she should so some such than that the their theirs them themselves then there these they
    this those through to too under until up us very was we were what when where which while who whom whose why will
    with would you your yours yourself yourselves ain aren couldn didn doesn hadn hasn haven isn ll ve re mustn needn
    shan shouldn wasn weren won wouldn s t d m""".split()
)
"""Words that are in every message and every question. The list is short on purpose: BM25 weighs the rest down."""

FILLER = INDEX_STOP_WORDS | frozenset(
    """actually always anything anyway awesome aw btw certainly cool definitely else even ever every exactly feel get
    gets getting go goes going gone gonna good got gotta great guess guys haha hello hey hi hmm honestly know known
    kinda let lets like literally little lol lot lots made make makes maybe much many mean never nice now oh ok okay one
    perhaps please pretty probably quite rather really right said say says saying see seem seems something sort still
    stuff sure tell thank thanks thing things think thought told totally uh um wanna want wanted way well went wow yeah
    yep yes yet""".split()
)
"""Words that carry no picture: they are looked up, but do not turn a vector."""

TIME_WORDS = frozenset(
    stem(word)
    for word in """yesterday today tomorrow tonight last next ago week weekend month year day monday tuesday wednesday
    thursday friday saturday sunday january february april june july august september october november december since
    recently morning evening night spring summer autumn winter birthday anniversary o'clock""".split()
)
"""Terms that say when. A message with one tells of something that happened."""

_HAN_AND_KIN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_THAI_AND_KIN = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\uaa60-\uaa7f"
_EMOJI = (
    "\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
_MARKS_INSIDE = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f71-\u0fbc"
"""Accents, points and vowel signs: they stand inside words, though they are no letters."""

_SPACELESS = f"{_HAN_AND_KIN}{_THAI_AND_KIN}"
_LETTERS = rf"(?:[^\W{_SPACELESS}]|[{_MARKS_INSIDE}])+"
_PIECE = re.compile(
    rf"([^\w{_EMOJI}{_MARKS_INSIDE}]*+)"
    rf"([{_HAN_AND_KIN}]+|[{_THAI_AND_KIN}]+|[{_EMOJI}]|\d+(?:[.,:]\d+)*(?![^\W{_SPACELESS}])"
    rf"|{_LETTERS}(?:['’][^\W\d_{_SPACELESS}]+)*|\Z)"
)
_ASCII_PIECE = re.compile(r"(\W*+)(\d+(?:[.,:]\d+)*(?!\w)|\w+(?:'[A-Za-z]+)*|\Z)", re.ASCII)
"""What lies between two pieces, and the next piece: a word, a number, an emoji, or a run of a script without spaces; at
the end of the text nothing, so that no run of other characters is looked at twice."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_ENDS_SENTENCE = re.compile(r"[.!?…:\n\"“”„«»*()\[\]—–-]")
_IDENTIFIER = re.compile(r"[_\d]|[a-z][A-Z]")
"""`parse_config`, `getUserName`, `key31`: a shape that prose does not have."""

_NUMERAL = re.compile(r"(\d+(?:[.,:]\d+)*)(?:st|nd|rd|th)?$", re.I)
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
_POSSESSIVE = re.compile(r"['’](?:s|ll|ve|re|d|m|t)?$", re.I)

NAME_MARK = "^"
"""What the term of a name begins with; no word does."""

_RUN = re.compile(f"[{_SPACELESS}]")

LONGEST_TERM = 40
"""A longer run of letters is a hash or a blob: its front is enough to find it by."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A text, taken apart. Repeated words are there as often as they were said."""

    terms: tuple[str, ...]
    content: tuple[str, ...]


def read_terms(text: str) -> Terms:
    """The terms and content words of a text, in its order."""
    terms: list[str] = []
    content: list[str] = []
    opens = True
    for between, piece in (_ASCII_PIECE if text.isascii() else _PIECE).findall(text):
        found, worth, name = _parts_of(piece)
        terms += found
        content += worth
        if name and not (opens or _ENDS_SENTENCE.search(between)):
            terms.append(name)  # at the front of a sentence every word has a capital
        opens = False
    return Terms(tuple(terms), tuple(content))


def find_places(text: str, terms: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Where in a text these terms stand, as starts and ends, in order: what to highlight."""
    wanted = frozenset(terms)
    places: list[tuple[int, int]] = []
    for match in (_ASCII_PIECE if text.isascii() else _PIECE).finditer(text):
        piece, start = match[2], match.start(2)
        found, _, name = _parts_of(piece)
        if is_spaceless(piece):
            places += _places_in_run(piece, start, wanted)
        elif name in wanted or not wanted.isdisjoint(found):
            places.append((start, match.end(2)))
    return tuple(places)


def _places_in_run(run: str, start: int, wanted: frozenset[str]) -> list[tuple[int, int]]:
    """The same in a run without spaces; pairs that overlap are one place."""
    size = _gram_size(run)
    places: list[tuple[int, int]] = []
    for at in range(max(1, len(run) - size + 1)):
        if casefold_word(run[at : at + size]) in wanted:
            first, end = start + at, start + min(at + size, len(run))
            if places and places[-1][1] >= first:
                first = places.pop()[0]
            places.append((first, end))
    return places


def is_spaceless(text: str) -> bool:
    """Whether a text begins in a script that puts no spaces between words."""
    return _RUN.match(text) is not None


def _parts_of(piece: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    if not piece:
        return (), (), ""
    return _taken_apart(piece) if len(piece) <= LONGEST_TERM else _long(piece)


@lru_cache(maxsize=65_536)
def _taken_apart(piece: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Of one piece its terms, its content word if it has one, and the term it has if it is a name."""
    first = piece[0]
    if first.isdigit() and (numeral := _NUMERAL.match(piece)):
        number = _number(numeral[1])
        return (number,), (number,), ""
    if _RUN.match(piece):
        return tuple(_grams(casefold_word(piece), _gram_size(piece))), (piece,), ""
    if not (first.isalnum() or first == "_"):
        return (piece,), (piece,), ""
    return _word(piece.strip("_"))


def _long(piece: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """A run without spaces is read to its end; of anything else the front is enough to find it by."""
    if not _RUN.match(piece):
        return _taken_apart(piece[:LONGEST_TERM])
    return tuple(_grams(casefold_word(piece), _gram_size(piece))), (piece,), ""


def _word(written: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    bare = _POSSESSIVE.sub("", written)
    folded = casefold_word(bare)
    if folded.endswith("n") and written[len(bare) :].lower() in ("'t", "’t"):
        folded = folded[:-1]  # "didn't" and "couldn't" say no more than "did" and "could"
    if not folded:
        return (), (), ""
    if folded in INDEX_STOP_WORDS:
        return (), (), NAME_MARK + folded if len(folded) > 1 and bare[0].isupper() and bare[1:].islower() else ""
    terms = [stem(folded)]
    if _IDENTIFIER.search(bare):
        parts = [casefold_word(part) for part in _PARTS.findall(bare)]
        terms += [stem(part) for part in parts if part != folded and part not in INDEX_STOP_WORDS]
    return tuple(terms), () if folded in FILLER else (bare,), ""


def casefold_word(text: str) -> str:
    """Lower case, one form of every character, accents off; kana and ideographs keep their marks."""
    if text.isascii():
        return text.lower()
    folded = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    # A ligature can stand for several words; a term is one.
    return unicodedata.normalize("NFC", "".join(folded.split()))


def _number(token: str) -> str:
    """A number without the marks between its thousands: "18,400" and "18400" are one."""
    head, *groups = re.split("[,.]", token)
    if groups and all(len(group) == 3 for group in groups):
        return casefold_word(head + "".join(groups))
    return casefold_word(token)


def _gram_size(run: str) -> int:
    """How many letters stand for a word: two, of Thai and its neighbours three."""
    return 3 if "\u0e01" <= run[0] <= "\u19df" else 2


def _grams(run: str, size: int) -> list[str]:
    if len(run) <= size:
        return [run]
    return [run[at : at + size] for at in range(len(run) - size + 1)]


WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
SPACELESS = re.compile("[\u3005\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e01-\u0e7f]+")
"""Runs that carry content where no spaces part the words; hiragana mostly holds them together."""

_KANA = re.compile("[\u3040-\u30ff]")
_POSSESSIVE_terms = re.compile(r"['’]s?$")
_ENDING = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|s|en|er|em|e|y)$")
_FAMILIES = (
    "promise promised promises promising swear swears swore sworn vow vows vowed oath pledge pledged versprach "
    "versprochen verspricht promis promet promit prometió promete prometeu обещал обещала обещает обещание",
    "owe owes owed owing debt debts schuldet schulden doit dette deuda dívida долг долга",
    "hide hides hid hidden conceal concealed",
    "give gives gave given",
    "die died dies dead",
    "find finds found",
)
_FAMILY = {word: f"~{number}" for number, words in enumerate(_FAMILIES) for word in words.split()}
"""Words of one meaning whose forms no ending explains."""

_PREFIX = 5
"""Letters by which words of one family are still told from others."""


@lru_cache(maxsize=16_384)
def key_of(word: str) -> str:
    """What a word is looked up by: lower case, no accents, no possessive."""
    word = _POSSESSIVE_terms.sub("", word.casefold())
    if word.isascii():
        return word
    bare = (mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark))
    return unicodedata.normalize("NFC", "".join(bare))


def keys_of(text: str) -> frozenset[str]:
    """Every word of a text as it is looked up, the parts of hyphenated ones too."""
    words = set(WORD.findall(text))
    parts = {part for word in words if "-" in word for part in word.split("-")}
    return frozenset(map(key_of, words | parts))


def content_of(text: str) -> list[str]:
    """The telling words of a text as comparable terms, in order, repeats included."""
    terms = [term for word in WORD.findall(text) for term in _terms_of(word)]
    if not text.isascii():
        for run in SPACELESS.findall(text):
            terms += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
    return terms


@lru_cache(maxsize=16_384)
def _terms_of(word: str) -> tuple[str, ...]:
    if SPACELESS.search(word) or _KANA.search(word):
        return ()
    parts = [part for part in word.split("-") if len(part) >= 3 and part.casefold() not in STOP_WORDS]
    return tuple(_FAMILY.get(part.casefold()) or _ENDING.sub("", key_of(part))[:_PREFIX] for part in parts)
