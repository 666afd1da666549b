"""The voice a text speaks in: the story's, a narrator's "I", or that of a model talking about its work.

Owns the words for it in the commoner languages. What stands in quotation marks is someone in the story, who may refuse,
be sorry and say "I"; no text raises, and the work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from previously.core.patterns import lazy_pattern
from previously.text.sentences import QUOTED, split_sentences
from previously.text.word_lists import load_lists

_NAMED = lazy_pattern("<(not|doing|work)>")

_SINGLE = lazy_pattern(
    r"(?:(?<=\s)|(?<=^)|(?<=[(—–]))['‘](?=\w)[^'‘’\n]{0,300}(?:['’](?=\w)[^'‘’\n]{0,300}){0,6}['’](?!\w)"
)
_SET_APART = lazy_pattern(
    r"(?<![\w*])\*(?=[^\s*])[^*\n]{0,400}[^\s*]\*(?![\w*])|(?<![\w_])_(?=[^\s_])[^_\n]{0,400}[^\s_]_(?![\w_])"
)
"""Writing is often given in italics: the words of a letter, a card or a sign."""
_SAME = lazy_pattern(r"”[^“”\n]*”")
_UNCLOSED = lazy_pattern(r"[“„«「『\"][^“”„«»「」『』\"\n]*$", re.M)

_NUMERAL = lazy_pattern(r"\b[A-Z]\w+ I(?=[,.;:)]| of\b)|\b(?:[Aa]ct|[Pp]art|[Cc]hapter|[Bb]ook|[Ww]ar) I\b")

_ENDS = 3
"""Sentences at either end in which a model talks: before it begins to tell, and after."""

_OPENING = 400
"""Characters from the start within which a model declines: it does so first."""


@cache
def _pattern(heading: str) -> re.Pattern[str] | None:
    """Return the pattern of the lines under a heading, None where there are none. What is called talk is said to
    the one who asked, or over the work; never by someone who tells a story."""
    lines = load_lists("voice").get(heading)
    return re.compile(_joined(lines), 0 if heading.startswith("first person") else re.I) if lines else None


def _joined(lines: Iterable[str]) -> str:
    others = load_lists("voice")
    return _NAMED.sub(lambda match: f"(?:{_joined(others[match[1]])})", "|".join(lines))


def _search(heading: str, text: str) -> re.Match[str] | None:
    pattern = _pattern(heading)
    return pattern.search(text) if pattern else None


def strip_quotations(text: str) -> str:
    """Return a text without what stands in quotation marks, one that is opened and never closed included, or in
    italics."""
    return _UNCLOSED.sub(" ", _SINGLE.sub(" ", _SAME.sub(" ", QUOTED.sub(" ", _SET_APART.sub(" ", text)))))


def find_first_person(text: str, language: str) -> str | None:
    """Return the first word outside quotations in which the teller speaks of themselves."""
    language = language or "English"
    if _pattern(f"first person, {language}") is None:
        return None
    own = strip_quotations(text)
    match = _search(f"first person, {language}", _NUMERAL.sub(" ", own) if language == "English" else own)
    return match.group() if match else None


def is_refusal(text: str) -> bool:
    """Return whether a text is a model declining, quotations aside."""
    return _search("declines", strip_quotations(text[: 4 * _OPENING]).strip()[:_OPENING]) is not None


def find_order(text: str) -> str | None:
    """Return the first sentence outside quotations that tells its reader what to do. Somebody in the story who gives an
    order is told of ("Maya told him to obey"), and so has a subject; a model that reads memory may take a sentence
    without one for an order to itself."""
    for line in strip_quotations(text).splitlines():
        for sentence in split_sentences(line):
            if _search("orders", sentence):
                return sentence
    return None


def find_talk(text: str, story: str = "") -> str | None:
    """Return the sentence at the beginning or the end in which a model talks of its work. What the story says itself,
    as in an agent's session about summaries, is no such talk."""
    sentences = (
        split_sentences(strip_quotations(text[:4_000]))[:_ENDS]
        + split_sentences(strip_quotations(text[-4_000:]))[-_ENDS:]
    )
    for sentence in sentences:
        match = _search("talk", sentence) or (_search("declines", sentence) if len(sentence) < _OPENING else None)
        if match and match.group().strip().casefold() not in story.casefold():
            return sentence
    return None
