"""Things in a story, by the one name that every command and route takes: `recap`, `chapter:2`, `thread:7`, `lore:NAME`.

A number alone is a message. What stands behind the colon is a number, or words that are like those of the thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from previously.core.errors import BadInput
from previously.core.path import parse_position


class ThingKind(StrEnum):
    """A kind of thing."""

    RECAP = "recap"
    BACKBONE = "backbone"
    BRIEF = "brief"
    CHAPTER = "chapter"
    EPISODE = "episode"
    SCENE = "scene"
    THREAD = "thread"
    STATE = "state"
    WISH = "wish"
    PIN = "pin"
    LORE = "lore"
    CAST = "cast"
    MESSAGE = "message"
    VERSION = "version"
    BRANCH = "branch"


ALONE = frozenset({ThingKind.RECAP, ThingKind.BACKBONE, ThingKind.BRIEF})
"""Things of which a story has one."""

TEXTS = frozenset({ThingKind.RECAP, ThingKind.BACKBONE, ThingKind.CHAPTER})
"""Texts that a person may write in place of a fold."""

VERSIONED = TEXTS | {ThingKind.VERSION, ThingKind.BRIEF, ThingKind.EPISODE}
"""Things that have versions."""

EXAMPLES = "recap, backbone, chapter:2, thread:7, state:3, lore:NAME, cast:NAME, pin:3, message:41, version:12"


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing as it was named."""

    kind: ThingKind
    which: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.which}" if self.which else self.kind.value

    @property
    def number(self) -> int:
        """Return its number; `BadInput` if it was named otherwise."""
        if not re.fullmatch(r"[0-9]{1,18}", self.which):
            raise BadInput(f"{self.which!r} is not the number of a {self.kind.value}.")
        return int(self.which)

    @property
    def position(self) -> int:
        """Return the position of a message."""
        return parse_position(self.which)


def parse_thing(text: str) -> Thing:
    """Return the thing that a text names; `BadInput` if it names none."""
    thing = find_thing(text)
    if thing is None:
        raise BadInput(f"{text!r} names no thing: say {EXAMPLES}, or a number for a message.")
    return thing


def find_thing(text: str) -> Thing | None:
    """Return the thing that a text names; None if it is no such name."""
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return Thing(ThingKind.MESSAGE, text)
    kind, colon, which = text.partition(":")
    if kind not in set(ThingKind):
        return None
    if (kind in ALONE) == bool(colon):
        return None
    return Thing(ThingKind(kind), which.strip()) if not colon or which.strip() else None
