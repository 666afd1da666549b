"""What leaves a trace from one text to the next: names, numbers, quotations and telling words.

Owns how two wordings of one thing are recognised as the same: "three hundred and forty" is 340, "promised" is
"promise", an inflected name is the name. Scripts without spaces are compared by pairs of characters. What must stay
true: every function is total and linear in its text, and lists come in the order of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from previously.folds.builtin.names import KATAKANA, WORD, NameBook, is_capitalised, key_of
from previously.folds.builtin.vocabulary import FUNCTION_WORDS, is_ordinary, stem
from previously.text.language import STOP_WORDS
from previously.text.sentences import QUOTED

_ONES = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen "
        "eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth "
        "sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        1,
    )
} | {"thirtieth": 30}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_FOREIGN = {
    word: value
    for line in (
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "dois três quatro cinco seis sete oito nove dez onze doze",
        "два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
    )
    for value, word in enumerate(line.split(), 2)
    if word != "once"  # Spanish eleven is English once
}
_NUMBER_WORD = {**_FOREIGN, **_ONES, **_TENS, **_ORDINALS, **_SCALES, "dozen": 12}
_IN_DIGITS = re.compile(r"(?<![\w.,])(?P<digits>\d+(?:[.,:]\d+)*)(?:st|nd|rd|th)?", re.I)
_NUMBERS = re.compile(
    rf"{_IN_DIGITS.pattern}"
    rf"|\b(?P<words>(?:{'|'.join(sorted(_NUMBER_WORD, key=len, reverse=True))})"
    rf"(?:(?:[ -]| and |-and-)(?:{'|'.join(sorted(_NUMBER_WORD, key=len, reverse=True))}))*)\b",
    re.I,
)
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
SPACELESS = re.compile("[\u3005\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e01-\u0e7f]+")
"""Runs that carry content where no spaces part the words; hiragana mostly holds them together."""

_KANA = re.compile("[\u3040-\u30ff]")

_FAMILIES = (
    "promise promised promises promising swear swears swore sworn vow vows vowed oath pledge pledged word "
    "versprechen versprach versprochen verspricht schwor promettre promet promis promit jure juré prometer prometió "
    "promete "
    "prometido prometeu juró jurou обещал обещала обещает обещание поклялся поклялась клятва",
    "owe owes owed owing debt debts loan borrowed borrow repay repaid pay pays paid payment "
    "schuldet schulden schuld dette deuda dívida долг долга",
    "secret secrets secretly hide hides hid hidden conceal concealed nobody none geheim geheimnis niemand niemandem "
    "personne secreto nadie segredo ninguém секрет тайна тайну никто никому",
    "return returns returned give gave given back zurück rendre rendra devolver devolverá вернуть вернёт",
    "die died dies dead kill killed murder murdered",
    "find finds found search searched searching look looked seek sought",
)
_FAMILY = {word: f"~{number}" for number, words in enumerate(_FAMILIES) for word in words.split()}
_MODAL = frozenset(
    "must has have had need needs due until within soll muss müssen doit doivent devait debe deben debía deve devem "
    "должен "
    "должна должны".split()
)
"""Said of every duty alike, so they tell none from another."""

_UNTELLING = FUNCTION_WORDS | STOP_WORDS | _NUMBER_WORD.keys() | _MODAL

FAMILIAR = frozenset(_FAMILY.values())
"""Terms that say only what kind of tie there is, not which one."""

SECRECY = frozenset({"~0", "~2"})
"""A promise to keep a secret: who gave it to whom says nearly all of it."""

_PREFIX = 5
_ASCII_WORD = re.compile(r"[A-Za-z]+(?:['\-][A-Za-z]+)*")
_LETTERS = re.compile("[a-z]+")
_DIGIT = re.compile(r"\d")
_LIKE_I_AND_S = str.maketrans("ſıİ", "sii")
"""What a pattern that ignores case takes for these two."""


def numbers_in(text: str) -> list[str]:
    """The numbers of a text by value, in order; words up to the twentieth and above as well as digits."""
    found: list[str] = []
    # Words are looked up sooner than searched for.
    if text.isascii() and _NUMBER_WORD.keys().isdisjoint(_LETTERS.findall(text.lower())):
        matches = _IN_DIGITS.finditer(text) if _DIGIT.search(text) else iter(())
    else:
        matches = _NUMBERS.finditer(text)
    for match in matches:
        digits = match.group("digits")
        if digits is not None:
            found.append(re.sub(r"[.,]", "", digits) if _GROUPED.fullmatch(digits) else digits.rstrip(".,:"))
        else:
            found += _values(match.group("words"))
    return found


def _values(phrase: str) -> list[str]:
    """The numbers in a run of number words: "two hundred and twelve" is one, "eight nine" two."""
    values: list[str] = []
    total = current = 0
    last = 0
    open_number = False
    for word in re.split(r"[ -]+", phrase.translate(_LIKE_I_AND_S).lower()):
        if word == "and":
            continue
        value = _NUMBER_WORD[word]
        if word in _SCALES:
            current = max(current, 1) * value if value == 100 else current
            if value > 100:
                total += max(current, 1) * value
                current = 0
        elif open_number and not (last >= 100 or (20 <= last < 100 and value < 10)):
            values.append(str(total + current))
            total, current = 0, value
        else:
            current += value
        last = value
        open_number = True
    return [*values, str(total + current)]


@lru_cache(maxsize=16384)
def folded(word: str) -> str:
    """What a word is compared by: lower case, no accents, no ending."""
    word = word.casefold().replace("’", "'")
    word = word.removesuffix("'s").removesuffix("'")
    family = _FAMILY.get(word)
    if family:
        return family
    if not word.isascii():
        word = "".join(mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark))
    prefix = stem(word)[:_PREFIX]
    return prefix.rstrip("aeiou") if len(prefix) > _PREFIX - 1 else prefix


def content_of(text: str) -> list[str]:
    """The telling words of a text as comparable terms, in order, repeats included."""
    terms = list(chain.from_iterable(map(_terms_of, _words_in(text))))
    if not text.isascii():
        for run in SPACELESS.findall(text):
            terms += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
    return terms


def _words_in(text: str) -> list[str]:
    return (_ASCII_WORD if text.isascii() else WORD).findall(text)


@lru_cache(maxsize=16384)
def _terms_of(word: str) -> tuple[str, ...]:
    """What one word adds to the telling words: itself, its halves where it has a hyphen, or nothing."""
    if SPACELESS.search(word) or _KANA.search(word):
        return ()
    return tuple(folded(part) for part in word.split("-") if len(part) >= 3 and part.lower() not in _UNTELLING)


def keys_of(text: str) -> frozenset[str]:
    """Every word of a text as names are looked up: lower case, no possessive."""
    return frozenset(map(key_of, set(_words_in(text))))


def quotes_in(text: str) -> list[str]:
    """The quotations of a text without their marks, in order."""
    return [match.group()[1:-1].strip() for match in QUOTED.finditer(text)]


def names_in(book: NameBook, text: str) -> list[str]:
    """The names of a text as written, each once, in order. The book has read the text already."""
    return list(dict.fromkeys(book.runs_in(text)))


APART = "\n>"
"""Between sentences that a book of names reads as one text: a mark that ends any sentence, so that each starts anew."""

_CAPITALISED = re.compile(r"[A-Z][A-Za-z'\-]*")
_INSIDE_NAMES = ("al", "du", "di", "del")


def nameable_in(text: str) -> frozenset[str] | None:
    """At least the words of all `names_in` a text, as they are compared, whatever book is asked: those with a capital.
    None where a script has no capitals. It costs a tenth of reading a text for its names."""
    if text.isascii():
        words = set(_CAPITALISED.findall(text))
    elif SPACELESS.search(text) or _KANA.search(text):
        return None
    else:
        words = {word for word in WORD.findall(text) if word[0].isupper()}
    return frozenset(folded(part) for word in words.union(_INSIDE_NAMES) for part in name_parts(word))


_DATES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december".split()
)


def inner_names(text: str) -> list[str]:
    """Runs of words with a capital inside a sentence, everyday words aside: no use where every noun has one."""
    found: list[str] = []
    end = last = -1
    for match in WORD.finditer(text):
        word = match.group()
        gap = text[max(end, 0) : match.start()]
        initial = end < 0 or any(mark in gap for mark in '.!?…:"“”„«»「」*\n—')
        together = gap == " " and last == end
        end = match.end()
        lower = word.lower()
        if initial or not is_capitalised(word) or is_ordinary(key_of(word)) or lower in _DATES:
            continue
        last = end
        if together:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def has_name(name: str, text: str, keys: frozenset[str]) -> bool:
    """Whether a text names this person or thing: by any telling word of the name, possibly inflected.

    `keys` are the `keys_of` the text.
    """
    parts = name_parts(name)
    if not parts:
        return True
    return any(part in keys or _spaceless_in(part, text) or _inflected_in(part, keys) for part in parts)


_TITLES = frozenset(
    "mr mrs ms miss dr prof sir lady lord captain the of de la le el von van der don doña frau herr madame monsieur "
    "señor señora senhor senhora dona king queen old young and".split()
)


def name_parts(name: str) -> list[str]:
    """The words of a name that tell who it is, as keys: no titles, no initials."""
    if SPACELESS.search(name):
        return [run for run in SPACELESS.findall(name) if len(run) > 1] or [name.strip()]
    words = [key_of(word) for word in WORD.findall(name)]
    return [word for word in words if word not in _TITLES and len(word) > 1]


def _spaceless_in(part: str, text: str) -> bool:
    if not SPACELESS.search(part) and not KATAKANA.search(part) and not _KANA.search(part):
        return False
    if part in text:
        return True
    return len(part) >= 3 and (part[:-1] in text or part[1:] in text)


def _inflected_in(part: str, keys: Iterable[str]) -> bool:
    """A name with another ending: "Марину" for "Марина", "Annas" for "Anna"."""
    if len(part) < 4:
        return any(key.startswith(part) and len(key) <= len(part) + 2 for key in keys)
    root = part[: max(3, len(part) - 2)]
    return any(key.startswith(root) and abs(len(key) - len(part)) <= 3 for key in keys)
