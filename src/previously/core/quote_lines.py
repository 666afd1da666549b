"""Quotation lines: the form in which memory holds a story's own words.

A line is the number of a message, its speaker and sentences of it, `#12 Ketta: “I owe you nine.” … “Ask Jory.”`. The
number is the position on the path when the line was made; each quotation is a run of the message, word for word, with
white space collapsed. Everything else in a text is prose of another writer and is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from previously.core.patterns import lazy_pattern

PROMISES = "Promises made (kept or not: unknown)"
"""A heading in texts of earlier versions, before lines with a word for promising or owing. It is read over."""

BETWEEN = "” … “"
"""Stands between two quotations of one message: something was left out."""

PREFIX = "... "
"""Begins a text whose front was cut off; the line behind it is still one."""

_LINE = lazy_pattern(rf"(?:{re.escape(PREFIX)})?#(\d+) (.*?): “(.*)”")
_NUMBER = lazy_pattern(rf"^((?:{re.escape(PREFIX)})?#)(\d+)(?= .*: “.*”$)", re.M)


def render_quote(number: int, speaker: str, quotations: Iterable[str]) -> str:
    return f"#{number} {speaker}: “{BETWEEN.join(quotations)}”"


def parse_line(line: str) -> tuple[int, str, Sequence[str]] | None:
    """Return number, speaker and quotations of a line; None if it has another form."""
    match = _LINE.fullmatch(line)
    return (int(match[1]), match[2], match[3].split(BETWEEN)) if match else None


def find_first_line(text: str) -> int:
    """Return where the first quotation line begins that follows other words; 0 if none does."""
    match = _NUMBER.search(text, 1)
    return match.end(1) - 1 if match else 0


def is_line_at(text: str, at: int) -> bool:
    """Return whether a quotation line begins at a place."""
    return _NUMBER.match(text, at) is not None


def is_within_line(text: str, at: int) -> bool:
    """Return whether a place lies inside a quotation line: a cut there would lose number and speaker."""
    begin = text.rfind("\n", 0, at) + 1
    return at > begin and is_line_at(text, begin)


def render_speaker(name: str) -> str:
    """Return a speaker's name as it stands in a line, where the first “ begins the quotation."""
    return " ".join(name.replace("“", '"').split())


def renumber(text: str, shift: int) -> str:
    """Return a text whose messages now stand so many places further along."""
    return _NUMBER.sub(lambda found: f"{found[1]}{max(0, int(found[2]) + shift)}", text) if shift else text


def keep_lines_before(text: str, first: int) -> str:
    """Return a text without the lines that quote messages from a position on; prose stays."""
    kept: list[str] = []
    for line in text.split("\n"):
        parsed = parse_line(line)
        if parsed is None or parsed[0] < first:
            kept.append(line)
    while kept and kept[-1] in ("", PROMISES):
        kept.pop()
    return "\n".join(kept)
