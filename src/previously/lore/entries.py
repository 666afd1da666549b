"""What a lore entry is, and what is wrong with one.

An entry says what something *is* and when the model should be told: always, or when one of its keys is read. The
values mean the same whatever file they came from; what a file holds besides them waits in `extra`, untouched.

What must stay true: an entry is a plain value, and `problems` speaks of everything that keeps it from ever being
used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from previously.lore.regexes import find_ignored_flags, parse_regex


class SecondaryLogic(IntEnum):
    """How secondary keys decide once a primary key is found. The numbers are those of World Info files."""

    AND_ANY = 0
    """One of them is found."""
    NOT_ALL = 1
    """At least one of them is missing."""
    NOT_ANY = 2
    """None of them is found."""
    AND_ALL = 3
    """All of them are found."""


@dataclass(frozen=True, slots=True)
class KeyedEntry:
    """One thing the model is told about when it comes up."""

    uid: str
    """Unique in the story: `harbour/12`, `story/alice`."""
    name: str
    content: str = ""
    keys: tuple[str, ...] = ()
    """Plain words, or regular expressions between slashes: `/gr[ae]y/i`."""
    type: str = "lore"
    secondary: tuple[str, ...] = ()
    logic: SecondaryLogic = SecondaryLogic.AND_ANY
    constant: bool = False
    """Fires without a key."""
    enabled: bool = True
    order: float = 100
    """Larger stands nearer the end, and is served first where room is short."""
    probability: float = 100
    """In per cent."""
    case_sensitive: bool = False
    whole_words: bool = True
    scan_depth: int | None = None
    """How many of the newest messages are read for its keys; None = as many as the story says."""
    sticky: int = 0
    """For how many messages it stays once it has fired."""
    cooldown: int = 0
    """For how many messages it rests afterwards."""
    delay: int = 0
    """How many messages the story must have before it may fire."""
    exclude_recursion: bool = False
    """Fires for messages only, not for the content of other entries."""
    prevent_recursion: bool = False
    """Its content makes no other entry fire."""
    delay_until_recursion: int = 0
    """Waits for recursion, and for that level of it; 0 = does not wait."""
    ignore_budget: bool = False
    comment: str = ""
    book: str = ""
    """The book it belongs to; empty for what the story itself has taught."""

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing it could tell the model."""
        return not self.content.strip()


def find_problems(entry: KeyedEntry) -> list[str]:
    """What keeps an entry from doing its work, one plain sentence each; none for a sound one."""
    found: list[str] = []
    if not entry.name.strip():
        found.append("It has no name.")
    if entry.is_blank:
        found.append("Its content is empty.")
    usable = [key for key in entry.keys if key.strip()]
    if not usable and not entry.constant:
        found.append("It has no keys and is not constant, so it never fires.")
    if len(usable) < len(entry.keys) or not all(key.strip() for key in entry.secondary):
        found.append("One of its keys is empty.")
    found += find_key_problems((*entry.keys, *entry.secondary))
    if not 0 <= entry.probability <= 100:
        found.append(f"Its probability must be from 0 to 100, not {entry.probability:g}.")
    elif entry.probability == 0:
        found.append("Its probability is 0 %, so it never fires.")
    if entry.scan_depth is not None and entry.scan_depth < 0:
        found.append(f"Its scan depth must not be negative, and is {entry.scan_depth}.")
    for name in ("sticky", "cooldown", "delay", "delay_until_recursion"):
        if getattr(entry, name) < 0:
            found.append(f"Its {name.replace('_', ' ')} must not be negative, and is {getattr(entry, name)}.")
    if entry.exclude_recursion and entry.delay_until_recursion:
        found.append("It waits for recursion and is kept out of recursion, so it never fires.")
    return found


def find_key_problems(keys: Iterable[str]) -> list[str]:
    """What keeps keys from being found, one plain sentence each."""
    return [problem for key in keys for problem in _problems_of_key(key)]


def _problems_of_key(key: str) -> list[str]:
    regex = parse_regex(key)
    if regex is None:
        return []
    if regex.fault:
        return [f"The key {key.strip()} cannot be used: {regex.fault}."]
    flags = find_ignored_flags(key)
    return [f'The key {key.strip()} has the flag "{flags}", which does nothing here.'] if flags else []
