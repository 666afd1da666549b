"""One line of the state as people and models write it: `Thing / aspect: value`.

A line without a known aspect is none: a value must know what it replaces.
"""

from __future__ import annotations

import re

from previously.core.note import Aspect, StateItem

ENDED = "ended"
"""The value that takes a line away."""

_LINE = re.compile(
    rf"\s*(?:[-*•]\s+)?(?P<thing>[^\n]*\S)\s*/\s*(?P<aspect>{'|'.join(Aspect)})\s*[:：]\s*(?P<value>\S.*)", re.I | re.S
)


def parse_state_line(text: str, at: int | None = None) -> StateItem | None:
    """Return the value in a line, None where it has no thing or no known aspect. "ended" gives an empty value."""
    found = _LINE.fullmatch(text)
    if found is None:
        return None
    value = " ".join(found["value"].split())
    ended = value.rstrip(".").casefold() == ENDED
    return StateItem(" ".join(found["thing"].split()), Aspect(found["aspect"].lower()), "" if ended else value, at)


def render_state_line(thing: str, aspect: Aspect | None, value: str) -> str:
    """Return a value as a line; free words of a person, which have neither thing nor aspect, as they are."""
    return f"{thing} / {aspect}: {value}" if aspect else value
