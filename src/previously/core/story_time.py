"""Time in a story: how much of it a text lets pass, and by when something is due.

Owns a small table of durations. Told time is counted in hours, a due time is the latest hour it can mean: "by dawn" is
at most a day away. What must stay true: what is said between quotation marks lets no time pass; a text without a plain
wording lets none pass and sets none; the work is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

_HOURS = {
    "hour": 1, "day": 24, "night": 24, "morning": 24, "evening": 24, "afternoon": 24, "dawn": 24, "week": 168,
    "fortnight": 336, "month": 720, "season": 2_160, "year": 8_760,
}  # fmt: skip
_COUNTS = {
    "a": 1, "an": 1, "the": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "several": 3, "four": 4,
    "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20,
    "thirty": 30,
}  # fmt: skip
_SEVERAL = 2
"""Of "days passed" at least so many."""

_DAY = 24


def _so_long(tag: str) -> str:
    """A pattern of a count and a unit of time, its groups named for the place it is used in."""
    counted = rf"(?:a )?(?P<count_{tag}>{'|'.join(_COUNTS)}|\d{{1,4}})(?: of| more| long| full| whole| short)?"
    return rf"\b{counted} (?P<unit_{tag}>{'|'.join(_HOURS)})s?\b"


_QUOTED = re.compile('"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」')
_PASSED = re.compile(
    rf"{_so_long('later')} (?:later|afterwards?|(?:had |have )?(?:passed|gone by|went by|elapsed))\b"
    rf"|\bafter {_so_long('after')}"
    r"|\b(?:the )?(?:next|following) (?P<next>day|morning|evening|night|afternoon|dawn|week|month|year|season)\b"
    r"|\b(?P<plural>hour|day|night|week|month|year)s (?:had )?(?:passed|went by|gone by|later)\b"
    r"|\b(?:the day after(?! tomorrow)|overnight|am nächsten (?:tag|morgen|abend)|le lendemain|al día siguiente|"
    r"на следующ(?:ий день|ее утро))\b|翌日|翌朝|次の日|第二天|次日"
)

_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MOMENTS = {
    "tonight|tomorrow|daybreak|dawn|dusk|noon|midday|midnight|sunrise|sunset|sundown|nightfall|first light|morning|"
    r"evening|moonrise|(?:\w+ )?(?:bell|tide)": _DAY,
    rf"(?:{_WEEKDAYS}) the [\w-]+|(?:next |full |new )?moon|end of the month|\d{{1,2}}(?:st|nd|rd|th)": 30 * _DAY,
    f"{_WEEKDAYS}|end of the week|market day": 7 * _DAY,
    "(?:first )?(?:spring|summer|autumn|winter|midsummer|midwinter|harvest|solstice|equinox|snows?|frost|thaw|january|"
    "february|march|april|may|june|july|august|september|october|november|december)": 365 * _DAY,
}
_MOMENT = re.compile(
    r"\b(?:by|before|until|till|at|on|no later than) (?:the )?(?:next |coming |this )?"
    rf"(?P<moment>{'|'.join(_MOMENTS)})\b|\b(?P<alone>tomorrow|tonight)\b"
)
_WITHIN = re.compile(
    rf"\b(?:with)?in (?:the next )?{_so_long('within')}(?! ago)"
    rf"|\b(?:has|have|had|got|gives?|gave)(?: \w+)? (?:only |just )?{_so_long('has')}"
    rf"|\b(?:with)?in (?:the next )?(?P<count_told>{'|'.join(_COUNTS)}|\d{{1,4}}) (?:messages?|turns?)\b"
)


def hours_told(text: str) -> int:
    """How many hours a text lets pass in so many words: "three days later", "the next morning"."""
    low = _QUOTED.sub(" ", text).lower().replace("-", " ")
    return sum(_passed(match) for match in _PASSED.finditer(low))


def _passed(match: re.Match[str]) -> int:
    for tag in ("later", "after"):
        if match[f"unit_{tag}"]:
            return _hours(match, tag)
    if match["plural"]:
        return _SEVERAL * _HOURS[match["plural"]]
    return _HOURS[match["next"]] if match["next"] else _DAY


def _hours(match: re.Match[str], tag: str) -> int:
    return _number(match[f"count_{tag}"]) * _HOURS[match[f"unit_{tag}"]]


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _COUNTS[word]


def due_in(text: str) -> str:
    """The words that say by when something is due, "" where none do."""
    low = text.lower()
    found = _WITHIN.search(low) or _MOMENT.search(low)
    # A few letters are longer in lower case; their texts set no time rather than the wrong one.
    return text[found.start() : found.end()] if found and len(low) == len(text) else ""


def without_due(text: str) -> str:
    """A text without the words that say by when."""
    due = due_in(text)
    return text.replace(due, " ", 1) if due else text


@lru_cache(maxsize=1024)
def hours_of(due: str) -> int | None:
    """How many hours a due time leaves at most; None where it is not counted in story time."""
    low = due.lower()
    within = _WITHIN.search(low)
    if within:
        tag = next((tag for tag in ("within", "has") if within[f"unit_{tag}"]), None)
        return _hours(within, tag) if tag else None
    moment = _MOMENT.search(low)
    if moment is None:
        return None
    name = moment["moment"] or moment["alone"]
    return next((hours for names, hours in _MOMENTS.items() if re.fullmatch(names, name)), _DAY)


@lru_cache(maxsize=1024)
def messages_of(due: str) -> int | None:
    """How many messages a due time leaves; None where it is not counted in messages."""
    within = _WITHIN.search(due.lower())
    return _number(within["count_told"]) if within and within["count_told"] else None
