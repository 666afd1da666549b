"""The people of a story, as far as its messages say: who speaks, who plays, who was there.

Knowing the people of a front and reading on gives those of the whole; so they can be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from previously.core.messages import Message, Role
from previously.core.scripts import casefold

NARRATORS = frozenset(
    "narrator system assistant storyteller gm dm erzähler erzählerin narrateur narratrice narrador narradora "
    "рассказчик ведущий 旁白 ナレーター 語り手 叙述者".split()
) | {"game master", "dungeon master"}
"""Voices that are nobody in the story."""

MOST_PEOPLE = 200
"""People that are kept in mind, those seen last: a list that long is no cast any more."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in a story."""

    name: str
    """As it was first spelt."""
    speaks: bool
    """True where a message of the model's side is theirs."""
    plays: bool
    """True where a message of the user's is theirs."""
    first: int
    """The position at which they were first seen,"""
    last: int
    """and where last."""


People = Mapping[str, Person]
"""By the name as it is compared."""


def update_people(people: People, messages: Iterable[tuple[int, Message]]) -> People:
    """Return the people of a story when these messages, each with its position, have been said too."""
    known = dict(people)
    for position, message in messages:
        seen = dict.fromkeys(message.witnesses or (), False)
        if message.speaker and message.role in (Role.USER, Role.ASSISTANT):
            seen[message.speaker] = True
        for name, spoke in seen.items():
            key = casefold(name)
            if not key:
                continue
            before = known.pop(key, Person(name.strip(), False, False, position, position))
            plays, speaks = spoke and message.role is Role.USER, spoke and message.role is Role.ASSISTANT
            known[key] = replace(
                before, speaks=before.speaks or speaks, plays=before.plays or plays, last=max(before.last, position)
            )
    if len(known) > MOST_PEOPLE:
        latest = sorted(known.items(), key=lambda one: one[1].last)[-MOST_PEOPLE:]
        known = dict(latest)
    return known


def list_characters(people: People) -> list[str]:
    """Return those whose knowledge is kept: neither players nor narrators; in the order of their names."""
    return sorted(one.name for key, one in people.items() if not one.plays and key not in NARRATORS)


def is_group(people: People) -> bool:
    """Return whether several characters speak."""
    return sum(one.speaks and not one.plays and key not in NARRATORS for key, one in people.items()) > 1
