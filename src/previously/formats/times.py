"""Times as files write them, in ISO 8601 where that is certain.

What names its zone keeps it; an epoch number becomes UTC; a written-out local time stays local, without an offset.
Anything else is kept as it was given: a guess would be worse than the file's own words.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from previously.text.times import MONTHS

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")
_WRITTEN = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d)(?::(\d\d))? ?([ap]m)?", re.IGNORECASE)
_STAMPED = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m(?: ?(\d{1,2})s)?(?: ?(\d{1,3})ms)?")
_DIGITS = re.compile(r"\d{9,13}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = range(10**8, 4_102_444_800)
"""1973 to 2099: a number in here is taken for seconds, a thousand times as large for milliseconds."""


def iso_time(value: str | int | float) -> str:
    """The time in ISO 8601, or the value as it was given where that is not certain."""
    if isinstance(value, str):
        text = value.strip()
        if _ISO.fullmatch(text):
            return value
        if _DIGITS.fullmatch(text):
            return _from_epoch(int(text)) or value
        return _from_words(text) or value
    return _from_epoch(value) or str(value)


def _from_epoch(number: int | float) -> str | None:
    if _SECONDS.start <= number < _SECONDS.stop:
        moment = _EPOCH + timedelta(seconds=number)
    elif _SECONDS.start * 1000 <= number < _SECONDS.stop * 1000:
        moment = _EPOCH + timedelta(milliseconds=number)
    else:
        return None
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


def _from_words(text: str) -> str | None:
    if found := _WRITTEN.fullmatch(text):
        name, day, year, hour, minute, second, half = found.groups()
        month = next((n for n, full in enumerate(MONTHS, 1) if full.startswith(name.lower())), 0)
        hours = int(hour)
        if half:
            if not 1 <= hours <= 12:
                return None
            hours = hours % 12 + (12 if half.lower() == "pm" else 0)
        fraction = None
    elif found := _STAMPED.fullmatch(text):
        year, number, day, hour, minute, second, fraction = found.groups()
        month, hours = int(number), int(hour)
    else:
        return None
    try:
        moment = datetime(int(year), month, int(day), hours, int(minute), int(second or 0), int(fraction or 0) * 1000)
    except ValueError:
        return None
    return moment.isoformat(timespec="milliseconds" if fraction else "seconds")
