"""The language of a text, and whether an answer keeps to the language of its story.

Owns scripts and stop words. A text is a mixture: every sentence is told by its script and, in Latin script, by its
small words. A language is only said to be wrong when the answer is mostly in it and the story has next to nothing of
it; names, loan words, quotations and short texts decide nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from previously.core.patterns import lazy_pattern
from previously.core.scripts import CYRILLIC, HANGUL, IDEOGRAPHS, JAMO, KANA
from previously.text.sentences import QUOTED, split_sentences
from previously.text.stopwords import list_small_words

_SCRIPTS = {
    "kana": KANA,
    "han": IDEOGRAPHS,
    "Korean": f"{HANGUL}{JAMO}",
    "Cyrillic": CYRILLIC,
    "Greek": "\u0370-\u03ff",
    "Arabic": "\u0600-\u06ff",
    "Hebrew": "\u0590-\u05ff",
    "Devanagari": "\u0900-\u097f",
    "Thai": "\u0e00-\u0e7f",
    "Latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff",
}
_TOKEN = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UKRAINIAN = lazy_pattern("[іїєґ]", re.I)
_RUSSIAN = lazy_pattern("[ыэёъ]", re.I)

LEAST_LETTERS = 24
LEAST_WORDS = 7
"""Shorter pieces of Latin text have too few small words to tell a language."""

_LEAST_SHARE = 0.17
_MARGIN = 1.35
MOSTLY = 0.6
HARDLY = 0.12
_LONGEST = 24_000
"""Characters looked at, half from the start and half from the end: more tell nothing new."""

_FOREIGN = 0.06
"""A text in whose words a language has less than this share of its small words is in another one."""

_LEAST_FOREIGN = 25

_DENSE = 3
"""One ideograph or kana says about as much as three letters."""


@lru_cache(maxsize=4)
def find_languages(text: str) -> Mapping[str, float]:
    """Return the languages of a text with their shares of its letters. What cannot be told is under ""."""
    weights: Counter[str] = Counter()
    for piece in _pieces(_sample(text)):
        language, weight = _told(piece)
        weights[language] += weight
    total = sum(weights.values())
    return {language: weight / total for language, weight in sorted(weights.items())} if total else {}


def find_language(text: str) -> str:
    """Return the language most of a text is in, "" where that cannot be told."""
    shares = find_languages(text)
    return max(shares, key=lambda name: (shares[name], name), default="")


def find_wrong_language(source: str, text: str) -> str | None:
    """Return the language an answer is in when its story is not: None when that cannot be said."""
    shares = {language: share for language, share in find_languages(text).items() if language}
    of_source = find_languages(source)
    main = find_language(source)
    if main and of_source[main] >= MOSTLY and not shares and _is_foreign(text, main):
        return "another language"
    if not shares or _letters(text) < LEAST_LETTERS:
        return None
    language, share = max(shares.items(), key=lambda item: (item[1], item[0]))
    if share < MOSTLY or of_source.get(language, 0.0) >= HARDLY:
        return None
    known = sum(share for name, share in of_source.items() if name)
    if known < 0.5:
        return language if _is_foreign(source, language) else None
    unsure = of_source.get("", 0.0)
    latin = _script_of(language) == "Latin" and all(_script_of(name) == "Latin" for name in of_source)
    return None if latin and unsure >= 0.3 else language


def _sample(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n{text[-half:]}"


def _is_foreign(text: str, language: str) -> bool:
    """Return whether a text in Latin script has next to none of a language's small words."""
    words = list_small_words().get(language)
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(_sample(text).lower())]
    if words is None or len(tokens) < _LEAST_FOREIGN or any(token[0] > "\u024f" for token in tokens[:200]):
        return False
    return _hits(tokens, words) < _FOREIGN * len(tokens)


def _script_of(language: str) -> str:
    return "Latin" if language in list_small_words() or language == "" else language


def _letters(text: str) -> int:
    return sum((_DENSE if mark > "\u2fff" else 1) for mark in text if mark.isalpha())


def _pieces(text: str) -> list[str]:
    """Sentences, short ones joined to the next: a few words alone tell no language."""
    pieces: list[str] = []
    sentences: list[str] = []
    words = letters = 0
    for sentence in split_sentences(QUOTED.sub(lambda match: match.group().replace("\n", " "), text)):
        sentences.append(sentence)
        words += len(_TOKEN.findall(sentence))
        letters += _letters(sentence)
        if words >= LEAST_WORDS * 2 or letters >= 4 * LEAST_LETTERS:
            pieces.append(" ".join(sentences))
            sentences = []
            words = letters = 0
    return [*pieces, " ".join(sentences)] if sentences else pieces


@cache
def _script_patterns() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(f"[{characters}]") for name, characters in _SCRIPTS.items()}


def _told(piece: str) -> tuple[str, int]:
    counts = {name: len(pattern.findall(piece)) for name, pattern in _script_patterns().items()}
    counts["han"] *= _DENSE
    counts["kana"] *= _DENSE
    total = sum(counts.values())
    if not total:
        return "", 0
    east = counts["han"] + counts["kana"]
    if east >= 0.4 * total:
        return ("Japanese" if counts["kana"] >= 0.1 * east else "Chinese"), total
    name = max(counts, key=lambda script: counts[script])
    if counts[name] < 0.6 * total:
        return "", total
    if name == "Cyrillic":
        if _UKRAINIAN.search(piece) and not _RUSSIAN.search(piece):
            return "Ukrainian", total
        return "Russian", total
    return (_latin(piece) if name == "Latin" else name), total


def _latin(piece: str) -> str:
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(piece.lower())]
    if len(tokens) < LEAST_WORDS:
        return ""
    hits = {language: _hits(tokens, words) for language, words in list_small_words().items()}
    ranked = sorted(hits, key=lambda language: (-hits[language], language))
    best, second = ranked[0], ranked[1]
    if hits[best] < _LEAST_SHARE * len(tokens) or hits[best] < _MARGIN * hits[second]:
        return ""
    return best


def _hits(tokens: list[str], words: frozenset[str]) -> int:
    hits = 0
    for token in tokens:
        if token in words:
            hits += 1
        elif "'" in token:
            head, _, rest = token.partition("'")
            hits += rest in words or (head in _ELIDED and "de" in words and "le" in words)
    return hits


_ELIDED = frozenset("l d j m n s t c qu jusqu lorsqu".split())
