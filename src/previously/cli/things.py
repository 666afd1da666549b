"""Things in a story, by the one name that every command takes: `recap`, `chapter:2`, `thread:7`, `lore:NAME`.

A number alone is a message. What stands behind the colon is a number, or words that are like those of the thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from previously.cli.arguments import parse_position
from previously.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from previously.blocking import BlockingStory


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


A_THING = Annotated[
    str, typer.Argument(metavar="THING", help="recap, backbone, chapter:2, thread:7, lore:NAME, message:41, …")
]


def pick(things: Sequence[Any], thing: Thing) -> Any:
    """Return the one of a list that a number means, from 1."""
    if not 1 <= thing.number <= len(things):
        raise BadInput(f"There is no {thing}; there are {len(things)}.")
    return things[thing.number - 1]


def find_listed(story: BlockingStory, thing: Thing) -> Any:
    """Return the thread, line, wish, entry, character, chapter, scene, episode, pin or branch that is meant."""
    from previously.core.presence import NameBook
    from previously.story.threads_state import find_meant

    match thing.kind:
        case ThingKind.THREAD:
            threads = sorted(story.threads(everything=True), key=lambda one: one.number)
            listed = [((str(one.number), one.thread.id), one.thread.text, one) for one in threads]
            return find_meant(thing.which, listed, "thread", "threads list --all")
        case ThingKind.STATE:
            lines = [((str(at),), one.text, one) for at, one in enumerate(story.state(), 1)]
            return find_meant(thing.which, lines, "line of the state", "state list")
        case ThingKind.WISH:
            wishes = [((str(at), one.id), one.text, one) for at, one in enumerate(story.wishes(), 1)]
            return find_meant(thing.which, wishes, "wish", "wishes list")
        case ThingKind.LORE:
            entries = story.lore(everything=True)
            named = [((one.name,), one.name, one) for one in entries]
            return find_meant(thing.which, named, "entry", "lore list --all", named=True)
        case ThingKind.CAST:
            cast = story.cast()
            names = NameBook(one.name for one in cast)
            same = [one for one in cast if names.same_person(one.name, thing.which)]
            listed_cast = [((one.name,), one.name, one) for one in cast]
            return (
                same[0]
                if len(same) == 1
                else find_meant(thing.which, listed_cast, "character", "cast list", named=True)
            )
        case ThingKind.CHAPTER:
            return _find_chapter(story, thing)
        case ThingKind.SCENE:
            return pick(story.scenes(), thing)
        case ThingKind.EPISODE:
            return pick(story.episodes(), thing)
        case ThingKind.PIN:
            return _find_pin(story, thing)
        case _:
            raise BadInput(f"{thing} is in no list.")


def _find_chapter(story: BlockingStory, thing: Thing) -> Any:
    from previously.story.threads_state import find_meant

    chapters = story.chapters()
    if thing.which.isdecimal():
        return pick(chapters, thing)
    titled = [((str(one.number),), one.title, one) for one in chapters if one.title]
    return find_meant(thing.which, titled, "chapter", "chapters list", named=True)


def _find_pin(story: BlockingStory, thing: Thing) -> Any:
    from previously.story.threads_state import find_meant

    return find_meant(thing.which, [((str(one.id),), one.text, one) for one in story.pins()], "pin", "show")
