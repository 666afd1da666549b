"""Words of a text, in any script.

A text is taken apart in two ways. `read_terms` makes what the index keeps and a question looks up: *terms* (stemmed,
without words that say nothing) and *content* (words as written, for the vectors). A name that is spelt like a word that
says nothing is a term of its own: Will is not "will". Scripts without spaces become overlapping pairs (Thai and its
neighbours: triples), an identifier is found whole and by its parts, a number without its separators, an emoji by
itself. `WORD` and `make_key` serve those who compare words as people write them.

Every function is total, a pure function of the text, and linear in it. A message and a question are read by the same
code, so a change to `read_terms` needs a new `INDEX_VERSION`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from previously.core.patterns import lazy_pattern
from previously.core.scripts import HANGUL, IDEOGRAPHS, KANA, KATAKANA, SOUTH_EAST_ASIAN, SPACELESS
from previously.text.stems import stem
from previously.text.stopwords import list_filler_words, list_index_stop_words
from previously.text.times import MONTHS_ONLY, SEASONS, WEEKDAYS

WORD = lazy_pattern(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
"""A word of letters, apostrophes and hyphens inside it included."""

CONTENT_RUN = lazy_pattern(f"[{IDEOGRAPHS}{KATAKANA}{HANGUL}{SOUTH_EAST_ASIAN}]+")
"""A run that carries content where no spaces part the words; hiragana mostly holds them together."""

_PLAIN_WORD = lazy_pattern(r"[^\W_]+")
_POSSESSIVE = lazy_pattern(r"['’]s?$")
_CONTRACTED = lazy_pattern(r"['’](?:s|ll|ve|re|d|m|t)?$", re.I)
_MARKS = lazy_pattern("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
"""Accents and points that a reader may leave out; kana and Indic vowels are not among them."""

_EMOJI = (
    "\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
_MARKS_INSIDE = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f71-\u0fbc"
"""Accents, points and vowel signs: they stand inside words, though they are no letters."""

_RUN = lazy_pattern(f"[{SPACELESS}]")
_PARTS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_BEGINS_ANEW = lazy_pattern(r"[.!?…:\n\"“”„«»*()\[\]—–-]")
"""Marks after which a capital says nothing: behind a colon or a dash many write one, as at the front of a sentence."""

_IDENTIFIER = lazy_pattern(r"[_\d]|[a-z][A-Z]")
"""`parse_config`, `getUserName`, `key31`: a shape that prose does not have."""

_NUMERAL = lazy_pattern(r"(\d+(?:[.,:]\d+)*)(?:st|nd|rd|th)?$", re.I)

NAME_MARK = "^"
"""Begins the term of a name; no word begins with it."""

LONGEST_TERM = 40
"""A longer run of letters is a hash or a blob: its front is enough to find it by."""


def find_words(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, as written."""
    return _PLAIN_WORD.findall(text)


def strip_possessive(word: str) -> str:
    """Return a word without an apostrophe at its end and the s behind it."""
    return _POSSESSIVE.sub("", word)


@lru_cache(maxsize=16_384)
def make_key(word: str) -> str:
    """Return what a word is looked up by: lower case, no accents, no possessive."""
    return casefold_word(strip_possessive(word))


def make_keys(text: str) -> frozenset[str]:
    """Return the keys of all words of a text, and of the parts of hyphenated ones."""
    words = set(WORD.findall(text))
    parts = {part for word in words if "-" in word for part in word.split("-")}
    return frozenset(map(make_key, words | parts))


def casefold_word(text: str) -> str:
    """Return a word in lower case, in one form of every character, accents off; kana and ideographs keep their
    marks."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    # A ligature can stand for several words; a term is one.
    return unicodedata.normalize("NFC", "".join(bare.split()))


def is_spaceless(text: str) -> bool:
    """Return whether a text begins in a script that puts no spaces between words."""
    return _RUN.match(text) is not None


@cache
def list_time_words() -> frozenset[str]:
    """Return the terms that say when. A message with one tells of something that happened."""
    others = "yesterday today tomorrow tonight last next ago week weekend month year day since recently morning evening"
    others += " night birthday anniversary o'clock"
    return frozenset(stem(word) for word in (*others.split(), *WEEKDAYS, *MONTHS_ONLY, *SEASONS))


@dataclass(frozen=True, slots=True)
class Terms:
    """A text, taken apart. Repeated words are there as often as they were said."""

    terms: tuple[str, ...]
    content: tuple[str, ...]


def read_terms(text: str) -> Terms:
    """Return the terms and content words of a text, in its order."""
    terms: list[str] = []
    content: list[str] = []
    opens = True
    for between, piece in _pieces(text).findall(text):
        own, worth, name = _parts_of(piece)
        terms += own
        content += worth
        if name and not (opens or _BEGINS_ANEW.search(between)):
            terms.append(name)  # at the front of a sentence every word has a capital
        opens = False
    return Terms(tuple(terms), tuple(content))


def find_places(text: str, terms: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return where in a text these terms stand, as starts and ends, in order: what to highlight."""
    return tuple(iterate_places(text, terms))


def iterate_places(text: str, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the same one by one, for whoever needs the first few."""
    wanted = frozenset(terms)
    may_be_spaceless = not text.isascii()
    for match in _pieces(text).finditer(text):
        piece, start = match[2], match.start(2)
        own, _, name = _parts_of(piece)
        if may_be_spaceless and is_spaceless(piece):
            yield from _places_in_run(piece, start, wanted)
        elif name in wanted or not wanted.isdisjoint(own):
            yield start, match.end(2)


def _pieces(text: str) -> re.Pattern[str]:
    """Return the pattern of what lies between two pieces, and the next piece: a word, a number, an emoji, or a run of a
    script without spaces; at the end of the text nothing, so that no run of other characters is looked at twice."""
    return _ascii_piece() if text.isascii() else _any_piece()


@cache
def _ascii_piece() -> re.Pattern[str]:
    return re.compile(r"(\W*+)(\d+(?:[.,:]\d+)*(?!\w)|\w+(?:'[A-Za-z]+)*|\Z)", re.ASCII)


@cache
def _any_piece() -> re.Pattern[str]:
    letters = rf"(?:[^\W{SPACELESS}]|[{_MARKS_INSIDE}])+"
    return re.compile(
        rf"([^\w{_EMOJI}{_MARKS_INSIDE}]*+)"
        rf"([{IDEOGRAPHS}{KANA}{HANGUL}]+|[{SOUTH_EAST_ASIAN}]+|[{_EMOJI}]|\d+(?:[.,:]\d+)*(?![^\W{SPACELESS}])"
        rf"|{letters}(?:['’][^\W\d_{SPACELESS}]+)*|\Z)"
    )


def _places_in_run(run: str, start: int, wanted: frozenset[str]) -> list[tuple[int, int]]:
    """Return the same in a run without spaces; pairs that overlap are one place."""
    size = _gram_size(run)
    places: list[tuple[int, int]] = []
    for at in range(max(1, len(run) - size + 1)):
        if casefold_word(run[at : at + size]) in wanted:
            first, end = start + at, start + min(at + size, len(run))
            if places and places[-1][1] >= first:
                first = places.pop()[0]
            places.append((first, end))
    return places


def _parts_of(piece: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    if not piece:
        return (), (), ""
    if len(piece) <= LONGEST_TERM:
        return _take_apart(piece)
    # A run without spaces is read to its end; of anything else the front is enough to find it by.
    return _grams(piece) if _RUN.match(piece) else _take_apart(piece[:LONGEST_TERM])


@lru_cache(maxsize=65_536)
def _take_apart(piece: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return of one piece its terms, its content word if it has one, and the term it has if it is a name."""
    first = piece[0]
    if first.isdigit() and (numeral := _NUMERAL.match(piece)):
        number = _number(numeral[1])
        return (number,), (number,), ""
    if _RUN.match(piece):
        return _grams(piece)
    if not (first.isalnum() or first == "_"):
        return (piece,), (piece,), ""
    return _word(piece.strip("_"))


def _word(written: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    bare = _CONTRACTED.sub("", written)
    word = casefold_word(bare)
    if word.endswith("n") and written[len(bare) :].lower() in ("'t", "’t"):
        word = word[:-1]  # "didn't" and "couldn't" say no more than "did" and "could"
    if not word:
        return (), (), ""
    stop_words = list_index_stop_words()
    if word in stop_words:
        return (), (), NAME_MARK + word if len(word) > 1 and bare[0].isupper() and bare[1:].islower() else ""
    terms = [stem(word)]
    if _IDENTIFIER.search(bare):
        parts = [casefold_word(part) for part in _PARTS.findall(bare)]
        terms += [stem(part) for part in parts if part != word and part not in stop_words]
    return tuple(terms), () if word in list_filler_words() else (bare,), ""


def _number(token: str) -> str:
    """Return a number without the marks between its thousands: "18,400" and "18400" are one."""
    head, *groups = re.split("[,.]", token)
    if groups and all(len(group) == 3 for group in groups):
        return casefold_word(head + "".join(groups))
    return casefold_word(token)


def _gram_size(run: str) -> int:
    """Return how many letters stand for a word: two, of Thai and its neighbours three."""
    return 3 if "\u0e01" <= run[0] <= "\u19df" else 2


def _grams(piece: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    run, size = casefold_word(piece), _gram_size(piece)
    return tuple(run[at : at + size] for at in range(max(1, len(run) - size + 1))), (piece,), ""
