"""An entry of lore: as the story holds it, and as the scan looks for it.

`LoreEntry` is one thing of the story, with what is said of it now and what was said before. What a person wrote is
kept byte for byte; what a model wrote stays within `MOST_CONTENT_TOKENS`. `KeyedEntry` is a content and when the model
is shown it: always, or when one of its keys is read. It means the same whatever file it came from, and
`find_problems` names everything that keeps it from ever being used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from previously.core.json_values import shown
from previously.lore.keys import LONGEST_PATTERN, TOO_LONG, find_ignored_flags, normalize_name, parse_regex

MOST_CONTENT_TOKENS = 200
"""A model's description takes no more: seed 002 asks for 50 to 200."""

EntryKey = str
"""The normalized name by which an entry is found. One thing has one entry, whatever its type."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change that a note would make in a field that a person wrote."""

    field: str
    text: str
    source: int


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One thing of the story."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    """Other names under which it was described."""
    keywords: tuple[str, ...] = ()
    content: str = ""
    """The newest description."""
    earlier: tuple[str, ...] = ()
    """Earlier descriptions, the newest last."""
    sources: tuple[int, ...] = ()
    """The positions of the messages that the newest description comes from."""
    touched: int = 0
    """The position of its last description."""
    retired: bool = False
    """Not described for long while many others were: shown only when a key names it."""
    locked: frozenset[str] = frozenset()
    """The fields that a person wrote."""
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def key(self) -> EntryKey:
        return normalize_name(self.name)


class SecondaryLogic(IntEnum):
    """The rule by which secondary keys decide once a primary key is found, numbered as in World Info files."""

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
    """A text that the model is shown when it comes up."""

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
    """Number of newest messages that are read for its keys; None = as many as the story says."""
    sticky: int = 0
    """Number of messages for which it stays once it has fired."""
    cooldown: int = 0
    """Number of messages for which it rests afterwards."""
    delay: int = 0
    """Number of messages the story must have before it may fire."""
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
        """Return whether there is nothing it could tell the model."""
        return not self.content.strip()

    @property
    def has_effects(self) -> bool:
        """Return whether it matters later that it has fired."""
        return self.sticky > 0 or self.cooldown > 0


def find_problems(entry: KeyedEntry) -> list[str]:
    """Return what keeps an entry from doing its work, one plain sentence each; none for a sound one."""
    faults: list[str] = []
    if not entry.name.strip():
        faults.append("It has no name.")
    if entry.is_blank:
        faults.append("Its content is empty.")
    usable = [key for key in entry.keys if key.strip()]
    if not usable and not entry.constant:
        faults.append("It has no keys and is not constant, so it never fires.")
    if len(usable) < len(entry.keys) or not all(key.strip() for key in entry.secondary):
        faults.append("One of its keys is empty.")
    faults += find_key_problems((*entry.keys, *entry.secondary))
    if not 0 <= entry.probability <= 100:
        faults.append(f"Its probability must be from 0 to 100, not {entry.probability:g}.")
    elif entry.probability == 0:
        faults.append("Its probability is 0 %, so it never fires.")
    if entry.scan_depth is not None and entry.scan_depth < 0:
        faults.append(f"Its scan depth must not be negative, and is {entry.scan_depth}.")
    for name in ("sticky", "cooldown", "delay", "delay_until_recursion"):
        if getattr(entry, name) < 0:
            faults.append(f"Its {name.replace('_', ' ')} must not be negative, and is {getattr(entry, name)}.")
    if entry.exclude_recursion and entry.delay_until_recursion:
        faults.append("It waits for recursion and is kept out of recursion, so it never fires.")
    return faults


def find_key_problems(keys: Iterable[str]) -> list[str]:
    """Return what keeps keys from being found, one plain sentence each."""
    return [problem for key in keys for problem in _problems_of_key(key)]


def _problems_of_key(key: str) -> list[str]:
    named, regex = shown(key.strip()), parse_regex(key)
    if regex is None:
        return [f"The key {named} cannot be used: {TOO_LONG}."] if len(key.strip()) > LONGEST_PATTERN else []
    if regex.fault:
        return [f"The key {named} cannot be used: {shown(regex.fault)}."]
    flags = find_ignored_flags(key)
    return [f'The key {named} has the flag "{flags}", which does nothing here.'] if flags else []
