"""Numbers in a text by value: digits of any script, and number words where there is a table for the language.

The one reader of numbers. No text raises, the work is linear in the text, and one amount has one value however it is
written: "a hundred and two, and three garnets" is 102 and 3, "two dozen" is 24, "24th" and "twenty-fourth" are 24. A
word that may be a number and may be something else is read as an unsure one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from previously.core.patterns import lazy_pattern
from previously.text.word_lists import load_lists


class Number(NamedTuple):
    """A number found in a text."""

    value: float
    written: str
    sure: bool
    """False for a word that need not be a number: it may stand for one, and proves none."""


def _counted(words: str, start: int = 0, step: int = 1) -> dict[str, int]:
    return {word: start + step * place for place, forms in enumerate(words.split()) for word in forms.split("/")}


@cache
def _listed(heading: str) -> Mapping[str, int]:
    table: dict[str, int] = {}
    for line in load_lists("numbers").get(heading, ()):
        table |= _line(line)
    return table


def name_number(value: int) -> str:
    """Return the English word for a number: up to twenty, or a number of tens."""
    return next(word for word, number in _listed("English").items() if number == value)


def _line(line: str) -> dict[str, int]:
    start, step, words = line.split(maxsplit=2)
    return _counted(words, int(start), int(step))


def _russian() -> dict[str, int]:
    table = _counted(
        "ноль/нуль один/одна/одно/одну/одного/одной/одному/одним два/две/двух/двум/двумя/двое/двоих/вдвоём "
        "три/трёх/трех/трём/трем/тремя/трое/троих/втроём четыре/четырёх/четырех/четырём/четырем/четверо/вчетвером"
    ) | _counted("сто/ста двести/двухсот триста/трёхсот/трехсот четыреста/четырёхсот/четырехсот", 100, 100)
    tens = "дцать/дцати/дцатью"
    for value, stem in enumerate("пят шест сем восем девят десят".split(), 5):
        soft = "восьм" if value == 8 else stem
        table |= dict.fromkeys((f"{stem}ь", f"{soft}и", f"{stem}ью", f"{stem}еро"), value)
        if value < 9:
            table |= dict.fromkeys((f"{stem}ьдесят", f"{soft}идесяти"), 10 * value)
        if value < 10:
            table |= dict.fromkeys((f"{stem}ьсот", f"{soft}исот"), 100 * value)
    teens = "оди две три четыр пят шест сем восем девят".split()
    for value, stem in enumerate(teens, 11):
        middle = "н" if stem in ("оди",) else ""
        table |= {f"{stem}{middle}на{ending}": value for ending in tens.split("/")}
    table |= {f"{stem}{ending}": value for stem, value in (("два", 20), ("три", 30)) for ending in tens.split("/")}
    table |= {"сорок": 40, "сорока": 40, "девяносто": 90, "девяноста": 90}
    ordinals = _counted("перв втор трет четвёрт/четверт пят шест седьм восьм девят десят", 1) | _counted(
        "одиннадцат двенадцат тринадцат четырнадцат пятнадцат шестнадцат семнадцат восемнадцат девятнадцат двадцат", 11
    )
    ordinals |= {"тридцат": 30, "сороков": 40, "пятидесят": 50, "сот": 100}
    endings = "ый ий ой ого ому ым ом ая ую ое ые ых ыми ья ьей ью ьего ье".split()
    return table | {f"{stem}{ending}": value for stem, value in ordinals.items() for ending in endings}


def _german() -> dict[str, int]:
    units = _counted("ein zwei/zwo drei vier fünf sechs sieben acht neun", 1)
    low = units | _counted("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", 10)
    tens = _counted("zwanzig dreißig/dreissig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)
    table = low | tens | {f"{one}und{ten}": units[one] + tens[ten] for one in units for ten in tens}
    ordinals: dict[str, int] = {}
    for word, value in table.items():
        root = {"ein": "ers", "drei": "drit", "sieben": "sieb", "acht": "ach"}.get(word, word)
        for ending in ("e", "en", "er", "es", "em"):
            ordinals[f"{root}{'st' if value >= 20 else 't'}{ending}"] = value
    return table | ordinals | {"null": 0, "eins": 1, "siebente": 7, "siebenten": 7}


LANGUAGES = frozenset({"English", "German", "French", "Spanish", "Portuguese", "Russian"})
"""The languages whose number words are read."""


@cache
def _table(language: str) -> Mapping[str, int]:
    match language:
        case "German":
            return _german()
        case "Russian":
            return _russian()
        case _:
            return _listed(language)


_JOINS = {"English": "and", "French": "et", "Spanish": "y", "Portuguese": "e", "German": "und"}

COUNTS = 3
"""Up to here a text counts by itself: "the two of them", "a third time"."""

_DIGITS = r"(?<![A-Za-zÀ-žА-я_\d])\d{1,40}(?:[.,:'’\u00a0\u202f]\d{1,40}){0,4}"
_SIGNS = "〇零一二三四五六七八九十百千万億两兩"
_TOKEN = lazy_pattern(rf"(?P<digits>{_DIGITS})|(?P<kanji>[{_SIGNS}]+)|[^\W\d_{_SIGNS}]+")
_GROUPED = lazy_pattern(r"\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+")
_GAP = lazy_pattern(r"[ \u00a0]?-?[ \u00a0]?|\s")
_LONGEST, _LARGEST = 12, 10**12
"""Words of one number, and its value, beyond which nobody counts."""

_KANJI = dict(zip("〇零一二三四五六七八九两兩", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2), strict=True))
_KANJI_SCALES = {"十": 10, "百": 100, "千": 1_000}


@cache
def list_cardinals() -> Mapping[str, int]:
    """Return the English words for one to twelve and on, by which people count; without ordinals."""
    units, tens = load_lists("numbers")["English"][:2]
    return {word: value for line in (units, tens) for word, value in _line(line).items() if value and word != "fourty"}


def is_number_word(word: str) -> bool:
    """Return whether a word in lower case is an English number, cardinal or ordinal, or a scale."""
    unsure = _listed("English unsure")
    return word not in unsure and (word in _listed("English") or word in _listed("English scales"))


def find_values(text: str, language: str = "English") -> frozenset[float]:
    """Return all values that a text may be said to hold, sure or not."""
    return frozenset(number.value for number in find_numbers(text, language))


def find_numbers(text: str, language: str = "English") -> list[Number]:
    """Return the numbers of a text in order. Words are read in the language named, in none if it has no table."""
    return list(_numbers(text, language))


def _numbers(text: str, language: str) -> Iterator[Number]:
    table, scales = _table(language), _listed(f"{language} scales")
    run: list[tuple[str, int, int]] = []  # word, value, multiplier (0 where it is no scale)
    joined, end = False, -1
    for match in _TOKEN.finditer(text):
        word = match.group().lower()
        near = end >= 0 and _GAP.fullmatch(text, end, match.start()) is not None
        end = match.end()
        if match.lastgroup == "kanji":
            yield from _of_run(run, language)
            run = []
            yield from _of_kanji(match.group())
            continue
        if match.lastgroup == "digits":
            yield from _of_run(run, language)
            values = _of_digits(match.group())
            yield from (Number(value, match.group(), True) for value in values[:-1])
            whole = values[-1] == int(values[-1])
            run = [(match.group(), int(values[-1]), -1)] if whole else []
            if not whole:
                yield Number(values[-1], match.group(), True)
            joined = False
            continue
        if near and run and word == _JOINS.get(language) and not joined:
            joined = True
            continue
        scale, value = scales.get(word, 0), _german_value(word) if language == "German" else table.get(word)
        if scale == 0 and value is None:
            yield from _of_run(run, language)
            run, joined = [], False
            continue
        if run and not (near and _goes_on(run, scale, value or 0, language, joined=joined)):
            yield from _of_run(run, language)
            run = []
        run.append((word, value or 0, scale))
        joined = False
    yield from _of_run(run, language)


def _goes_on(run: list[tuple[str, int, int]], scale: int, value: int, language: str, *, joined: bool) -> bool:
    """Return whether a number word belongs to the number before it."""
    so_far = _value(run)
    if len(run) >= _LONGEST or so_far >= _LARGEST:
        return False
    if scale:
        return not joined
    if run[-1][2] == -1:
        return False  # after digits only a scale goes on
    tail = so_far % 1_000
    if language == "French":
        if tail % 100 == 4 and value == 20 and not joined:  # quatre-vingt
            return True
        if tail % 100 in (60, 80) and 10 <= value <= 16:
            return True
        if tail % 100 in (10, 70, 90) and run[-1][0] == "dix" and 7 <= value <= 9:
            return True
    if joined and language in ("English", "German") and not (so_far >= 100 and tail % 100 == 0):
        return False
    if value < 10:
        return so_far >= 20 and tail % 10 == 0 and tail % 100 != 10
    if value < 100:
        return so_far >= 100 and tail % 100 == 0
    return so_far >= 1_000 and tail == 0


def _value(run: list[tuple[str, int, int]]) -> int:
    total = current = 0
    for word, value, scale in run:
        if scale > 0:
            current = max(current, 1) * scale
            if scale >= 1_000:
                total, current = total + current, 0
        elif word.startswith("vingt") and current % 100 == 4:
            current += 76  # quatre-vingt is eighty, not twenty-four
        else:
            current += value
    return total + current


def _of_run(run: list[tuple[str, int, int]], language: str) -> Iterator[Number]:
    if run:
        unsure = len(run) == 1 and run[0][0] in _listed(f"{language} unsure")
        yield Number(float(_value(run)), " ".join(word for word, _, _ in run), not unsure)


@lru_cache(maxsize=4096)
def _german_value(word: str) -> int | None:
    """Return a German number word: compounds are one word, "vierhundertelf"."""
    value = _table("German").get(word)
    if value is not None:
        return value
    for scale, size in (("tausend", 1_000), ("hundert", 100)):
        before, parted, after = word.partition(scale)
        if not parted or word == scale:
            continue
        times = _german_value(before) if before else 1
        rest = 0 if after in ("", "ste", "sten", "ster", "stes") else _german_value(after.removeprefix("und"))
        return None if times is None or rest is None else times * size + rest
    return None


def _of_digits(written: str) -> list[float]:
    """Return what digits say: 18,400 is one number, 9:40 and 9.40 are hours and minutes or large and small coin."""
    if _GROUPED.fullmatch(written):
        return [float(int(re.sub(r"\D", "", written)[:300]))]
    pieces = re.split(r"\D", written)
    if len(pieces) == 2 and len(pieces[1]) != 2 and ":" not in written:
        return [float(f"{pieces[0][:300]}.{pieces[1][:15]}")]
    return [float(int(piece[:300])) for piece in pieces]


def _of_kanji(written: str) -> Iterator[Number]:
    total = section = digit = 0
    plain = all(mark in _KANJI for mark in written)
    for mark in written[:40]:
        if mark in _KANJI_SCALES:
            section += max(digit, 1) * _KANJI_SCALES[mark]
            digit = 0
        elif mark in "万億":
            total += max(section + digit, 1) * (10_000 if mark == "万" else 10**8)
            section = digit = 0
        else:
            digit = 10 * digit + _KANJI[mark] if plain else _KANJI[mark]
    # One sign alone is part of many words; two or more that begin with a count are an amount.
    sure = len(written) > 1 and written[0] not in "万億千" and not plain
    yield Number(float(total + section + digit), written, sure)
