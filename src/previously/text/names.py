"""Names in a text, and whether a name was heard before.

A name is told by its capital inside a sentence; in katakana by what stands beside it; in other scripts without case
only by exact match. No text raises, the work is linear in the text, and in doubt a word is no name: what only begins a
sentence, days, months, peoples and titles are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from previously.core.patterns import lazy_pattern
from previously.core.people import NARRATORS
from previously.core.scripts import KATAKANA_LETTERS
from previously.text.numbers import LANGUAGES, find_numbers, find_values
from previously.text.sentences import ABBREVIATIONS
from previously.text.stems import stem_name
from previously.text.stopwords import list_stop_words
from previously.text.times import MONTHS, SEASONS, WEEKDAYS
from previously.text.word_lists import load_words
from previously.text.words import CONTENT_RUN, WORD, make_key, make_keys

_KATAKANA_WORD = f"[{KATAKANA_LETTERS}]{{2,}}"
KATAKANA_NAME = lazy_pattern(f"{_KATAKANA_WORD}(?:・{_KATAKANA_WORD})*")
_KATAKANA_PERSON = lazy_pattern(
    f"(?P<full>{_KATAKANA_WORD}(?:・{_KATAKANA_WORD})+)|(?P<single>{_KATAKANA_WORD})"
    "(?:さん|様|さま|君|くん|ちゃん|殿|氏|先生|卿|王|姫|隊長|船長|博士|"
    "[はが][^。、「」\n]{0,24}(?:言[っいわ]|告げ|約束|尋ね|答え|頼ん|誓っ|話し|打ち明け))"
)
"""Katakana writes things as often as people: two joined by a dot, or what is done or added only to a person, tell."""

NOBODY = NARRATORS | frozenset("user human ai bot model keeper tool player spieler character you me everyone".split())
"""Whoever is named as a speaker and is no person of the story."""

_SUBJECT_FIRST = frozenset({"English", "French"})
"""Languages in which what stands before such a word at the start of a sentence is who does it."""

_BEGINS = frozenset(".!?…:;\n—–。！？*•#|/\"“”„«»「『([‘'")
"""Marks after which a capital says nothing."""

_GAP = 12
"""Characters before a word in which the mark that begins a sentence is looked for."""

_LEAST = 3
"""Letters of a word that may be a name: shorter ones are found in too many others."""

_LONGEST_ENDING = 3
"""Letters that a language may add to a name: "Annas", "Annának"."""


def is_title(word: str) -> bool:
    """Return whether a word, by its key, says what somebody is and not who."""
    return word in load_words("names", "titles")


@cache
def _everyday_words() -> frozenset[str]:
    """Return the words with a capital that name nobody: titles, days, months, peoples, parts of addresses."""
    return load_words("names", "titles") | load_words("names", "everyday") | {*WEEKDAYS, *MONTHS, *SEASONS}


class HeardNames:
    """The words of some texts, as names are looked up among them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.text: str = "\n".join(texts)
        self._keys = make_keys(self.text)
        capitals = {make_key(part) for word in WORD.findall(self.text) if _is_capital(word) for part in word.split("-")}
        roots = {stem_name(key) for key in capitals if len(key) >= _LEAST}
        self._roots = roots
        self._longer = {root[: len(root) - cut] for root in roots for cut in range(1, 4) if len(root) - cut >= _LEAST}
        self._cyrillic = {key[: max(_LEAST, len(key) - 2)] for key in capitals if key[:1] >= "\u0400"}

    def has_word(self, word: str) -> bool:
        """Return whether a word of a name stands there, in any form a language gives a name."""
        if CONTENT_RUN.search(word):  # a family or a given name alone will do
            return word in self.text or (len(word) > 2 and (word[:2] in self.text or word[-2:] in self.text))
        key = make_key(word)
        if key in self._keys or key.removesuffix("s") in self._keys:
            return True
        root = stem_name(key)
        if root in self._longer:
            return True
        ends = range(max(_LEAST, len(root) - _LONGEST_ENDING), len(root) + 1)
        if any(root[:end] in self._roots for end in ends):
            return True
        return key[:1] >= "\u0400" and any(key[:end] in self._cyrillic for end in range(_LEAST, len(key) + 1))

    def has(self, name: str) -> bool:
        """Return whether a person or thing is named there, by any telling word of the name."""
        words = split_name(name)
        return not words or any(self.has_word(word) for word in words)


def split_name(name: str) -> list[str]:
    """Return the words of a name that tell who it is: no titles, no initials."""
    if CONTENT_RUN.search(name):
        return [run for run in CONTENT_RUN.findall(name) if len(run) > 1] or [name.strip()]
    parts = [part for word in WORD.findall(name) for part in word.split("-")]
    return [
        part
        for part in parts
        if len(part) > 1 and not is_title(make_key(part)) and part.lower() not in list_stop_words()
    ]


def _is_capital(word: str) -> bool:
    return word[0].isupper() and not (len(word) > 1 and word.isupper()) and word[1:2] not in _APOSTROPHES


_APOSTROPHES = ("'", "’")
"""A single capital before one of these is no name: I'll, I've."""


def find_names(text: str, language: str = "English") -> list[str]:
    """Return the names of a text as written, each once, in order: runs of words with a capital inside a sentence, and
    katakana. In German only runs of two, since every noun has a capital."""
    runs = [" ".join(run) for before, run in _runs(text, language) if _is_name(before, run, language)]
    return list(dict.fromkeys([*runs, *(KATAKANA_NAME.findall(text) if not text.isascii() else ())]))


def find_unheard(text: str, heard: HeardNames, language: str = "English") -> list[str]:
    """Return the names of a text that nobody has heard of, each once, in order."""
    ordinary = {word.casefold() for word in WORD.findall(text) if word[0].islower()}
    unheard: list[str] = []
    for before, run in _runs(text, language):
        words = [word for word in run if _may_name(word, ordinary, language) and not heard.has_word(word)]
        if (
            words
            and _is_name(before, run, language)
            and (language != "German" or len(words) == len(split_name(" ".join(run))))
        ):
            unheard += words
    unheard += [name for name in _subjects(text, ordinary, language) if not heard.has_word(name)]
    if not text.isascii():
        persons = [match.group("full") or match.group("single") for match in _KATAKANA_PERSON.finditer(text)]
        unheard += [name for name in persons if not any(part in heard.text for part in name.split("・"))]
    return list(dict.fromkeys(unheard))


def name_chapter(number: int, title: str) -> str:
    """Return what a chapter is called: its number and its title, once where the title begins with that number."""
    first, _, rest = title.partition(" ")
    opening = " ".join(rest.split()[:1])
    if first.casefold() == "chapter" and number in find_values(opening):
        return title
    return f"Chapter {number}, {title}" if title else f"Chapter {number}"


def _may_name(word: str, ordinary: set[str], language: str) -> bool:
    key = make_key(word)
    parts = word.split("-")
    if (
        len(word) < _LEAST
        or key in _everyday_words()
        or key.removesuffix("s") in _everyday_words()
        or key in list_stop_words()
    ):
        return False
    if any(part.casefold() in ordinary for part in parts if part):
        return False
    return not (language in LANGUAGES and find_numbers(word, language))


def _is_name(before: str, run: list[str], language: str) -> bool:
    if language != "German":
        return True
    return len(run) > 1 and before not in load_words("names", "determiners") and not before[:1].isdigit()


def _runs(text: str, language: str) -> list[tuple[str, list[str]]]:
    """Runs of words with a capital, and the word before each. The first word of a sentence is in none: it may be any
    word. In German, where the verb comes second, two such words at the start are one name."""
    runs: list[tuple[str, list[str]]] = []
    run: list[str] = []
    before, waiting, last = "", "", ""
    end = 0
    for match in WORD.finditer(text):
        word = match.group()
        gap = text[end : match.start()]
        titled = gap == ". " and last.casefold() in ABBREVIATIONS  # "his father. She" ends a sentence
        first = end == 0 or (not titled and not _BEGINS.isdisjoint(gap[-_GAP:]))
        together = gap in (" ", ". ") and (gap == " " or titled) and not first
        if not together and run:
            runs.append((before, run))
            run = []
        if not _is_capital(word) or first:
            if run:
                runs.append((before, run))
                run = []
            waiting = word if first and language == "German" and _is_capital(word) else ""
        elif run:
            run.append(word)
        else:
            begun = bool(waiting) and together
            run = [waiting, word] if begun and make_key(waiting) not in list_stop_words() else [word]
            before, waiting = ("" if begun else last.casefold()), ""
        last, end = word, match.end()
    return [*runs, (before, run)] if run else runs


def _subjects(text: str, ordinary: set[str], language: str) -> list[str]:
    """Words that begin a sentence and are followed by what only a person does."""
    subjects: list[str] = []
    last, end, begun = "", 0, False
    if language not in _SUBJECT_FIRST:
        return subjects
    for match in WORD.finditer(text):
        word = match.group()
        gap = text[end : match.start()]
        if (
            begun
            and gap == " "
            and word in load_words("names", "deeds")
            and not last.endswith("s")
            and _may_name(last, ordinary, language)
        ):
            subjects.append(last)
        begun = (end == 0 or not _BEGINS.isdisjoint(gap[-_GAP:])) and _is_capital(word)
        last, end = word, match.end()
    return subjects
