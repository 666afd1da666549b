"""Dates in questions, and how near a message is to them.

Owns two readings: `parse_day`, the calendar day a message was said on, and `find_days`, the days a question speaks of:
"on 7 May 2023", "last May", "in 2022", "three weeks ago", "yesterday", 2023-05-07, 5月7日. Words are English; figures
are anyone's. What is relative needs a `now` given from outside: nothing here looks at a clock.

Total (an impossible date is no date); days are those of the place where the message was said, so an offset in a time is
not applied.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cache

from previously.text.numbers import list_cardinals
from previously.text.sentences import split_sentences

MONTHS = tuple("january february march april may june july august september october november december".split())
MONTHS_ONLY = tuple(name for name in MONTHS if name not in ("march", "may"))
"""Names of months that mean nothing else."""

WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
SEASONS = ("spring", "summer", "autumn", "winter")

_MONTH_NUMBERS = {name: number for number, name in enumerate(MONTHS, 1)}
_MONTH_NUMBERS |= {name[:3]: number for name, number in _MONTH_NUMBERS.items() if name in MONTHS_ONLY} | {"sept": 9}
_SEASON_MONTHS = dict(zip(SEASONS, (3, 6, 9, 12), strict=True)) | {"fall": 9}
_A_FEW = {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}

_FEW_WORDS = 80
"""Characters of a question asked in a few words, as in a search box. What is longer is part of a chat."""

_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"((?:1[6-9]|20)\d\d)"


class _Patterns:
    """The patterns of dates, compiled when the first text is read."""

    def __init__(self) -> None:
        month = "|".join(_MONTH_NUMBERS)
        lead = r"(?:\b(in|of|during|since|until|by|from|last|this|early|late|mid|around|before|after)[\s-]+)?"
        self.written = re.compile(
            rf"(?:\b{_DAY}(?:\s+of)?\s+({month})\b\.?(?:,?\s+{_YEAR})?"
            rf"|\b({month})\b\.?\s+{_DAY}\b(?!:)(?:,?\s+{_YEAR})?"
            rf"|{lead}\b({month})\b\.?(?:(?:\s+of)?,?\s+{_YEAR})?)",
            re.I,
        )
        self.digit = re.compile(r"\d")
        link = r"(?:(and)|to|until|till|through|[-\u2013\u2014])"
        self.link = re.compile(rf"\s*{link}\s*", re.I)
        self.between = re.compile(r"\bbetween\s+(?:the\s+)?$", re.I)
        self.day_before = re.compile(rf"\b{_DAY}\s*{link}\s*(?:the\s+)?$", re.I)
        self.day_behind = re.compile(rf"\s*{link}\s*{_DAY}\b(?![:.\d])(?:,?\s+{_YEAR})?", re.I)
        self.figures = re.compile(
            r"\b(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?\b|\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b"
            r"|(?:(\d{4})[年년]\s?)?(\d{1,2})[月월]\s?(?:(\d{1,2})[日일])?"
        )
        self.year = re.compile(rf"\b(?:in|during|of|since|year|until|before|after|around)\s+{_YEAR}\b", re.I)
        self.years = re.compile(rf"\b(?:between|from)\s+{_YEAR}\s*{link}\s*{_YEAR}\b", re.I)
        self.season = re.compile(rf"\b(?:(last|this)\s+)?({'|'.join(_SEASON_MONTHS)})(?:\s+(?:of\s+)?{_YEAR})?\b", re.I)
        counts = sorted({**list_cardinals(), **_A_FEW}, key=len, reverse=True)
        self.ago = re.compile(rf"\b(\d{{1,3}}|{'|'.join(counts)})\s+(day|week|month|year)s?\s+ago\b", re.I)
        self.stretch = re.compile(r"\b(last|this|past|previous)\s+(week|weekend|month|year|night)\b", re.I)
        self.weekday = re.compile(rf"\b(?:(last|on|this)\s+)({'|'.join(WEEKDAYS)})\b", re.I)
        self.near = re.compile(
            r"\b(the day before yesterday|yesterday|today|tonight|this (?:morning|evening|afternoon))\b", re.I
        )


_patterns = cache(_Patterns)

MINUTES_A_DAY = 24 * 60

_EARLIEST_TODAY = date(3, 1, 1).toordinal()
"""Before this there is no last year."""

AFTER_DAYS = 45
AFTER_SPAN_DAYS = 14
"""Days after a day, or after a longer span, on which people still tell what happened in it."""


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days from `first` to `last`, as ordinals; `yearly` when the year was not said and any will do."""

    first: int
    last: int
    yearly: bool = False


def parse_minute(at: str | None) -> int | None:
    """Return the minute a message was said at, counted from day 0 of the calendar; None where its time is not given or
    cannot be read. Where only a day is given, it is that day's first."""
    if not at:
        return None
    try:
        said = datetime.fromisoformat(at.strip())
    except ValueError:
        dates = (*_in_figures(at), *_in_writing(at, None))
        return next((one.span.first * MINUTES_A_DAY for one in dates if not one.span.yearly), None)
    return said.toordinal() * MINUTES_A_DAY + said.hour * 60 + said.minute


def parse_day(at: str | None) -> int | None:
    """Return the ordinal of the day a message was said on; None where its time is not given or cannot be read."""
    minute = parse_minute(at)
    return None if minute is None else minute // MINUTES_A_DAY


def render_day(at: str | None) -> str:
    """Return the day a message was said on, for people: "8 May 2023". Empty where it is not known."""
    day = parse_day(at)
    if day is None:
        return ""
    said = date.fromordinal(day)
    return f"{said.day} {MONTHS[said.month - 1].capitalize()} {said.year}"


def find_days(text: str, today: int | None = None) -> tuple[DaySpan, ...]:
    """Return the days a question speaks of, each once, in its order. Two dates that are joined as the ends of a stretch
    ("between 3 and 9 May", "from June to August 2023") are one span."""
    dates = [*_in_writing(text, today)]
    if _patterns().digit.search(text):  # most of what is said has none
        spans = [*_join_ends(text, [*_in_figures(text), *dates]), *_years(text)]
    else:
        spans = _join_ends(text, dates)
    if today is not None and today > _EARLIEST_TODAY:
        # "I slept badly last night" in a chat asks for nothing; in a question, or a few words, it does.
        asked = (
            text
            if len(text) <= _FEW_WORDS
            else " ".join(sentence for sentence in split_sentences(text) if sentence.endswith(("?", "？")))
        )
        spans += _relative(asked, date.fromordinal(today))
    return tuple(dict.fromkeys(spans))


def measure_nearness(spans: tuple[DaySpan, ...], day: int) -> float:
    """Return how well a day fits the best of the spans, from 0 to 1. People tell of a day on it, or some time after."""
    return max((_fit(span, day) for span in spans), default=0.0)


def _fit(span: DaySpan, day: int) -> float:
    if span.yearly:
        moved = (_in_year(span, date.fromordinal(day).year - back) for back in (0, 1))
        return max((_fit(one, day) for one in moved if one), default=0.0)
    if span.first <= day <= span.last:
        return 1.0
    if span.first != span.last:
        return 0.5 if 0 < day - span.last <= AFTER_SPAN_DAYS else 0.0
    if day > span.last:
        return 0.8 * math.exp((span.last - day) / 10) if day - span.last <= AFTER_DAYS else 0.0
    return 0.5 * math.exp((day - span.first) / 3)


def _in_year(span: DaySpan, year: int) -> DaySpan | None:
    first, last = date.fromordinal(span.first), date.fromordinal(span.last)
    begins = _calendar(year, first.month, first.day)
    whole_month = last.day >= 28 and first.day == 1
    ends = _calendar(year + last.year - first.year, last.month, None if whole_month else last.day)
    return DaySpan(begins.first, ends.last) if begins and ends else None


@dataclass(frozen=True, slots=True)
class _Dated:
    """A date of a text, and where it stands."""

    start: int
    end: int
    span: DaySpan


def _join_ends(text: str, dates: Iterable[_Dated]) -> list[DaySpan]:
    """Return the spans of these dates, those that are the two ends of a stretch as one."""
    patterns = _patterns()
    joined: list[_Dated] = []
    for one in sorted(dates, key=lambda each: each.start):
        before = joined[-1] if joined else None
        link = patterns.link.fullmatch(text, before.end, one.start) if before else None
        if before and link and (not link[1] or patterns.between.search(text[: before.start])):
            joined[-1] = _Dated(before.start, one.end, _stretch_between(before.span, one.span))
        else:
            joined.append(_join_days(text, one))
    return [one.span for one in joined]


def _join_days(text: str, one: _Dated) -> _Dated:
    """Return a day with another day of its month that only a number names: "3 to 9 May", "May 3-9, 2023"."""
    if one.span.first != one.span.last:
        return one
    patterns = _patterns()
    here = date.fromordinal(one.span.first)
    if text[one.start : one.start + 1].isdigit():
        other = patterns.day_before.search(text[: one.start])
        if other and (not other[2] or patterns.between.search(text[: other.start()])):
            first = _calendar(here.year, here.month, int(other[1]))
            if first and first.first < one.span.first:
                return replace(one, start=other.start(), span=replace(one.span, first=first.first))
        return one
    other = patterns.day_behind.match(text, one.end)
    if other and (not other[1] or patterns.between.search(text[: one.start])):
        year = int(other[3]) if other[3] and one.span.yearly else here.year
        first, last = _calendar(year, here.month, here.day), _calendar(year, here.month, int(other[2]))
        if first and last and first.first < last.last:
            yearly = one.span.yearly and not other[3]
            return replace(one, end=other.end(), span=DaySpan(first.first, last.last, yearly))
    return one


def _stretch_between(begin: DaySpan, end: DaySpan) -> DaySpan:
    """Return the days from one span to another. A year that only one of them names is that of both, or the next to it
    where the stretch would else run backwards."""
    yearly = begin.yearly and end.yearly
    if begin.yearly and not end.yearly:
        year = date.fromordinal(end.last).year
        begin = next((one for back in (0, 1) if (one := _in_year(begin, year - back)) and one.first <= end.last), begin)
    elif end.yearly:
        year = date.fromordinal(begin.first).year
        end = next((one for on in (0, 1) if (one := _in_year(end, year + on)) and one.last >= begin.first), end)
    return DaySpan(min(begin.first, end.first), max(begin.last, end.last), yearly)


def _calendar(year: int | None, month: int, day: int | None) -> DaySpan | None:
    """Return the span of a day or a month; None for one that no calendar has."""
    try:
        first = date(year or 2000, month, day or 1)
    except ValueError:
        return None
    last = first if day else first.replace(day=monthrange(first.year, month)[1])
    return DaySpan(first.toordinal(), last.toordinal(), yearly=year is None)


def _in_figures(text: str) -> Iterator[_Dated]:
    for match in _patterns().figures.finditer(text):
        year, month, day, day2, month2, year2, year3, month3, day3 = match.groups()
        a_year = year or year2 or year3
        span = _calendar(
            int(a_year) if a_year else None, int(month or month2 or month3), int(day or day2 or day3 or 0) or None
        )
        if span:
            yield _Dated(match.start(), match.end(), span)


def _in_writing(text: str, today: int | None) -> Iterator[_Dated]:
    for match in _patterns().written.finditer(text):
        day, month, year, month2, day2, year2, lead, month3, year3 = match.groups()
        name = (month or month2 or month3).lower()
        said_year = year or year2 or year3
        said_day = day or day2
        if name in ("march", "may") and not (said_day or said_year or lead):
            continue
        number = _MONTH_NUMBERS[name]
        resolved = int(said_year) if said_year else None
        if resolved is None and today is not None and (lead or "").lower() in ("last", "this"):
            now = date.fromordinal(today)
            resolved = now.year - (number >= now.month if lead.lower() == "last" else number > now.month)
        span = _calendar(resolved, number, int(said_day) if said_day else None)
        if span:
            yield _Dated(match.start(8) if month3 else match.start(), match.end(), span)


def _years(text: str) -> Iterator[DaySpan]:
    for match in _patterns().year.finditer(_patterns().written.sub(" ", text)):
        year = int(match[1])
        yield DaySpan(date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal())
    for match in _patterns().years.finditer(text):
        first, last = sorted((int(match[1]), int(match[3])))
        yield DaySpan(date(first, 1, 1).toordinal(), date(last, 12, 31).toordinal())
    for match in _patterns().season.finditer(text):
        if match[3]:
            yield _season(match[2], int(match[3]))


def _season(name: str, year: int) -> DaySpan:
    first = date(year, _SEASON_MONTHS[name.lower()], 1)
    return DaySpan(first.toordinal(), first.toordinal() + 90)


def _relative(text: str, today: date) -> Iterator[DaySpan]:
    for match in _patterns().near.finditer(text):
        word = match[1].lower()
        back = 2 if word.startswith("the day") else int(word == "yesterday")
        yield _days(today - timedelta(back), 0)
    for match in _patterns().ago.finditer(text):
        said = match[1].lower()
        number = int(said) if said.isdigit() else list_cardinals().get(said) or _A_FEW[said]
        unit = match[2].lower()
        days = number * {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
        if days < today.toordinal() - 400:
            yield _days(today - timedelta(days), {"day": 0, "week": 3, "month": 10, "year": 60}[unit])
    for match in _patterns().weekday.finditer(text):
        back = (today.weekday() - WEEKDAYS.index(match[2].lower())) % 7
        yield _days(today - timedelta(back or 7 * (match[1].lower() == "last")), 0)
    for match in _patterns().stretch.finditer(text):
        yield _stretch(match[1].lower(), match[2].lower(), today)
    for match in _patterns().season.finditer(text):
        if match[1]:
            span = _season(match[2], today.year)
            over = span.last < today.toordinal()
            wanted = today.year - (not over if match[1].lower() == "last" else span.first > today.toordinal())
            yield _season(match[2], wanted)


def _stretch(which: str, unit: str, today: date) -> DaySpan:
    back = which != "this"
    if unit == "night":
        return _days(today - timedelta(back), 0)
    monday = today - timedelta(today.weekday())
    if unit == "week":
        return DaySpan(monday.toordinal() - 7 * back, monday.toordinal() - 7 * back + 6)
    if unit == "weekend":
        return DaySpan(monday.toordinal() + 5 - 7 * back, monday.toordinal() + 6 - 7 * back)
    if unit == "year":
        return DaySpan(date(today.year - back, 1, 1).toordinal(), date(today.year - back, 12, 31).toordinal())
    first = today.replace(day=1)
    start = (first - timedelta(1)).replace(day=1) if back else first
    span = _calendar(start.year, start.month, None)
    assert span is not None
    return span


def _days(middle: date, around: int) -> DaySpan:
    return DaySpan(middle.toordinal() - around, middle.toordinal() + around)
