"""An entry of lore: as the story holds it, and as the scan looks for it.

`LoreEntry` is one thing of the story, with what is said of it now and what was said before. What a person wrote is
kept byte for byte; what a model wrote stays within `MOST_CONTENT_TOKENS`. `KeyedEntry` is a content and when the model
is shown it: always, or when one of its keys is read. It means the same whatever file it came from, and
`find_problems` names everything that keeps it from ever being used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum

from previously.core.json_values import shown
from previously.lore.keys import LONGEST_PATTERN, TOO_LONG, find_ignored_flags, normalize_name, parse_regex
from previously.text.macros import find_unknown_macros, has_draws

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


class EntryPosition(IntEnum):
    """The place that an entry was written for, numbered as in World Info files."""

    BEFORE_CHARACTER = 0
    AFTER_CHARACTER = 1
    NOTE_TOP = 2
    """Before the author's note."""
    NOTE_BOTTOM = 3
    AT_DEPTH = 4
    """So many messages before the end."""
    BEFORE_EXAMPLES = 5
    AFTER_EXAMPLES = 6
    OUTLET = 7
    """The place at which another text names it."""


NOTE_DEPTH = 4
"""Messages before the end at which SillyTavern puts the author's note, if nobody says otherwise."""

NEAR_THE_END = frozenset({EntryPosition.NOTE_TOP, EntryPosition.NOTE_BOTTOM, EntryPosition.AT_DEPTH})

NORMAL, CONTINUE, SWIPE, REGENERATE = "normal", "continue", "swipe", "regenerate"
TRIGGERS = (NORMAL, CONTINUE, "impersonate", SWIPE, REGENERATE, "quiet")
"""The kinds of answers that an entry may be meant for."""

SOURCES = {
    "match_persona_description": "the user's description",
    "match_character_description": "the character's description",
    "match_character_personality": "the character's personality",
    "match_character_depth_prompt": "the character's note",
    "match_scenario": "the scenario",
    "match_creator_notes": "the creator's notes",
}
"""Texts beside the messages that an entry may be looked for in: the field that says so, and its name in words."""


@dataclass(frozen=True, slots=True)
class CharacterFilter:
    """The characters that an entry is for; with `exclude`, those that it is not for."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    exclude: bool = False


EVERYBODY = CharacterFilter()


@dataclass(slots=True)
class KeyedEntry:
    """A text that the model is shown when it comes up.

    Nobody changes one. It is not frozen, since that makes 45 fields three times as slow to fill, and books have
    thousands of entries.
    """

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
    position: EntryPosition = EntryPosition.BEFORE_CHARACTER
    depth: int = 4
    """Number of messages before the end, at `AT_DEPTH`."""
    role: int = 0
    """0 system, 1 user, 2 assistant, at `AT_DEPTH`. A view adds no messages: it is kept for other programs."""
    outlet: str = ""
    groups: tuple[str, ...] = ()
    """Inclusion groups: of each, one entry fires."""
    group_override: bool = False
    """Wins in its groups."""
    group_weight: float = 100
    """Its chance in its groups, among those of the others."""
    group_scoring: bool | None = None
    """True if it must match as many keys as any other of its group; None = as the story says."""
    characters: CharacterFilter = EVERYBODY
    triggers: tuple[str, ...] = ()
    """The kinds of answers it is for; empty = all."""
    match_persona_description: bool = False
    """If true, its keys are looked for there too; so with the five below."""
    match_character_description: bool = False
    match_character_personality: bool = False
    match_character_depth_prompt: bool = False
    match_scenario: bool = False
    match_creator_notes: bool = False
    vectorized: bool = False
    """Found by meaning too, in programs that can. Kept, and not used."""
    directives: str = ""
    """Lines that begin with @@, which stood before its content."""
    decorators: tuple[str, ...] = ()
    """Those of them that are obeyed: `activate`, `dont_activate`."""

    @property
    def needs_no_key(self) -> bool:
        """Return whether it fires without a key."""
        return self.constant or "activate" in self.decorators

    @property
    def sources(self) -> list[str]:
        """The texts beside the messages in which its keys are looked for, by the names of `SOURCES`."""
        return [name for name in SOURCES if getattr(self, name)]

    @property
    def stands_always(self) -> bool:
        """Return whether nothing ever keeps it from being shown, and it is meant neither for the end nor for an outlet:
        it is part of the stable memory of a view."""
        return (
            self.needs_no_key
            and self.probability >= 100
            and not (self.delay > 0 or self.cooldown > 0 or self.delay_until_recursion or self.groups or self.triggers)
            and self.characters == EVERYBODY
            and "dont_activate" not in self.decorators
            and self.position not in NEAR_THE_END
            and self.position is not EntryPosition.OUTLET
            and not has_draws(self.content)
        )

    def is_in(self, outlets: Collection[str]) -> bool:
        """Return whether it stands in one of these outlets."""
        return self.position is EntryPosition.OUTLET and self.outlet.strip() in outlets

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
    if not usable and not entry.needs_no_key:
        found = "; it is found by meaning in other programs only" if entry.vectorized else ""
        faults.append(f"It has no keys and is not constant, so it never fires{found}.")
    if len(usable) < len(entry.keys) or not all(key.strip() for key in entry.secondary):
        faults.append("One of its keys is empty.")
    faults += find_key_problems((*entry.keys, *entry.secondary))
    if not 0 <= entry.probability <= 100:
        faults.append(f"Its probability must be from 0 to 100, not {entry.probability:g}.")
    elif entry.probability == 0:
        faults.append("Its probability is 0 %, so it never fires.")
    if entry.scan_depth is not None and entry.scan_depth < 0:
        faults.append(f"Its scan depth must not be negative, and is {entry.scan_depth}.")
    for name in ("sticky", "cooldown", "delay", "delay_until_recursion", "depth", "group_weight"):
        if getattr(entry, name) < 0:
            faults.append(f"Its {name.replace('_', ' ')} must not be negative, and is {getattr(entry, name):g}.")
    if entry.exclude_recursion and entry.delay_until_recursion:
        faults.append("It waits for recursion and is kept out of recursion, so it never fires.")
    if "dont_activate" in entry.decorators:
        faults.append("Its content begins with @@dont_activate, so it never fires.")
    if unknown := [kind for kind in entry.triggers if kind not in TRIGGERS]:
        faults.append(f"It is only for answers of the kind {shown(unknown[0])}, which is not known.")
    if entry.position is EntryPosition.OUTLET and not entry.outlet.strip():
        faults.append("It stands in an outlet that has no name.")
    if macros := find_unknown_macros(" ".join((entry.content, *entry.keys))):
        faults.append(f"The macro {shown(macros[0])} stands for nothing here.")
    return faults


def find_key_problems(keys: Iterable[str]) -> list[str]:
    """Return what keeps keys from being found, one plain sentence each."""
    return [problem for key in keys for problem in _find_key_problems(key)]


def _find_key_problems(key: str) -> list[str]:
    if "/" not in key and len(key) <= LONGEST_PATTERN:
        return []  # as nearly all keys are: plain, and short
    named, regex = shown(key.strip()), parse_regex(key)
    if regex is None:
        return [f"The key {named} cannot be used: {TOO_LONG}."] if len(key.strip()) > LONGEST_PATTERN else []
    if regex.fault:
        return [f"The key {named} cannot be used: {shown(regex.fault)}."]
    flags = find_ignored_flags(key)
    return [f'The key {named} has the flag "{flags}", which does nothing here.'] if flags else []
