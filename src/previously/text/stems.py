"""One form for the forms of a word.

Owns `stem`: what "promises", "promised" and "promising" share, so that a question finds the message that says it in
another form. Latin words go through Porter's algorithm after a table of the irregular English forms it cannot know
("went", "children"); words with Cyrillic letters lose the common endings of case and person; all others stay as they
are. The same word always gives the same stem, never an empty one; what is indexed and what is asked go through the same
function, so a change here needs a new `INDEX_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise

from previously.core.patterns import lazy_pattern
from previously.core.scripts import CYRILLIC
from previously.text.numbers import list_cardinals
from previously.text.word_lists import load_lists

_CYRILLIC = lazy_pattern(f"[{CYRILLIC}]")
_CYRILLIC_ENDINGS = tuple(
    sorted(
        "ами ями ого его ому ему ыми ими ала яла ила ыла али яли или ать ять ить ешь ишь ете ите ает яет ает ают яют "
        "ая яя ое ее ые ие ой ей ий ый ом ем ам ям ах ях ов ев ую юю ть ла ло ли ет ит ут ют ат ят "
        "а я о е ы и у ю ь й".split(),
        key=len,
        reverse=True,
    )
)

_VOWELS = "aeiou"
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@cache
def list_irregular_forms() -> Mapping[str, str]:
    """Return the form that stands for each irregular one, and the digits that stand for a number word above one."""
    groups = [line.split() for line in load_lists("irregular_forms")[""]]
    numbers = {word: str(value) for word, value in list_cardinals().items() if value > 1}
    return {form: forms[0] for forms in groups for form in forms[1:]} | numbers


def stem(word: str) -> str:
    """Return the stem of a lower-case word whose accents are folded."""
    word = list_irregular_forms().get(word, word)
    if word.isascii():
        return _porter(word) if len(word) > 2 and word.isalpha() else word
    return _without_case_ending(word) if _CYRILLIC.search(word) else word


_NAME_ENDINGS = "aeiouyаеёиоуыэюяйь"
_LEAST_OF_A_NAME = 3
"""Letters that a name keeps: "Io" and "Ea" would be one otherwise."""


@lru_cache(maxsize=16_384)
def stem_name(word: str) -> str:
    """Return a name without the ending that changes with its case: Марина, Марину; Anna, Annas. Porter's rules would
    make one name of many."""
    bare = word.rstrip(_NAME_ENDINGS)
    return bare if len(bare) >= _LEAST_OF_A_NAME else word


def _without_case_ending(word: str) -> str:
    for ending in _CYRILLIC_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _porter(word: str) -> str:
    """Porter's five steps, each of which takes at most one ending off."""
    word = _past_and_participle(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _bare(word)
    if word.endswith("e") and (_measure(word[:-1]) > 1 or (_measure(word[:-1]) == 1 and not _ends_short(word[:-1]))):
        word = word[:-1]
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and _has_vowel(rest):
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if _ends_doubled(rest) and rest[-1] not in "lsz":
                return rest[:-1]
            return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest
    return word


def _replaced(word: str, endings: dict[str, str]) -> str:
    """Return the word with the longest of these endings exchanged, if enough remains before it."""
    for size in range(min(7, len(word) - 1), 2, -1):
        ending = word[-size:]
        if ending in endings:
            rest = word[:-size]
            return rest + endings[ending] if _measure(rest) > 0 else word
    return word


def _bare(word: str) -> str:
    """Return the word without its last suffix, where two syllables or more remain."""
    suffix = max((ending for ending in _STEP_4 if word.endswith(ending)), key=len, default="")
    if suffix in ("sion", "tion"):
        suffix = "ion"  # the s or t stays
    rest = word[: len(word) - len(suffix)]
    return rest if suffix and _measure(rest) > 1 else word


def _consonants(word: str) -> list[bool]:
    """For each letter whether it is a consonant; y is one at the front and after a vowel."""
    kinds: list[bool] = []
    for letter in word:
        kinds.append(letter not in _VOWELS and (letter != "y" or not kinds or not kinds[-1]))
    return kinds


def _measure(word: str) -> int:
    """Return how often a run of vowels is followed by a consonant: roughly, syllables."""
    kinds = _consonants(word)
    return sum(1 for before, after in pairwise(kinds) if after and not before)


def _has_vowel(word: str) -> bool:
    return not all(_consonants(word))


def _ends_doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonants(word)[-1]


def _ends_short(word: str) -> bool:
    """Consonant, vowel, consonant other than w, x, y at the end: "hop", not "how"."""
    return len(word) > 2 and _consonants(word)[-3:] == [True, False, True] and word[-1] not in "wxy"
