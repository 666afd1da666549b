"""The events of a game: all that whoever shows it needs to know, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody is about to answer; what they say follows."""

    about: str


@dataclass(frozen=True, slots=True)
class Words:
    """The words of somebody, as far as they have come: always from their beginning."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A whole message, as the story keeps it."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something failed and was contained: whose, and why."""

    about: str
    reason: str


@dataclass(frozen=True, slots=True)
class BeatHit:
    """A beat of the chapter has happened."""

    beat: str


@dataclass(frozen=True, slots=True)
class ChapterOver:
    """A chapter is over; `opened` is the title of the next, empty where the game is complete."""

    title: str
    reason: str
    opened: str = ""


Event = Asked | Words | Said | Trouble | BeatHit | ChapterOver
Tell = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Show nothing: nobody watches."""
    del event
