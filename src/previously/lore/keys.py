r"""Keys: the words that call an entry up, and how they are compared with a text.

Of keywords only those worth it are kept: the name first, no other that is generic, too long or there twice in another
spelling. A plain key is compared in Unicode's composed form and, unless it is case-sensitive, whatever its case:
`STRASSE` is found in `Straße`. A whole-word key is never found in the middle of a word: `Ann` not in `Anna`, `é` not in
`été`. Letters, digits, marks and the underscore make words; in scripts that are written without spaces, and in Korean,
whose particles follow a name without one, words have no edges to look for. As SillyTavern does it (`quirks`), a key
with a space is found anywhere, and only the letters of English make words.

A key and a text are prepared by the same rule, so that equal letters are equal. A match begins and ends between two
characters of the text, never inside one that casefolding made longer.

A key may be a regular expression. Every search for one is by RE2, whose time is linear in the text whatever the pattern
is. Lookaround and backreferences cannot be had that way and are refused, with RE2's own reason. Keys are written for
JavaScript, so what it spells otherwise is respelled here: `\/`, `\u00e9`, `\u{1F409}`, `\cA`, `[^]` and `[]`. No
pattern takes more than linear time or more than `MEMORY` bytes, and one that a set passes over does not occur in the
text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import re2  # type: ignore[import-untyped]

from previously.core.json_values import clean
from previously.core.patterns import lazy_pattern
from previously.core.scripts import JAMO, OTHER_SPACELESS, SPACELESS, casefold
from previously.text.stopwords import is_generic

MOST_KEYWORDS = 8
"""Seed 002 asks for 2 to 8."""

LONGEST_KEYWORD = 32
"""Characters of a key: about what four long words take."""

MOST_KEYWORD_WORDS = 4
"""Words of a key: what is longer hardly ever occurs in a text."""

_SPELLINGS = str.maketrans({"’": "'", "‘": "'", "`": "'", "–": "-", "—": "-", "‐": "-", "‑": "-", "“": '"', "”": '"'})

_MARKS = " \t\"'.,;:!?*()[]"

_ARTICLES = ("the ", "a ", "an ")


@lru_cache(maxsize=16384)
def normalize_name(text: str) -> str:
    """Return what two spellings of a key or name share: case, Unicode form, quotes, dashes and articles aside."""
    # Only what stands around it: the apostrophe of "Orla's" is part of the name.
    name = casefold(text.translate(_SPELLINGS)).strip(_MARKS)
    for article in _ARTICLES:
        if name.startswith(article) and len(name) > len(article):
            return name.removeprefix(article).strip(_MARKS)
    return name


def refine_keywords(name: str, keywords: Iterable[str]) -> tuple[str, ...]:
    """Return the name and the best of these keys, in order; refining twice changes nothing."""
    keywords_by_name = {normalize_name(name): " ".join(name.split())}
    for word in keywords:
        key = " ".join(word.split()).strip(_MARKS)
        if key and is_useful_keyword(key):
            keywords_by_name.setdefault(normalize_name(key), key)
    return tuple(keywords_by_name.values())[:MOST_KEYWORDS]


def is_useful_keyword(key: str) -> bool:
    """Return whether a key says something in particular and may be met in a text."""
    return len(key) <= LONGEST_KEYWORD and len(key.split()) <= MOST_KEYWORD_WORDS and not is_generic(key)


class Comparison(IntEnum):
    """The way a key is compared with a text. Numbers, since keys are looked up by the thousand."""

    CASEFOLD = 0
    """Whatever its case."""
    EXACT = 1
    REGEX = 2
    NEVER = 3
    """It cannot be searched for."""


class SearchKey(NamedTuple):
    """A key ready to be searched for. Equal keys find the same, whichever entry they belong to."""

    compared: Comparison
    text: str
    """The prepared letters, or RE2's pattern, or why it cannot be searched for."""
    whole: bool = False


def prepare_key(
    written: str, *, case_sensitive: bool = False, whole_words: bool = True, quirks: bool = False
) -> SearchKey:
    """Return a key as an entry holds it, ready to be searched for."""
    trimmed = clean(written)[0].strip()
    if not trimmed:
        return SearchKey(Comparison.NEVER, "it is empty")
    regex = parse_regex(trimmed) if trimmed.startswith("/") else None
    if regex is not None and not regex.fault:
        return SearchKey(Comparison.REGEX, regex.pattern)
    if regex is not None and not quirks:
        return SearchKey(Comparison.NEVER, regex.fault)
    if len(trimmed) > LONGEST_PATTERN:
        return SearchKey(Comparison.NEVER, TOO_LONG)
    compared = Comparison.EXACT if case_sensitive else Comparison.CASEFOLD
    whole = whole_words and not (quirks and any(map(str.isspace, trimmed)))
    return SearchKey(compared, make_comparable(trimmed, compared, quirks=quirks), whole)


def make_comparable(text: str, compared: Comparison, *, quirks: bool = False) -> str:
    """Return the letters of a text as keys of that kind are compared with them."""
    if compared is not Comparison.CASEFOLD:
        return text if quirks or text.isascii() else unicodedata.normalize("NFC", text)
    if quirks or text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text ready to be searched in."""

    text: str
    inside: frozenset[int] = frozenset()
    """Places that lie inside one character of what was given."""


def prepare_text(text: str, compared: Comparison, *, quirks: bool = False) -> PreparedText:
    """Return a text as keys of that kind are compared with it."""
    comparable = make_comparable(text, compared, quirks=quirks)
    if quirks or compared is not Comparison.CASEFOLD or text.isascii():
        return PreparedText(comparable)
    composed = unicodedata.normalize("NFC", text)
    return PreparedText(comparable, frozenset() if len(comparable) == len(composed) else _find_inner_places(composed))


# Characters that casefolding may make longer, some neighbours included: ß, ŉ, ligatures, Greek with iota.
_MAY_GROW = lazy_pattern("[\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1fff\ufb00-\ufb17]")


def _find_inner_places(composed: str) -> frozenset[int]:
    """Return the places of the casefolded text that lie inside one character of the composed one."""
    places: list[int] = []
    grown = 0
    for match in _MAY_GROW.finditer(composed):
        length = len(match[0].casefold())
        at = match.start() + grown
        places.extend(range(at + 1, at + length))
        grown += length - 1
    return frozenset(places)


_WITHOUT_EDGES = lazy_pattern(f"[\u0e00{SPACELESS}{JAMO}{OTHER_SPACELESS}]")


@lru_cache(maxsize=8_192)
def is_word_character(character: str) -> bool:
    """Return whether a character and such a neighbour are parts of one word."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if _WITHOUT_EDGES.match(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M") or character in "\N{ZWNJ}\N{ZWJ}"


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether the words at both edges of a match are whole."""
    return not (
        (start > 0 and is_word_character(text[start - 1]) and is_word_character(text[start]))
        or (end < len(text) and is_word_character(text[end]) and is_word_character(text[end - 1]))
    )


def is_whole_ascii_word(text: str, start: int, end: int) -> bool:
    """Return the same as SillyTavern sees it: no English letter, digit or underscore beside the match."""
    return not ((start > 0 and _is_ascii_word(text[start - 1])) or (end < len(text) and _is_ascii_word(text[end])))


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


LONGEST_PATTERN = 2_000
"""Characters of a key; a longer one is refused. Those in books that people share have a few hundred at most, and to
prepare a plain key takes time with the square of its length."""

TOO_LONG = f"it is longer than {LONGEST_PATTERN:,} characters"

MEMORY = 1 << 20
"""Bytes RE2 may use for one pattern. With fewer it falls back to a slower way sooner; it never needs more."""

MOST_STEPS = 1_200
"""Size of a pattern once its counted repetitions are written out: what a character of text can cost."""

MOST_INSTRUCTIONS = 6_000
"""The same in RE2's own program, where classes of Unicode letters are large."""

MOST_FILTERED = 4_096
"""Patterns that are filtered together: RE2 cannot compile a filter of 100,000, and one of these takes milliseconds."""

_LITERAL = lazy_pattern(r"/(.+?)/([gimsuy]*)", re.DOTALL)
_INNER_SLASH = lazy_pattern(r"(?<!\\)(?:\\\\)*/")
_ESCAPE = lazy_pattern(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\u([0-9A-Fa-f]{4})|\\c([A-Za-z])|\\(.)", re.DOTALL)
_ESCAPE_OR_CLASS = lazy_pattern(rf"{_ESCAPE.pattern}|(\[(?:\\.|[^\]\\])*\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern in RE2's spelling, flags included; `fault` says why it cannot be used, and is empty when it can."""

    pattern: str
    fault: str = ""


def parse_regex(key: str) -> Regex | None:
    """Return the pattern a key between slashes stands for; None for a plain key."""
    parts = _parts(key)
    if parts is None:
        return None
    source, flags = parts
    if len(source) > LONGEST_PATTERN:
        return Regex("", TOO_LONG)
    used_flags = "".join(flag for flag in "ims" if flag in flags)
    pattern = (f"(?{used_flags})" if used_flags else "") + _ESCAPE_OR_CLASS.sub(_respell, clean(source)[0])
    return Regex(pattern, _find_fault(pattern))


def find_ignored_flags(key: str) -> str:
    """Return the flags of a key that change nothing here, though they would in a browser."""
    parts = _parts(key)
    return "y" if parts is not None and "y" in parts[1] else ""


class RegexSet:
    """A set of patterns, searched for together: those whose fixed letters are not in the text are not tried at all."""

    # Its answer proves that the filter ran to its end: RE2 gives up without a word when it runs out of memory.
    _PROOF = "\x02the filter ran\x02"

    __slots__ = ("_filters", "_patterns", "_places")

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._places = {pattern: place for place, pattern in enumerate(self._patterns)}
        self._filters = [self._compile(first) for first in range(0, len(self._patterns), MOST_FILTERED)]

    def _compile(self, first: int) -> re2.Filter:
        made = re2.Filter()
        for pattern in (*self._patterns[first : first + MOST_FILTERED], self._PROOF):
            made.Add(pattern, _make_options())
        made.Compile()
        return made

    def likely(self, text: str) -> Iterator[str]:
        """Yield the patterns that may occur in a text or in a part of it: all that do, and some that do not."""
        for number, made in enumerate(self._filters):
            filtered = self._patterns[number * MOST_FILTERED : (number + 1) * MOST_FILTERED]
            places = made.Match(text + self._PROOF, potential=True) or ()
            proven = len(filtered) in places
            for place in places if proven else range(len(filtered)):
                if place < len(filtered):
                    yield filtered[place]

    def first(self, pattern: str, text: str) -> int | None:
        """Return where a pattern first occurs in a text; None if it does not."""
        number, place = divmod(self._places[pattern], MOST_FILTERED)
        match = self._filters[number].re(place).search(text)
        return None if match is None else int(match.start())


def _parts(key: str) -> tuple[str, str] | None:
    literal = _LITERAL.fullmatch(key.strip())
    if literal is None or _INNER_SLASH.search(literal[1]):
        return None
    return literal[1], literal[2]


def _respell(match: re.Match[str]) -> str:
    """Return an escape or a class as RE2 spells it."""
    code, short_code, control, plain, *rest = match.groups()
    if code or short_code:
        return f"\\x{{{code or short_code}}}"
    if control:
        return f"\\x{ord(control) % 32:02x}"
    if plain:
        return "/" if plain == "/" else match[0]
    (inside,) = rest
    if inside in ("[]", "[^]"):
        return "(?s:.)" if inside == "[^]" else r"[^\x00-\x{10FFFF}]"
    return _ESCAPE.sub(_respell, inside)


def _make_options(*, one_byte: bool = False) -> re2.Options:
    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    options.never_capture = True
    if one_byte:
        options.encoding = re2.Options.Encoding.LATIN1
    return options


@lru_cache(maxsize=4_096)
def _find_fault(pattern: str) -> str:
    """Return why RE2 cannot search for a pattern, or why it would be too dear; empty if neither."""
    try:
        instructions = re2.compile(pattern, _make_options()).programsize
        # A character class is one step here, and many instructions in UTF-8: this counts what was written out.
        steps = re2.compile(pattern.encode(), _make_options(one_byte=True)).programsize
    except re2.error as error:
        reason = error.args[0]
        return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if steps > MOST_STEPS or instructions > MOST_INSTRUCTIONS:
        return "written out, its repetitions are too large to search for quickly"
    return ""
