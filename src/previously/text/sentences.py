"""From raw text to sentences.

Owns where a sentence starts and ends, in any script, and how markup is taken off. No text raises, the work is linear in
the text, no sentence is longer than `LONGEST_WORDS` words or holds a token longer than `LONGEST_TOKEN` characters, and
a quotation is never cut in the middle unless the sentence around it is too long.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from previously.core.patterns import lazy_pattern
from previously.core.scripts import SOUTH_EAST_ASIAN, count_words

LONGEST_WORDS = 48
"""A longer sentence is cut at a clause, so that one rant cannot take the whole recap."""

LONGEST_TOKEN = 80
"""Longer runs without a space are keys, links or noise; nobody retells them."""

LEAST_WRAPPED = 50
"""A shorter line was not broken for want of room: verse, signs and lists have such lines."""

MOST_WRAPPED = 100
"""Nobody wraps a page wider than this by hand; a longer line is a paragraph of its own."""

QUOTED = lazy_pattern('"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」|『[^『』]*』')
"""A quotation with its marks. Each alternative stops at the next opening mark, which keeps the search linear."""

_CLOSERS = "\"'”’»)\\]」』）"
_END = lazy_pattern(
    r"[.!?…؟।。！？｡\n]"  # One set to look for first: the search is fast then.
    rf"(?:(?<=[.!?…؟।])[.!?…؟।]*[{_CLOSERS}*]*(?=\s|$)|(?<=[。！？｡])[。！？｡]*[{_CLOSERS}]*|(?<=\n)\n*)"
)
ABBREVIATIONS = tuple(
    "mr mrs ms mme mlle messrs dr st sr jr prof capt cmdr adm lt sgt cpl pvt maj col gen gov sen rev hon insp supt "
    "vs etc no vol ca approx e.g i.e "
    "z.b d.h u.a nr bzw usw bspw vgl inkl evtl hr fr str".split()
)
_TAG = lazy_pattern(
    r"\s*[^\W\d_]+\s+(?:said|says|asked|asks|replied|answered|cried|called|shouted|whispered|added)\b(?!:)"
)
_ONE_LETTER = lazy_pattern(r"\b[^\W\d_]$")
_TWO_LETTERS = lazy_pattern(r"\b[^\W\d_]\. [^\W\d_]$")
_SPACED = lazy_pattern(r"\s[^\W\d_]\.")
_LAST_WORD = lazy_pattern(r"[^\W_]+(?:\.[^\W_]+)*$")

_OUT_OF_CHARACTER = lazy_pattern(r"\(\([^()]*\)\)|[(\[]\s*ooc\b[^()\[\]]*[)\]]|^\s*(?://|ooc\s*:).*$", re.I | re.M)
_TAGS = lazy_pattern(r"<[^<>\n]{1,200}>|```[^`]*```|`+|https?://\S+|^[ \t]*#{1,6}[ \t]|^[ \t]*[-•>|][ \t]", re.M)
_MARKUP = lazy_pattern("[<`*_~#>|]")
_STRONG = lazy_pattern(r"\*\*+|__+|~~+")
_UNPRINTABLE = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\uffff\ud800-\udfff]"
)
_LETTER_OR_DIGIT = lazy_pattern(r"[^\W_]")
_SPACES = lazy_pattern(r"[^\S\n]+")
_NO_SPACE = lazy_pattern(r"\S")
_LINES = lazy_pattern(r"\s*\n\s*")
_SOFT_BREAK = lazy_pattern(r"(?<=[^\s.!?…。！？\"”*:])\n(?=[^\W\d_A-Z])")
_OPEN_LINE = lazy_pattern(r"[^\s.!?…。！？\"”*:]$")
_FIRST_WORD = lazy_pattern(r"[^\W\d_]\S*")
_CLAUSE = lazy_pattern(
    r"[;,、，；:]\s*|\s+[—–-]+\s+|\s+(?=(?:and|but|so|because|while|then|which|und|aber|mais|pero)\s)"
)


def strip_markup(text: str) -> str:
    """Return the text without markup, links, out-of-character remarks and control characters; line ends kept."""
    one_line = text.isascii() and text.isprintable()
    if not one_line:
        text = unicodedata.normalize("NFC", text)
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\ufffd", "")
    if not one_line or _may_hold_markup(text):
        text = _OUT_OF_CHARACTER.sub(" ", text)
        text = _STRONG.sub("", _TAGS.sub(" ", text))
    if one_line:
        return (_SPACES.sub(" ", text) if "  " in text else text).strip()
    return _LINES.sub("\n", _SPACES.sub(" ", _UNPRINTABLE.sub("", text))).strip()


def _may_hold_markup(line: str) -> bool:
    """Return whether one line of ASCII may hold anything that `plain` takes out of it."""
    remarks = "((" in line or "//" in line or "ooc" in line.lower()
    return remarks or bool(_MARKUP.search(line)) or line.lstrip().startswith("-")


def join_lines(text: str) -> str:
    """Hard-wrapped lines joined again: a line end in the middle of a sentence is a space."""
    return _SOFT_BREAK.sub(" ", text) if "\n" in text else text


def join_full_lines(text: str) -> str:
    """Lines of a hard-wrapped page joined again before a capital, too: "get back to / Kansas".

    Such a line has no end mark, is as long as lines of a page are, and had no room for the next word.
    """
    lines = text.split("\n")
    width = max(map(len, lines))
    joined = [lines[0]]
    for before, line in pairwise(lines):
        word = _FIRST_WORD.match(line)
        is_full = LEAST_WRAPPED <= len(before) <= MOST_WRAPPED and _OPEN_LINE.search(before) is not None
        is_wrapped = is_full and word is not None and len(before) + 1 + len(word[0]) > width
        joined.append(f" {line}" if is_wrapped else f"\n{line}")
    return "".join(joined)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, however long they are."""
    bounds = [0, *_ends(text), len(text)]
    sentences = [text[start:end].strip() for start, end in pairwise(bounds)]
    return [sentence for sentence in sentences if sentence]


def find_starts(text: str) -> list[int]:
    """Return where the sentences of a text begin; the first begins with the text."""
    starts = [0]
    for end in _ends(text):
        begun = _NO_SPACE.search(text, end)
        if begun and starts[-1] < begun.start():
            starts.append(begun.start())
    return starts


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end, quotations kept whole."""
    quotes = [match.span() for match in QUOTED.finditer(text)]
    start = 0
    quote = 0
    for match in _END.finditer(text):
        at, end = match.span()
        while quote < len(quotes) and quotes[quote][1] < end:
            quote += 1
        if quote < len(quotes) and quotes[quote][0] < at and end != quotes[quote][1]:
            continue
        if at < start or not _is_end(text, at, end):
            continue
        yield end
        start = end


def _is_end(text: str, at: int, end: int) -> bool:
    """Return whether the marks between two positions end a sentence."""
    if text[at] in "\n。！？｡" or end == len(text):
        return True
    following = text[end : end + 40]
    next_mark = following.lstrip()[:1]
    if next_mark.islower():
        # "Are you late?" asked Maya; and so on ... like this.
        return False
    if text[end - 1] in '"”»' and _TAG.match(following):
        return False
    if text[at:end] == ".":
        before = text[max(0, at - 12) : at]
        if _TWO_LETTERS.search(before) or (_SPACED.match(following) and _ONE_LETTER.search(before)):
            return False  # "z. B.", "d. h."
        if before[-1:].isupper() or before.lower().endswith(ABBREVIATIONS):
            return not _is_abbreviation(before)
    return True


def _is_abbreviation(text: str) -> bool:
    """Return whether a text ends in a word that is written with a full stop, or in an initial."""
    last = _LAST_WORD.search(text)
    word = last.group() if last else ""
    return word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


def cut_sentence(sentence: str) -> list[str]:
    """Return a sentence as it is, in pieces when it is too long, or nothing when no one could read it."""
    if not _LETTER_OR_DIGIT.search(sentence):
        return []
    pieces = _cut_long(sentence) if is_too_long(sentence) else [sentence]
    return [piece for piece in pieces if _tokens_are_sane(piece)]


def is_too_long(sentence: str) -> bool:
    """Return whether a sentence has more than `LONGEST_WORDS` words; one of few letters need not be counted."""
    if len(sentence) <= LONGEST_WORDS or (sentence.isascii() and len(sentence) <= 2 * LONGEST_WORDS):
        return False
    return count_words(sentence) > LONGEST_WORDS


def _tokens_are_sane(sentence: str) -> bool:
    if len(sentence) <= LONGEST_TOKEN:
        return True
    return all(len(token) <= LONGEST_TOKEN or count_words(token) > 1 for token in sentence.split())


def _cut_long(sentence: str) -> list[str]:
    """Clauses gathered up to a comfortable length. Only the first piece of each is kept whole; a clause that is
    itself
    endless is cut by words, or by characters where there are none."""
    clauses: list[str] = []
    start = 0
    for match in _CLAUSE.finditer(sentence):
        clauses.append(sentence[start : match.end()])
        start = match.end()
    clauses.append(sentence[start:])
    pieces: list[str] = []
    clause_parts: list[str] = []
    held_words = 0
    for clause in clauses:
        for part in _bounded(clause):
            words = count_words(part)
            if clause_parts and held_words + words > LONGEST_WORDS * 2 // 3:
                pieces.append("".join(clause_parts).strip())
                clause_parts, held_words = [], 0
            clause_parts.append(part)
            held_words += words
    pieces.append("".join(clause_parts).strip())
    return [piece.rstrip(",;:、，； ") for piece in pieces if _LETTER_OR_DIGIT.search(piece)]


def _bounded(clause: str) -> list[str]:
    limit = LONGEST_WORDS * 2 // 3
    if count_words(clause) <= limit:
        return [clause]
    tokens = clause.split()
    if len(tokens) > 1:
        runs = [" ".join(tokens[index : index + limit]) + " " for index in range(0, len(tokens), limit)]
        return [piece for run in runs for piece in ([run] if count_words(run) <= limit * 2 else _by_characters(run))]
    return _by_characters(clause)


def _by_characters(text: str) -> list[str]:
    step = LONGEST_WORDS
    return [text[index : index + step] for index in range(0, len(text), step)]


_AFTER_END = "\"'”’“‘»«›)]}」』）】〉》*_~` \t\n"
_ENDS = ".!?…。！？｡．؟।॥։።។။།·‼⁉⁈"
_NO_END_MARK = lazy_pattern(f"[{SOUTH_EAST_ASIAN}\u0f00-\u0fff]$")


def is_cut(text: str, *, lenient: bool) -> bool:
    """Return whether a text stops before its end, by its last mark. `lenient` = a missing full stop alone says
    nothing."""
    text = text.rstrip()
    if text[-1:] in '"“„«「『(（[' and (text[-2:-1].isspace() or text[-1] not in '"“'):
        return True  # a quotation that has just begun
    bare = text.rstrip(_AFTER_END)
    if not bare or bare[-1] in _ENDS or _NO_END_MARK.search(bare):
        return False
    if bare != text and text[-1] in '"”’»」』)）]】' and bare[-1] not in ",;:、，；：-–—(":
        return False  # … known as "the Hen"
    return not (lenient and bare[-1].isalnum())
